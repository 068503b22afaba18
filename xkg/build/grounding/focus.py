"""Finds the lines in a symbol that implement a technique. Returns one to three ranges, best first, each with a
reason."""

from xkg.build.code.codebase import comment_mark
from xkg.build.grounding.block_search import BlockSearch
from xkg.build.grounding.evidence import is_whole
from xkg.build.grounding.index.blocks import MOST_LINES, Block
from xkg.build.grounding.index.identifier_words import content_stems
from xkg.build.grounding.index.symbol_index import Entry
from xkg.build.grounding.index.symbol_roles import ATTRIBUTE
from xkg.build.grounding.index.working_lines import working_ranges
from xkg.build.grounding.query import TechniqueQuery
from xkg.model import LineRange

_MOST_RANGES = 3
# Other ranges must score at least this fraction of the best range's score.
_NEARLY = 0.7
_MOST_WORDS = 5


def focus(
    search: BlockSearch, i: int, query: TechniqueQuery, symbol: str, part: Block | None = None
) -> tuple[LineRange, ...]:
    """Returns up to three of the `working_ranges` in `symbol` that implement technique i of `search`, best first.

    Searches the whole symbol if it is named after the technique, or is a short function and `part` is None. Otherwise,
    searches `part` or, if that is None, the best blocks. A stub has no ranges."""
    entry = search.index.symbols.entries[symbol]
    span = entry.source.symbol
    lines = entry.text.split("\n")

    members = [each for each in map(search.index.symbols.entries.get, entry.members) if each is not None]
    supporting = [each.source.symbol for each in members if each.supports]
    signed = {each.source.symbol.start_line - span.start_line + 1 for each in members}
    signed |= {1} if entry.kind != "module" else set()

    def runs(block: Block) -> list[Block]:
        first, last = block.first - span.start_line + 1, block.last - span.start_line + 1
        found = working_ranges(lines, first, last, mark=comment_mark(entry.language), signed=signed)
        return [Block(first + span.start_line - 1, last + span.start_line - 1) for first, last in found]

    every = Block(span.start_line, span.end_line)
    ranked = [(block.lines, score) for block, score in search.of_symbol(i, symbol)]
    short = entry.kind != "class" and sum(run.lines for run in runs(every)) <= MOST_LINES
    if not ranked or is_whole(query, entry, search.index.symbols) or (short and part is None):
        ranked = [(every, 1.0)]
    elif part is not None:
        ranked = [(part, 2.0), *ranked]  # use other blocks only if the part has no working lines
    found: dict[Block, float] = {}
    for block, score in ranked:
        if found and score < _NEARLY * max(found.values()):
            break
        for run in runs(block):
            sets_up = any(at.start_line <= run.first <= at.end_line for at in supporting)
            found[run] = score * (ATTRIBUTE if sets_up else 1.0)
    found = {run: score for run, score in found.items() if score >= _NEARLY * max(found.values())}

    def words(run: Block) -> frozenset[str]:
        return frozenset(content_stems("\n".join(lines[run.first - span.start_line : run.last - span.start_line + 1])))

    rarity = search.index.words.rarity
    texts = {run: words(run) for run in found}
    best = sorted(found, key=lambda run: (-found[run], -sum(map(rarity, texts[run] & query.about)), run.first))
    return tuple(
        LineRange(start_line=run.first, end_line=run.last, why=_why(texts[run], entry, query, search))
        for run in best[:_MOST_RANGES]
    )


def _why(present: frozenset[str], entry: Entry, query: TechniqueQuery, search: BlockSearch) -> str:
    """Lists the technique's words that occur in the lines, rarest first. If there are none, lists those in the symbol's
    name."""
    spelled = query.content_words()
    related = search.index.symbols.vocabulary.related
    for found, says in ((present, "names"), ({*entry.fields["name"], *entry.fields["owner"]}, "its name contains")):
        shared = [word for word in spelled if word in query.about and found & {word, *related(word)}]
        if shared:
            rarest = sorted(shared, key=lambda word: (-search.index.words.rarity(word), word))[:_MOST_WORDS]
            return f"{says} {', '.join(spelled[word] for word in rarest)}"
    return "similar in meaning"
