"""Builds the ONNX graph for a BERT encoder from the tensors in a safetensors file, with 8-bit matrices.

The encoder (Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", NAACL 2019) is expressed in the
standard operators of ONNX 23 (Attention, Gelu, LayerNormalization). The runtime has a kernel for each operator, so the
graph does not need to be optimised when it is loaded.

In 8-bit precision, the weights need a quarter of the disk space, and a short text takes half the time. Each block of
`BLOCK` numbers in a row shares a scale, as do the numbers that the block is multiplied by (`accuracy_level` 4). See
Dettmers et al., "8-bit Optimizers via Block-wise Quantization", ICLR 2022. For all-MiniLM-L6-v2, the cosine similarity
to full-precision vectors is at least 0.999. The operators are described in
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.MatMulNBits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xkg.embeddings import onnx_format
from xkg.errors import EmbeddingError

WORDS = "embeddings.word_embeddings.weight"
BLOCK = 32
"""The number of weights that share a quantisation scale. With 128, the results for short and long texts would differ in
the last bits, because the runtime uses different kernels."""
_SMALL = 1024
"""Tensors of fewer bytes are in the model itself, because the runtime reads some of them to infer shapes."""
_ALIGNMENT = 64
_RUNTIME = "com.microsoft"
"""The domain of the runtime's own operators."""

Read = Callable[[str], NDArray[np.float32]]
"""Returns the tensor with the given name. Raises `KeyError` if there is none."""


class BertGraph(NamedTuple):
    """A serialised model and the contents of its weights file."""

    model: bytes
    weights: bytes


def bert_graph(config: Mapping[str, Any], read: Read, file: str, weights: str) -> BertGraph:
    """Returns the model, which refers to its weights as a file called `weights`.

    Input: `input_ids`, int64 (batch, tokens). Output: `last_hidden_state`, float32 (batch, tokens, hidden). `file` is
    the file name for error messages. Raises `EmbeddingError` if the model has a different architecture."""
    try:
        return _Graph(config, read, file, weights).bert()
    except KeyError as error:
        raise EmbeddingError(f"{file} lacks {error}: only BERT models run from safetensors; use model.onnx") from error


class _Graph:
    def __init__(self, config: Mapping[str, Any], read: Read, file: str, weights: str) -> None:
        self.config, self.read, self.file, self.weights_file = config, read, file, weights
        self.nodes: list[bytes] = []
        self.initializers: dict[str, bytes] = {}
        self.weights = bytearray()

    def bert(self) -> BertGraph:
        config = self.config
        kind, activation, positions = (
            config["model_type"],
            config["hidden_act"],
            config.get("position_embedding_type", "absolute"),
        )
        if (kind, activation, positions) != ("bert", "gelu", "absolute"):
            raise EmbeddingError(
                f"{self.file} is {kind} with {activation} and {positions} positions: only BERT with gelu and "
                "absolute positions runs from safetensors; use model.onnx"
            )
        hidden = config["hidden_size"]
        rows = self.constant("rows", [-1, hidden])

        words = self.words()
        shape = self.op("Shape", words)
        # Select the position embeddings for the length of the text.
        end = self.op("Slice", shape, self.constant("one", [1]), self.constant("two", [2]))
        place = self.op("Slice", self.positions(), self.constant("zero", [0]), end)
        x = self.norm(self.op("Add", words, place), "embeddings.LayerNorm")
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
        # Opset 23 is the first version with the Attention operator, and requires IR version 11.
        model = onnx_format.model(
            self.nodes,
            self.initializers.values(),
            (onnx_format.value("input_ids", onnx_format.INT64, ("batch", "tokens")),),
            (onnx_format.value("last_hidden_state", onnx_format.FLOAT, ("batch", "tokens", hidden)),),
            opsets={"": 23, _RUNTIME: 1},
            ir_version=11,
        )
        return BertGraph(model, bytes(self.weights))

    def op(self, operator: str, *inputs: str, domain: str = "", **attributes: int | float) -> str:
        output = f"{operator}_{len(self.nodes)}"
        self.nodes.append(onnx_format.node(operator, inputs, [output], attributes, domain))
        return output

    def words(self) -> str:
        codes, scales = in_eight_bits(self.read(WORDS))
        rows = self.tensor("words.codes", codes.reshape(len(codes), -1)[:, : self.config["hidden_size"]])
        sizes = {"gather_axis": 0, "quantize_axis": 1, "block_size": BLOCK, "bits": 8}
        return self.op(
            "GatherBlockQuantized", rows, "input_ids", self.tensor("words.scales", scales), domain=_RUNTIME, **sizes
        )

    def positions(self) -> str:
        # Every text is treated as the first of BERT's two segments.
        segment = self.read("embeddings.token_type_embeddings.weight")[0]
        return self.tensor("positions", self.read("embeddings.position_embeddings.weight") + segment)

    def linear(self, x: str, *names: str) -> list[str]:
        """Returns the output of each layer for `x`. Query, key and value are computed in one product, because for a
        short text an operator's overhead costs as much as its arithmetic."""
        matrix, bias = (np.concatenate([self.read(f"{name}.{part}") for name in names]) for part in ("weight", "bias"))
        codes, scales = in_eight_bits(matrix)
        inputs = (
            x,
            self.tensor(f"{names[0]}.codes", codes),
            self.tensor(f"{names[0]}.scales", scales),
            "",
            "",
            self.tensor(f"{names[0]}.biases", bias),
        )
        sizes = {"N": len(matrix), "K": matrix.shape[1], "bits": 8, "block_size": BLOCK, "accuracy_level": 4}
        product = self.op("MatMulNBits", *inputs, domain=_RUNTIME, **sizes)
        if len(names) == 1:
            return [product]
        outputs = [f"{product}_{name}" for name in names]
        self.nodes.append(onnx_format.node("Split", [product], outputs, {"axis": 1, "num_outputs": len(names)}))
        return outputs

    def norm(self, x: str, name: str) -> str:
        weight, bias = (self.tensor(f"{name}.{part}", self.read(f"{name}.{part}")) for part in ("weight", "bias"))
        return self.op("LayerNormalization", x, weight, bias, epsilon=self.config["layer_norm_eps"])

    def constant(self, name: str, values: Sequence[int]) -> str:
        return self.tensor(name, np.array(values, "<i8"))

    def tensor(self, name: str, values: NDArray[Any]) -> str:
        kind, raw = _KINDS[values.dtype.name], values.tobytes()
        if len(raw) < _SMALL:
            self.initializers[name] = onnx_format.tensor(name, kind, values.shape, raw)
        else:
            self.weights.extend(bytes(-len(self.weights) % _ALIGNMENT))
            place = self.weights_file, len(self.weights), len(raw)
            self.initializers[name] = onnx_format.external_tensor(name, kind, values.shape, *place)
            self.weights.extend(raw)
        return name


_KINDS = {"float32": onnx_format.FLOAT, "uint8": onnx_format.UINT8, "int64": onnx_format.INT64}


def in_eight_bits(matrix: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Quantises a matrix. Returns codes of shape (rows, blocks, BLOCK) and one scale per block, of shape (rows,
    blocks). A number is approximately (code - 128) · scale. The last block in a row is padded with zeros."""
    rows, columns = matrix.shape
    blocks = np.zeros((rows, -(-columns // BLOCK) * BLOCK), np.float32)
    blocks[:, :columns] = matrix
    blocks = blocks.reshape(rows, -1, BLOCK)
    scales = np.abs(blocks).max(axis=2) / np.float32(127)
    codes = np.rint(blocks / np.maximum(scales, np.finfo(np.float32).tiny)[..., None]) + 128
    return codes.astype(np.uint8), scales
