"""A paper's bundle in one property of `(:XkgBundle)`: the commit that wrote it, then the bytes of a bundle file,
compressed. A reader may see properties of two commits, so the property itself says of which commit it is."""

import zlib
from pathlib import Path
from typing import NamedTuple

from xkg.errors import CorruptStoreError
from xkg.model import PaperBundle
from xkg.store import bundles

_LARGEST = 1 << 30
"""In bytes; real bundles are below a hundredth of that."""


class Stored(NamedTuple):
    """A paper as the commit `generation` wrote it."""

    bundle: PaperBundle
    generation: int


def pack(bundle: PaperBundle, generation: int) -> bytes:
    return zlib.compress(b"%d\n" % generation + bundles.serialise(bundle))


def unpack(data: object, paper: str) -> Stored:
    """Raises `CorruptStoreError` for bytes that `pack` did not make."""
    try:
        if not isinstance(data, bytes | bytearray):
            raise TypeError
        generation, _, content = zlib.decompressobj().decompress(data, _LARGEST).partition(b"\n")
        return Stored(bundles.parse(content, Path(paper), paper), int(generation))
    except (zlib.error, TypeError, ValueError, CorruptStoreError) as error:
        raise CorruptStoreError(
            f"the stored bundle of paper {paper!a} is not what was written: build or import it again, or take it out "
            "with `xkg remove`"
        ) from error
