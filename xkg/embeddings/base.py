"""The `Embedder` protocol, and what a model makes of a text: one vector of the whole, and one of each of its words, for
late interaction.

Khattab and Zaharia, "ColBERT: Efficient and Effective Passage Search via Contextualized Late Interaction over BERT",
SIGIR 2020. Here no model is trained for it: the vectors are those that a sentence embedding model would pool. Of each
number only the sign is kept, 48 bytes a word where there are 384, and a word that stands several times in a text once,
as the mean of its places. Neither cost recall on our queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

READ_CHARACTERS = 50_000


class Embedder(Protocol):
    """`embed` gives float32 of shape (len(texts), dimension), each row of unit length, row i for texts[i].
    `model` names the vectors: equal names mean comparable vectors. Raises `EmbeddingError`."""

    @property
    def model(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


class Reading(NamedTuple):
    """`vector` has unit length. `words` are different and in lower case, without punctuation; row i of `codes`, of
    shape (words, dimension / 8), has the signs of the vector of words[i]. Both are empty where a model gives none."""

    vector: NDArray[np.float32]
    words: tuple[str, ...]
    codes: NDArray[np.uint8]


class Text(str):
    """A text that says from `start` to `end` what it belongs to: that counts for its vectors, and its words are not the
    text's own."""

    __slots__ = ("end", "start")

    def __new__(cls, text: str, start: int, end: int) -> Self:
        made = super().__new__(cls, text)
        made.start, made.end = start, end
        return made

    start: int
    end: int


class Documents(NamedTuple):
    """Vectors of shape (texts, dimension), and the codes of each text's words as bytes."""

    vectors: NDArray[np.float32]
    codes: Sequence[bytes]


@runtime_checkable
class Reader(Protocol):
    """An embedder that also gives the words of texts. Raises `EmbeddingError`."""

    def read(self, texts: Sequence[str]) -> Sequence[Reading]: ...


@runtime_checkable
class KeepsDocuments(Protocol):
    """An embedder that remembers what it gave of texts. Raises `EmbeddingError`."""

    def documents(self, texts: Sequence[str]) -> Documents: ...


def read(embedder: Embedder, texts: Sequence[str]) -> Sequence[Reading]:
    """What `embedder` makes of queries. Raises `EmbeddingError`."""
    import numpy as np

    if isinstance(embedder, Reader):
        return embedder.read(texts)
    none = np.empty((0, 0), np.uint8)
    # Vectors of their own: a view would keep the whole of what was embedded together.
    return [Reading(vector.copy(), (), none) for vector in embedder.embed(texts)]


def documents(embedder: Embedder, texts: Sequence[str]) -> Documents:
    """What `embedder` makes of the texts of an index. Raises `EmbeddingError`."""
    import numpy as np

    if isinstance(embedder, KeepsDocuments):
        return embedder.documents(texts)
    if isinstance(embedder, Reader):
        readings = embedder.read(texts)
        if readings:
            return Documents(np.stack([r.vector for r in readings]), [r.codes.tobytes() for r in readings])
    return Documents(embedder.embed(texts), [b""] * len(texts))


def words_of(
    text: str, hidden: NDArray[np.float32], word_ids: Sequence[int | None], offsets: Sequence[tuple[int, int]]
) -> tuple[tuple[str, ...], NDArray[np.uint8]]:
    """The own words of a text and their codes, from the vector of each of its tokens, row i of `hidden`: which word a
    token is of (None for those that stand for no text), and where in the text it stands."""
    import numpy as np

    spans: dict[int, tuple[int, int]] = {}
    others = range(text.start, text.end) if isinstance(text, Text) else range(0)
    for word, (start, end) in zip(word_ids, offsets, strict=True):
        if word is not None and start not in others:
            spans[word] = (spans[word][0] if word in spans else start, end)
    places: dict[str, int] = {}
    rows: dict[int, int] = {}
    for word, (start, end) in spans.items():
        name = text[start:end].lower()
        if any(map(str.isalnum, name)):
            rows[word] = places.setdefault(name, len(places))
    counted = [(token, rows[word]) for token, word in enumerate(word_ids) if word is not None and word in rows]
    sums = np.zeros((len(places), hidden.shape[1]), np.float32)
    if counted:
        tokens, own = zip(*counted, strict=True)
        np.add.at(sums, list(own), hidden[list(tokens)])
    return tuple(places), np.packbits(sums > 0, axis=1)
