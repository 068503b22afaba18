"""Stores the proof for each code node, keyed by everything that determines the proof.

A resumed build or verification does not rerun the code. Even a newer xkg does not rerun it, unless the code that
produces proofs has changed."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from xkg.build.stage_cache import StageCache, sources_version
from xkg.model import Code
from xkg.sandbox.evidence.failure_causes import Cause
from xkg.sandbox.evidence.levels import MUTATION_SECONDS, Proof
from xkg.sandbox.runner import Environment, Limits, Runner

# These files and folders in xkg/ determine a proof. A test compares this list with the imports of `sandbox.evidence`.
PROVING = (
    "model.py",
    "value.py",
    "sandbox/evidence",
    "sandbox/guest",
    "sandbox/isolation",
    "sandbox/runner.py",
    "sandbox/select.py",
)
# A temporarily busy machine can produce these causes.
_PASSING = frozenset((Cause.KILLED, Cause.TIME, Cause.NOT_SETTLED))


def stored_proof(
    folder: Path,
    name: str,
    code: Code,
    components: Sequence[str],
    environment: Environment,
    runner: Runner,
    limits: Limits,
    prove: Callable[[], Proof],
    keep: Callable[[], bool] = lambda: True,
) -> Proof:
    """Returns the proof for a node with its proven `components`, which are modules. Reads the proof from `folder` under
    `name`. If no proof is stored there, calls `prove`.

    Only proofs that depend on the code alone are stored. A proof is not stored if its run was killed or timed out, if a
    later attempt may complete its environment, or if `keep` returns False afterwards. Raises the same errors as
    `prove`, and `StoreError` if the folder cannot be written."""
    return StageCache(folder).stage(
        name,
        {
            "implementation": code.implementation,
            "test": code.test,
            "language": code.language,
            "components": sorted(components),
            "environment": environment.model_dump(mode="json", exclude={"site"}),
            "runner": runner.name,
            "limits": limits.model_dump(),
            "mutation_seconds": MUTATION_SECONDS,
            "python": sys.version,
        },
        Proof,
        prove,
        lambda proof: proof.cause,
        keep=lambda proof: keep() and not environment.incomplete and proof.cause not in _PASSING,
        version=sources_version(PROVING),
    )
