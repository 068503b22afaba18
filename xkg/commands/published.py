"""Defines the graph that receives built papers, and the result of a build."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from xkg.build.stage_cache import StageReport
from xkg.commands.graph.open import open_store, outbox_when_unreachable, stored_paper
from xkg.config import Settings
from xkg.embeddings.base import EncodedDocuments
from xkg.errors import CorruptStoreError, InputError, ModelMismatchError, StoreBusyError, XkgError
from xkg.model import Paper, PaperBundle
from xkg.store import bundles
from xkg.store.graph_store import GraphStore, Recognise
from xkg.text.plural import plural
from xkg.value import Value

if TYPE_CHECKING:  # functions import heavy modules when they need them
    from xkg.build.context import Built
    from xkg.build.paper.document import Document
    from xkg.commands.claims import Claims


class BuildResult(Value):
    """The result of a build. `generation` is the generation that contains the paper. `published` is False if the graph
    already contained the paper, or if this build `stopped` early and did not replace an earlier complete build.
    `levels` counts code nodes by level, and `hidden` counts hidden techniques by reason. `incomplete` lists the reasons
    why `state` is `partial` instead of `complete`, one per line. `stopped` says where and why the build ended early.
    `cost_usd` is the cost of all builds of this paper."""

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
    stages: tuple[StageReport, ...]
    notes: tuple[str, ...]

    @property
    def unfinished(self) -> str:
        """Returns a one-line remedy for a partial build, or '' if the build is complete."""
        if self.stopped:
            return f"{self.stopped}; run the same command again to continue"
        failed = len(self.incomplete)
        return f"{failed} part{'s' * (failed > 1)} failed; run again to retry" if failed else ""

    @property
    def failure(self) -> XkgError | None:
        """Returns an error if the build is partial, and None otherwise."""
        return InputError(f"{self.paper}: {self.unfinished}") if self.unfinished else None

    def __str__(self) -> str:
        state = "published as" if self.published else "not published, the graph is" if self.stopped else "already in"
        partial = "".join(f"\n  partial: {line}" for line in self.incomplete)
        cost = f"; ${self.cost_usd:.2f}" if self.cost_usd else ""
        code = ", ".join(f"{n} {level}" for level, n in self.levels.items()) or "none"
        hidden = f", {sum(self.hidden.values())} hidden (see `xkg show`)" if self.hidden else ""
        return (
            f"{self.title}\n  {self.paper}, {state} generation {self.generation}\n"
            f"  {plural(self.techniques, 'technique')} shown{hidden}; code: {code}{cost}{partial}"
        )


_RECORDED = ("is_official", "stars", "archived", "default_branch")


@dataclass(frozen=True)
class Unpublished:
    """A built paper that is not published yet. `fences` are the fencing tokens of the paper's lease. If `keep_proven`
    is set, stored code stays if the new code has a lower level (see `xkg.build.proven_code`). `chosen` is set if the
    user chose the paper's id. `since` comes from `Claims`. `size` is the paper's pickled size in bytes, or 0 if
    unknown. `embedded` contains the texts that were embedded on another machine, for this machine's cache."""

    built: "Built"
    fences: Mapping[str, int] = field(default_factory=dict)
    keep_proven: bool = False
    chosen: bool = False
    since: int = 0
    size: int = 0
    embedded: "tuple[list[str], EncodedDocuments] | None" = None

    @property
    def id(self) -> str:
        return self.built.bundle.paper.id


class BuildGraph(Protocol):
    """The operations that a build needs from its graph, which may be on another machine."""

    def require_writable(self) -> None: ...

    def claims(self) -> "Claims": ...

    def stored(self, paper: str, note: str) -> BuildResult:
        """Returns the result for a paper that is already in the graph."""
        ...


class OwnGraph:
    """The configured graph, opened on this machine."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def require_writable(self) -> None:
        """Raises `StoreError` if the graph cannot be written."""
        with open_store(self._settings) as store:
            store.require_writable()

    def claims(self) -> "Claims":
        from xkg.commands.claims import Claims

        return Claims(self._settings)

    def claimed(self, document: "Document", identity: str, chosen: bool) -> tuple[str, tuple[str, ...]]:
        """Returns notes and the id under which to build a paper in a graph without leases. Raises the same errors as
        `Claims.claim`."""
        from xkg.commands.claims import Claims

        with Claims(self._settings) as claims:
            return claims.claim(document, identity, chosen=chosen), tuple(claims.notes)

    def publish(self, paper: Unpublished, *, connect: bool = True) -> BuildResult:
        """Publishes a paper. Does nothing if the graph already contains the same version, or if this build stopped
        early and the graph contains a complete build. Keeps newer verification results for the same code. If `connect`
        is false, another writer must add the edges between papers. Raises the same errors as `GraphStore.publish`."""
        with self._unreachable(paper.built.bundle), open_store(self._settings, connect=connect) as store:
            [outcome] = publish_together(store, self._settings, [paper])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def stored(self, paper: str, note: str) -> BuildResult:
        with open_store(self._settings) as store:
            return stored_result(store, paper, note)

    def _unreachable(self, bundle: PaperBundle) -> AbstractContextManager[None]:
        """Stores the paper locally if the graph's server is unreachable."""
        return outbox_when_unreachable(self._settings, [bundle])


def publish_together(
    store: GraphStore, settings: Settings, papers: Sequence[Unpublished]
) -> "list[BuildResult | Exception]":
    """Publishes papers with unique ids in one step, as `OwnGraph.publish` does. Returns each paper's result or error.
    The error is `OtherFormError` if another form of the paper has been published since the claim. If one paper fails,
    the others are still published."""
    from xkg.commands.claims import SamePaperError

    outcomes: list[BuildResult | Exception | None] = [None] * len(papers)
    new: dict[int, Built] = {}
    for number, paper in enumerate(papers):
        try:
            prepared = _prepared(store, settings, paper)
            if isinstance(prepared, BuildResult):
                outcomes[number] = prepared
            else:
                bundles.validate(prepared.bundle)
                new[number] = prepared
        except SamePaperError as same:
            outcomes[number] = stored_result(store, same.paper, str(same))
        except Exception as error:
            outcomes[number] = error
    recognise = Recognise(min((paper.since for paper in papers), default=0), _recognised(papers))
    fences = {identity: fence for number in new for identity, fence in papers[number].fences.items()}
    try:
        generation = store.publish([built.bundle for built in new.values()], fences, recognise) if new else 0
    except (
        StoreBusyError,
        CorruptStoreError,
        ModelMismatchError,
    ) as error:  # the problem is in the graph, not in a paper
        return [outcome or error for outcome in outcomes]
    except Exception as error:
        if len(papers) == 1:
            return [outcome or error for outcome in outcomes]
        alone = {number: publish_together(store, settings, [papers[number]])[0] for number in new}
        return [outcome or alone[number] for number, outcome in enumerate(outcomes)]
    return [outcome or _result(new[number], generation, published=True) for number, outcome in enumerate(outcomes)]


def _recognised(papers: Sequence[Unpublished]) -> Callable[[PaperBundle, Sequence[Paper]], None]:
    """Returns a check that raises `OtherFormError` if another form of the paper has been published since the claim, and
    the same errors as `known_among`."""
    from xkg.commands.claims import OtherFormError, known_among

    chosen = {paper.id for paper in papers if paper.chosen}

    def check(bundle: PaperBundle, others: Sequence[Paper]) -> None:
        paper = bundle.paper
        if paper.id not in chosen and (known := known_among(others, paper, paper.id)) != paper.id:
            raise OtherFormError(
                f"another form of the paper was published as {known} during this build; build the paper again"
            )

    return check


def _prepared(store: GraphStore, settings: Settings, paper: Unpublished) -> "Built | BuildResult":
    """Returns the paper in the form to publish. If the paper must not be published, returns the build's result."""
    from xkg.build.proven_code import with_proven
    from xkg.build.prune import pruned
    from xkg.build.verify import apply, newer_evidence
    from xkg.commands.claims import OtherFormError, known_as

    built, min_level = paper.built, settings.prune.min_level
    if not paper.chosen:
        with store.snapshot() as snapshot:
            form = known_as(snapshot, built.bundle.paper, paper.id)
        if form != paper.id:
            raise OtherFormError(f"the graph now has this paper as {form}; build it again")
    known = stored_paper(store, paper.id)
    if known is None:
        return built
    generation, stored = known
    if built.stopped is not None and stored.paper.state == "complete":
        return _result(built, generation, published=False)
    if not built.bundle.repositories and stored.repositories and stored.paper.origin == "build":
        place = stored.repositories[0].url or stored.repositories[0].id
        note = (
            f"the graph has this paper with the repository {place}, and was not changed; build the paper with a "
            f"repository, or first remove it with `xkg remove`"
        )
        return stored_result(store, stored.paper.id, note)
    built = replace(built, bundle=_with_known_records(built.bundle, stored))
    bundle = apply(built.bundle, newer_evidence(stored, built.bundle), min_level)
    if paper.keep_proven:
        bundle, kept = with_proven(stored, bundle)
        bundle = pruned(bundle, min_level)
        names = ", ".join(kept[:3]) + (f" and {len(kept) - 3} more" if len(kept) > 3 else "")
        notes = (f"previously proven code is kept until the new code reaches the same level: {names}",) if kept else ()
        built = replace(built, notes=(*built.notes, *notes))
    built = replace(built, bundle=bundle)
    return _result(built, generation, published=False) if stored == bundle else built


def _with_known_records(bundle: PaperBundle, stored: PaperBundle) -> PaperBundle:
    """Keeps earlier records of repositories that were not queried again."""
    known = {each.name: each for each in stored.repositories if each.is_official}
    repositories = tuple(
        each
        if each.is_official or (before := known.get(each.name)) is None
        else each.model_copy(update={name: getattr(before, name) for name in _RECORDED})
        for each in bundle.repositories
    )
    return bundle.model_copy(update={"repositories": repositories})


def stored_result(store: GraphStore, paper: str, note: str) -> BuildResult:
    """Returns the result for a paper that is already in the graph."""
    from xkg.build.context import Built

    with store.snapshot() as snapshot:
        return _result(Built(snapshot.bundle(paper), (), (note,)), snapshot.generation, published=False)


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
        stages=tuple(built.stages),
        notes=tuple(built.notes),
    )
