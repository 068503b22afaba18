"""Detects pictures among files written by untrusted code. Pictures must be complete and of limited size, and data other
than pixels is removed.

Clients pass pictures to models and browsers, which can fail on invalid pictures. Models may also read text hidden in a
picture's metadata. PNGs are therefore checked chunk by chunk, including the number of pixels, and JPEGs marker by
marker. Comments are removed, but no pixels are decoded. SVGs are treated as text; web pages show them as images, in
which browsers neither run scripts nor load resources."""

import math
import re
import struct
import zlib
from collections.abc import Iterator
from typing import Literal, NamedTuple

LONGEST_SIDE, MOST_PIXELS = 8000, 1 << 24
_PNG = b"\x89PNG\r\n\x1a\n"
_PNG_KEPT = frozenset((b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"))
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_BLOCK = 1 << 20
# Start-of-frame markers. Only baseline and progressive JPEGs are accepted, because browsers support both.
_FRAMES = frozenset((0xC0, 0xC1, 0xC2))
_JPEG_KEPT = _FRAMES | frozenset((0xC4, 0xDA, 0xDB, 0xDD, 0xEE))
_IN_SAMPLES = frozenset(bytes((second,)) for second in (0x00, *range(0xD0, 0xD8)))
_SVG = re.compile(rb"\s*+(<\?xml[^>]{0,200}>\s*+)?(<!--[^>]{0,500}-->\s*+)?(<!DOCTYPE svg[^>\[]{0,300}>\s*+)?<svg[\s>]")


class Picture(NamedTuple):
    media_type: Literal["image/png", "image/jpeg", "image/svg+xml"]
    content: bytes


def picture_of(content: bytes) -> Picture | None:
    """Returns the picture without metadata, or None if the bytes are not a valid picture."""
    if content.startswith(_PNG):
        png = _png(content)
        return None if png is None else Picture("image/png", png)
    if content.startswith(b"\xff\xd8"):
        jpeg = _jpeg(content)
        return None if jpeg is None else Picture("image/jpeg", jpeg)
    if _SVG.match(content) and b"<!ENTITY" not in content:
        return Picture("image/svg+xml", content)
    return None


def _is_bounded(width: int, height: int) -> bool:
    return 0 < width <= LONGEST_SIDE and 0 < height <= LONGEST_SIDE and width * height <= MOST_PIXELS


def _png(content: bytes) -> bytes | None:
    """Returns a PNG without metadata, or None if it is invalid. See PNG (Third Edition), W3C 2025, sections 5 and
    11."""
    kept, pixels, expected = [_PNG], bytearray(), 0
    for kind, data, chunk in _chunks(content):
        if kind == b"IHDR":
            if expected or len(data) != 13:
                return None
            width, height, depth, colour, compression, filtering, interlace = struct.unpack(">IIBBBBB", data)
            if not _is_bounded(width, height) or colour not in _CHANNELS or depth not in (1, 2, 4, 8, 16):
                return None
            if compression or filtering or interlace:
                return None
            expected = height * (1 + math.ceil(width * depth * _CHANNELS[colour] / 8))
        elif not expected or (kind not in _PNG_KEPT and not kind[0] & 0x20):
            return None
        if kind == b"IDAT":
            pixels += data
        if kind in _PNG_KEPT:
            kept.append(chunk)
        if kind == b"IEND":
            return b"".join(kept) if _inflated(bytes(pixels), expected) == expected else None
    return None


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yields each chunk's type, data and full bytes. Stops at the first damaged chunk."""
    at = len(_PNG)
    while at + 12 <= len(content):
        length, kind = struct.unpack(">I4s", content[at : at + 8])
        end = at + 12 + length
        data = content[at + 8 : end - 4]
        if end > len(content) or zlib.crc32(kind + data) != int.from_bytes(content[end - 4 : end]):
            return
        yield kind, data, content[at:end]
        at = end


def _inflated(data: bytes, most: int) -> int:
    """Returns the decompressed size, up to `most` + 1, or 0 if the data is damaged."""
    inflater, size = zlib.decompressobj(), 0
    try:
        while data and size <= most:
            size += len(inflater.decompress(data, min(_BLOCK, most + 1 - size)))
            data = inflater.unconsumed_tail
    except zlib.error:
        return 0
    return size if inflater.eof else 0


def _jpeg(content: bytes) -> bytes | None:
    """Returns a JPEG without metadata, or None if it is invalid. See ITU-T T.81, annex B."""
    kept, at, framed = [b"\xff\xd8"], 2, False
    while at + 4 <= len(content) and content[at] == 0xFF:
        marker, length = content[at + 1], int.from_bytes(content[at + 2 : at + 4])
        end = at + 2 + length
        if length < 2 or end > len(content):
            return None
        if marker in _FRAMES:
            if framed or length < 8 or not _is_bounded(*struct.unpack(">HH", content[at + 5 : at + 9])):
                return None
            framed = True
        if marker == 0xDA:  # samples follow, up to the next marker other than a restart
            if not framed:
                return None
            while (end := content.find(b"\xff", end)) >= 0 and content[end + 1 : end + 2] in _IN_SAMPLES:
                end += 2
            if end < 0:
                return None
        if marker in _JPEG_KEPT:
            kept.append(content[at:end])
        if content[end : end + 2] == b"\xff\xd9":
            return b"".join((*kept, b"\xff\xd9")) if marker == 0xDA else None
        at = end
    return None
