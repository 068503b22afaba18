"""Writes ONNX graphs as protocol buffers.

Field numbers follow <https://github.com/onnx/onnx/blob/main/onnx/onnx.proto>, and the encoding follows
<https://protobuf.dev/programming-guides/encoding/>. The `onnx` library does the same, but takes 23 MB."""

import struct
from collections.abc import Iterable, Mapping, Sequence

FLOAT, UINT8, INT64 = 1, 2, 7
_ATTRIBUTE_FLOAT, _ATTRIBUTE_INT = 1, 2


def node(
    operator: str,
    inputs: Iterable[str],
    outputs: Iterable[str],
    attributes: Mapping[str, int | float],
    domain: str = "",
) -> bytes:
    """Returns a `NodeProto`. An omitted input has an empty name. `domain` is empty for standard operators."""
    return b"".join(
        (
            *(_text(1, name) for name in inputs),
            *(_text(2, name) for name in outputs),
            _text(4, operator),
            *(_bytes(5, _attribute(name, value)) for name, value in attributes.items()),
            _text(7, domain),
        )
    )


def tensor(name: str, kind: int, shape: Sequence[int], raw: bytes) -> bytes:
    """Returns a `TensorProto` with numbers of type `kind`, in little-endian order."""
    sizes = (_number(1, size) for size in shape)
    return b"".join((*sizes, _number(2, kind), _text(8, name), _head(9, raw), raw))


def value(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    """Returns a `ValueInfoProto` for a tensor of type `kind`. Each size is a number or a name."""
    sizes = (_text(2, size) if isinstance(size, str) else _number(1, size) for size in shape)
    tensor = _number(1, kind) + _bytes(2, b"".join(_bytes(1, size) for size in sizes))
    return _text(1, name) + _bytes(2, _bytes(1, tensor))


def model(
    nodes: Iterable[bytes],
    initializers: Iterable[bytes],
    inputs: Iterable[bytes],
    outputs: Iterable[bytes],
    *,
    opsets: Mapping[str, int],
    ir_version: int,
) -> bytes:
    """Returns a `ModelProto` with one graph. `opsets` maps operator domains to their versions."""
    # Join the parts only once, because the graph may contain the weights and each copy takes milliseconds.
    graph = [
        *(_bytes(1, each) for each in nodes),
        _text(2, "graph"),
        *(part for each in initializers for part in (_head(5, each), each)),
        *(_bytes(11, each) for each in inputs),
        *(_bytes(12, each) for each in outputs),
    ]
    versions = (_bytes(8, _text(1, domain) + _number(2, version)) for domain, version in opsets.items())
    length = sum(map(len, graph))
    return b"".join((_number(1, ir_version), _varint(7 << 3 | 2), _varint(length), *graph, *versions))


def _attribute(name: str, value: int | float) -> bytes:
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, _ATTRIBUTE_INT)
    return _text(1, name) + _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, _ATTRIBUTE_FLOAT)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _bytes(field: int, value: bytes) -> bytes:
    return _head(field, value) + value


def _head(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value))


def _varint(value: int) -> bytes:
    """Encodes a number as a varint, with seven bits per byte and the lowest bits first. `value` must not be
    negative."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
