"""Writes ONNX graphs as protocol buffers, with large tensors in a separate file.

Field numbers follow <https://github.com/onnx/onnx/blob/main/onnx/onnx.proto>, and the encoding follows
<https://protobuf.dev/programming-guides/encoding/>. The `onnx` library does the same, but needs 23 MB of disk space."""

import struct
from collections.abc import Iterable, Mapping, Sequence

FLOAT, UINT8, INT64 = 1, 2, 7
_ATTRIBUTE_FLOAT, _ATTRIBUTE_INT = 1, 2
_EXTERNAL = 1


def node(
    operator: str,
    inputs: Iterable[str],
    outputs: Iterable[str],
    attributes: Mapping[str, int | float],
    domain: str = "",
) -> bytes:
    """Returns a `NodeProto`. To omit an optional input, pass an empty name. `domain` is empty for standard
    operators."""
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
    """Encodes a `TensorProto` of numbers of `kind`, in little-endian order."""
    return _tensor_header(name, kind, shape) + _bytes(9, raw)


def external_tensor(name: str, kind: int, shape: Sequence[int], file: str, offset: int, length: int) -> bytes:
    """Encodes a `TensorProto` with its numbers in another file. `file` is relative to the model's folder."""
    place = {"location": file, "offset": str(offset), "length": str(length)}
    entries = (_bytes(13, _text(1, key) + _text(2, text)) for key, text in place.items())
    return b"".join((_tensor_header(name, kind, shape), *entries, _number(14, _EXTERNAL)))


def _tensor_header(name: str, kind: int, shape: Sequence[int]) -> bytes:
    return b"".join((*(_number(1, size) for size in shape), _number(2, kind), _text(8, name)))


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
    """Encodes a `ModelProto` with one graph. `opsets` maps operator domains to their versions."""
    graph = (
        *(_bytes(1, each) for each in nodes),
        _text(2, "graph"),
        *(_bytes(5, each) for each in initializers),
        *(_bytes(11, each) for each in inputs),
        *(_bytes(12, each) for each in outputs),
    )
    versions = (_bytes(8, _text(1, domain) + _number(2, version)) for domain, version in opsets.items())
    return b"".join((_number(1, ir_version), _bytes(7, b"".join(graph)), *versions))


def _attribute(name: str, value: int | float) -> bytes:
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, _ATTRIBUTE_INT)
    return _text(1, name) + _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, _ATTRIBUTE_FLOAT)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    """Encodes a number as a varint, with seven bits per byte and the lowest bits first. `value` must not be
    negative."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
