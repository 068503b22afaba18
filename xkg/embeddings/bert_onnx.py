"""Builds the ONNX graph of a BERT encoder that refers to the tensors in a safetensors file, without copying them.

Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", NAACL 2019. The graph uses standard operators
from ONNX 23 (Attention, Gelu, LayerNormalization). The runtime has a kernel for each, so the graph needs no optimising
when it is loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xkg.embeddings import onnx_format
from xkg.errors import EmbeddingError

WORDS = "embeddings.word_embeddings.weight"
BLOCK = 32
"""Numbers per quantisation scale. With 128, the kernels for few and for many tokens differ in the last bits."""
_RUNTIME = "com.microsoft"
"""The domain of the runtime's own operators."""


def prefix_of(tensors: Mapping[str, Any]) -> str:
    """The common prefix of all tensor names."""
    return "bert." if f"bert.{WORDS}" in tensors else ""


def bert_graph(config: Mapping[str, Any], tensors: Mapping[str, Any], location: str, start: int) -> bytes:
    """Returns the serialised model.

    Inputs: `words`, float32 (batch, tokens, hidden), the token vectors from the tensor `WORDS`; and `positions`, int64
    (tokens). Output: `last_hidden_state`, float32 (batch, tokens, hidden). `tensors` is the header of the safetensors
    file `location`, whose data starts at byte `start`. Raises `EmbeddingError` for other architectures."""
    try:
        return _Graph(config, tensors, location, start).bert()
    except KeyError as error:
        raise _lacking(location, error) from error


def bert_graph_in_eight_bits(
    config: Mapping[str, Any],
    tensors: Mapping[str, Any],
    location: str,
    start: int,
    read: Callable[[int, Sequence[int]], NDArray[np.float32]],
) -> bytes:
    """Like `bert_graph`, but the graph itself contains the layers' matrices, in eight bits. They take a quarter of the
    space, and their size dominates the time for a short text. `read` takes a byte offset in the file and a shape, and
    returns the numbers.

    Each block of `BLOCK` numbers in a row shares a scale, as do the numbers it is multiplied by (`accuracy_level` 4).
    See Dettmers et al., "8-bit Optimizers via Block-wise Quantization", ICLR 2022. The operator is described in
    https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.MatMulNBits."""
    try:
        return _EightBitGraph(config, tensors, location, start, read).bert()
    except KeyError as error:
        raise _lacking(location, error) from error


def _lacking(location: str, error: KeyError) -> EmbeddingError:
    return EmbeddingError(f"{location} lacks {error}: only BERT models run from safetensors; use model.onnx")


class _Graph:
    def __init__(self, config: Mapping[str, Any], tensors: Mapping[str, Any], location: str, start: int) -> None:
        self.config, self.tensors, self.location, self.start = config, tensors, location, start
        self.prefix = prefix_of(tensors)
        self.nodes: list[bytes] = []
        self.initializers: dict[str, bytes] = {}

    def bert(self) -> bytes:
        config = self.config
        kind, activation, positions = (
            config["model_type"],
            config["hidden_act"],
            config.get("position_embedding_type", "absolute"),
        )
        if (kind, activation, positions) != ("bert", "gelu", "absolute"):
            raise EmbeddingError(
                f"{self.location} is {kind} with {activation} and {positions} positions: only BERT with gelu and "
                "absolute positions runs from safetensors; use model.onnx"
            )
        hidden = config["hidden_size"]
        rows = self.constant("rows", [-1, hidden])

        self.constant("zero", [0])
        place = self.op("Gather", self.tensor("embeddings.position_embeddings.weight"), "positions")
        segment = self.op("Gather", self.tensor("embeddings.token_type_embeddings.weight"), "zero")
        x = self.norm(self.op("Add", "words", self.op("Add", place, segment)), "embeddings.LayerNorm")
        shape = self.op("Shape", x)
        x = self.op("Reshape", x, rows)
        for i in range(config["num_hidden_layers"]):
            layer = f"encoder.layer.{i}"
            heads = self.linear(x, *(f"{layer}.attention.self.{part}" for part in ("query", "key", "value")))
            count = config["num_attention_heads"]
            heads = [self.op("Reshape", head, shape) for head in heads]
            attended = self.op("Attention", *heads, q_num_heads=count, kv_num_heads=count)
            (attended,) = self.linear(self.op("Reshape", attended, rows), f"{layer}.attention.output.dense")
            x = self.norm(self.op("Add", attended, x), f"{layer}.attention.output.LayerNorm")
            (inner,) = self.linear(x, f"{layer}.intermediate.dense")
            (outer,) = self.linear(self.op("Gelu", inner), f"{layer}.output.dense")
            x = self.norm(self.op("Add", outer, x), f"{layer}.output.LayerNorm")
        self.nodes.append(onnx_format.node("Reshape", [x, shape], ["last_hidden_state"], {}))
        # Opset 23 is the first with Attention and requires IR version 11.
        return onnx_format.model(
            self.nodes,
            self.initializers.values(),
            (
                onnx_format.value("words", onnx_format.FLOAT, ("batch", "tokens", hidden)),
                onnx_format.value("positions", onnx_format.INT64, ("tokens",)),
            ),
            (onnx_format.value("last_hidden_state", onnx_format.FLOAT, ("batch", "tokens", hidden)),),
            opsets={"": 23, _RUNTIME: 1},
            ir_version=11,
        )

    def op(self, operator: str, *inputs: str, **attributes: int | float) -> str:
        output = f"{operator}_{len(self.nodes)}"
        self.nodes.append(onnx_format.node(operator, inputs, [output], attributes))
        return output

    def linear(self, x: str, *names: str) -> list[str]:
        return [
            self.op("Gemm", x, self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias"), transB=1) for name in names
        ]

    def norm(self, x: str, name: str) -> str:
        epsilon = self.config["layer_norm_eps"]
        return self.op(
            "LayerNormalization", x, self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias"), epsilon=epsilon
        )

    def constant(self, name: str, values: Sequence[int]) -> str:
        self.initializers[name] = onnx_format.integers(name, values)
        return name

    def tensor(self, name: str) -> str:
        shape, first, end = self.place(name)
        self.initializers[name] = onnx_format.external_tensor(name, shape, self.location, first, end - first)
        return name

    def place(self, name: str) -> tuple[Sequence[int], int, int]:
        """The shape of a tensor and its byte range in the file."""
        entry = self.tensors[self.prefix + name]
        if entry["dtype"] != "F32":
            raise EmbeddingError(f"{self.location} contains {entry['dtype']} values: only 32-bit floats are supported")
        first, end = entry["data_offsets"]
        return entry["shape"], self.start + first, self.start + end


class _EightBitGraph(_Graph):
    def __init__(
        self,
        config: Mapping[str, Any],
        tensors: Mapping[str, Any],
        location: str,
        start: int,
        read: Callable[[int, Sequence[int]], NDArray[np.float32]],
    ) -> None:
        super().__init__(config, tensors, location, start)
        self.read = read

    def linear(self, x: str, *names: str) -> list[str]:
        """Computes query, key and value in a single product: for a short text, running an operator costs as much as its
        arithmetic."""
        matrix, bias = (
            np.concatenate([self.numbers(f"{name}.{part}") for name in names]) for part in ("weight", "bias")
        )
        codes, scales = in_eight_bits(matrix)
        inputs = [
            x,
            self.inside(f"{names[0]}.codes", onnx_format.UINT8, codes),
            self.inside(f"{names[0]}.scales", onnx_format.FLOAT, scales),
            "",
            "",
            self.inside(f"{names[0]}.biases", onnx_format.FLOAT, bias),
        ]
        product = f"MatMulNBits_{len(self.nodes)}"
        sizes = {"N": len(matrix), "K": matrix.shape[1], "bits": 8, "block_size": BLOCK, "accuracy_level": 4}
        self.nodes.append(onnx_format.node("MatMulNBits", inputs, [product], sizes, _RUNTIME))
        if len(names) == 1:
            return [product]
        outputs = [f"{product}_{name}" for name in names]
        self.nodes.append(onnx_format.node("Split", [product], outputs, {"axis": 1, "num_outputs": len(names)}))
        return outputs

    def numbers(self, name: str) -> NDArray[np.float32]:
        shape, first, _ = self.place(name)
        return self.read(first, shape)

    def inside(self, name: str, kind: int, values: NDArray[np.float32] | NDArray[np.uint8]) -> str:
        self.initializers[name] = onnx_format.tensor(name, kind, values.shape, values.tobytes())
        return name


def in_eight_bits(matrix: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """The codes, of shape (rows, blocks, BLOCK), and a scale for each block, of shape (rows, blocks). A number is about
    (code - 128) · scale. The last block in a row is padded with zeros."""
    rows, columns = matrix.shape
    blocks = np.zeros((rows, -(-columns // BLOCK) * BLOCK), np.float32)
    blocks[:, :columns] = matrix
    blocks = blocks.reshape(rows, -1, BLOCK)
    scales = np.abs(blocks).max(axis=2) / np.float32(127)
    codes = np.rint(blocks / np.maximum(scales, np.finfo(np.float32).tiny)[..., None]) + 128
    return codes.astype(np.uint8), scales
