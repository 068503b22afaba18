"""Code nodes get their level: what each was proven to do, with the evidence."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from xkg.model import Code, Evidence, Level
from xkg.sandbox import Environment, Limits, Runner
from xkg.sandbox.levels import check_imported, check_parsed
from xkg.sandbox.proof import prove

_SIDE_BY_SIDE = 2


def check_code(
    candidates: Sequence[Code], runner: Runner | None, environment: Environment, limits: Limits
) -> tuple[Code, ...]:
    """The same code nodes with `level` and `evidence`. Without a runner nothing is run, and the evidence says so.

    Raises `SandboxUnavailableError` as the runner does."""

    def check(candidate: Code) -> Code:
        if runner is None:
            evidence = check_parsed(candidate.implementation)
            if evidence.level is Level.PARSED:
                evidence = evidence.model_copy(update={"reason": "not run: no sandbox on this machine (xkg doctor)"})
        elif candidate.test.strip():
            evidence = prove(candidate, runner, environment, limits).evidence
        else:
            evidence = check_imported(candidate.implementation, runner, environment, limits)
        return candidate.model_copy(update={"level": evidence.level, "evidence": (evidence,)})

    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        return tuple(pool.map(check, candidates))


def ran(evidence: Sequence[Evidence]) -> bool:
    """Whether the code was run at all, so that a rung above `parsed` could be tried for it."""
    return any(e.runner is not None for e in evidence)
