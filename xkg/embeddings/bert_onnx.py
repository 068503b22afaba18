"""The ONNX graph of a BERT encoder over the tensors of a safetensors file, which stay where they are.

Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", NAACL 2019, in the standard operators of ONNX 23
(Attention, Gelu, LayerNormalization): the runtime has a kernel for each, so no optimiser is needed at load time.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from xkg.embeddings import onnx_format
from xkg.errors import EmbeddingError

WORDS = "embeddings.word_embeddings.weight"


def prefix_of(tensors: Mapping[str, Any]) -> str:
    """What the names of all tensors begin with."""
    return "bert." if f"bert.{WORDS}" in tensors else ""


def bert_graph(config: Mapping[str, Any], tensors: Mapping[str, Any], location: str, start: int) -> bytes:
    """The serialised model: `words` float32 (batch, tokens, hidden), which has the vector of each token in
    `WORDS` of the weights, `positions` int64 (tokens) and `mask` float32 (tokens, tokens) → `last_hidden_state` float32
    (batch, tokens, hidden).

    `mask` is added to what each token attends to by how much: 0 within a text, far below that between texts that stand
    in one row. All rows have the same positions and mask. `tensors` is the header of the safetensors
    file called `location`, whose data begins at byte `start`. Raises `EmbeddingError` for another architecture.
    """
    try:
        return _Graph(config, tensors, location, start).bert()
    except KeyError as error:
        raise EmbeddingError(
            f"{location} lacks {error}: only BERT models run from safetensors, use model.onnx"
        ) from error


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
                "absolute positions runs from safetensors, use model.onnx"
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
            heads = [
                self.op("Reshape", self.linear(x, f"{layer}.attention.self.{part}"), shape)
                for part in ("query", "key", "value")
            ]
            count = config["num_attention_heads"]
            attended = self.op("Attention", *heads, "mask", q_num_heads=count, kv_num_heads=count)
            attended = self.linear(self.op("Reshape", attended, rows), f"{layer}.attention.output.dense")
            x = self.norm(self.op("Add", attended, x), f"{layer}.attention.output.LayerNorm")
            inner = self.op("Gelu", self.linear(x, f"{layer}.intermediate.dense"))
            x = self.norm(self.op("Add", self.linear(inner, f"{layer}.output.dense"), x), f"{layer}.output.LayerNorm")
        self.nodes.append(onnx_format.node("Reshape", [x, shape], "last_hidden_state", {}))
        # Opset 23 is the first with Attention, and belongs to IR version 11.
        return onnx_format.model(
            self.nodes,
            self.initializers.values(),
            (
                onnx_format.value("words", onnx_format.FLOAT, ("batch", "tokens", hidden)),
                onnx_format.value("positions", onnx_format.INT64, ("tokens",)),
                onnx_format.value("mask", onnx_format.FLOAT, ("tokens", "tokens")),
            ),
            (onnx_format.value("last_hidden_state", onnx_format.FLOAT, ("batch", "tokens", hidden)),),
            opset=23,
            ir_version=11,
        )

    def op(self, operator: str, *inputs: str, **attributes: int | float) -> str:
        output = f"{operator}_{len(self.nodes)}"
        self.nodes.append(onnx_format.node(operator, inputs, output, attributes))
        return output

    def linear(self, x: str, name: str) -> str:
        return self.op("Gemm", x, self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias"), transB=1)

    def norm(self, x: str, name: str) -> str:
        epsilon = self.config["layer_norm_eps"]
        return self.op(
            "LayerNormalization", x, self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias"), epsilon=epsilon
        )

    def constant(self, name: str, values: Sequence[int]) -> str:
        self.initializers[name] = onnx_format.integers(name, values)
        return name

    def tensor(self, name: str) -> str:
        entry = self.tensors[self.prefix + name]
        if entry["dtype"] != "F32":
            raise EmbeddingError(f"{self.location} holds {entry['dtype']} numbers: only 32-bit floats are supported")
        first, end = entry["data_offsets"]
        self.initializers[name] = onnx_format.external_tensor(
            name, entry["shape"], self.location, self.start + first, end - first
        )
        return name
