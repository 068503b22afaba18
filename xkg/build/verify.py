"""Reruns the papers' code nodes and updates their levels."""

import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import ExitStack, suppress
from pathlib import Path

from xkg.build.dependency_order import in_dependency_order
from xkg.build.prune import pruned
from xkg.build.slicing.scoping.imported_names import imported_packages
from xkg.build.stage_cache import folder_name
from xkg.build.stored_proofs import stored_proof
from xkg.model import Code, Evidence, Level, Paper, PaperBundle, paper_of
from xkg.sandbox.evidence.failure_causes import Cause
from xkg.sandbox.evidence.levels import Proof, prove
from xkg.sandbox.evidence.run_slots import RunSlots
from xkg.sandbox.packages.disk_quota import in_use
from xkg.sandbox.packages.environments import on_cpu
from xkg.sandbox.packages.requirement_hints import version_hints
from xkg.sandbox.runner import Environment, EnvironmentMaker, Limits, Runner
from xkg.value import Value


class NodeResult(Value):
    """The result for one code node: the previous level, the new evidence, the cause that limits the level, and the
    packages (name==version) in the environment."""

    code: str
    before: Level
    evidence: Evidence
    cause: Cause
    packages: tuple[str, ...] = ()

    @property
    def level(self) -> Level:
        return self.evidence.level

    def __str__(self) -> str:
        return f"{self.level:<10}{self.cause:<20}{self.code}"


def verify(
    bundles: Sequence[PaperBundle],
    folder: Path,
    runner: Runner,
    maker: EnvironmentMaker | None,
    limits: Limits,
    *,
    jobs: int = 1,
    only: Set[str] | None = None,
    notify: Callable[[NodeResult], None] = lambda _: None,
) -> list[NodeResult]:
    """Proves every code node in these papers, or only the nodes with ids in `only`. Proves up to `jobs` nodes at a
    time. Returns the results in the order of the nodes, and calls `notify` with each result as it arrives. A composite
    runs after its components, because only the lines outside its `tested` components count for its level. A component
    that is not rerun keeps its last level.

    Results are stored in `folder` until `forget` is called, so that a killed run can resume. A result is not stored if
    the proof is unsettled, if the run was killed or timed out, or if a registry was down. An unsettled node keeps its
    earlier level if that is higher. After an interrupt, running proofs finish but are not stored. Raises
    `SandboxUnavailableError` if the runner does, `PackagesError`, and `StoreError` if a folder cannot be written."""
    by_id = {code.id: code for bundle in bundles for code in bundle.code}
    chosen = [
        bundle.model_copy(update={"code": tuple(code for code in bundle.code if only is None or code.id in only)})
        for bundle in bundles
    ]
    nodes = [code for bundle in chosen for code in bundle.code]
    environments = environments_for([bundle for bundle in chosen if bundle.code], maker)
    parts = _parts(bundles)
    slots = RunSlots(jobs)
    stop, lock = threading.Event(), threading.Lock()
    results: dict[str, NodeResult] = {}

    def work(identity: str) -> NodeResult:
        code = by_id[identity]
        environment = environments[identity]
        components = sorted(
            by_id[part].implementation for part in parts.get(identity, ()) if _stands(results.get(part), by_id[part])
        )
        proof = stored_proof(
            _folder(folder, code.id),
            "verify",
            code,
            components,
            environment,
            runner,
            limits,
            lambda: prove(code, runner, environment, limits, components=components, slots=slots, stopped=stop.is_set),
            keep=lambda: not stop.is_set(),
        )
        evidence = _with_fidelity(_settled(proof, code), code)
        evidence = evidence.model_copy(update={"distributions": environment.providers(code.packages)})
        result = NodeResult(
            code=code.id, before=code.level, evidence=evidence, cause=proof.cause, packages=environment.packages
        )
        with lock:
            results[identity] = result
            notify(result)
        return result

    with ExitStack() as stack:
        for environment in {each.hash: each for each in environments.values()}.values():
            stack.enter_context(in_use(environment))
        try:
            in_dependency_order(work, [code.id for code in nodes], parts, jobs)
        except BaseException:
            stop.set()
            raise
    return [results[code.id] for code in nodes]


def _stands(result: NodeResult | None, code: Code) -> bool:
    """Returns whether code is `tested` according to its new result, or according to its stored level if it was not
    rerun."""
    if result is None:
        return code.level.rank >= Level.TESTED.rank
    return result.level.rank >= Level.TESTED.rank and result.cause is Cause.PASSES


def _parts(bundles: Sequence[PaperBundle]) -> dict[str, list[str]]:
    """Returns the code for all direct and indirect components of each code node's technique, keyed by code id."""
    parts: dict[str, list[str]] = {}
    for bundle in bundles:
        parents = {technique.id: technique.parent for technique in bundle.techniques}
        codes: dict[str, list[str]] = {}
        for code in bundle.code:
            codes.setdefault(code.technique, []).append(code.id)
        for code in bundle.code:
            above, seen = parents.get(code.technique), {code.technique}
            while above is not None and above not in seen:
                seen.add(above)
                for whole in codes.get(above, ()):
                    parts.setdefault(whole, []).append(code.id)
                above = parents.get(above)
    return parts


def apply(bundle: PaperBundle, evidence: Mapping[str, Evidence], min_level: Level | None) -> PaperBundle:
    """Returns the bundle with this evidence, which is keyed by code id, and with the resulting levels. Other nodes are
    unchanged. A built bundle is pruned again, as in the build. An imported bundle is never pruned."""
    code = tuple(
        node.model_copy(update={"level": evidence[node.id].level, "evidence": (evidence[node.id],)})
        if node.id in evidence
        else node
        for node in bundle.code
    )
    return pruned(bundle.model_copy(update={"code": code}), min_level)


def newer_evidence(stored: PaperBundle, built: PaperBundle) -> dict[str, Evidence]:
    """Returns the evidence that stored nodes received from a verification after the build, keyed by code id."""
    built_at = {node.id: node.evidence[-1].checked_at or "" for node in built.code if node.evidence}
    return {
        node.id: node.evidence[-1]
        for node in stored.code
        if node.id in built_at
        and node.level is not Level.CLAIMED
        and node.evidence
        and (node.evidence[-1].checked_at or "") > built_at[node.id]
    }


def forget(folder: Path, codes: Iterable[str]) -> None:
    """Removes the stored results for these nodes. Call this function after publication, so that the next run proves
    these nodes again."""
    for code in codes:
        shutil.rmtree(_folder(folder, code), ignore_errors=True)
        with suppress(OSError):  # other nodes in the paper may still have results
            _folder(folder, code).parent.rmdir()


def environments_for(bundles: Sequence[PaperBundle], maker: EnvironmentMaker | None) -> Mapping[str, Environment]:
    """Returns the environment for each code node, keyed by its id.

    A node that has run before gets the same packages as before if all of them were available then and are still
    available. The other nodes get packages for their own imports only. Papers with user-specified packages get a
    separate environment. All other papers share one environment. The shared environment may lack a package because of a
    conflict, or because all packages together are too large. The papers that import such a package get a separate
    environment if the package can be installed alone and the separate environment lacks fewer packages than the shared
    one."""
    nodes = [code for bundle in bundles for code in bundle.code]
    nothing = Environment(site=None, hash="")
    if maker is None:
        return {code.id: nothing for code in nodes}
    last = {code.id: code.evidence[-1] for code in nodes if code.evidence and code.evidence[-1].runner}
    earlier = {digest: maker.again(digest) for digest in sorted({e.environment or "" for e in last.values()})}
    papers = {bundle.paper.id: bundle.paper for bundle in bundles}
    environments = {
        identity: _for_paper(made, papers[paper_of(identity)])
        for identity, evidence in last.items()
        if (made := earlier[evidence.environment or ""])
        and made.missing.keys().isdisjoint(evidence.missing)
        and _has(made, papers[paper_of(identity)].packages)
    }
    open_nodes = [code for code in nodes if code.id not in environments]
    if not open_nodes:
        return environments
    by_paper: dict[str, list[Code]] = {}
    for code in open_nodes:
        by_paper.setdefault(paper_of(code.id), []).append(code)
    imports = {paper: _imports(codes) for paper, codes in by_paper.items()}
    shared = maker.make(_imports(open_nodes))
    for paper in sorted(by_paper):
        environment = shared
        added = papers[paper].packages
        if added:
            environment = maker.make(imports[paper], added, None, added)
        # Modules are checked one by one. A second environment that lacks the same packages would waste gigabytes.
        absent = () if added else imports[paper].keys() & shared.missing.keys()
        if len(imports) > 1 and any(not maker.make([name]).missing for name in sorted(absent)):
            own = maker.make(imports[paper])
            if len(imports[paper].keys() & own.missing.keys()) < len(absent):
                environment = own
        environment = _for_paper(environment, papers[paper])
        environments |= {code.id: environment for code in by_paper[paper]}
    return environments


def _has(environment: Environment, packages: Sequence[str]) -> bool:
    installed = {pin.partition("==")[0] for pin in environment.packages}
    return version_hints(packages).keys() <= installed


def _for_paper(environment: Environment, paper: Paper) -> Environment:
    return on_cpu(environment) if paper.cpu else environment


def cause_counts(results: Iterable[NodeResult]) -> dict[Cause, int]:
    """Returns the number of results for each cause, in the order of `Cause`. Omits causes without results."""
    counts = Counter(result.cause for result in results)
    return {cause: counts[cause] for cause in Cause if counts[cause]}


def _settled(proof: Proof, code: Code) -> Evidence:
    """Returns the proof's evidence. If the proof is unsettled because the machine is slow, and the earlier evidence has
    a higher level, returns the earlier evidence with the new reason."""
    stands = proof.cause is Cause.NOT_SETTLED and code.level.rank > proof.evidence.level.rank and code.evidence
    return code.evidence[-1].model_copy(update={"reason": proof.evidence.reason}) if stands else proof.evidence


def _with_fidelity(evidence: Evidence, code: Code) -> Evidence:
    """Copies fidelity and repairs from the code's earlier evidence to this evidence, because a run does not measure
    them."""
    before = code.evidence[-1] if code.evidence and code.level is not Level.CLAIMED else None
    if before is None or before.fidelity is None:
        return evidence
    update: dict[str, object] = {"fidelity": before.fidelity, "repairs": before.repairs}
    if evidence.level is Level.TESTED:
        faithful = before.fidelity.is_met
        update |= {"level": Level.FAITHFUL, "reason": None} if faithful else {"reason": before.reason}
    return evidence.model_copy(update=update)


def _imports(nodes: Iterable[Code]) -> dict[str, tuple[str, ...]]:
    """Maps the packages that code and tests import to the names used from each package."""
    python = [code for code in nodes if code.language == "python"]
    return imported_packages(source for code in python for source in (code.implementation, code.test))


def _folder(folder: Path, code: str) -> Path:
    return folder / folder_name(paper_of(code)) / folder_name(code)
