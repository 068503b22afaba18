"""Blocks of statements as documents, and the ranges of lines within a symbol that fit a technique best."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from xkg.build.grounding.blocks import Block, blocks
from xkg.build.grounding.equation_symbols import normalized
from xkg.build.grounding.fielded_index import FieldedIndex, FieldWeight
from xkg.build.grounding.identifier_words import stems, words
from xkg.build.grounding.numbered import references
from xkg.build.grounding.query import TechniqueQuery
from xkg.build.grounding.symbol_index import Entry, SymbolIndex, comments_of, strip_comments
from xkg.embeddings.base import Embedder

_FIELDS = {
    "code": FieldWeight(weight=1.0, length=0.6),
    "comments": FieldWeight(weight=2.0, length=0.4),
    "owner": FieldWeight(weight=0.7, length=0.2),
    # Whole identifiers, marked: they meet the symbols of equations alone.
    "identifiers": FieldWeight(weight=1.0, length=0.6),
}
_SYMBOL_WEIGHT = 0.5
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_RENDERED_WORDS = 40
_EMBEDDED = 700
_EMBEDDED_EACH = 60
# MiniLM's cosine of a paragraph of a paper and of code that does it is seldom higher.
_HIGH_COSINE = 0.6


@dataclass(frozen=True)
class IndexedBlock:
    """A block with the innermost symbol that holds it."""

    id: str
    symbol: str
    path: str
    lines: Block
    text: str


class BlockIndex:
    """The blocks of all functions, methods and scripts of a repository, and of class bodies between their methods."""

    def __init__(self, index: SymbolIndex) -> None:
        self.symbols = index
        self.blocks: dict[str, IndexedBlock] = {}
        self._in_file: dict[str, list[IndexedBlock]] = {}
        documents = {}
        for entry in index.entries.values():
            symbol = entry.source.symbol
            owner = stems(f"{symbol.qualified_name} {PurePosixPath(symbol.path).stem}")
            for block in _own_blocks(entry, index):
                self.blocks[block.id] = block
                self._in_file.setdefault(block.path, []).append(block)
                code = strip_comments(block.text, entry.language)
                comments = comments_of(block.text, entry.language)
                documents[block.id] = {
                    "code": stems(code),
                    "comments": [*stems(comments), *references(comments)],
                    "owner": owner,
                    "identifiers": [f"={normalized(name)}" for name in _IDENTIFIER.findall(code)],
                }
        self.words = FieldedIndex(documents, _FIELDS)

    def inside(self, symbol: str) -> list[IndexedBlock]:
        """The blocks within the lines of a symbol, its members' included."""
        span = self.symbols.entries[symbol].source.symbol
        within = (b for b in self._in_file.get(span.path, ()) if b.lines.first >= span.start_line)
        return [block for block in within if block.lines.last <= span.end_line]


class BlockSearch:
    """How well the blocks of a repository fit each of a paper's techniques: `scores[i]` maps block ids to 0..1, best
    first, for technique i."""

    def __init__(
        self, index: BlockIndex, queries: Sequence[TechniqueQuery], embedder: Embedder, near: Sequence[Iterable[str]]
    ) -> None:
        """`near[i]` are the symbols whose blocks are compared with technique i by embedding, beside those that share
        most of its words. Raises `EmbeddingError`."""
        self.index = index
        vocabulary = index.symbols.vocabulary
        lexical = []
        for query in queries:
            marked = {f"={symbol}": _SYMBOL_WEIGHT for symbol in query.symbols}
            lexical.append(index.words.search({**query.weights(vocabulary), **marked}))
        chosen = _interleaved(
            [
                [*list(ranking)[:_EMBEDDED_EACH], *(b.id for symbol in symbols for b in index.inside(symbol))]
                for ranking, symbols in zip(lexical, near, strict=True)
            ]
        )[:_EMBEDDED]
        cosine: list[dict[str, float]] = [{} for _ in queries]
        if chosen and queries:
            vectors = embedder.embed([self._rendering(block) for block in chosen])
            for i, row in enumerate(embedder.embed([query.text for query in queries]) @ vectors.T):
                cosine[i] = dict(zip(chosen, map(float, row), strict=True))
        self.scores = [_fused(ranking, similar) for ranking, similar in zip(lexical, cosine, strict=True)]

    def best_of_symbols(self, i: int) -> dict[str, float]:
        """Symbol id → the score of the best block that stands directly in it, for technique i."""
        best: dict[str, float] = {}
        for block, score in self.scores[i].items():
            best.setdefault(self.index.blocks[block].symbol, score)
        return best

    def of_symbol(self, i: int, symbol: str) -> list[tuple[IndexedBlock, float]]:
        """The blocks of a symbol with their scores for technique i, best first; ties in the order of lines."""
        found = [(block, self.scores[i].get(block.id, 0.0)) for block in self.index.inside(symbol)]
        return sorted(found, key=lambda pair: -pair[1])

    def _rendering(self, block: str) -> str:
        found = self.index.blocks[block]
        entry = self.index.symbols.entries[found.symbol]
        owner = " ".join(words(entry.source.symbol.qualified_name))
        code = " ".join(dict.fromkeys(words(strip_comments(found.text, entry.language))))
        text = f"{owner}. {comments_of(found.text, entry.language)[:300]} {code}"
        return " ".join(text.split()[:_RENDERED_WORDS])


def _own_blocks(entry: Entry, index: SymbolIndex) -> Iterable[IndexedBlock]:
    symbol = entry.source.symbol
    lines = entry.text.split("\n")
    covered: set[int] = set()
    for member in entry.members:
        if (inner := index.entries.get(member)) is not None:
            span = inner.source.symbol
            covered.update(range(span.start_line - symbol.start_line + 1, span.end_line - symbol.start_line + 2))
    for first, last in _runs(len(lines), covered):
        for block in blocks(lines, first, last):
            at = Block(block.first + symbol.start_line - 1, block.last + symbol.start_line - 1)
            text = "\n".join(lines[block.first - 1 : block.last])
            yield IndexedBlock(f"{symbol.path}:{at.first}-{at.last}", entry.id, symbol.path, at, text)


def _runs(count: int, covered: set[int]) -> Iterable[tuple[int, int]]:
    """Stretches of the numbers 1 to `count` that are not covered."""
    first = 1
    for line in [*sorted(covered), count + 1]:
        if line > first:
            yield first, line - 1
        first = line + 1


def _interleaved(rankings: Sequence[Sequence[str]]) -> list[str]:
    """Every id once: the first of each ranking, the second of each, and so on."""
    longest = max(map(len, rankings), default=0)
    return list(dict.fromkeys(ranking[at] for at in range(longest) for ranking in rankings if at < len(ranking)))


def _fused(lexical: dict[str, float], cosine: dict[str, float]) -> dict[str, float]:
    best = next(iter(lexical.values()), 0.0)
    scores = {
        block: 0.5 * (lexical.get(block, 0.0) / best if best else 0.0)
        + 0.5 * min(1.0, max(0.0, cosine.get(block, 0.0) / _HIGH_COSINE))
        for block in lexical.keys() | cosine.keys()
    }
    return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))
