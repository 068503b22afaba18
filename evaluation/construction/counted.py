"""Computes the figures that need no judge: a graph's granularity, the effect of pruning, its code levels, and the
questions asked by a build."""

from collections.abc import Sequence
from pathlib import Path

from evaluation.results.document import Figure, mean_figure
from xkg.config import LlmSettings
from xkg.llm.costs import Costs, costs
from xkg.model import Level, PaperBundle

_LEVELS_PUBLISHED = {"executed or above, before debugging": "52.38 %", "executed or above, now": "100 %"}
_COST_PUBLISHED = {"calls": "41.6", "tokens in": "255,768", "tokens out": "102,950", "dollars": "$0.73"}
_GRAINS = (("no technique", 0, 0), ("1 technique", 1, 1), ("2 to 5", 2, 5), ("6 and more", 6, 10**9))


def granularity(bundles: Sequence[PaperBundle]) -> list[Figure]:
    """Returns the share of papers with each number of shown techniques."""
    counts = {b.paper.id: sum(t.hidden is None for t in b.techniques) for b in bundles}
    return [
        mean_figure(f"papers with {name}", {paper: float(low <= n <= high) for paper, n in counts.items()})
        for name, low, high in _GRAINS
    ] + [mean_figure("techniques a paper", {paper: float(n) for paper, n in counts.items()}, unit="count")]


def level_scores(bundles: Sequence[PaperBundle]) -> dict[str, dict[str, float]]:
    """Returns one number (0 or 1) per code node, keyed by score name. For each level, one score says whether the node
    reached it before repair (according to its first evidence), and another score says whether the node reaches it
    now."""
    scores: dict[str, dict[str, float]] = {}
    for level in (Level.PARSED, Level.IMPORTED, Level.EXECUTED, Level.TESTED, Level.FAITHFUL):
        before = scores.setdefault(f"{level} or above, before debugging", {})
        after = scores.setdefault(f"{level} or above, now", {})
        for code in (code for bundle in bundles for code in bundle.code):
            first = code.evidence[0].level if code.evidence else code.level
            before[code.id] = float(first.rank >= level.rank)
            after[code.id] = float(code.level.rank >= level.rank)
    return scores


def levels(bundles: Sequence[PaperBundle]) -> list[Figure]:
    """Returns the share of code nodes at or above each level, before debugging and now."""
    return [
        mean_figure(name, scores, published=_LEVELS_PUBLISHED.get(name, ""))
        for name, scores in level_scores(bundles).items()
    ]


def hidden(bundles: Sequence[PaperBundle]) -> Figure:
    """Returns the share of all techniques that pruning hides."""
    scores = {t.id: float(t.hidden is not None) for bundle in bundles for t in bundle.techniques}
    return mean_figure("techniques hidden by pruning", scores)


def asked(kg: Path | None, settings: LlmSettings, papers: Sequence[str]) -> tuple[list[Figure], Costs | None]:
    """Returns calls, tokens and dollars per paper and per stage, from a graph's ledger. The ledger also contains the
    questions from unpublished builds. Without a ledger, the figures have no values."""
    note = "no ledger: these are files" if kg is None else "the ledger contains no calls"
    by_paper = None if kg is None else costs(kg, settings, by="paper")
    rows = [row for row in by_paper.rows if row.name in set(papers) and row.calls] if by_paper else []
    unpriced = sum(row.unpriced for row in rows)
    figures = []
    for name, field in (("calls", "calls"), ("tokens in", "input_tokens"), ("tokens out", "output_tokens")):
        scores = {row.name: float(getattr(row, field)) for row in rows}
        text = _COST_PUBLISHED[name]
        figures.append(mean_figure(f"{name} a paper", scores, unit="count", published=text, note="" if rows else note))
    dollars = {row.name: row.dollars for row in rows}
    missing = f"{unpriced} calls without a known price are not included" if unpriced else "" if rows else note
    figures.append(
        mean_figure("dollars a paper", dollars, unit="dollars", published=_COST_PUBLISHED["dollars"], note=missing)
    )
    if kg is None or not rows:
        return figures, None
    return figures, costs(kg, settings, [row.name for row in rows], by="stage")
