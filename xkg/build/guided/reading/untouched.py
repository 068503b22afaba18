"""Functions and classes of a paper's repository that no technique's code reaches: components that may be missing."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xkg.build.code.codebase import Codebase, SourceSymbol
from xkg.build.grounding.index.identifier_words import stems
from xkg.build.guided.reading.passages import Passage, Passages
from xkg.build.techniques.section_roles import Role
from xkg.model import Symbol

MOST = 12
_MOST_SYMBOLS = 3_000
_FEWEST_LINES = 4
_SIGNATURE = 120
_SENTENCE = 200
_DOCSTRING = 100
# Files that test, show or install, and code of others.
_ASIDE = re.compile(
    r"(?:^|[/_])(?:tests?|conftest|docs?|setup|third_party|vendor(?:ed)?|plot\w{0,20}|logg\w{0,10})(?=[/_.])",
    re.IGNORECASE,
)
# The weight of a name's words that a passage about it has, of all of them.
_LEAST_NAMED = 0.5


@dataclass(frozen=True)
class Untouched:
    """A symbol, its line in a question, and the passage of the paper that has most words of its name; None where the
    paper does not name it."""

    symbol: Symbol
    text: str
    passage: int | None


def untouched(codebase: Codebase, located: Iterable[str], passages: Passages) -> list[Untouched]:
    """At most twelve public functions and classes of at least four lines that the `located` symbols (ids) neither are,
    contain nor reach by calls, those first whose names have rare words of the paper."""
    symbols = codebase.symbols()
    reached = _reached(symbols, located)
    names = {
        identity: frozenset(stems(source.symbol.qualified_name))
        for identity, source in list(symbols.items())[:_MOST_SYMBOLS]
        if _is_public(source) and not _ASIDE.search(source.symbol.path)
    }
    texts = [(p, frozenset(stems(p.text))) for p in passages.listed if p.role is not Role.BACK and p.kind != "listing"]
    in_paper = Counter(word for _, words in texts for word in words)
    in_names = Counter(word for words in names.values() for word in words)
    weights = {word: 1.0 / (count * math.sqrt(1 + in_paper[word])) for word, count in in_names.items()}
    found: list[tuple[float, int, Untouched]] = []
    for n, (identity, name) in enumerate(names.items()):
        if identity in reached or not name:
            continue
        source = symbols[identity]
        passage, weight = _about(name, texts, weights)
        number = passage.number if passage else None
        found.append((-weight, n, Untouched(source.symbol, _line(source, passage, name), number)))
    return [each for _, _, each in sorted(found, key=lambda item: item[:2])[:MOST]]


def _reached(symbols: Mapping[str, SourceSymbol], located: Iterable[str]) -> frozenset[str]:
    """The located symbols, what they call, and what holds one of them."""
    found: set[str] = set()
    ahead = [identity for identity in located if identity in symbols]
    # A whole file is no reason to think that each of its functions is a technique's.
    ahead = [identity for identity in ahead if symbols[identity].symbol.kind != "module"]
    members: dict[str, list[str]] = {}
    for identity, source in symbols.items():
        members.setdefault(source.parent or "", []).append(identity)
    while ahead:
        identity = ahead.pop()
        if identity in found or identity not in symbols or symbols[identity].symbol.kind == "module":
            continue
        found.add(identity)
        # A table of functions, such as one of samplers by name, has alternatives beside what is used.
        ahead += symbols[identity].calls if symbols[identity].symbol.kind != "constant" else ()
        ahead += members.get(identity, ()) if symbols[identity].symbol.kind == "class" else ()
    for identity in list(found):
        parent = symbols[identity].parent
        while parent is not None and parent in symbols and symbols[parent].symbol.kind != "module":
            found.add(parent)
            parent = symbols[parent].parent
    return frozenset(found)


def _is_public(source: SourceSymbol) -> bool:
    symbol = source.symbol
    return (
        symbol.kind in ("function", "class")
        and "." not in symbol.qualified_name
        and not symbol.qualified_name.startswith("_")
        and symbol.qualified_name != "main"
        and symbol.end_line - symbol.start_line + 1 >= _FEWEST_LINES
    )


def _about(
    name: frozenset[str], texts: Sequence[tuple[Passage, frozenset[str]]], weights: Mapping[str, float]
) -> tuple[Passage | None, float]:
    """The passage with most of a name's words by weight, and that weight; none that has less than half of it."""
    best, most = None, _LEAST_NAMED * sum(weights[word] for word in name)
    for passage, words in texts:
        weight = sum(weights[word] for word in name & words)
        if weight > most or (best is None and weight == most > 0):
            best, most = passage, weight
    return best, most if best else 0.0


def _line(source: SourceSymbol, passage: Passage | None, name: frozenset[str]) -> str:
    symbol = source.symbol
    signature = " ".join((symbol.signature or symbol.qualified_name).split())
    text = f"{symbol.path}:{symbol.start_line}-{symbol.end_line} {signature[:_SIGNATURE]}"
    if source.docstring.strip():
        text += f"  # {' '.join(source.docstring.split())[:_DOCSTRING]}"
    if passage is not None:
        best = max(passage.pieces, key=lambda piece: len(name & frozenset(stems(piece.text))))
        text += f"\n    The paper: {' '.join(best.text.split())[:_SENTENCE]}"
    return text
