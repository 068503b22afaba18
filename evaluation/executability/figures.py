"""Figures of a run of all code nodes, compared with earlier claims."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from evaluation.results.document import Figure, mean_figure
from evaluation.results.table import aligned
from xkg.build.verify import NodeResult
from xkg.model import Code, Level, PaperBundle
from xkg.sandbox.evidence.failure_causes import Cause

SILENT = "no claim"
PUBLISHED_EXECUTABLE = "52.4 % before debugging, 100 % after"

_ENVIRONMENT = (Cause.MISSING_PACKAGE, Cause.DOWNLOAD, Cause.LANGUAGE)
"""Causes that are not evidence against the code: this machine could not run it."""


def claimed(code: Code, origin: str) -> Level | None:
    """The claim about a node: its level, or the flag of an imported file (`pass_exec`); None if there is none."""
    if origin == "build":
        return code.level
    return Level.EXECUTED if code.claims.get("pass_exec") is True else None


def claims_of(bundles: Iterable[PaperBundle]) -> dict[str, Level | None]:
    """The claim of every code node by its id."""
    return {code.id: claimed(code, bundle.paper.origin) for bundle in bundles for code in bundle.code}


def scores_of(results: Sequence[NodeResult], claims: Mapping[str, Level | None]) -> dict[str, dict[str, float]]:
    """By score name, one number (0 or 1) per node: whether its test exits 0, whether that test can fail, and whether
    its claim holds (only nodes with a claim)."""
    able = {r.code for r in results if r.cause not in _ENVIRONMENT}
    made_claim = [(r, claim) for r in results if (claim := claims.get(r.code)) is not None]
    return {
        "exits 0": {r.code: float(r.level.rank >= Level.EXECUTED.rank) for r in results},
        "exits 0, of what could run here": {
            r.code: float(r.level.rank >= Level.EXECUTED.rank) for r in results if r.code in able
        },
        "test can fail": {r.code: float(r.level.rank >= Level.TESTED.rank) for r in results},
        "claim holds": {r.code: float(r.level.rank >= claim.rank) for r, claim in made_claim},
    }


def figures_of(results: Sequence[NodeResult], claims: Mapping[str, Level | None]) -> list[Figure]:
    """The scores' means, then the share of nodes with each cause."""
    source = "run in fresh sandboxes"
    published = {"exits 0": PUBLISHED_EXECUTABLE}
    found = [
        mean_figure(name, scores, source=source, published=published.get(name, ""))
        for name, scores in scores_of(results, claims).items()
    ]
    for cause in Cause:
        if any(r.cause is cause for r in results):
            shares = {r.code: float(r.cause is cause) for r in results}
            found.append(mean_figure(f"cause: {cause}", shares, source=source))
    return found


def claims_table(results: Sequence[NodeResult], claims: Mapping[str, Level | None]) -> str:
    """Node counts by claim (rows) and current result (columns)."""
    counts = Counter((claims.get(r.code), r.level) for r in results)
    levels = [level for level in Level if any(now is level for _, now in counts)]
    rows = [("claimed \\ holds now", *levels, "all")]
    for claim in (None, *Level):
        row = [counts[claim, level] for level in levels]
        if any(row):
            rows.append((SILENT if claim is None else str(claim), *map(str, row), str(sum(row))))
    return aligned(rows, left={0})
