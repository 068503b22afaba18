"""Fuses rankings, and splits code and prose into words for text search."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def split_identifier(text: str) -> list[str]:
    """Splits identifiers and prose into lower-case words: `getHTTPCode_v2` becomes get, http, code, v, 2."""
    shape = text if text.isascii() else "".join(map(_shape, text))
    return [text[piece.start() : piece.end()].lower() for piece in _PIECES.finditer(shape)]


def _shape(character: str) -> str:
    """Returns a character's class for word splitting: `A` for upper-case letters, `a` for other letters and marks, `0`
    for digits, and a space for anything else."""
    if character.isupper():
        return "A"
    if character.isalpha() or unicodedata.category(character)[0] == "M":
        return "a"
    return "0" if character.isnumeric() else " "


def reciprocal_rank_fusion(
    rankings: Iterable[Sequence[str]], *, weights: Sequence[float] | None = None, k: int = 60
) -> list[tuple[str, float]]:
    """Returns ids with fused scores, best first, with ties in id order. Each ranking must be best first, without
    duplicates.

    Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods",
    SIGIR 2009.
    """
    scores: dict[str, float] = {}
    for i, ranking in enumerate(rankings):
        weight = 1.0 if weights is None else weights[i]
        for rank, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0.0) + weight / (k + rank)
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
