import numpy as np
import pytest

from evaluation.construction.hierarchy import GoldTechnique
from evaluation.construction.matching import Matching, edges, match, quality
from xkg.model import Technique


def nothing_alike(names, others):
    return np.zeros((len(names), len(others)), dtype=np.float32)


def technique(name: str, weight: float = 1.0, parent: str | None = None, aliases: tuple[str, ...] = ()) -> Technique:
    return Technique(id=f"title:p#{name}", name=name, weight=weight, aliases=aliases, parent=parent)


def gold(*path: str, weight: float = 1.0, aliases: tuple[str, ...] = ()) -> GoldTechnique:
    return GoldTechnique(path=path, weight=weight, aliases=aliases)


def ways(matching: Matching) -> dict[str, str]:
    return {pair.technique.name: f"{pair.gold.name} ({pair.how})" for pair in matching.pairs}


def test_by_name_alias_similarity_and_judge() -> None:
    def similarity(names, others):
        return np.array([[0.85 if (a, b) == ("step rule", "step size rule") else 0.1 for b in others] for a in names])

    found = match(
        [technique("Tent"), technique("LoRA"), technique("step rule"), technique("warm start"), technique("noise")],
        [gold("TENT"), gold("Low-Rank Adaptation (LoRA)"), gold("step size rule"), gold("initial phase"), gold("EMA")],
        similarity,
        same=frozenset({(("initial phase",), "title:p#warm start")}),
    )
    assert ways(found) == {
        "Tent": "TENT (name)",
        "LoRA": "Low-Rank Adaptation (LoRA) (alias)",
        "step rule": "step size rule (similarity)",
        "warm start": "initial phase (judge)",
    }
    assert [t.name for t in found.unmatched] == ["noise"]
    assert [g.name for g in found.missed] == ["EMA"]


def test_weighted_quality_by_hand() -> None:
    # The graph's techniques have weights 1, .5 and .5, and one technique of weight .5 matches no gold. The gold weights
    # are 3 and 1, and the technique of weight 1 is missed.
    found = match(
        [technique("A loss"), technique("B loss", 0.5), technique("C loss", 0.5)],
        [gold("A loss", weight=3), gold("B loss", weight=0), gold("D loss")],
        nothing_alike,
    )
    of = quality(found)
    assert (of.precision, of.recall) == (0.75, 0.75)
    assert of.f1 == 0.75
    plain = quality(found, weighted=False)
    assert plain.precision == pytest.approx(2 / 3)
    assert plain.recall == 0.5  # B has weight 0, so it may be missed
    assert plain.f1 == pytest.approx(4 / 7)


def test_a_component_below_its_gold_parent_at_any_depth() -> None:
    top, middle = technique("Top method"), technique("Middle", parent="title:p#Top method")
    below, beside = technique("Below", parent="title:p#Middle"), technique("Beside")
    found = match(
        [top, middle, below, beside],
        [gold("Top method"), gold("Top method", "Below"), gold("Top method", "Beside")],
        nothing_alike,
    )
    assert edges(found) == (1, 2)
