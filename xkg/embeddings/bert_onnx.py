"""The ONNX graph of a BERT encoder over the tensors of a safetensors file, which stay where they are.

Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", NAACL 2019, in the standard operators of ONNX 23
(Attention, Gelu, LayerNormalization): the runtime has a kernel for each, so no optimiser is needed at load time.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from xkg.errors import EmbeddingError


def bert_graph(config: Mapping[str, Any], tensors: Mapping[str, Any], location: str, start: int) -> bytes:
    """The serialised model: `input_ids` int64 (batch, tokens), `positions` int64 (tokens) and `mask` float32 (tokens,
    tokens) → `last_hidden_state` float32 (batch, tokens, hidden).

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
        self.prefix = "bert." if "bert.embeddings.word_embeddings.weight" in tensors else ""
        self.nodes: list[Any] = []
        self.initializers: dict[str, Any] = {}

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
        words = self.op("Gather", self.tensor("embeddings.word_embeddings.weight"), "input_ids")
        place = self.op("Gather", self.tensor("embeddings.position_embeddings.weight"), "positions")
        segment = self.op("Gather", self.tensor("embeddings.token_type_embeddings.weight"), "zero")
        x = self.norm(self.op("Add", words, self.op("Add", place, segment)), "embeddings.LayerNorm")
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
        self.nodes.append(helper.make_node("Reshape", [x, shape], ["last_hidden_state"]))

        graph = helper.make_graph(
            self.nodes,
            "bert",
            [
                helper.make_tensor_value_info("input_ids", onnx.TensorProto.INT64, ["batch", "tokens"]),
                helper.make_tensor_value_info("positions", onnx.TensorProto.INT64, ["tokens"]),
                helper.make_tensor_value_info("mask", onnx.TensorProto.FLOAT, ["tokens", "tokens"]),
            ],
            [helper.make_tensor_value_info("last_hidden_state", onnx.TensorProto.FLOAT, ["batch", "tokens", hidden])],
            list(self.initializers.values()),
        )
        # Opset 23 is the first with Attention, and belongs to IR version 11.
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)
        serialised: bytes = model.SerializeToString()
        return serialised

    def op(self, operator: str, *inputs: str, **attributes: Any) -> str:
        output = f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def linear(self, x: str, name: str) -> str:
        return self.op("Gemm", x, self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias"), transB=1)

    def norm(self, x: str, name: str) -> str:
        epsilon = self.config["layer_norm_eps"]
        return self.op(
            "LayerNormalization", x, self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias"), epsilon=epsilon
        )

    def constant(self, name: str, values: Sequence[int]) -> str:
        self.initializers[name] = numpy_helper.from_array(np.array(values, np.int64), name)
        return name

    def tensor(self, name: str) -> str:
        entry = self.tensors[self.prefix + name]
        if entry["dtype"] != "F32":
            raise EmbeddingError(f"{self.location} holds {entry['dtype']} numbers: only 32-bit floats are supported")
        first, end = entry["data_offsets"]
        proto = onnx.TensorProto(
            name=name, data_type=onnx.TensorProto.FLOAT, dims=entry["shape"], data_location=onnx.TensorProto.EXTERNAL
        )
        for key, value in (("location", self.location), ("offset", self.start + first), ("length", end - first)):
            proto.external_data.add(key=key, value=str(value))
        self.initializers[name] = proto
        return name
