from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from xkg.config import ServeSettings, Settings
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.errors import EmbeddingError
from xkg.serve.search.rerank import CrossEncoder, reranked
from xkg.serve.search.search import search
from xkg.serve.service import Service
from xkg.store.graph_store import Snapshot
from xkg.store.local.store import EmbeddedStore


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


WORDS = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "dough", "blade", "steam"]


def write_cross_encoder(folder: Path, worth: Mapping[str, float], outputs: int = 1) -> Path:
    """A model that sums, over the words of the text, what each is worth, whatever was asked."""
    folder.mkdir()
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    tokenizer.save(str(folder / "tokenizer.json"))
    names = ("input_ids", "attention_mask", "token_type_ids")
    table = numpy_helper.from_array(np.array([worth.get(word, 0.0) for word in WORDS], np.float32), "worth")
    nodes = [
        helper.make_node("Gather", ["worth", "input_ids"], ["each"]),
        helper.make_node("Mul", ["attention_mask", "token_type_ids"], ["own"]),
        helper.make_node("Cast", ["own"], ["share"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["each", "share"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "axis"], ["sum"], keepdims=1),
        helper.make_node("Concat", ["sum"] * outputs, ["logits"], axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "cross-encoder",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"]) for name in names],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", outputs])],
        [table, numpy_helper.from_array(np.array([1], np.int64), "axis")],
    )
    (folder / "onnx").mkdir()
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    (folder / "onnx" / "model.onnx").write_bytes(model.SerializeToString())
    return folder


def test_a_cross_encoder_reads_query_and_text_together(tmp_path: Path) -> None:
    model = CrossEncoder(write_cross_encoder(tmp_path / "m", {"blade": 2.0, "steam": 0.5}))
    assert model.scores("a blade", ["Blade and dough", "steam, steam", "dough " * 2000, "\ud800"]) == [
        2.0,
        1.0,
        0.0,
        0.0,
    ]
    assert model.scores("a blade", []) == []


def test_a_cross_encoder_that_the_settings_name_orders_what_is_found(graph: Path, tmp_path: Path) -> None:
    query = "pour water on the iron for steam, then cut the dough with a blade"
    weights = write_cross_encoder(tmp_path / "m", {"blade": 1.0})
    with closing(Service(Settings(kg=graph, serve=ServeSettings(reranker=weights)))) as service:
        assert service.search(query, 5).rows[0].name == "Scoring"
        assert service.find_implementations(query).parts
    missing = Service(Settings(kg=graph, serve=ServeSettings(reranker=tmp_path / "none")))
    with closing(missing), pytest.raises(EmbeddingError, match=r"serve\.reranker"):
        missing.search(query, 5)


def test_what_is_no_cross_encoder_is_an_error_in_one_line(tmp_path: Path) -> None:
    two = write_cross_encoder(tmp_path / "two", {}, outputs=2)
    broken = write_cross_encoder(tmp_path / "broken", {})
    (broken / "onnx" / "model.onnx").write_bytes(b"no model")
    for folder in (tmp_path, two, broken):
        with pytest.raises(EmbeddingError) as caught:
            CrossEncoder(folder)
        assert "\n" not in str(caught.value)
