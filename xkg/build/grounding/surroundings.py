"""What stands around a symbol, beside its own evidence: the symbols that it calls, that call it, and that it holds.

A linear model of the best place among the candidates (Cao et al., "Learning to Rank: From Pairwise Approach to
Listwise Approach", ICML 2007), fitted by `evaluation.place_weights` on labelled places. In units of the score of
evidence, whose own weight is 1."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from xkg.build.grounding.block_search import BlockSearch
from xkg.build.grounding.evidence import Evidence
from xkg.build.grounding.index.symbol_index import Entry

WEIGHTS: Mapping[str, float] = {
    "named callee": -0.152,  # a caller that shares the words of what it calls is seldom the place itself
    "better lines of a caller": 0.123,
    "best member": 0.022,
    "neighbours": 0.029,
    "module": 0.081,
    "module of definitions": 0.099,  # it is not embedded: `meaning` is 0
    "parts that a constructor makes": 0.071,
    "meaning": 0.1,
    "second block": 0.091,
    "prose": -0.011,
}
# What a very good candidate gains: with it the best score stays below 1.
_GAIN = 0.2

_MADE = re.compile(r"=\s*+[\w.]++\(")


class Surroundings:
    """The symbols around each candidate of a repository."""

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self._entries = entries
        self._callers: dict[str, list[str]] = {}
        for entry in entries.values():
            for callee in entry.source.calls:
                self._callers.setdefault(callee, []).append(entry.id)

    def neighbours(self, symbol: str, candidates: Mapping[str, float]) -> list[str]:
        """The callees and callers of a symbol that are candidates."""
        return [
            *_among(self._entries[symbol].source.calls, symbol, candidates),
            *self._calling(symbol, candidates),
        ]

    def features(
        self,
        symbol: str,
        scores: Mapping[str, float],
        evidence: Mapping[str, Evidence],
        blocks: BlockSearch,
        i: int,
    ) -> dict[str, float]:
        """The features of one candidate for technique i of `blocks`, by the names of `WEIGHTS`; `scores` and `evidence`
        are those of all candidates."""
        entry = self._entries[symbol]
        callees = _among(entry.source.calls, symbol, scores)
        callers = self._calling(symbol, scores)
        inside = blocks.of_symbol(i, symbol)
        return {
            "named callee": _most(evidence[c].name for c in callees),
            "better lines of a caller": max(0.0, _most(evidence[c].lines for c in callers) - evidence[symbol].lines),
            "best member": _most(scores[m] for m in entry.members if m in scores),
            "neighbours": math.log1p(len(callees) + len(callers)),
            "module": float(entry.kind == "module"),
            "module of definitions": float(entry.kind == "module" and bool(entry.members)),
            "parts that a constructor makes": _parts(entry),
            "meaning": evidence[symbol].meaning,
            "second block": inside[1][1] if len(inside) > 1 else 0.0,
            "prose": math.log1p(len(entry.fields["prose"])),
        }

    def _calling(self, symbol: str, candidates: Mapping[str, float]) -> list[str]:
        return _among(self._callers.get(symbol, ()), symbol, candidates)


def corrected(features: Mapping[str, float]) -> float:
    """The score of a candidate by evidence and surroundings, from its `features` and its `score` by evidence."""
    correction = sum(weight * features[name] for name, weight in WEIGHTS.items())
    return max(0.0, (features["score"] + correction) / (1 + _GAIN))


def _among(symbols: Sequence[str], symbol: str, candidates: Mapping[str, float]) -> list[str]:
    return [other for other in symbols if other in candidates and other != symbol]


def _parts(entry: Entry) -> float:
    """The parts that a constructor makes, as a logarithm: one that only stores its settings has none."""
    return math.log1p(len(_MADE.findall(entry.text))) if entry.short_name == "__init__" else 0.0


def _most(values: Iterable[float]) -> float:
    return max(values, default=0.0)
