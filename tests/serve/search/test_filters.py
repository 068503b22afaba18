"""Tests search filters on a graph of two papers."""

import pytest

from xkg.embeddings.onnx import OnnxEmbedder
from xkg.model import Level
from xkg.serve.search.filters import Filters
from xkg.serve.search.search import search
from xkg.store.graph_store import Snapshot

QUERY = "blow cool smoke and steam on the crust of the loaf or the hive"


def found(snapshot: Snapshot, embedder: OnnxEmbedder, **filters: object) -> tuple[set[str], str]:
    answer = search(snapshot, embedder.encode, QUERY, 20, Filters(**filters))  # type: ignore[arg-type]
    shown = {row.name for row in answer.rows} | {r.name for row in answer.rows for r in row.relatives}
    return shown, answer.searched


@pytest.mark.parametrize(
    ("filters", "kept", "said"),
    [
        ({}, {"Steam Injection (SI)", "Hive Smoking"}, "all 2 papers, all techniques"),
        ({"years": (2019, 2019)}, {"Steam Injection (SI)"}, "this paper from 2019 to 2019, all techniques"),
        ({"years": (None, 2018)}, set(), "up to 2018"),
        ({"years": (10**30, None)}, set(), f"from {10**30} on"),
        ({"level": Level.EXECUTED}, {"Steam Injection (SI)"}, "only techniques with code of level executed or higher"),
        ({"level": Level.TESTED}, set(), "level tested"),
        ({"language": "Python"}, {"Steam Injection (SI)", "Hive Smoking"}, "in Python"),
        ({"language": "rust"}, set(), "in rust"),
        ({"packages": ("NumPy",)}, {"Steam Injection (SI)", "Hive Smoking"}, "that needs NumPy"),
        ({"packages": ("numpy", "torch")}, set(), "that needs numpy, torch"),
        ({"exclude": ("title:bread/ovens",)}, {"Hive Smoking"}, "but 1 excluded id"),
        (
            {"exclude": ("arxiv:2001.00001#keeping/smoke@0123456789ab", "nobody")},
            {"Steam Injection (SI)"},
            "but 2 excluded ids",
        ),
    ],
)
def test_filters_narrow_and_the_answer_says_so(
    snapshot: Snapshot, embedder: OnnxEmbedder, filters: dict[str, object], kept: set[str], said: str
) -> None:
    shown, searched = found(snapshot, embedder, **filters)
    assert shown & {"Steam Injection (SI)", "Hive Smoking"} == kept
    assert said in searched
    if not kept:
        assert shown == set()
