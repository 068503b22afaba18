"""Code nodes get their level: what each was proven to do, with the evidence."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from xkg.model import Code, Evidence, Level
from xkg.sandbox import Environment, Limits, Runner
from xkg.sandbox.levels import check_parsed
from xkg.sandbox.proof import prove

_SIDE_BY_SIDE = 2


def check_code(
    candidates: Sequence[Code], runner: Runner | None, environment: Environment, limits: Limits
) -> tuple[Code, ...]:
    """The same code nodes with `level` and `evidence`. Without a runner nothing is run, nor is what is no Python, and
    the evidence says so.

    Raises `SandboxUnavailableError` as the runner does."""

    def check(candidate: Code) -> Code:
        if candidate.language != "python":
            reason = f"not tried: {candidate.language}, and only Python is sliced and run"
            evidence = Evidence(
                level=Level.NONE, reason=reason, checked_at=datetime.now(UTC).isoformat(timespec="seconds")
            )
        elif runner is None:
            evidence = check_parsed(candidate.implementation)
            if evidence.level is Level.PARSED:
                evidence = evidence.model_copy(update={"reason": "not run: no sandbox on this machine (xkg doctor)"})
        else:
            evidence = prove(candidate, runner, environment, limits).evidence
        return candidate.model_copy(update={"level": evidence.level, "evidence": (evidence,)})

    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        return tuple(pool.map(check, candidates))
