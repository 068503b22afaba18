"""Decides whether a technique's highest-ranked place is certain. A certain place has a high score, and no code in
another file has a similar score."""

from collections.abc import Mapping, Sequence

from xkg.build.grounding.index.symbol_index import Entry
from xkg.build.grounding.places import are_twins
from xkg.build.grounding.ranking import Candidate

_SCORE = 0.65
_LEAD = 0.2


def is_certain(best: Candidate, ranked: Sequence[Candidate], entries: Mapping[str, Entry]) -> bool:
    """Returns whether `best` is a certain match. `ranked` lists the technique's candidates, and `entries` contains all
    symbols."""
    return best.evidence.score >= max(_SCORE, _LEAD + _rival(best, ranked, entries))


def _rival(best: Candidate, ranked: Sequence[Candidate], entries: Mapping[str, Entry]) -> float:
    """Returns the highest score in another file. Considers candidates in the same file only if there are no others,
    because variants and parts of a technique often share a file."""
    own = entries[best.symbol]
    others = [(entries[each.symbol], each.evidence.score) for each in ranked]
    elsewhere = [(entry, score) for entry, score in others if entry.source.symbol.path != own.source.symbol.path]
    rivals = elsewhere or [(entry, score) for entry, score in others if not _nested(entry, own)]
    return max((score for entry, score in rivals if not are_twins(entry, own)), default=0.0)


def _nested(one: Entry, other: Entry) -> bool:
    """Returns whether two symbols in a file are the same or nested. Ignores the file's module."""
    outer, inner = sorted((one, other), key=lambda entry: -entry.lines)
    first, second = outer.source.symbol, inner.source.symbol
    return first.id == second.id or (
        outer.kind != "module" and first.start_line <= second.start_line <= second.end_line <= first.end_line
    )
