"""Searches multi-field documents with BM25F. A document is, for example, a symbol or statement block in a
repository."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from types import MappingProxyType

from xkg.value import Value

_K1 = 1.4
_FEWEST = 20  # the minimum number of documents assumed when estimating rarity


class FieldWeight(Value):
    """The weight of a field. `weight` is the weight of one occurrence in the field. `length` (0 to 1) determines how
    strongly long fields are penalised."""

    weight: float
    length: float


class FieldedIndex:
    """Implements BM25F (Robertson, Zaragoza and Taylor, "Simple BM25 extension to multiple weighted fields", CIKM
    2004). `documents` maps document ids to fields, and fields to stems.

    Document frequency is computed over the documents in `counted`, or over all documents if it is None. `parts` are
    also searched but do not affect the documents' scores."""

    def __init__(
        self,
        documents: Mapping[str, Mapping[str, Sequence[str]]],
        weights: Mapping[str, FieldWeight],
        counted: Set[str] | None = None,
        parts: Mapping[str, Mapping[str, Sequence[str]]] = MappingProxyType({}),
    ) -> None:
        self._postings: dict[str, list[tuple[str, float]]] = {}
        self._frequency: Counter[str] = Counter()
        lengths = {
            name: sum(len(fields[name]) for fields in documents.values()) / max(1, len(documents)) for name in weights
        }
        for document, fields in (*documents.items(), *parts.items()):
            occurrences: dict[str, float] = {}
            for name, field in weights.items():
                norm = 1 - field.length + field.length * len(fields[name]) / max(1.0, lengths[name])
                for word, count in Counter(fields[name]).items():
                    occurrences[word] = occurrences.get(word, 0.0) + field.weight * count / norm
            for word, value in occurrences.items():
                self._postings.setdefault(word, []).append((document, value))
            if document in documents and (counted is None or document in counted):
                self._frequency.update({word for name in weights for word in fields[name]})
        self._counted = max(_FEWEST, len(documents) if counted is None else len(counted))

    def rarity(self, word: str) -> float:
        """Returns the rarity of a stem, from 0 (in every document) to 1 (in none). The rarity is the stem's inverse
        document frequency, divided by that of a stem that no document contains."""
        n = min(self._frequency[word], self._counted)
        return math.log((self._counted + 1) / (n + 0.5)) / math.log((self._counted + 1) / 0.5)

    def knows(self, word: str) -> bool:
        """Returns whether any document contains the word."""
        return word in self._postings

    def search(self, query: Mapping[str, float]) -> dict[str, float]:
        """Scores the documents that contain any stem in `query`, best first. Documents with the same score are in id
        order. `query` maps stems to weights."""
        scores: dict[str, float] = {}
        for word, weight in query.items():
            gain = weight * self.rarity(word)
            for document, frequency in self._postings.get(word, ()):
                scores[document] = scores.get(document, 0.0) + gain * frequency * (_K1 + 1) / (frequency + _K1)
        return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))
