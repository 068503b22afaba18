"""The lines of a symbol that do what a technique says: one to three ranges, best first, each with a reason."""

from xkg.build.grounding.block_search import BlockSearch
from xkg.build.grounding.index.block_index import IndexedBlock
from xkg.build.grounding.index.blocks import MOST_LINES
from xkg.build.grounding.index.identifier_words import content_stems
from xkg.build.grounding.query import TechniqueQuery
from xkg.model import LineRange

_MOST_RANGES = 3
# Further ranges are given only where they fit nearly as well as the best: on eight repositories (108 techniques) .9 has
# the place in the lines of the first symbol for .66, .85 for .67 and .95 for .64; the lines are 1.0, .96 and 1.0 of it.
_NEARLY = 0.9
_MOST_WORDS = 5


def focus(search: BlockSearch, i: int, query: TechniqueQuery, symbol: str) -> tuple[LineRange, ...]:
    """The ranges within `symbol` for technique i of `search`. A symbol of no more than 15 lines, or of one block, is
    one range."""
    span = search.index.symbols.entries[symbol].source.symbol
    ranked = search.of_symbol(i, symbol)
    if span.end_line - span.start_line < MOST_LINES or len(ranked) < 2:
        return (LineRange(start_line=span.start_line, end_line=span.end_line, why="the whole symbol, which is short"),)
    best = ranked[0][1]
    chosen = [block for block, score in ranked[:_MOST_RANGES] if score >= _NEARLY * best] if best else [ranked[0][0]]
    return tuple(
        LineRange(start_line=block.lines.first, end_line=block.lines.last, why=_why(block, query, search))
        for block in chosen
    )


def _why(block: IndexedBlock, query: TechniqueQuery, search: BlockSearch) -> str:
    """The words of the technique that the block holds, the rarest first."""
    present = set(content_stems(block.text))
    spelled = query.content_words()
    shared = [word for word in spelled if word in present and word in query.about]
    rarest = sorted(shared, key=lambda word: (-search.index.words.rarity(word), word))[:_MOST_WORDS]
    return f"names {', '.join(spelled[word] for word in rarest)}" if rarest else "similar in meaning"
