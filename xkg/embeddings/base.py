"""Defines the `Embedder` protocol and encoded texts. A text has one vector for the whole text, and one for each word
(late interaction).

Khattab and Zaharia, "ColBERT: Efficient and Effective Passage Search via Contextualized Late Interaction over BERT",
SIGIR 2020. The word vectors come from the token vectors that a sentence embedding model pools; no model is trained for
late interaction. Only the sign of each number is stored: 48 bytes per word for 384 dimensions. A repeated word is
stored once, as the mean of its occurrences. On our queries, storing only signs and means does not reduce recall."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ENCODED_CHARACTERS = 50_000
MINILM = "all-MiniLM-L6-v2"
"""The default model."""


class Embedder(Protocol):
    """Converts texts to unit vectors. `embed` returns a float32 array of shape (len(texts), dimension), in which row i
    is the vector of texts[i]. Vectors are comparable if their `model` names are equal. Raises `EmbeddingError` if texts
    cannot be embedded."""

    @property
    def model(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


class EncodedText(NamedTuple):
    """The encoding of a text. `vector` has unit length. `words` are distinct, lower-case and without punctuation.
    `codes` has shape (words, dimension / 8), and row i contains the signs of the vector for words[i]. `words` and
    `codes` are empty if the model does not return word vectors."""

    vector: NDArray[np.float32]
    words: tuple[str, ...]
    codes: NDArray[np.uint8]


class Text(str):
    """A text in which one part serves only as context. The part from `start` to `end` affects the vectors, but its
    words are not listed."""

    __slots__ = ("end", "start")

    def __new__(cls, text: str, start: int, end: int) -> Self:
        instance = super().__new__(cls, text)
        instance.start, instance.end = start, end
        return instance

    start: int
    end: int


class Passage(str):
    """A text that is split into `segments`, which are also encoded separately. The vector for the whole text is the
    mean over the segments' tokens, and its words are the segments' words. Encoding the segments as well therefore costs
    no more than encoding only the whole text."""

    __slots__ = ("segments",)

    def __new__(cls, text: str, segments: Sequence[str]) -> Self:
        instance = super().__new__(cls, text)
        instance.segments = tuple(segments)
        return instance

    segments: tuple[str, ...]


class EncodedDocuments(NamedTuple):
    """Vectors for several texts, of shape (texts, dimension), and each text's word codes as bytes."""

    vectors: NDArray[np.float32]
    codes: Sequence[bytes]


@runtime_checkable
class WordEncoder(Protocol):
    """An embedder that also encodes words. Raises `EmbeddingError` if texts cannot be encoded."""

    def encode(self, texts: Sequence[str]) -> Sequence[EncodedText]: ...


@runtime_checkable
class DocumentEncoder(Protocol):
    """An embedder that caches encoded texts. Raises `EmbeddingError` if texts cannot be encoded."""

    def encode_documents(self, texts: Sequence[str]) -> EncodedDocuments: ...


def encode(embedder: Embedder, texts: Sequence[str]) -> Sequence[EncodedText]:
    """Encodes queries. Raises `EmbeddingError` if the texts cannot be encoded."""
    import numpy as np

    if isinstance(embedder, WordEncoder):
        return embedder.encode(texts)
    none = np.empty((0, 0), np.uint8)
    # Return copies, because a view would keep the whole batch in memory.
    return [EncodedText(vector.copy(), (), none) for vector in embedder.embed(texts)]


def encode_documents(embedder: Embedder, texts: Sequence[str]) -> EncodedDocuments:
    """Encodes texts for an index. Raises `EmbeddingError` if the texts cannot be encoded."""
    import numpy as np

    if isinstance(embedder, DocumentEncoder):
        return embedder.encode_documents(texts)
    if isinstance(embedder, WordEncoder):
        readings = embedder.encode(texts)
        if readings:
            return EncodedDocuments(np.stack([r.vector for r in readings]), [r.codes.tobytes() for r in readings])
    return EncodedDocuments(embedder.embed(texts), [b""] * len(texts))


class WordSums(NamedTuple):
    """The distinct lower-case words in a text. Row i of `sums` is the sum of the token vectors for words[i]."""

    words: tuple[str, ...]
    sums: NDArray[np.float32]

    @property
    def codes(self) -> NDArray[np.uint8]:
        """Returns the sign codes for each word (see `EncodedText`)."""
        import numpy as np

        return np.packbits(self.sums > 0, axis=1)


def word_sums(
    text: str, hidden: NDArray[np.float32], word_ids: Sequence[int | None], offsets: Sequence[tuple[int, int]]
) -> WordSums:
    """Returns the words in a text and the sums of their vectors. For token i, `hidden[i]` is the vector and
    `word_ids[i]` is the index of the token's word (None for special tokens). `offsets[i]` is the token's span in the
    text."""
    import numpy as np

    others = range(text.start, text.end) if isinstance(text, Text) else range(0)
    spans: dict[int, tuple[int, int]] = {}
    tokens: dict[int, list[int]] = {}  # one entry for each word, including repetitions
    for token, (word, (start, end)) in enumerate(zip(word_ids, offsets, strict=True)):
        if word is None or start in others:
            continue
        if word in spans:
            spans[word] = spans[word][0], end
            tokens[word].append(token)
        else:
            spans[word] = start, end
            tokens[word] = [token]
    places: dict[str, list[int]] = {}  # one entry for each distinct word
    for word, (start, end) in spans.items():
        name = text[start:end].lower()
        if name.isalnum() or any(map(str.isalnum, name)):
            places.setdefault(name, []).extend(tokens[word])
    if not places:
        return WordSums((), np.zeros((0, hidden.shape[1]), np.float32))
    starts = list(accumulate(map(len, places.values()), initial=0))[:-1]
    return WordSums(tuple(places), np.add.reduceat(hidden[list(chain.from_iterable(places.values()))], starts, axis=0))
