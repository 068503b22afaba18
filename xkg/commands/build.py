"""Implements `xkg build`, which builds one paper or estimates its cost."""

import contextlib
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from xkg.clock import CLOCK, Clock
from xkg.config import Settings
from xkg.errors import ConfigError, InputError
from xkg.value import Value

if TYPE_CHECKING:  # functions import heavy modules when they need them
    from xkg.build.context import BuildContext
    from xkg.build.curation.curated_set import ChosenRepository, RepositoryRecord
    from xkg.llm.client import LanguageModel

from xkg.commands.graph.open import (
    BUILD_WITHOUT_KEY,
    blacklist_guard,
    embedder,
    language_model,
    paper_sources,
    require_folder,
    runner_in_force,
    share_pace,
)
from xkg.commands.published import BuildGraph, BuildResult, OwnGraph, Unpublished
from xkg.embeddings.base import EncodedDocuments, encode_documents
from xkg.llm.costs import costs
from xkg.model import PaperBundle
from xkg.store.index_entries import searched_entries, vector_text
from xkg.text.arxiv_id import arxiv_id


class PlannedCalls(Value):
    stage: str
    calls: int
    input_tokens: int
    output_tokens: int
    dollars: float | None


class BuildPlan(Value):
    """Lists the language model calls that a build still needs, by stage, with their estimated cost. `dollars` is None
    if a model's price is unknown. `spent` is the cost of earlier builds of this paper, in dollars."""

    paper: str
    title: str
    model: str
    stages: tuple[PlannedCalls, ...]
    calls: int
    input_tokens: int
    output_tokens: int
    dollars: float | None
    spent: float

    def __str__(self) -> str:
        if not self.stages:
            return f"{self.title}\n  {self.paper}: no questions are left; ${self.spent:.2f} spent"
        rows = [*self.stages, PlannedCalls(stage="all", **self.model_dump(include=_PLANNED))]
        lines = [
            f"  {row.stage:<12}{row.calls:>6} calls {row.input_tokens:>9,} tokens in {row.output_tokens:>8,} out  "
            + ("price unknown" if row.dollars is None else f"${row.dollars:.3f}")
            for row in rows
        ]
        note = "an estimate: the number of repairs is not known in advance"
        return "\n".join(
            [self.title, f"  {self.paper}, with {self.model}; spent before: ${self.spent:.2f}", *lines, f"  {note}"]
        )


Published = TypeVar("Published")

AUTO = "auto"
"""The value of `--repo` that tells a build to find the paper's own repository, as a curation does."""

_PLANNED = {"calls", "input_tokens", "output_tokens", "dollars"}


def require_paper_id(text: str) -> None:
    """Raises `InputError` if the paper id is invalid, such as a malformed arXiv id."""
    if not re.fullmatch(r"[^\s#]+", text):
        raise InputError(f"{text!a} cannot be an id; leave out spaces and '#', as in arxiv:1608.04471")
    if text.casefold().startswith("arxiv:"):
        from xkg.text.arxiv_id import arxiv_id

        known = arxiv_id(text)
        if known is None:
            raise InputError(f"{text!a} cannot be an id: arXiv ids look like arxiv:1608.04471")
        if text != f"arxiv:{known.number}":
            raise InputError(f"{text!a} cannot be an id; write it as arxiv:{known.number}, without a version")
    elif text.casefold().startswith("doi:"):
        from xkg.model import paper_id

        if text != (named := paper_id("", doi=text)):
            raise InputError(f"{text!a} cannot be an id; write it as {named}")


class Builder(AbstractContextManager["Builder"]):
    """Builds papers one after another. All builds use the same embedder, sandbox and language model."""

    def __init__(
        self,
        settings: Settings,
        notify: "Callable[[object], None]" = lambda _: None,
        roots: Sequence[Path] | None = None,
        blacklist: Path | None = None,
        *,
        first: bool = False,
        graph: BuildGraph | None = None,
        model: "Callable[[], LanguageModel] | None" = None,
        clock: Clock = CLOCK,
    ) -> None:
        """`notify` receives stages, their progress, and calls to the language model. If `roots` is not None, a
        repository folder and everything that its `.git` refers to must be inside one of the `roots`. Rejects
        repositories in `blacklist`. If `first` is set and several papers have the given title, uses the best match.
        `graph` and `model` default to the configured graph and model. No model is opened if none is configured. Raises
        `ModelUnavailableError` if the model needs a key that is not set, and `StoreError` if the graph cannot be
        written."""
        from xkg.build.context import BuildContext
        from xkg.build.parsing.parsers import Parsers
        from xkg.sandbox.packages.environments import UvEnvironments

        self._settings, self._clock = settings, clock
        require_folder(settings.kg)
        self._graph = graph or OwnGraph(settings)
        self._graph.require_writable()
        share_pace(settings)
        with ExitStack() as opened:
            parsers = opened.enter_context(Parsers())
            parsers.start()  # import modules while the sandbox is being tested and the model is loading
            runner = runner_in_force(settings)
            environments = UvEnvironments(settings.environment, runner, notify) if runner else None
            sources = paper_sources(settings, parsers, first=first, clock=clock)
            asked = None
            if settings.llm.model != "none":
                asked = opened.enter_context(model() if model else language_model(settings, notify, BUILD_WITHOUT_KEY))
            embed = opened.enter_context(embedder(settings))
            self._guard = blacklist_guard(settings, blacklist)
            self._context = BuildContext(
                settings, embed, runner, environments, notify, sources, asked, parsers, roots, self._guard
            )
            self._opened = opened.pop_all()

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def build(
        self,
        paper: str | Path,
        repository: str | None,
        paper_id: str | None = None,
        *,
        keep_proven: bool = False,
        record: "RepositoryRecord | None" = None,
        packages: Sequence[str] = (),
        cpu: bool = False,
        publish: "Callable[[Unpublished], Published]",
    ) -> "Published | BuildResult":
        """Builds one paper (a path, an arXiv id or an address). Calls `publish` before the claim on the paper ends.
        Returns the result of `publish`. If the graph already contains a better form of the paper, returns the result
        for that form instead. See `Unpublished` for `keep_proven`. `record` contains facts about the repository.
        `packages` and `cpu` come from the stored paper and extend the settings.

        Raises the same errors as `build_paper` and `publish`, and `InputError` if the paper id is invalid."""
        from xkg.commands.claims import OtherFormError, SamePaperError

        own = self._settings.environment
        context = replace(self._context, packages=tuple(dict.fromkeys((*own.packages, *packages))), cpu=own.cpu or cpu)

        def once() -> "Published | BuildResult":
            return self._build(
                context, paper, repository, paper_id, keep_proven=keep_proven, record=record, publish=publish
            )

        if paper_id is not None:
            require_paper_id(paper_id)
        try:
            try:
                return once()
            except OtherFormError:
                return once()  # build from cached stages, under the other form's id
        except SamePaperError as same:
            return self._graph.stored(same.paper, str(same))

    def _build(
        self,
        context: "BuildContext",
        paper: str | Path,
        repository: str | None,
        paper_id: str | None,
        *,
        keep_proven: bool,
        record: "RepositoryRecord | None",
        publish: "Callable[[Unpublished], Published]",
    ) -> "Published | BuildResult":
        from xkg.build.pipeline import build_paper
        from xkg.sandbox.select import warmed

        with self._graph.claims() as claims:
            with ExitStack() as opened:
                if context.model is not None and context.runner is not None:
                    context = replace(context, runner=opened.enter_context(warmed(context.runner)))
                notes: tuple[str, ...] = ()
                if repository == AUTO:
                    chosen, notes = self._own_repository(paper)
                    repository, record = chosen.spec, chosen.record
                built = build_paper(paper, repository, replace(context, claims=claims), given_id=paper_id)
                bundle = built.bundle
                if record is not None:
                    bundle = bundle.model_copy(update={"repositories": tuple(map(record.on, bundle.repositories))})
                built = replace(built, bundle=bundle, notes=(*notes, *claims.notes, *built.notes))
            return publish(Unpublished(built, dict(claims.fences), keep_proven, paper_id is not None, claims.since))

    def embed(self, bundle: PaperBundle) -> "tuple[list[str], EncodedDocuments]":
        """Returns the texts to embed from a paper, and their embeddings. Also adds the embeddings to this folder's
        cache. Raises `EmbeddingError` if they cannot be computed."""
        texts = [vector_text(entry) for entry in searched_entries(bundle)]
        return [str(text) for text in texts], encode_documents(self._context.embedder, texts)

    def _own_repository(self, paper: str | Path) -> "tuple[ChosenRepository, tuple[str, ...]]":
        from xkg.commands.curate import own_repository

        context = self._context
        notes: list[str] = []
        chosen = own_repository(
            self._settings, paper, context.sources, context.parsers, self._guard, notes, self._clock
        )
        return chosen, (f"the paper's repository is {chosen.spec}: {'; '.join(chosen.evidence)}", *notes)


def build(
    settings: Settings,
    paper: str | Path,
    repository: str | None,
    *,
    paper_id: str | None = None,
    notify: "Callable[[object], None]" = lambda _: None,
    roots: Sequence[Path] | None = None,
    blacklist: Path | None = None,
    first: bool = False,
    clock: Clock = CLOCK,
) -> BuildResult:
    """Builds one paper with `Builder` and publishes it. Raises the same errors as `Builder`. Raises `InputError` before
    the build starts if a file or folder is missing."""
    require_inputs(paper, repository)
    with Builder(settings, notify, roots, blacklist, first=first, clock=clock) as builder:
        return builder.build(paper, repository, paper_id, publish=OwnGraph(settings).publish)


def require_inputs(paper: str | Path, repository: str | None) -> None:
    """Raises `InputError` if the paper or repository must be a file or folder but does not exist."""
    from xkg.build.paper.read import paper_on_disk
    from xkg.build.repositories.checkout import require_local
    from xkg.build.sources.paper_source import find_paper
    from xkg.build.sources.title_source import can_be_title

    elsewhere = arxiv_id(str(paper)) is not None or can_be_title(str(paper))
    with contextlib.suppress(OSError):  # the name may be too long for a file
        elsewhere = elsewhere and not Path(paper).exists()
    if not elsewhere:
        paper_on_disk(find_paper(str(paper), ()).path)
    if repository is not None and repository != AUTO:
        require_local(repository)


def plan(settings: Settings, paper: str | Path, repository: str | None, *, paper_id: str | None = None) -> BuildPlan:
    """Estimates the number and cost of the language model calls that `build` would make. Fetches and reads the paper
    and repository, but does not call the model, run code or publish anything. Raises the same errors as `build`, and
    `ConfigError` if no model is configured."""
    from xkg.build.context import BuildContext
    from xkg.build.guided.plan import plan as planned
    from xkg.build.parsing.parsers import Parsers
    from xkg.build.pipeline import open_paper

    if settings.llm.model == "none":
        raise ConfigError("--dry-run needs a language model: a build without one asks nothing and costs nothing")
    if repository == AUTO:
        raise InputError("an estimate needs a specific repository; find one with `xkg curate`, and pass it with --repo")
    require_folder(settings.kg)
    share_pace(settings)
    with embedder(settings) as embed, Parsers() as parsers:
        sources = paper_sources(settings, parsers)
        context = BuildContext(settings, embed, runner_in_force(settings), None, sources=sources, parsers=parsers)
        opened, _ = open_paper(paper, repository, context, paper_id)
        stages = planned(opened, context)
    prices = [stage.dollars for stage in stages]
    return BuildPlan(
        paper=opened.identity,
        title=opened.document.title or opened.path.stem,
        model=settings.llm.model,
        stages=tuple(PlannedCalls(**stage.model_dump()) for stage in stages),
        calls=sum(stage.calls for stage in stages),
        input_tokens=sum(stage.input_tokens for stage in stages),
        output_tokens=sum(stage.output_tokens for stage in stages),
        dollars=None if None in prices else sum(price for price in prices if price is not None),
        spent=sum(row.dollars for row in costs(settings.kg, settings.llm).rows if row.name == opened.identity),
    )
