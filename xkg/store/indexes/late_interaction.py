"""Compares the words in a query with the words in texts, using late interaction (`xkg.embeddings.base`)."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from xkg.embeddings.base import EncodedText
from xkg.store.graph_store import Coverage
from xkg.store.indexes.text import word_terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WORD = re.compile(r"[^\W_]+")
"""Matches the same words as the embedding models. If a technique's name has n distinct words, these are the first n
words in the technique's text."""


def interaction(
    reading: EncodedText, texts: Mapping[str, bytes], rarity_of: Callable[[Sequence[str]], Mapping[str, float]]
) -> dict[str, float]:
    """Returns the mean similarity (-1 to 1) between the query's words and their nearest words in each text. The
    similarity of two words is the fraction of equal signs in their codes minus the fraction of different signs. A query
    word's weight is the rarity of its rarest term (`rarity_of`). Words that text search ignores have no weight. The
    result is empty if no query word has weight."""
    import numpy as np

    terms = [word_terms(word) for word in reading.words]
    rarity = rarity_of(list(dict.fromkeys(term for own in terms for term in own)))
    weights = np.array([max((rarity[term] for term in own), default=0.0) for own in terms])
    counted = np.flatnonzero(weights)
    width = reading.codes.shape[1]
    known = {name: codes for name, codes in texts.items() if codes and len(codes) % width == 0} if width else {}
    if not len(counted) or not known:
        return {}
    codes = np.frombuffer(b"".join(known.values()), np.uint8).reshape(-1, width)
    starts = np.cumsum([0, *(len(own) // width for own in known.values())])[:-1]
    nearest = np.minimum.reduceat(_differing(reading.codes[counted], codes), starts, axis=1)
    weights = weights[counted]
    means = 1 - 2 * (weights @ nearest) / (weights.sum() * 8 * width)
    return dict(zip(known, means.tolist(), strict=True))


def name_coverage(reading: EncodedText, texts: Mapping[str, bytes], names: Mapping[str, str]) -> dict[str, Coverage]:
    """Returns the similarity between the words in each text's name and the query's words. Each text must begin with the
    technique's name. Texts whose names contain no words are omitted."""
    import numpy as np

    width = reading.codes.shape[1]
    known: dict[str, bytes] = {}
    for text, codes in texts.items():
        words = len(dict.fromkeys(_WORD.findall(names[text].lower())))
        if width and len(codes) % width == 0 and (own := codes[: words * width]):
            known[text] = own
    if not known:
        return {}
    every = np.frombuffer(b"".join(known.values()), np.uint8).reshape(-1, width)
    nearest = 1 - _differing(every, reading.codes).min(axis=1) / (4 * width)
    found: dict[str, Coverage] = {}
    start = 0
    for text, own in known.items():
        shares = nearest[start : (start := start + len(own) // width)].tolist()
        found[text] = Coverage(sum(shares) / len(shares), min(shares))
    return found


def _differing(words: "NDArray[np.uint8]", others: "NDArray[np.uint8]") -> "NDArray[np.uint16]":
    """Returns the number of bits in which each of `words` differs from each of `others`, with shape (words, others)."""
    import numpy as np

    if len(words) > len(others):  # longer rows are faster to compute with
        return np.ascontiguousarray(_differing(others, words).T)
    # Compares eight bytes at a time if possible, for example for models with 384 dimensions.
    wide = np.uint64 if words.shape[1] % 8 == 0 else np.uint8
    ours, theirs = (np.ascontiguousarray(codes).view(wide).T.copy() for codes in (words, others))
    found = np.zeros((len(words), len(others)), np.uint16)
    for mine, column in zip(ours, theirs, strict=True):
        found += np.bitwise_count(mine[:, None] ^ column)
    return found
