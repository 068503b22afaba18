"""Metrics of ranked lists and of spans of lines. A ranking is a list of booleans, best first: is this one right?"""

from collections.abc import Iterable, Sequence


def recall_at(k: int, rankings: Iterable[Sequence[bool]]) -> float:
    """The share of rankings with a right one among the first k; 0 if there are no rankings."""
    found = [any(ranking[:k]) for ranking in rankings]
    return sum(found) / len(found) if found else 0.0


def recall_of(truth: Sequence[Sequence[int]], found: Sequence[Sequence[int]]) -> float:
    """The mean share of the right ones that were found; 0 if there are none."""
    shares = [
        len(set(right) & set(those)) / len(set(right)) for right, those in zip(truth, found, strict=True) if right
    ]
    return sum(shares) / len(shares) if shares else 0.0


def reciprocal_rank(ranking: Sequence[bool]) -> float:
    """1 over the rank of the first right one, 0 if none is right."""
    return next((1 / rank for rank, right in enumerate(ranking, start=1) if right), 0.0)


def mean_reciprocal_rank(rankings: Iterable[Sequence[bool]]) -> float:
    """The mean of `reciprocal_rank`; 0 if there are no rankings."""
    ranks = [reciprocal_rank(ranking) for ranking in rankings]
    return sum(ranks) / len(ranks) if ranks else 0.0


def overlap(a: tuple[int, int], b: tuple[int, int]) -> float:
    """The number of lines in both spans (first, last; inclusive) over the number in either: 0 to 1."""
    shared = min(a[1], b[1]) - max(a[0], b[0]) + 1
    return max(0, shared) / (max(a[1], b[1]) - min(a[0], b[0]) + 1)
