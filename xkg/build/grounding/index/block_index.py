"""Indexes blocks of statements as documents in a fielded BM25 index, grouped by symbol."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from xkg.build.code.codebase import comment_mark
from xkg.build.grounding.index.blocks import Block, blocks
from xkg.build.grounding.index.equation_symbols import normalized
from xkg.build.grounding.index.fielded_index import FieldedIndex, FieldWeight
from xkg.build.grounding.index.identifier_words import stems
from xkg.build.grounding.index.numbered import references
from xkg.build.grounding.index.symbol_index import Entry, SymbolIndex, comments_of, strip_comments

_FIELDS = {
    "code": FieldWeight(weight=1.0, length=0.6),
    "comments": FieldWeight(weight=2.0, length=0.4),
    "owner": FieldWeight(weight=0.7, length=0.2),
    # These are whole identifiers with a prefix. They only match symbols from equations.
    "identifiers": FieldWeight(weight=1.0, length=0.6),
}
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class IndexedBlock:
    """A block and the innermost symbol that contains it."""

    id: str
    symbol: str
    path: str
    lines: Block
    text: str


class BlockIndex:
    """Indexes the blocks in a repository's functions, methods and scripts, and in class bodies between methods."""

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
        """Returns the blocks within a symbol's lines, including its members' blocks."""
        span = self.symbols.entries[symbol].source.symbol
        within = (b for b in self._in_file.get(span.path, ()) if b.lines.first >= span.start_line)
        return [block for block in within if block.lines.last <= span.end_line]


def _own_blocks(entry: Entry, index: SymbolIndex) -> Iterable[IndexedBlock]:
    symbol = entry.source.symbol
    lines = entry.text.split("\n")
    covered: set[int] = set()
    for member in entry.members:
        if (inner := index.entries.get(member)) is not None:
            span = inner.source.symbol
            covered.update(range(span.start_line - symbol.start_line + 1, span.end_line - symbol.start_line + 2))
    for first, last in _runs(len(lines), covered):
        for block in blocks(lines, first, last, mark=comment_mark(entry.language)):
            at = Block(block.first + symbol.start_line - 1, block.last + symbol.start_line - 1)
            text = "\n".join(lines[block.first - 1 : block.last])
            yield IndexedBlock(f"{symbol.path}:{at.first}-{at.last}", entry.id, symbol.path, at, text)


def _runs(count: int, covered: set[int]) -> Iterable[tuple[int, int]]:
    """Yields the ranges between 1 and `count` that `covered` omits."""
    first = 1
    for line in [*sorted(covered), count + 1]:
        if line > first:
            yield first, line - 1
        first = line + 1
