"""Where the parts of the house meet: settings become a store, an embedder and a sandbox, and the jobs of the commands
are done with them."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from xkg.config import Settings
from xkg.errors import (
    ConfigError,
    CorruptStoreError,
    InputError,
    SandboxUnavailableError,
    StoreError,
    StoreUnreachableError,
    UnknownIdError,
)
from xkg.files import private_folder
from xkg.value import Value

if TYPE_CHECKING:  # what is heavy is imported by the job that needs it
    from xkg.build.context import Built
    from xkg.embeddings.base import Embedder
    from xkg.embeddings.cache import CachedEmbedder
    from xkg.llm.client import LanguageModel
    from xkg.model import PaperBundle
    from xkg.sandbox.runner import Runner
    from xkg.serve.answers.types import Answer
    from xkg.serve.service import Service
    from xkg.store.graph_store import GraphStore


def embedder(settings: Settings) -> "CachedEmbedder":
    """The embedder in force behind the graph's cache; the model is loaded by the first text that misses it."""
    from xkg.embeddings.cache import CachedEmbedder

    def make() -> "Embedder":
        from xkg.embeddings.factory import make_embedder

        return make_embedder(settings.embedding)

    return CachedEmbedder(make, settings.kg / "embeddings.sqlite", settings.embedding.vectors)


@contextmanager
def open_store(settings: Settings) -> "Iterator[GraphStore]":
    """The store of the graph in force, closed at the end. Opening reads nothing."""
    from xkg.store.open import open_graph

    with ExitStack() as opened:
        store = open_graph(settings, lambda: opened.enter_context(embedder(settings)))
        opened.callback(store.close)
        yield store


@contextmanager
def open_service(settings: Settings) -> "Iterator[Service]":
    """What answers questions about the graph in force, closed at the end. Opening reads nothing."""
    from xkg.serve.service import Service

    with closing(Service(settings)) as service:
        yield service


class StageSeconds(Value):
    name: str
    seconds: float
    reused: bool
    summary: str


class BuildResult(Value):
    """What a build gave. `generation` is the one that shows it, `published` False where the graph already held it, or
    holds a complete build that this one, `stopped`, does not replace; `levels` counts code nodes by level, `hidden`
    techniques by the reason why they are not shown. `incomplete` says, a line each, why `state` is `partial` and not
    `complete`; `stopped` where and why the build was given up. `cost_usd` is that of all builds of this paper."""

    paper: str
    title: str
    state: str
    incomplete: tuple[str, ...]
    stopped: str | None
    cost_usd: float
    generation: int
    published: bool
    techniques: int
    hidden: dict[str, int]
    levels: dict[str, int]
    stages: tuple[StageSeconds, ...]
    notes: tuple[str, ...]

    @property
    def unfinished(self) -> str:
        """What a person is to do about a build that is partial, in one line; empty for one that is complete."""
        if self.stopped:
            return f"{self.stopped}; run the same command again to go on from there"
        failed = len(self.incomplete)
        return f"{failed} part{'s' * (failed > 1)} of it failed; run again to try once more" if failed else ""

    def __str__(self) -> str:
        state = "published as" if self.published else "not published, the graph is" if self.stopped else "already in"
        partial = "".join(f"\n  partial: {line}" for line in self.incomplete)
        cost = f"; {self.cost_usd:.2f} dollars" if self.cost_usd else ""
        code = ", ".join(f"{n} {level}" for level, n in self.levels.items()) or "none"
        hidden = f", {sum(self.hidden.values())} hidden (xkg show says why)" if self.hidden else ""
        return (
            f"{self.title}\n  {self.paper}, {state} generation {self.generation}\n"
            f"  {self.techniques} techniques shown{hidden}; code: {code}{cost}{partial}"
        )


class PlannedCalls(Value):
    stage: str
    calls: int
    input_tokens: int
    output_tokens: int
    dollars: float | None


class BuildPlan(Value):
    """What a build would still ask of a language model, stage by stage, and about what that would cost: `dollars` is
    None where the price of a model is unknown. `spent` dollars went into this paper before."""

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
            return f"{self.title}\n  {self.paper}: nothing is left to ask; {self.spent:.2f} dollars were spent"
        rows = [*self.stages, PlannedCalls(stage="all", **self.model_dump(include=_PLANNED))]
        lines = [
            f"  {row.stage:<12}{row.calls:>6} calls {row.input_tokens:>9,} tokens in {row.output_tokens:>8,} out  "
            + ("price unknown" if row.dollars is None else f"${row.dollars:.3f}")
            for row in rows
        ]
        note = "an estimate: how often code has to be mended is not known before"
        return "\n".join(
            [self.title, f"  {self.paper}, asked of {self.model}; spent before: ${self.spent:.2f}", *lines, f"  {note}"]
        )


_PLANNED = {"calls", "input_tokens", "output_tokens", "dollars"}


class ImportResult(Value):
    """Papers that came in, and one line for each file that did not. `generation` is 0 where nothing came in."""

    papers: tuple[str, ...]
    problems: tuple[str, ...]
    generation: int

    def __str__(self) -> str:
        if not self.papers:
            return "nothing was imported"
        left_out = f", {len(self.problems)} files left out" if self.problems else ""
        return f"imported {len(self.papers)} papers{left_out}; the graph is generation {self.generation}"


class PushResult(Value):
    """Papers that waited and are in the graph now, and one line for each that is not."""

    sent: tuple[str, ...]
    problems: tuple[str, ...]
    generation: int

    def __str__(self) -> str:
        if not self.sent and not self.problems:
            return "nothing waits to be sent"
        lines = [f"sent: {paper}" for paper in self.sent]
        return "\n".join([*lines, f"{len(self.sent)} sent, {len(self.problems)} left; generation {self.generation}"])


class ExportResult(Value):
    """The files that were written."""

    files: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.files)


class IndexReport(Value):
    """What is wrong with the stored graph, one line each; empty where every file is as it was written. `generation` is
    the one that was found whole, 0 for a graph that holds nothing, None where there are problems."""

    generation: int | None
    problems: tuple[str, ...]

    def __str__(self) -> str:
        whole = f"generation {self.generation}: every stored file is as it was written"
        return "\n".join(self.problems) or (whole if self.generation else "the graph is empty: nothing to check")


def build(
    settings: Settings,
    paper: str | Path,
    repository: str | None,
    *,
    given_id: str | None = None,
    notify: "Callable[[object], None]" = lambda _: None,
    roots: Sequence[Path] | None = None,
) -> BuildResult:
    """Builds one paper, a path or an arXiv id or address, and publishes it, unless the graph already holds exactly
    that, or holds it whole and this build was stopped. What a verification has found since of the same code stays.
    `notify` hears of stages, their progress, and calls of the language model. A repository that is a folder lies, with
    all that its `.git` leads to, under `roots`, where they are given.

    Raises what `build_paper` and `GraphStore.publish` raise, `ModelUnavailableError` where a model is wanted and no
    key is there, and `InputError` for an id that no paper can have."""
    from xkg.build.context import BuildContext
    from xkg.build.parsing.parsers import Parsers
    from xkg.build.pipeline import build_paper
    from xkg.build.sources.arxiv import ArxivSource
    from xkg.build.verify import apply, later
    from xkg.sandbox.packages.environments import UvEnvironments
    from xkg.sandbox.select import warmed

    if given_id is not None and not re.fullmatch(r"[^\s#]+", given_id):
        raise InputError(f"{given_id!a} cannot be an id: leave out spaces and '#', as in arxiv:1608.04471")
    _require_folder(settings.kg)
    with open_store(settings) as store:
        store.require_writable()
    with ExitStack() as opened:
        parsers = opened.enter_context(Parsers())
        parsers.start()  # it imports while the sandbox is tried and the model is loaded
        runner = _runner(settings)
        environments = UvEnvironments(settings.kg / "environments", settings.environment, runner) if runner else None
        sources = (ArxivSource(settings.kg / "papers", settings.arxiv.url, parsers),)
        model = opened.enter_context(_language_model(settings, notify)) if settings.llm.model != "none" else None
        embed = opened.enter_context(embedder(settings))
        if model is not None and runner is not None:
            runner = opened.enter_context(warmed(runner))
        context = BuildContext(settings, embed, runner, environments, notify, sources, model, parsers, roots)
        built = build_paper(paper, repository, context, given_id=given_id)
    with _kept(settings, [built.bundle]), open_store(settings) as store:
        known = _stored(store, built.bundle.paper.id)
        if known is not None:
            if built.stopped is not None and known[1].paper.state == "complete":
                return _result(built, known[0], published=False)
            bundle = apply(built.bundle, later(known[1], built.bundle), settings.prune.min_level)
            built = replace(built, bundle=bundle)
            if known[1] == bundle:
                return _result(built, known[0], published=False)
        return _result(built, store.publish([built.bundle]), published=True)


def plan(settings: Settings, paper: str | Path, repository: str | None, *, given_id: str | None = None) -> BuildPlan:
    """What `build` would do with a language model, and about what it would cost. Nothing is asked, run or published;
    paper and repository are fetched and read. Raises as `build` does, and `ConfigError` without a model to plan for."""
    from xkg.build.context import BuildContext
    from xkg.build.guided.plan import plan as planned
    from xkg.build.parsing.parsers import Parsers
    from xkg.build.pipeline import open_paper
    from xkg.build.sources.arxiv import ArxivSource
    from xkg.commands.costs import costs

    if settings.llm.model == "none":
        raise ConfigError(
            "a build without a language model asks nothing and costs nothing: --dry-run is for one with it"
        )
    _require_folder(settings.kg)
    with embedder(settings) as embed, Parsers() as parsers:
        sources = (ArxivSource(settings.kg / "papers", settings.arxiv.url, parsers),)
        context = BuildContext(settings, embed, _runner(settings), None, sources=sources, parsers=parsers)
        opened, _ = open_paper(paper, repository, context, given_id)
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


def _result(built: "Built", generation: int, *, published: bool) -> BuildResult:
    bundle = built.bundle
    return BuildResult(
        paper=bundle.paper.id,
        title=bundle.paper.title,
        state=bundle.paper.state,
        incomplete=bundle.paper.incomplete,
        stopped=str(built.stopped) if built.stopped else None,
        cost_usd=bundle.paper.cost_usd,
        generation=generation,
        published=published,
        techniques=sum(t.hidden is None for t in bundle.techniques),
        hidden=dict(Counter(t.hidden.partition(":")[0] for t in bundle.techniques if t.hidden is not None)),
        levels=dict(Counter(c.level.value for c in bundle.code)),
        stages=tuple(StageSeconds(**r.model_dump()) for r in built.stages),
        notes=tuple(built.notes),
    )


def _language_model(settings: Settings, notify: "Callable[[object], None]") -> "LanguageModel":
    from xkg.llm.client import LanguageModel

    return LanguageModel(settings.llm, settings.kg, notify)


def _require_folder(folder: Path) -> None:
    """Refuses a folder that cannot be written before any work is done."""
    try:
        private_folder(folder)
    except OSError as error:
        raise StoreError(f"{folder} cannot be made ({error.strerror}): give another folder with --kg") from error


def _runner(settings: Settings) -> "Runner | None":
    """None where nothing here can contain code; a runner that was asked for in words and is not there is an error."""
    from xkg.sandbox.select import runner_for

    try:
        return runner_for(settings.sandbox)
    except SandboxUnavailableError:
        return None


def _stored(store: "GraphStore", paper: str) -> "tuple[int, PaperBundle] | None":
    with store.snapshot() as snapshot:
        try:
            return snapshot.generation, snapshot.bundle(paper)
        except (UnknownIdError, CorruptStoreError):
            return None


def import_graphs(settings: Settings, folder: Path) -> ImportResult:
    """Publishes every readable graph file of a folder in one step: the peer's JSON, and bundles. Raises what
    `GraphStore.publish` raises, and `InputError` where the folder has no graph file."""
    from xkg.sandbox.evidence.static_checks import check_parsed
    from xkg.store.exchange import import_folder

    bundles, problems = import_folder(folder, check_parsed)
    generation = 0
    if bundles:
        with _kept(settings, bundles), open_store(settings) as store:
            generation = store.publish(bundles)
    return ImportResult(papers=tuple(b.paper.id for b in bundles), problems=tuple(problems), generation=generation)


def push(settings: Settings) -> PushResult:
    """Sends the papers that were kept while the graph's server was away, reads them back there, and forgets each that
    is what was sent; what verifications have found there since stays. Raises `StoreUnreachableError` where it is away
    still."""
    from xkg.build.verify import apply, later
    from xkg.store import bundles, outbox

    arrived: dict[Path, PaperBundle] = {}
    sent, problems = [], []
    files = outbox.waiting(settings.kg)
    with open_store(settings) as store:
        if files:
            store.require_writable()
        for path in files:
            try:
                bundle = bundles.read(path)
                known = _stored(store, bundle.paper.id) if bundle.paper.origin == "build" else None
                if known is not None:
                    if bundle.paper.state != "complete" and known[1].paper.state == "complete":
                        problems.append(f"{path}: the graph has {bundle.paper.id} whole, and this is a part: remove it")
                        continue
                    bundle = apply(bundle, later(known[1], bundle), settings.prune.min_level)
                store.publish([bundle])
            except StoreUnreachableError:
                raise
            except (InputError, StoreError) as error:
                problems.append(f"{path}: {error}")
            else:
                arrived[path] = bundle
        with store.snapshot() as snapshot:
            generation = snapshot.generation
            for path, bundle in arrived.items():
                if snapshot.bundle(bundle.paper.id) == bundle:
                    path.unlink(missing_ok=True)
                    sent.append(bundle.paper.id)
                else:
                    problems.append(f"{path}: {bundle.paper.id} is another one there already: push again, or remove it")
    return PushResult(sent=tuple(sent), problems=tuple(problems), generation=generation)


@contextmanager
def _kept(settings: Settings, built: "Sequence[PaperBundle]") -> Iterator[None]:
    """Keeps papers on disk where the server that they are for is away now."""
    from xkg.store import outbox

    try:
        yield
    except StoreUnreachableError as error:
        outbox.keep(settings.kg, built)
        papers = "the paper is" if len(built) == 1 else f"{len(built)} papers are"
        raise StoreUnreachableError(
            f"{error}; {papers} kept in {settings.kg / outbox.FOLDER}: `xkg store push` sends what waits there"
        ) from error


def export_graphs(settings: Settings, papers: Sequence[str], to: Path, form: Literal["peer", "bundle"]) -> ExportResult:
    """Writes the named papers (none: all) into a folder, one file each. Raises `UnknownIdError`, and `InputError` where
    the folder cannot be written."""
    from xkg.store.exchange import export_folder

    with open_store(settings) as store, store.snapshot() as snapshot:
        wanted = list(papers) or [p.id for p in snapshot.papers()]
        if not wanted:
            raise UnknownIdError(f"{store.place} holds no paper yet; build or import one first")
        for paper in wanted:
            snapshot.require_paper(paper)
        files = export_folder((snapshot.bundle(paper) for paper in wanted), to, form)
    return ExportResult(files=tuple(str(file) for file in files))


def show(settings: Settings, node_id: str) -> "Answer":
    """A paper, technique or code node in full, by its id. Raises `UnknownIdError` with the nearest ids there are."""
    with open_service(settings) as service:
        if re.search(r"@[0-9a-f]{12}$", node_id):
            return service.code(node_id, full=True)
        if "#" in node_id:
            return service.technique(node_id, full=True)
        return service.paper(node_id, full=True)


def check_index(settings: Settings) -> IndexReport:
    """Reads every stored file in full and compares it with its checksum."""
    with open_store(settings) as store:
        if problems := store.check():
            return IndexReport(generation=None, problems=tuple(problems))
        with store.snapshot() as snapshot:
            return IndexReport(generation=snapshot.generation, problems=())
