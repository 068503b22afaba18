"""Runs the code nodes of papers again and sets their levels to what holds today."""

import shutil
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, suppress
from pathlib import Path

from xkg.build.fidelity import is_met
from xkg.build.prune import pruned
from xkg.build.slicing.imported_names import imported_packages
from xkg.build.stage_cache import StageCache, folder_name
from xkg.model import Code, Evidence, Level, PaperBundle, paper_of
from xkg.sandbox.evidence.failure_causes import Cause
from xkg.sandbox.evidence.prove import MUTATION_SECONDS, Proof, prove
from xkg.sandbox.packages.disk_quota import in_use
from xkg.sandbox.runner import Environment, EnvironmentMaker, Limits, Runner
from xkg.value import Value


class NodeResult(Value):
    """What came of one code node: its level `before` and now, and why it is no higher."""

    code: str
    before: Level
    evidence: Evidence
    cause: Cause

    @property
    def level(self) -> Level:
        return self.evidence.level


def verify(
    bundles: Sequence[PaperBundle],
    folder: Path,
    runner: Runner,
    maker: EnvironmentMaker | None,
    limits: Limits,
    *,
    jobs: int = 1,
    notify: Callable[[NodeResult], None] = lambda _: None,
) -> list[NodeResult]:
    """Proves every code node of these papers, `jobs` at a time; results come in the order of the nodes, and `notify`
    hears of each as it ends.

    A finished node's result is kept in `folder` until `forget`, so that a run after a kill goes on from there; one that
    met a registry that was down, whose run was killed, or that was not settled is tried again. A node that is not
    settled keeps the level that it had, where that is higher. When a call is interrupted, runs under way end first, and
    nothing of them is kept. Raises `SandboxUnavailableError` as the runner does, `PackagesError` and
    `StoreError` where a folder cannot be written."""
    nodes = [code for bundle in bundles for code in bundle.code]
    environments = environments_for(bundles, maker)
    stop = threading.Event()

    def work(code: Code) -> NodeResult:
        environment = environments[code.id]
        proof = StageCache(_folder(folder, code.id)).stage(
            "verify",
            {
                "code": code.id,
                "environment": environment.model_dump(mode="json", exclude={"site"}),
                "runner": runner.name,
                "limits": limits.model_dump(),
                "mutation_seconds": MUTATION_SECONDS,
                "python": sys.version,
            },
            Proof,
            lambda: prove(code, runner, environment, limits, stopped=stop.is_set),
            lambda p: p.cause,
            keep=lambda p: (
                not (environment.incomplete or stop.is_set() or p.cause in (Cause.KILLED, Cause.NOT_SETTLED))
            ),
        )
        evidence = _with_fidelity(_with_what_stands(proof, code), code)
        return NodeResult(code=code.id, before=code.level, evidence=evidence, cause=proof.cause)

    results: dict[str, NodeResult] = {}
    with ExitStack() as held, ThreadPoolExecutor(jobs) as pool:
        for environment in {each.hash: each for each in environments.values()}.values():
            held.enter_context(in_use(environment))
        try:
            for done in as_completed([pool.submit(work, code) for code in nodes]):
                result = done.result()
                results[result.code] = result
                notify(result)
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [results[code.id] for code in nodes]


def apply(bundle: PaperBundle, found: Mapping[str, Evidence], min_level: Level | None) -> PaperBundle:
    """The bundle with the levels and evidence that were found, by code id; nodes that are not there stay as they are.
    What was built is pruned anew, as the build does it; what was imported never is."""
    code = tuple(
        node.model_copy(update={"level": found[node.id].level, "evidence": (found[node.id],)})
        if node.id in found
        else node
        for node in bundle.code
    )
    return pruned(bundle.model_copy(update={"code": code}), min_level)


def later(stored: PaperBundle, built: PaperBundle) -> dict[str, Evidence]:
    """By code id the evidence of stored nodes that is of a later time than what the same nodes were built with: what a
    verification found since."""
    then = {node.id: node.evidence[-1].checked_at or "" for node in built.code if node.evidence}
    return {
        node.id: node.evidence[-1]
        for node in stored.code
        if node.id in then and node.evidence and (node.evidence[-1].checked_at or "") > then[node.id]
    }


def forget(folder: Path, codes: Iterable[str]) -> None:
    """Lets go of the kept results of these nodes: once they are published, the next run is to see for itself."""
    for code in codes:
        shutil.rmtree(_folder(folder, code), ignore_errors=True)
        with suppress(OSError):  # other nodes of the paper may have theirs yet
            _folder(folder, code).parent.rmdir()


def environments_for(bundles: Sequence[PaperBundle], maker: EnvironmentMaker | None) -> Mapping[str, Environment]:
    """The environment of each code node by its id.

    A node that has run gets the packages that it ran with, where they can be had again and nothing that it asked for
    was missing. The others get one for what all of these papers import; where that misses something that could be had
    alone (packages that do not go together, or are too large together), the papers that import it get one of their own
    if it misses less."""
    nodes = [code for bundle in bundles for code in bundle.code]
    nothing = Environment(site=None, hash="")
    if maker is None:
        return {code.id: nothing for code in nodes}
    last = {code.id: code.evidence[-1] for code in nodes if code.evidence and code.evidence[-1].runner}
    earlier = {digest: maker.again(digest) for digest in sorted({e.environment or "" for e in last.values()})}
    found = {
        code: made
        for code, evidence in last.items()
        if (made := earlier[evidence.environment or ""]) and made.missing.keys().isdisjoint(evidence.missing)
    }
    open_papers = {paper_of(code.id) for code in nodes if code.id not in found}
    if not open_papers:
        return found
    imports = {bundle.paper.id: _imports([bundle]) for bundle in bundles}
    shared = maker.make(_imports(bundles))
    for paper in sorted(open_papers):
        environment = shared
        # Asked one by one, since an environment of its own that misses the same is gigabytes for nothing.
        absent = imports[paper].keys() & shared.missing.keys()
        if len(imports) > 1 and any(not maker.make([name]).missing for name in sorted(absent)):
            own = maker.make(imports[paper])
            if len(imports[paper].keys() & own.missing.keys()) < len(absent):
                environment = own
        found |= {code.id: environment for code in nodes if paper_of(code.id) == paper and code.id not in found}
    return found


def by_cause(results: Iterable[NodeResult]) -> dict[Cause, list[NodeResult]]:
    """The results of each cause that occurs, in the order of `Cause`."""
    grouped: dict[Cause, list[NodeResult]] = {cause: [] for cause in Cause}
    for result in results:
        grouped[result.cause].append(result)
    return {cause: found for cause, found in grouped.items() if found}


def level_counts(levels: Iterable[Level]) -> dict[Level, int]:
    """How many nodes each level has, highest first."""
    counts = Counter(levels)
    return {level: counts[level] for level in reversed(Level) if counts[level]}


def _with_what_stands(proof: Proof, code: Code) -> Evidence:
    """What a machine that was too slow could not settle stays as it was, and says so."""
    stands = proof.cause is Cause.NOT_SETTLED and code.level.rank > proof.evidence.level.rank and code.evidence
    return code.evidence[-1].model_copy(update={"reason": proof.evidence.reason}) if stands else proof.evidence


def _with_fidelity(evidence: Evidence, code: Code) -> Evidence:
    """What a run cannot tell stays as it was found of the same code: how it stands to its sources, and its repairs."""
    before = code.evidence[-1] if code.evidence else None
    if before is None or before.fidelity is None:
        return evidence
    update: dict[str, object] = {"fidelity": before.fidelity, "repairs": before.repairs}
    if evidence.level is Level.TESTED:
        faithful = is_met(before.fidelity)
        update |= {"level": Level.FAITHFUL, "reason": None} if faithful else {"reason": before.reason}
    return evidence.model_copy(update=update)


def _imports(bundles: Iterable[PaperBundle]) -> dict[str, tuple[str, ...]]:
    """The packages that code and tests import, each with the names they take from it."""
    nodes = [code for bundle in bundles for code in bundle.code if code.language == "python"]
    return imported_packages(source for code in nodes for source in (code.implementation, code.test))


def _folder(folder: Path, code: str) -> Path:
    return folder / folder_name(paper_of(code)) / folder_name(code)
