"""Finds model weights in local folders and loads them into the ONNX runtime."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from xkg.embeddings.wordpiece import WordPiece
from xkg.errors import EmbeddingError

if TYPE_CHECKING:
    from xkg.embeddings.bert_onnx import BertGraph

EIGHT_BITS = "model-8bit.onnx"
"""File name of a prepared model's graph."""
VALUES = "model-8bit.bin"
"""File name of a prepared model's weights. The runtime maps this file, so the table of words is not copied into
memory."""


def in_hub_cache(model: str) -> Path | None:
    """Returns the folder in the Hugging Face cache that contains `model`, or None."""
    name = model if "/" in model else f"sentence-transformers/{model}"
    home = Path(os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE") or home / "hub").expanduser() / f"models--{name.replace('/', '--')}"
    try:
        folder = hub / "snapshots" / (hub / "refs" / "main").read_text().strip()
    except OSError:
        return None
    return folder if (folder / "tokenizer.json").is_file() and weights_file(folder) else None


def weights_file(folder: Path) -> Path | None:
    """Returns the weights file to load, or None if the folder has none."""
    names = (EIGHT_BITS, "model.safetensors", "model.onnx", "onnx/model.onnx")
    return next((folder / name for name in names if (folder / name).is_file()), None)


def read_json(path: Path) -> dict[str, Any]:
    """Returns the JSON object in a file, or an empty object if the file does not exist. Raises `EmbeddingError` if the
    file cannot be read."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise EmbeddingError(f"{path} cannot be read ({error}); fetch the model again") from error
    return value if isinstance(value, dict) else {}


def load_tokenizer(folder: Path, max_tokens: int) -> WordPiece:
    """Loads a model's tokenizer, which truncates texts at `max_tokens`. Raises `EmbeddingError` if the tokenizer cannot
    be read."""
    path = folder / "tokenizer.json"
    try:
        return WordPiece(json.loads(path.read_text(encoding="utf-8")), max_tokens)
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise EmbeddingError(
            f"{path} cannot be read ({error}); fetch the model again or, if its tokenizer is not BERT's, set "
            "embedding.provider to sentence-transformers"
        ) from error


def load_session(weights: Path, config: dict[str, Any], tokenizer: WordPiece) -> Any:
    """Returns an ONNX runtime session for a file. Raises `EmbeddingError` if the model cannot be loaded."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # Batches run in parallel, because threads inside a single run would mostly wait.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    safetensors = weights.suffix == ".safetensors"
    if safetensors or weights.name == EIGHT_BITS:
        # Our graph already uses fused operators, so optimisation would only add load time.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    source: str | bytes = str(weights)
    if safetensors:
        source, values = graph_of_safetensors(weights, config, tokenizer)
        options.add_external_initializers_from_files_in_memory([VALUES], [values], [len(values)])
    try:
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's errors share only this base class
        line = str(error).splitlines()[0]
        raise EmbeddingError(f"{weights} cannot be loaded ({line}); fetch the model again") from error


def graph_of_safetensors(weights: Path, config: dict[str, Any], tokenizer: WordPiece) -> BertGraph:
    """Returns a BERT model's ONNX graph and its 8-bit weights. The model must have a row for each token in the
    tokenizer's vocabulary, because the runtime does not check bounds. Raises `EmbeddingError`."""
    from xkg.embeddings.bert_onnx import WORDS, bert_graph

    tensors, start = _read_header(weights)
    prefix = "bert." if f"bert.{WORDS}" in tensors else ""

    def read(name: str) -> NDArray[np.float32]:
        entry = tensors[prefix + name]
        if entry["dtype"] != "F32":
            raise EmbeddingError(f"{weights} contains {entry['dtype']} values: only 32-bit floats are supported")
        shape, (first, _) = entry["shape"], entry["data_offsets"]
        values: NDArray[np.float32] = np.fromfile(weights, "<f4", math.prod(shape), offset=start + first)
        return values.reshape(shape)

    graph = bert_graph(config, read, weights.name, VALUES)
    if (tokens := tensors[prefix + WORDS]["shape"][0]) <= max(tokenizer.get_vocab().values()):
        raise EmbeddingError(f"{weights} has {tokens} tokens, fewer than its tokenizer expects; fetch the model again")
    return graph


def _read_header(weights: Path) -> tuple[dict[str, Any], int]:
    """Returns the tensors in a file and the offset of their data. Raises `EmbeddingError` if the file is damaged."""
    try:
        size = weights.stat().st_size
        with weights.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = file.read(length) if length < min(size, 1 << 26) else b""
        tensors = json.loads(header)
        start, end = 8 + length, max(t["data_offsets"][1] for name, t in tensors.items() if name != "__metadata__")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EmbeddingError(f"{weights} is not a safetensors file; fetch the model again") from error
    if size < start + end:
        raise EmbeddingError(f"{weights} is truncated ({size} of {start + end} bytes); fetch the model again")
    return tensors, start
