"""Splits code into runs of tokens, so that code can be found by similar code in any language and with any variable
names.

A run consists of three or four consecutive tokens. Names that are not called become blanks, and numbers are normalised.
Only the last name of a called expression is kept, without the modules or attributes before it. For example,
`torch.where(diff > 0, tau, 1 - tau)` has the runs `where ( _`, `_ > 0` and `1 - _`."""

import itertools
import re
from collections.abc import Iterator

_CODE_CHARACTERS = 100_000
_LENGTHS = (3, 4)
_FEWEST = 5
"""Minimum number of runs in a query. Queries with fewer runs match too much code."""

_BLANK, _TEXT = "_", "''"
_COMMON = frozenset("()[]{},:.;=") | {_BLANK, "\n"}
_KEYWORDS = frozenset(
    "and as assert async await break case catch class const continue def del elif else except extends false finally "
    "for from fn func function if implements import in is lambda let new none not null or pass private public raise "
    "return self static struct super switch this throw true try use var while with yield".split()
)
_MARKS = re.compile(r"\w[(\[]|\*\*|[-+*/<>=!]=|[<>@=]")
_TOKEN = re.compile(
    r"""\#[^\n]*|(?:\"{3}(?s:.){0,5000}?\"{3})
    |(?P<text>"(?:[^"\\\n]|\\.){0,200}+"|'(?:[^'\\\n]|\\.){0,200}+')
    |(?P<name>[^\W\d][\w.]*+)(?P<call>\s*\()?
    |(?P<number>\d[\w.]*+)
    |(?P<mark>\*\*|//|->|[-+*/<>=!]=|[^\w\s]|\n)""",
    re.VERBOSE,
)


def code_runs(code: str) -> list[str]:
    """Returns the runs in a piece of code, in order. The tokens in a run are joined into one word."""
    tokens = [token for token in _tokens(code[:_CODE_CHARACTERS]) if token != "\n"]
    runs = (tokens[start : start + n] for n in _LENGTHS for start in range(len(tokens) - n + 1))
    return ["".join(run) for run in runs if not _COMMON.issuperset(run)]


def runs_of_query(query: str) -> list[str]:
    """Returns the distinct runs in a query, or an empty list if it is prose. In prose, most words are followed by
    another word."""
    if not _MARKS.search(query):
        return []
    words = [token.isidentifier() for token in _tokens(query)]
    followed = sum(first and second for first, second in itertools.pairwise(words))
    runs = list(dict.fromkeys(code_runs(query)))
    return [] if 2 * followed > sum(words) or len(runs) < _FEWEST else runs


def _tokens(code: str) -> Iterator[str]:
    for token in _TOKEN.finditer(code):
        if name := token["name"]:
            last = name.rpartition(".")[2].lower()
            if token["call"]:
                yield from (last, "(")
            else:
                yield last if name.lower() in _KEYWORDS else _BLANK
        elif token["number"]:
            yield _number(token["number"])
        elif token["text"]:
            yield _TEXT
        elif token["mark"]:
            yield token["mark"]


def _number(text: str) -> str:
    try:
        return f"{float(text):g}"
    except ValueError:
        return text
