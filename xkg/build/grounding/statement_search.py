"""Finds the lines anywhere in a repository that are nearest to single statements of a definition."""

import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import cached_property
from typing import TypeVar

from xkg.build.code.codebase import Codebase
from xkg.build.code.siblings import siblings
from xkg.build.code.test_files import is_test_file
from xkg.build.grounding.block_search import BlockSearch
from xkg.build.grounding.index.block_index import BlockIndex, IndexedBlock
from xkg.build.grounding.index.identifier_words import content_stems
from xkg.build.grounding.index.symbol_index import SymbolIndex
from xkg.build.grounding.query import technique_queries
from xkg.build.grounding.repository_lines import FoundLines, Shown, is_known, lines_not_shown, shortened, without_blanks
from xkg.build.grounding.symbol_search import SymbolSearch
from xkg.embeddings.base import Embedder
from xkg.model import Technique

MOST_CHARACTERS = 7_000
# Lines missing from code that was shown in part come before all others, up to this many characters.
MOST_NOT_SHOWN = 10_000
_EACH = 3  # blocks found with the technique's name, and as many found by the statement's words alone
_NEAR = 15
_OF_A_SCRIPT = 2
# A function up to this length is returned whole. For longer ones and for scripts, it is the block and lines around
# it.
_SHORT = 40
_AROUND = 10
_MOST_READ = 20_000
_T = TypeVar("_T")
_IMPORT = re.compile(r"\s*+(?:import|from|#|\"\"\"|''')")


class StatementSearch:
    """The search over one codebase, which is indexed at the first call. Thread-safe."""

    def __init__(self, codebase: Codebase, embedder: Embedder) -> None:
        self._codebase = codebase
        self._embedder = embedder
        self._lock = threading.Lock()

    @cached_property
    def _index(self) -> BlockIndex:
        return BlockIndex(SymbolIndex(self._codebase))

    def __call__(
        self, name: str, statements: Sequence[str], shown: Shown, made_from: Sequence[str]
    ) -> tuple[FoundLines, ...]:
        """First the lines missing from code that was shown in part, at most 10,000 characters; if there are more, those
        that share most words with the statements. Then, in about 7,000 characters, the lines outside tests that rank
        best for each statement of technique `name` and are not shown yet. Of these, symbols named like one of
        `made_from` except for digits come first. Raises `EmbeddingError`, and `UnknownIdError` like `Codebase`."""
        with self._lock:
            index = self._index
        seen = {without_blanks(line) for line in shown.text.split("\n")}
        cut = self._not_shown(shown, statements, index)
        beside = siblings(self._codebase, made_from)
        known = self._codebase.symbols()
        spans = [(i, known[i].symbol.path, known[i].symbol.start_line, known[i].symbol.end_line) for i in beside]
        ranked = [self._spans(blocks, index) for blocks in self._ranked(index, name, statements, seen)]
        found: list[FoundLines] = []
        room = MOST_CHARACTERS
        for symbol, path, first, last in [*spans, *_in_turns(ranked)]:
            text = shortened("\n".join(self._lines(path, first, last))[:_MOST_READ])
            again = any(f.path == path and f.first <= last and first <= f.last for f in (*cut, *found))
            if again or len(text) > room or is_known(text, seen):
                continue
            room -= len(text)
            found.append(FoundLines(symbol=symbol, path=path, first=first, last=last, text=text))
        return (*cut, *found)

    def _not_shown(self, shown: Shown, statements: Sequence[str], index: BlockIndex) -> list[FoundLines]:
        """The lines missing from the shown code, in the order of `shown` and of their files."""
        every = lines_not_shown(self._codebase, shown)
        words = [set(content_stems(text)) for text in statements]

        def fit(lines: FoundLines) -> float:
            own = set(content_stems(lines.text))
            return max((sum(index.words.rarity(word) for word in each & own) for each in words), default=0.0)

        if sum(len(lines.text) for lines in every) <= MOST_NOT_SHOWN:
            return every
        chosen: set[int] = set()
        room = MOST_NOT_SHOWN
        for number in sorted(range(len(every)), key=lambda n: -fit(every[n])):
            if len(every[number].text) <= room:
                room -= len(every[number].text)
                chosen.add(number)
        return [every[number] for number in sorted(chosen)]

    def _ranked(
        self, index: BlockIndex, name: str, statements: Sequence[str], seen: Set[str]
    ) -> list[list[IndexedBlock]]:
        """For each statement the best blocks that are not `seen`: one per symbol, two per script or notebook."""
        asked = [Technique(id=f"{n}", name=name, definition=text) for n, text in enumerate(statements)]
        queries = technique_queries(asked, None)
        vectors = self._embedder.embed([query.text for query in queries])
        symbols = SymbolSearch(index.symbols, queries, vectors, self._embedder)
        near = [map(index.symbols.symbol_of, symbols.fused(i, _NEAR)) for i in range(len(queries))]
        search = BlockSearch(index, queries, vectors, self._embedder, near)
        found: list[list[IndexedBlock]] = []
        for i, text in enumerate(statements):
            # otherwise the technique's name would outweigh the words of this statement
            alone = index.words.search(dict.fromkeys(content_stems(text), 1.0))
            found.append(list(_in_turns([_best(search.scores[i], index, seen), _best(alone, index, seen)])))
        return found

    def _spans(self, blocks: Iterable[IndexedBlock], index: BlockIndex) -> list[tuple[str, str, int, int]]:
        found: list[tuple[str, str, int, int]] = []
        for block in blocks:
            symbol = index.symbols.entries[block.symbol].source.symbol
            if symbol.kind != "module" and symbol.end_line - symbol.start_line < _SHORT:
                found.append((block.symbol, block.path, symbol.start_line, symbol.end_line))
            else:
                first = max(symbol.start_line, block.lines.first - _AROUND)
                last = min(symbol.end_line, block.lines.last + _AROUND)
                found.append((block.symbol, block.path, first, last))
        return found

    def _lines(self, path: str, first: int, last: int) -> list[str]:
        module = next(module for module in self._codebase.modules if module.path == path)
        return module.text.split("\n")[first - 1 : last]


def _best(ranking: Iterable[str], index: BlockIndex, seen: Set[str]) -> list[IndexedBlock]:
    """The first blocks of a ranking that are not seen: one per symbol, two per script or notebook."""
    taken: Counter[str] = Counter()
    found: list[IndexedBlock] = []
    for identity in ranking:
        block = index.blocks[identity]
        limit = _OF_A_SCRIPT if index.symbols.entries[block.symbol].kind == "module" else 1
        if taken[block.symbol] >= limit or is_test_file(block.path) or _is_preamble(block.text):
            continue
        if not is_known(block.text, seen):
            taken[block.symbol] += 1
            found.append(block)
        if len(found) >= _EACH:
            break
    return found


def _in_turns(lists: Sequence[Sequence[_T]]) -> Iterator[_T]:
    """The first item of each list, then the second of each, and so on."""
    for rank in range(max(map(len, lists), default=0)):
        yield from (each[rank] for each in lists if rank < len(each))


def _is_preamble(text: str) -> bool:
    lines = [line for line in text.split("\n") if line.strip()]
    return sum(_IMPORT.match(line) is not None for line in lines) * 2 > len(lines)
