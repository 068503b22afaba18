"""Decides whether a technique's first place is certain: independent kinds of evidence agree on it, no other code comes
near, and the technique's name is in its code."""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter

from xkg.build.grounding.evidence import Evidence
from xkg.build.grounding.index.symbol_index import Entry
from xkg.build.grounding.places import are_twins
from xkg.build.grounding.ranking import Candidate

_KINDS = tuple(map(attrgetter, ("words", "name", "lines", "meaning")))
_AGREEING = 3  # kinds of evidence that must rank it first
_SCORE = 0.65
_LEAD = 0.15
# Comments name other methods too, so at least this share of the name evidence must come from code.
_IN_CODE = 0.4


def is_certain(best: Candidate, ranked: Sequence[Candidate], entries: Mapping[str, Entry]) -> bool:
    """Whether `best` is certain among a technique's candidates, `ranked`. `entries` are all symbols."""
    found = best.evidence
    return (
        found.score >= _SCORE
        and found.own_name >= _IN_CODE * found.name > 0
        and sum(_is_first(kind, best, ranked, entries) for kind in _KINDS) >= _AGREEING
        and _lead(best, ranked, entries) >= _LEAD
    )


def _is_first(
    kind: Callable[[Evidence], float], best: Candidate, ranked: Sequence[Candidate], entries: Mapping[str, Entry]
) -> bool:
    """Whether a kind of evidence ranks a candidate first, or a symbol that contains it or that it contains."""
    strengths = {each.symbol: kind(each.evidence) * each.evidence.role for each in ranked}
    most = max(strengths.values())
    first = (entries[symbol] for symbol, strength in strengths.items() if strength == most > 0)
    return any(_nested(entry, entries[best.symbol]) for entry in first)


def _lead(best: Candidate, ranked: Sequence[Candidate], entries: Mapping[str, Entry]) -> float:
    """The margin of a candidate's score over the best candidate that is other code."""
    own = entries[best.symbol]
    others = ((entries[each.symbol], each.evidence.score) for each in ranked)
    rivals = (score for entry, score in others if not _nested(entry, own) and not are_twins(entry, own))
    return best.evidence.score - max(rivals, default=0.0)


def _nested(one: Entry, other: Entry) -> bool:
    """Whether two symbols are the same, or one contains the other and is not a file."""
    outer, inner = sorted((one, other), key=lambda entry: -entry.lines)
    first, second = outer.source.symbol, inner.source.symbol
    return first.id == second.id or (
        outer.kind != "module"
        and first.path == second.path
        and first.start_line <= second.start_line <= second.end_line <= first.end_line
    )
