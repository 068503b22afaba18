"""The graph that built papers are published into, and the result of a build."""

from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from xkg.commands.graph.open import open_store, outbox_when_unreachable, stored_paper
from xkg.config import Settings
from xkg.text.plural import plural
from xkg.value import Value

if TYPE_CHECKING:  # heavy imports wait for the function that needs them
    from xkg.build.context import Built
    from xkg.build.paper.document import Document
    from xkg.model import PaperBundle


class StageSeconds(Value):
    name: str
    seconds: float
    reused: bool
    summary: str


class BuildResult(Value):
    """The result of a build. `generation` is the one that holds it, `published` False where the graph already held it,
    or holds a complete build that this one, `stopped`, does not replace; `levels` counts code nodes by level, `hidden`
    techniques by the reason why they are hidden. `incomplete` says, a line each, why `state` is `partial` and not
    `complete`; `stopped` where and why the build ended early. `cost_usd` is that of all builds of this paper."""

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
        """What to do about a partial build, in one line; empty for a complete one."""
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
            f"  {plural(self.techniques, 'technique')} shown{hidden}; code: {code}{cost}{partial}"
        )


class HeldClaims(Protocol):
    """What a build has claimed (`xkg.commands.claims.Claims`)."""

    fences: dict[str, int]
    notes: list[str]

    def claim(self, document: "Document", identity: str, *, chosen: bool) -> str: ...


class PublishedGraph(Protocol):
    """Where a build publishes, in this process or beyond it."""

    def require_writable(self) -> None: ...

    def claims(self) -> AbstractContextManager[HeldClaims]: ...

    def publish(self, built: "Built", fences: Mapping[str, int], keep_proven: bool = False) -> BuildResult: ...

    def stored(self, paper: str, note: str) -> BuildResult:
        """The result for a paper that the graph has already."""
        ...


class OwnGraph:
    """The graph that the settings name, opened from here."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def require_writable(self) -> None:
        """Raises `StoreError`."""
        with open_store(self._settings) as store:
            store.require_writable()

    def claims(self) -> AbstractContextManager[HeldClaims]:
        from xkg.commands.claims import Claims

        return Claims(self._settings)

    def claimed(self, document: "Document", identity: str, chosen: bool) -> tuple[str, tuple[str, ...]]:
        """The id that a paper is built under, and notes, for a graph without leases. Raises as `Claims.claim` does."""
        from xkg.commands.claims import Claims

        with Claims(self._settings) as claims:
            return claims.claim(document, identity, chosen=chosen), tuple(claims.notes)

    def publish(self, built: "Built", fences: Mapping[str, int], keep_proven: bool = False) -> BuildResult:
        """As `Builder.build` does, whose `keep_proven` this is. Raises what `GraphStore.publish` does."""
        from dataclasses import replace

        from xkg.build.proven_code import with_proven
        from xkg.build.prune import pruned
        from xkg.build.verify import apply, newer_evidence

        settings = self._settings
        with self._unreachable(built.bundle), open_store(settings) as store:
            known = stored_paper(store, built.bundle.paper.id)
            if known is not None:
                if built.stopped is not None and known[1].paper.state == "complete":
                    return _result(built, known[0], published=False)
                if not built.bundle.repositories and known[1].repositories and known[1].paper.origin == "build":
                    place = known[1].repositories[0].url or known[1].repositories[0].id
                    note = (
                        f"the graph has this paper with the repository {place}, and stays as it is: build it with one, "
                        "or first take it out with `xkg remove`"
                    )
                    return self.stored(known[1].paper.id, note)
                bundle = apply(built.bundle, newer_evidence(known[1], built.bundle), settings.prune.min_level)
                if keep_proven:
                    bundle, kept = with_proven(known[1], bundle)
                    bundle = pruned(bundle, settings.prune.min_level)
                    names = ", ".join(kept[:3]) + (f" and {len(kept) - 3} more" if len(kept) > 3 else "")
                    notes = (f"code that was proven before stays until the new code is: {names}",) if kept else ()
                    built = replace(built, notes=(*built.notes, *notes))
                built = replace(built, bundle=bundle)
                if known[1] == bundle:
                    return _result(built, known[0], published=False)
            return _result(built, store.publish([built.bundle], fences), published=True)

    def stored(self, paper: str, note: str) -> BuildResult:
        from xkg.build.context import Built

        with open_store(self._settings) as store, store.snapshot() as snapshot:
            return _result(Built(snapshot.bundle(paper), (), (note,)), snapshot.generation, published=False)

    def _unreachable(self, bundle: "PaperBundle") -> AbstractContextManager[None]:
        """Keeps the paper where the server of the graph is unreachable."""
        return outbox_when_unreachable(self._settings, [bundle])


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
