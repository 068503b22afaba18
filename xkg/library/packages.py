"""A package is a gzip file that contains a JSON line, followed by the parts of a paper that the line lists."""

import hashlib
import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter

from xkg.embeddings.base import EncodedDocuments
from xkg.embeddings.cache import CachedEmbedder
from xkg.errors import CorruptStoreError, InputError, UnsafeInputError
from xkg.library.layout import Version, parse, unzip, zipped
from xkg.model import Ablation, PaperBundle, paper_of
from xkg.store import bundles
from xkg.store.index_entries import searched_entries, vector_text
from xkg.store.peer_format import MOST_TECHNIQUES

MOST_PACKAGE, MOST_UNPACKED = 128 << 20, 512 << 20
_MOST_PARTS = 5000
_FORMAT = "xkg-package-1"
_BUNDLE, _ABLATION, _ENVELOPE, _VECTORS = "bundle", "ablation", "envelope", "vectors "
_LIST = TypeAdapter(tuple[str, tuple[tuple[str, int], ...]])
_HASH = 32


class Part(NamedTuple):
    """A part of a paper. `kind` is `bundle`, `ablation`, `envelope`, or `vectors` followed by the name of the embedding
    model."""

    kind: str
    data: bytes

    @property
    def mark(self) -> str:
        """The part's name in the index, or '' for a bundle, which the index identifies by `Version.content`."""
        if self.kind.startswith(_VECTORS):
            return self.kind
        return "" if self.kind == _BUNDLE else hashlib.sha256(self.data).hexdigest()[:16]


class Contents(NamedTuple):
    """A paper's contents in a library. `vectors` contains the parts for `put_vectors`."""

    bundle: PaperBundle
    envelopes: tuple[str, ...]
    ablations: tuple[Ablation, ...]
    vectors: tuple[Part, ...]


def parts_of(
    bundle: PaperBundle, envelopes: Iterable[str], ablations: Iterable[Ablation], embedder: CachedEmbedder
) -> list[Part]:
    """Returns all parts of a paper that are pushed to a library. Embeds any texts that have not been embedded yet."""
    parts = [Part(_BUNDLE, bundles.serialise(bundle))]
    parts += [Part(_ENVELOPE, envelope.encode("utf-8", "surrogatepass")) for envelope in envelopes]
    parts += [Part(_ABLATION, json.dumps(each.model_dump()).encode("ascii")) for each in ablations]
    texts = [vector_text(entry) for entry in searched_entries(bundle)]
    if texts:
        found = embedder.encode_documents(texts)
        keys = b"".join(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts)
        sizes = struct.pack(f"<{2 + len(texts)}I", len(texts), found.vectors.shape[1], *map(len, found.codes))
        vectors = found.vectors.astype("<f4").tobytes()
        parts.append(Part(f"{_VECTORS}{embedder.model}", b"".join([sizes, keys, vectors, *found.codes])))
    return parts


def pack(parts: Sequence[Part]) -> bytes:
    head = json.dumps([_FORMAT, [[part.kind, len(part.data)] for part in parts]]).encode("ascii")
    return zipped(b"".join([head, b"\n", *(part.data for part in parts)]))


def unpack(data: bytes) -> list[Part]:
    """Returns the parts in a package. Raises `UnsafeInputError` if the data is not a package."""
    unpacked = unzip(data, MOST_UNPACKED, "a package")
    at = unpacked.find(b"\n", 0, 1 << 20) + 1
    form, listed = parse(_LIST, unpacked[:at], "a package")
    sizes = [size for _, size in listed]
    whole = all(size >= 0 for size in sizes) and at + sum(sizes) == len(unpacked)
    if form != _FORMAT or len(listed) > _MOST_PARTS or not whole:
        raise UnsafeInputError("a package is not in the format that `xkg push` writes; ask the library's maintainer")
    parts = []
    for kind, size in listed:
        parts.append(Part(kind, unpacked[at : at + size]))
        at += size
    return parts


def contents(
    parts: Iterable[Part], paper: str, version: Version, place: str, base: PaperBundle | None = None
) -> Contents:
    """Assembles a paper from the parts in its packages, and checks it against the index. If `base` is given, the parts
    belong to this bundle; otherwise, they include the bundle. Raises `UnsafeInputError`."""
    by_kind: dict[str, list[Part]] = {}
    for part in parts:
        by_kind.setdefault("vectors" if part.kind.startswith(_VECTORS) else part.kind, []).append(part)
    try:
        data = by_kind[_BUNDLE][0].data if base is None else b""
        bundle = base or bundles.parse(data, Path(place), paper)
        bundles.validate(bundle)
        whole = bundle.paper.id == paper and (base is not None or bundles.stated_sha256(data) == version.content)
    except (KeyError, CorruptStoreError, InputError) as error:
        raise UnsafeInputError(f"{paper[:200]}: {place} has no bundle that this version of xkg can read") from error
    if not whole or len(bundle.techniques) > MOST_TECHNIQUES:
        raise UnsafeInputError(
            f"{paper[:200]}: {place} has a different paper under this name, or the package is too large for a paper"
        )
    ablations = [parse(Ablation, part.data, "an ablation") for part in by_kind.get(_ABLATION, ())]
    return Contents(
        bundle=bundle,
        envelopes=tuple(part.data.decode("utf-8", "replace") for part in by_kind.get(_ENVELOPE, ())),
        ablations=tuple(each for each in ablations if paper_of(each.technique) == paper),
        vectors=tuple(by_kind.get("vectors", ())),
    )


def put_vectors(found: Iterable[Contents], embedder: CachedEmbedder) -> None:
    """Stores vectors from this embedder's model in one transaction, for texts that have not been embedded here yet.
    Skips vectors from other models and those without unit length."""
    import numpy as np

    usable = (
        (texts, encoded)
        for paper in found
        for part in paper.vectors
        if part.kind == f"{_VECTORS}{embedder.model}"
        for texts, encoded in _encoded(part.data, paper.bundle)
    )
    for _, alike in groupby(usable, lambda each: each[1].vectors.shape[1]):
        texts, encoded = zip(*alike, strict=True)
        vectors = np.concatenate([each.vectors for each in encoded])
        codes = [code for each in encoded for code in each.codes]
        embedder.put([text for own in texts for text in own], EncodedDocuments(vectors, codes))


def _encoded(data: bytes, bundle: PaperBundle) -> "Iterator[tuple[list[str], EncodedDocuments]]":
    """Yields the texts in the bundle that have vectors in the part, along with the vectors. Yields nothing if the part
    is damaged or contains no vectors."""
    import numpy as np

    try:
        count, dimension = struct.unpack_from("<2I", data)
        if count > MOST_TECHNIQUES:
            return
        sizes = struct.unpack_from(f"<{count}I", data, 8)
        at = 8 + 4 * count
        keys = [data[at + _HASH * n : at + _HASH * (n + 1)] for n in range(count)]
        at += _HASH * count
        vectors = np.frombuffer(data, "<f4", count * dimension, at).reshape(count, dimension)
        at += 4 * count * dimension
        if at + sum(sizes) != len(data) or not np.allclose((vectors**2).sum(axis=1), 1, atol=1e-3):
            return
    except (struct.error, ValueError, IndexError):
        return
    codes = []
    for size in sizes:
        codes.append(data[at : at + size])
        at += size
    rows = {key: row for row, key in enumerate(keys)}
    texts = {
        hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(): text
        for text in map(vector_text, searched_entries(bundle))
    }
    wanted = [(texts[key], row) for key, row in rows.items() if key in texts]
    if wanted:
        some = [row for _, row in wanted]
        yield [text for text, _ in wanted], EncodedDocuments(vectors[some], [codes[row] for row in some])
