"""Compares a graph with human-made hierarchies. Reports the quality for each paper, and the invalid techniques before
and after pruning."""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.construction.hierarchy import GoldHierarchy
from evaluation.construction.judgements import Verdicts, same_item
from evaluation.construction.matching import ALIKE, Matching, Quality, edges, match, quality
from evaluation.results.document import Figure, mean_figure
from evaluation.results.table import aligned, number
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.model import PaperBundle

PUBLISHED_F1 = ".95 / .89 / 1.00"
"""The published figures in this package come from the study that introduced executable knowledge graphs (arXiv
2510.17795). The study used different papers, models and judges, so its figures are not directly comparable with
ours."""


@dataclass(frozen=True)
class Matched:
    """A paper in a graph. The human-made hierarchy is matched with all techniques (`all`), and with only the techniques
    that are not hidden (`shown`)."""

    gold: GoldHierarchy
    bundle: PaperBundle
    all: Matching
    shown: Matching


@functools.cache
def _embedder() -> OnnxEmbedder:
    return OnnxEmbedder()


def cosines(names: Sequence[str], others: Sequence[str]) -> NDArray[np.float32]:
    """Returns the cosines between the embeddings of `names` (rows) and `others` (columns)."""
    return _embedder().embed(list(names)) @ _embedder().embed(list(others)).T


def matched(
    bundles: Sequence[PaperBundle],
    hierarchies: Iterable[GoldHierarchy],
    same: Verdicts | None = None,
    alike: float = ALIKE,
) -> tuple[list[Matched], list[str]]:
    """Returns the papers that have a hierarchy, and one line for each unused hierarchy. A hierarchy is unused if its
    paper already has one, or if its paper is not in the graph. `same` contains judgements of pairs whose names alone do
    not show whether they match."""
    by_name = {name.casefold(): bundle for bundle in bundles for name in (bundle.paper.id, bundle.paper.title)}
    yes = {item for item, verdict in same.majority().items() if verdict == "same"} if same else set()
    found: list[Matched] = []
    problems = []
    for gold in hierarchies:
        bundle = by_name.get(gold.paper.casefold())
        if bundle is None:
            problems.append(f"hierarchy of {gold.paper}: the graph has no such paper")
            continue
        if any(each.bundle is bundle for each in found):
            problems.append(f"hierarchy of {gold.paper}: a second hierarchy; only the first counts")
            continue
        agreed = frozenset(
            (g.path, t.id) for g in gold.techniques for t in bundle.techniques if same_item(g.path, t.id) in yes
        )
        shown = [t for t in bundle.techniques if t.hidden is None]
        found.append(
            Matched(
                gold=gold,
                bundle=bundle,
                all=match(bundle.techniques, gold.techniques, cosines, agreed, alike),
                shown=match(shown, gold.techniques, cosines, agreed, alike),
            )
        )
    return found, problems


def scores_of(papers: Sequence[Matched]) -> dict[str, dict[str, float]]:
    """Returns one value per paper for the techniques shown, keyed by score name. Papers for which a score is undefined
    are left out."""
    scores: dict[str, dict[str, float]] = {}
    for paper in papers:
        for kind, weighted in (("weighted", True), ("unweighted", False)):
            of = quality(paper.shown, weighted=weighted)
            for name, value in (("precision", of.precision), ("recall", of.recall), ("F1", of.f1)):
                per_paper = scores.setdefault(f"{kind} {name}", {})
                if value is not None:
                    per_paper[paper.bundle.paper.id] = value
        agree, total = edges(paper.shown)
        if total:
            scores.setdefault("components below their gold parent", {})[paper.bundle.paper.id] = agree / total
    return scores


def figures_of(papers: Sequence[Matched]) -> list[Figure]:
    """Returns the mean of each score over papers."""
    labelled = sorted({paper.gold.labelled_by for paper in papers})
    source = f"labels: {'; '.join(labelled)}"
    published = {"weighted F1": PUBLISHED_F1}
    return [
        mean_figure(
            name, of, source=source, unit="number" if "F1" in name else "share", published=published.get(name, "")
        )
        for name, of in scores_of(papers).items()
    ]


def papers_table(papers: Sequence[Matched]) -> str:
    """Returns one line per paper with its weighted quality, its counts, and how its pairs were matched."""
    rows: list[tuple[str, ...]] = [
        ("paper", "precision", "recall", "F1", "matched", "shown", "required", "name/alias/similarity/judge")
    ]
    for paper in papers:
        of: Quality = quality(paper.shown)
        how = [pair.how for pair in paper.shown.pairs]
        shares = (number(of.precision, "share"), number(of.recall, "share"), number(of.f1, "number"))
        required = sum(gold.weight > 0 for gold in paper.gold.techniques)
        counts = map(str, (len(how), len(how) + len(paper.shown.unmatched), required))
        kinds = "/".join(str(how.count(kind)) for kind in ("name", "alias", "similarity", "judge"))
        rows.append((paper.bundle.paper.title[:60], *shares, *counts, kinds))
    return aligned(rows, left={0})


def validity(bundles: Sequence[PaperBundle], papers: Sequence[Matched], judged: Verdicts) -> list[Figure]:
    """Returns the shares of invalid techniques before pruning (all techniques found) and after pruning (techniques
    shown). Judges' verdicts take precedence. Without a verdict, a technique is invalid if it has no counterpart in a
    human-made hierarchy. Techniques with neither a verdict nor a hierarchy are left out."""
    said = {item: verdict for item, verdict in judged.majority().items() if verdict in ("valid", "invalid")}
    invalid = {item: float(verdict == "invalid") for item, verdict in said.items()}
    sources = [*judged.judges] if said else []
    by_gold = False
    for paper in papers:
        for technique in paper.bundle.techniques:
            if technique.id not in invalid:
                invalid[technique.id] = float(technique.id not in paper.all.right)
                by_gold = True
    source = ", ".join([*sources, *(["labels of people"] if by_gold else [])]) or "nobody judged"
    shown = {t.id for bundle in bundles for t in bundle.techniques if t.hidden is None}
    after = {item: value for item, value in invalid.items() if item in shown}
    valid = {item: 1 - value for item, value in after.items()}
    note = "" if invalid else "neither --gold nor judgements of techniques"
    return [
        mean_figure("invalid techniques before pruning", invalid, source=source, note=note),
        mean_figure("invalid techniques after pruning", after, source=source, note=note),
        mean_figure("valid techniques", valid, source=source, published="89.44 % valid", note=note),
    ]
