"""Late interaction counts where words are known, and takes nothing from what was indexed without them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from xkg.embeddings.base import Embedder
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.model import Paper, PaperBundle, Technique
from xkg.serve.search import strengths
from xkg.serve.search.search import search
from xkg.store.local.store import EmbeddedStore

STEPS = {
    "Seasoning": "Heat oil on the bare iron of the skillet until it hardens into a film that food does not stick to.",
    "Banking": "Tilt the bicycle into the bend so that gravity and friction keep it on its line.",
    "Deposits": "Sand that the river lays down along its bank grows into a bar.",
    "Loans": "The bank lends what its savers put in, and keeps a reserve.",
}


class Wordless:
    """The default model without its words."""

    def __init__(self, inner: OnnxEmbedder) -> None:
        self._inner = inner
        self.model, self.dimension = inner.model, inner.dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._inner.embed(texts)


def paper(name: str) -> PaperBundle:
    of = f"title:{name.lower()}"
    technique = Technique(id=f"{of}#{name.lower()}", name=name, definition=STEPS[name])
    return PaperBundle(paper=Paper(id=of, title=f"On {name}", origin="build"), techniques=(technique,))


def ranked(folder: Path, embedder: Embedder, read: OnnxEmbedder, query: str) -> list[str]:
    with EmbeddedStore(folder, lambda: embedder).snapshot() as snapshot:
        return [row.name for row in search(snapshot, read.encode, query, 4, bar=0.0).rows]


def test_a_word_counts_in_the_sense_it_has_here(
    tmp_path: Path, embedder: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = EmbeddedStore(tmp_path, lambda: embedder)
    store.publish([paper(name) for name in STEPS])
    query = "money held by a bank"
    assert ranked(tmp_path, embedder, embedder, query)[0] == "Loans"
    monkeypatch.setattr(strengths, "INTERACTION", 1.0)
    alone = ranked(tmp_path, embedder, embedder, query)
    assert alone.index("Loans") < alone.index("Deposits") < alone.index("Seasoning")


def test_what_was_indexed_without_words_is_found_as_before(tmp_path: Path, embedder: OnnxEmbedder) -> None:
    wordless = Wordless(embedder)
    store = EmbeddedStore(tmp_path, lambda: wordless)
    store.publish([paper("Seasoning"), paper("Banking")])
    query = "keep food from sticking to an iron skillet"
    assert ranked(tmp_path, wordless, embedder, query)[0] == "Seasoning"
    EmbeddedStore(tmp_path, lambda: embedder).publish([paper("Deposits"), paper("Loans")])
    assert ranked(tmp_path, embedder, embedder, query)[0] == "Seasoning"
    assert ranked(tmp_path, embedder, embedder, "sand along the river")[0] == "Deposits"
