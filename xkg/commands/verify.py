"""Implements `xkg verify`, which reruns a graph's code nodes and publishes their current levels."""

import heapq
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from xkg.attestations.bundles import attach
from xkg.attestations.envelope import attest
from xkg.attestations.keys import Signer, signer
from xkg.build.stage_cache import level_counts
from xkg.build.verify import NodeResult, apply, cause_counts, forget
from xkg.build.verify import verify as run
from xkg.commands.graph.open import chosen_papers, open_store
from xkg.config import Settings
from xkg.model import Level, PaperBundle, paper_of
from xkg.sandbox.evidence.failure_causes import Cause
from xkg.sandbox.packages.environments import UvEnvironments
from xkg.sandbox.packages.plan import Installing
from xkg.sandbox.select import limits_for, runner_for, warmed
from xkg.serve.answers.types import short
from xkg.text.plural import plural
from xkg.value import Value

_EXAMPLE = 90


class VerifiedNode(Value):
    """One code node: the level before and now, the cause that prevents a higher level, and a one-line explanation. The
    cause is `passes` if the node's test passes and has been shown to be able to fail."""

    code: str
    paper: str
    before: Level
    level: Level
    cause: str
    reason: str | None
    seconds: float | None
    mutants: int | None
    mutation_score: float | None


class VerifyResult(Value):
    """The result of a verification. `generation` is the generation with the new levels. `raised` and `lowered` count
    the nodes whose level is now higher or lower. `causes` and `levels` count nodes by cause and by level. `attested` is
    the number of signed levels, and `key` is the signing key (`SHA256:…`). `notes` are lines for the user."""

    papers: int
    generation: int
    raised: int
    lowered: int
    causes: dict[str, int]
    levels: dict[str, int]
    nodes: tuple[VerifiedNode, ...]
    notes: tuple[str, ...]
    attested: int = 0
    key: str = ""

    def __str__(self) -> str:
        if not self.nodes:
            return "no code was verified"
        lines = []
        for cause, count in self.causes.items():
            first = next((n.reason for n in self.nodes if n.cause == cause and n.reason), "") or ""
            lines.append(f"  {count:5}  {cause:<24}{short(first, _EXAMPLE)}".rstrip())
        ended = [n for n in self.nodes if n.level.rank >= Level.EXECUTED.rank]
        levels = ", ".join(f"{n} {level}" for level, n in self.levels.items())
        return "\n".join(
            [
                f"{plural(len(self.nodes), 'code node')} of {plural(self.papers, 'paper')}; "
                f"tests that exit 0: {len(ended)}",
                *lines,
                f"levels: {levels}; {self.raised} up, {self.lowered} down; the graph is generation {self.generation}",
                *([f"attested: {plural(self.attested, 'level')}, with key {self.key}"] if self.key else []),
            ]
        )


def verify(
    settings: Settings,
    papers: Sequence[str],
    jobs: int,
    notify: Callable[[NodeResult | Installing], None] = lambda _: None,
    stale: timedelta | None = None,
    *,
    attest: bool = False,
    key: Path | None = None,
) -> VerifyResult:
    """Verifies the named papers (default: all), and publishes the results in one step. Papers rebuilt in the meantime
    keep their new nodes. If `stale` is not None, verifies only code whose last run is older than this duration. An
    interrupt leaves the graph unchanged. If `attest` is set, signs each level from `imported` upwards with `key` (see
    `xkg.attestations.keys.signer`). The default is the user's own key.

    Raises `InputError` if there is no key, `SandboxUnavailableError` if this machine cannot sandbox code, and
    `UnknownIdError` if a paper is unknown. Also raises the errors of `verify` in `xkg.build.verify` and of
    `GraphStore.publish`."""
    holder = signer(key) if attest else None
    folder, runner = settings.kg / "work" / "verify", runner_for(settings.sandbox)
    environments = UvEnvironments(settings.environment, runner, notify)
    with open_store(settings) as store, ExitStack() as opened:
        with store.snapshot() as snapshot:
            bundles = [_with_added(snapshot.bundle(p), settings) for p in chosen_papers(store, snapshot, papers)]
        only = None if stale is None else _ran_before(bundles, datetime.now(UTC) - stale)
        if only is not None:
            bundles = [bundle for bundle in bundles if any(code.id in only for code in bundle.code)]
        runner, limits = opened.enter_context(warmed(runner)), limits_for(settings.sandbox)
        results = run(bundles, folder, runner, environments, limits, jobs=jobs, only=only, notify=notify)
        evidence = {r.code: r.evidence for r in results if r.cause is not Cause.LANGUAGE}
        envelopes = [] if holder is None else _attested(bundles, results, holder)
        hidden: Counter[bool] = Counter()

        def revised(bundle: PaperBundle) -> PaperBundle:
            new = apply(_with_added(bundle, settings), evidence, settings.prune.min_level)
            for before, after in zip(bundle.techniques, new.techniques, strict=True):
                if (before.hidden is None) != (after.hidden is None):
                    hidden[after.hidden is not None] += 1
            return attach(new, envelopes) if envelopes else new

        generation = store.revise([bundle.paper.id for bundle in bundles], revised)
    forget(folder, (result.code for result in results))
    return VerifyResult(
        papers=len(bundles),
        generation=generation,
        raised=sum(r.level.rank > r.before.rank for r in results),
        lowered=sum(r.level.rank < r.before.rank for r in results),
        causes={cause.value: n for cause, n in cause_counts(results).items()},
        levels={level.value: n for level, n in level_counts(r.level for r in results).items()},
        nodes=tuple(_node(result) for result in results),
        notes=(*_missing(results), *_visibility(hidden), *_none_stale(only)),
        attested=len(envelopes),
        key="" if holder is None else holder.key.fingerprint,
    )


def _attested(bundles: Sequence[PaperBundle], results: Sequence[NodeResult], holder: Signer) -> list[str]:
    code = {code.id: code for bundle in bundles for code in bundle.code}
    return [
        attest(code[result.code], result.evidence, result.packages, holder)
        for result in results
        if result.evidence.runner and result.level.rank >= Level.IMPORTED.rank
    ]


class Sample(NamedTuple):
    """The results of running a sample of code nodes. `bundles` contain the proven levels. `failed` code did not reach
    its claimed level, and `skipped` code could not be run here."""

    bundles: tuple[PaperBundle, ...]
    verified: int
    failed: tuple[VerifiedNode, ...]
    skipped: tuple[VerifiedNode, ...]

    def __str__(self) -> str:
        held = self.verified - len(self.failed) - len(self.skipped)
        lines = [f"of {plural(self.verified, 'code node')} that were run, {held} reached their claimed level"]
        for what, nodes in (("failed", self.failed), ("not run", self.skipped)):
            lines += [f"  {what}: {n.code} claims {n.before}, reached {n.level}: {n.reason or n.cause}" for n in nodes]
        return "\n".join(lines)


def verify_sample(
    settings: Settings,
    bundles: Iterable[PaperBundle],
    number: int,
    notify: Callable[[NodeResult | Installing], None] = lambda _: None,
) -> Sample:
    """Runs a random sample of `number` code nodes from these papers. Samples only code that claims to have run, and
    stores nothing. Only papers with sampled code are kept in memory. Raises the same errors as `verify`."""
    claimed = (
        (code, bundle)
        for bundle in bundles
        for code in bundle.code
        if code.level is Level.CLAIMED and code.evidence and code.evidence[-1].level.rank >= Level.IMPORTED.rank
    )
    sample = heapq.nlargest(number, claimed, key=lambda _: random.SystemRandom().random())
    claims = {code.id: min(code.evidence[-1].level, Level.TESTED, key=lambda level: level.rank) for code, _ in sample}
    chosen = list({bundle.paper.id: bundle for _, bundle in sample}.values())
    folder, runner = settings.kg / "work" / "verify", runner_for(settings.sandbox)
    environments = UvEnvironments(settings.environment, runner, notify)
    limits = limits_for(settings.sandbox)
    with warmed(runner) as warm:
        results = run(chosen, folder, warm, environments, limits, jobs=2, only=claims.keys(), notify=notify)
    forget(folder, claims)
    # This machine's limits are not evidence against the code. Therefore, if a limit stops a run, the code's level
    # remains a claim.
    unable = (
        Cause.MISSING_PACKAGE, Cause.LANGUAGE, Cause.NOT_SETTLED, Cause.DOWNLOAD, Cause.TIME, Cause.MEMORY,
    )  # fmt: skip
    short = [result for result in results if result.level.rank < claims[result.code].rank]
    proven = {result.code: result.evidence for result in results if result not in short}
    nodes = [_node(result).model_copy(update={"before": claims[result.code]}) for result in short]
    causes = [result.cause in unable for result in short]
    return Sample(
        bundles=tuple(apply(bundle, proven, settings.prune.min_level) for bundle in chosen),
        verified=len(results),
        failed=tuple(node for node, skipped in zip(nodes, causes, strict=True) if not skipped),
        skipped=tuple(node for node, skipped in zip(nodes, causes, strict=True) if skipped),
    )


def _with_added(bundle: PaperBundle, settings: Settings) -> PaperBundle:
    """Adds the requested packages and CPU setting to the paper. Later runs reuse these settings."""
    paper, asked = bundle.paper, settings.environment
    added = tuple(dict.fromkeys((*asked.packages, *paper.packages)))
    update = {"packages": added, "cpu": asked.cpu or paper.cpu}
    return bundle.model_copy(update={"paper": paper.model_copy(update=update)})


def _ran_before(bundles: Sequence[PaperBundle], time: datetime) -> set[str]:
    return {
        code.id
        for bundle in bundles
        for code in bundle.code
        if code.evidence and code.evidence[-1].runner and _when(code.evidence[-1].checked_at) < time
    }


def _when(checked_at: str | None) -> datetime:
    """Parses the time of evidence. If no time was recorded, returns the earliest possible time."""
    when = datetime.fromisoformat(checked_at) if checked_at else datetime.min
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _node(result: NodeResult) -> VerifiedNode:
    evidence = result.evidence
    return VerifiedNode(
        code=result.code,
        paper=paper_of(result.code),
        before=result.before,
        level=result.level,
        cause=result.cause.value,
        reason=evidence.reason,
        seconds=evidence.seconds,
        mutants=evidence.mutants,
        mutation_score=evidence.mutation_score,
    )


def _missing(results: Sequence[NodeResult]) -> list[str]:
    """Returns the reasons why packages are missing, each with the number of code nodes that cannot run."""
    reasons = Counter(
        r.evidence.reason for r in results if r.evidence.runner is None and r.cause.value == "missing package"
    )
    return [f"{plural(n, 'code node')} not run: {reason}" for reason, n in reasons.most_common()]


def _none_stale(stale: set[str] | None) -> tuple[str, ...]:
    return ("nothing is stale: every recorded run is more recent",) if stale is not None and not stale else ()


def _visibility(hidden: "Counter[bool]") -> list[str]:
    notes = []
    if hidden[True]:
        notes.append(f"{plural(hidden[True], 'technique')} now hidden (below the required level)")
    if hidden[False]:
        notes.append(f"{plural(hidden[False], 'technique')} visible again (at or above the required level)")
    return notes
