"""A paper's bundle as a single property of `(:XkgBundle)`: the number of the commit and the bytes of the bundle file,
compressed.

Readers may see only part of a commit, but never part of a property. The paper's nodes and edges are derived from the
bundle."""

import zlib
from pathlib import Path
from typing import NamedTuple

from xkg.errors import CorruptStoreError
from xkg.model import PaperBundle
from xkg.store import bundles

_LARGEST = 1 << 30


class Stored(NamedTuple):
    """A paper as written by the commit `generation`."""

    bundle: PaperBundle
    generation: int


def pack(bundle: PaperBundle, generation: int) -> bytes:
    return zlib.compress(b"%d\n" % generation + bundles.serialise(bundle))


def unpack(data: object, paper: str) -> Stored:
    """Raises `CorruptStoreError` if the data was not written by `pack`. `paper` is only used in the message."""
    try:
        if not isinstance(data, bytes | bytearray):
            raise TypeError
        generation, _, content = zlib.decompressobj().decompress(data, _LARGEST).partition(b"\n")
        return Stored(bundles.parse(content, Path(paper)), int(generation))
    except (zlib.error, TypeError, ValueError, CorruptStoreError) as error:
        raise CorruptStoreError(
            f"the stored bundle of paper {paper!a} has changed since it was written; build or import the paper again, "
            "or remove it with `xkg remove`"
        ) from error
