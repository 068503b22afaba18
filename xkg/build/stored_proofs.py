"""Proofs of code nodes, stored under everything that determines them, so that a build or a verification that is taken
up again runs nothing that it ran, also with a newer xkg, as long as code is proven in the same way."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from xkg.build.stage_cache import StageCache, sources_version
from xkg.model import Code
from xkg.sandbox.evidence.failure_causes import Cause
from xkg.sandbox.evidence.levels import MUTATION_SECONDS, Proof
from xkg.sandbox.runner import Environment, Limits, Runner

# Files and folders of xkg/ that determine a proof; a test compares them with the imports of `sandbox.evidence`.
PROVING = (
    "model.py",
    "value.py",
    "sandbox/evidence",
    "sandbox/guest",
    "sandbox/isolation",
    "sandbox/runner.py",
    "sandbox/select.py",
)
# What the load of the machine at that moment may have decided.
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
    """The proof of a node with its proven `components` (modules): stored in `folder` under `name`, else by `prove`.

    Proofs that are stored depend on the code alone: not those of a run that was killed or took too long, and of an
    environment that a later attempt may complete, nor any where `keep` is False after it. Raises what `prove` raises,
    and `StoreError` where the folder cannot be written."""
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
