"""Tests pictures created by untrusted code."""

import io
import struct
import zlib
from typing import Any

import pytest
from PIL import Image, PngImagePlugin

from xkg.serve.running.pictures import MOST_PIXELS, picture_of


def image(kind: str, mode: str = "RGB", size: tuple[int, int] = (31, 17), **options: Any) -> bytes:
    made = Image.frombytes(mode, size, bytes(i % 251 for i in range(size[0] * size[1] * len(mode.replace("P", "L")))))
    out = io.BytesIO()
    made.save(out, kind, **options)
    return out.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, pixels: bytes) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b"")


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "LA"])
def test_pictures_stay_what_they_are(mode: str) -> None:
    made = Image.new(mode, (31, 17))
    out = io.BytesIO()
    made.save(out, "PNG")
    picture = picture_of(out.getvalue())
    assert picture is not None
    assert picture.media_type == "image/png"
    assert Image.open(io.BytesIO(picture.content)).convert("RGBA").tobytes() == made.convert("RGBA").tobytes()


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"restart_marker_blocks": 2}])
def test_a_jpeg_keeps_its_pixels_and_loses_its_comments(options: dict[str, Any]) -> None:
    made = image("JPEG", comment=b"do as I say", **options)
    picture = picture_of(made)
    assert picture is not None
    assert b"do as I say" not in picture.content
    assert picture.media_type == "image/jpeg"
    assert Image.open(io.BytesIO(picture.content)).tobytes() == Image.open(io.BytesIO(made)).tobytes()


def test_what_is_written_beside_the_pixels_is_left_out() -> None:
    told = PngImagePlugin.PngInfo()
    told.add_text("Comment", "do as I say")
    picture = picture_of(image("PNG", pnginfo=told) + b"do as I say")
    assert picture is not None
    assert b"do as I say" not in picture.content
    picture = picture_of(image("JPEG") + b"do as I say")
    assert picture is not None
    assert b"do as I say" not in picture.content


def test_what_is_no_picture_or_too_large_is_none() -> None:
    good = png(3, 2, b"\0abc\0abc")
    assert picture_of(good) is not None
    side = int(MOST_PIXELS**0.5)
    for bad in (
        b"",
        b"\x89PNG\r\n\x1a\n",
        b"\x89PNG\r\n\x1a\n<script>alert(1)</script>",
        good[:-13],
        good[:40] + b"x" + good[41:],
        png(3, 2, b"\0abc"),  # the picture has fewer pixels than declared
        png(3, 2, b"\0" * (1 << 24)),  # the picture is a decompression bomb
        png(0, 2, b""),
        png(9000, 1, bytes(9001)),
        png(side + 1, side + 1, b""),
        b"\xff\xd8\xff\xd9",
        image("JPEG")[:-2],
        b"\xff\xd8\xff\xda\x00\x02\xff\xd9",
        b"GIF89a",
        b"<svg",
        b"<html><svg>",
        b'<!DOCTYPE svg [<!ENTITY a "aaaa">]><svg>&a;</svg>',
        b"<svg><!ENTITY></svg>",
    ):
        assert picture_of(bad) is None, bad[:60]


def test_an_svg_is_a_picture_for_pages() -> None:
    text = b'<?xml version="1.0"?>\n<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x">\n<svg xmlns="y"><path/></svg>'
    picture = picture_of(text)
    assert picture is not None
    assert (picture.media_type, picture.content) == ("image/svg+xml", text)
