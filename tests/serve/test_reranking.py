from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from xkg.embed import OnnxEmbedder
from xkg.errors import EmbeddingError
from xkg.serve.reranking import CrossEncoderReranker, reranked
from xkg.serve.retrieval import search
from xkg.store import Snapshot
from xkg.store.embedded import EmbeddedStore


@pytest.fixture(scope="module")
def snapshot(graph: Path, embedder: OnnxEmbedder) -> Iterator[Snapshot]:
    store = EmbeddedStore(graph, lambda: embedder)
    with store.snapshot() as snapshot:
        yield snapshot
    store.close()


class Prefers:
    """Scores a text by whether it holds a word."""

    def __init__(self, word: str) -> None:
        self._word = word

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        assert query
        return [float(self._word in text) for text in texts]


def test_a_reranker_decides_the_order_and_not_what_is_found(snapshot: Snapshot, embedder: OnnxEmbedder) -> None:
    query = "pour water on the iron for steam, then cut the dough with a blade"
    plain = search(snapshot, embedder.read, query, 5)
    blade = search(snapshot, embedder.read, query, 5, reranker=Prefers("blade"))
    assert plain.rows[0].name == "Steam Injection (SI)"
    assert blade.rows[0].name == "Scoring"
    assert {row.id for row in plain.rows} == {row.id for row in blade.rows}


def test_what_is_not_read_again_stays_below(snapshot: Snapshot) -> None:
    strength = {
        "title:bread/ovens#baking/steam": 0.9,
        "title:bread/ovens#baking/score": 0.8,
        "arxiv:2001.00001#keeping": 0.1,
    }
    again = reranked(snapshot, Prefers("blade"), "q", strength, 2)
    assert sorted(again, key=lambda t: -again[t]) == [
        "title:bread/ovens#baking/score",
        "title:bread/ovens#baking/steam",
        "arxiv:2001.00001#keeping",
    ]
    assert reranked(snapshot, Prefers("x"), "q", {}) == {}


def test_a_folder_without_a_model_is_an_error_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError) as caught:
        CrossEncoderReranker(tmp_path)
    assert "\n" not in str(caught.value)
