"""Scores a symbol's role in its repository, because tests, plots, settings and file handling rarely implement a
method."""

import re
from collections.abc import Set

from xkg.build.code.codebase import comment_mark
from xkg.build.grounding.index.identifier_words import stem, words
from xkg.build.grounding.index.symbol_index import Entry
from xkg.build.grounding.index.working_lines import LOGGING, working_ranges

# These words in a path or name indicate a role. A candidate's score is then multiplied by `_ASIDE`, unless the
# technique's name or definition contains one of the role's words. Whole words are compared, not stems, so a
# mathematical "set" does not match "settings".
_ROLES = tuple(
    frozenset(text.split())
    for text in (
        LOGGING,
        "test tests testing conftest mock stub deprecated",
        "plot plots plotting figure figures fig viz visualize visualization draw render video",
        "config configs configuration setup settings constants flags argparse args parser cli hydra",
        "example examples demo demos experiment experiments tutorial notebook",
        "eval evals evaluate evaluation benchmark",
    )
)
_ASIDE = 0.7

_STEP, ATTRIBUTE = 0.9, 0.8  # score factors for parts of a long function and of a constructor

SUPPORTING = 0.55
"""Score factor for methods that only support their class. For example, `__init__` mentions every setting but does
little."""


def role_factor(entry: Entry, about: Set[str]) -> float:
    """Returns the score factor (0 to 1) for a symbol's location and shape, which is 1 for an ordinary function or
    class. `about` contains the stems of the technique's words."""
    symbol = entry.source.symbol
    named = {*words(f"{symbol.path} {symbol.qualified_name}")}
    if symbol.path.endswith(".ipynb"):
        named.add("notebook")
    aside = any(named & role and not about & {stem(word) for word in role} for role in _ROLES)
    return (_ASIDE if aside else 1.0) * _shape_factor(entry)


def _shape_factor(entry: Entry) -> float:
    if entry.supports:
        return ATTRIBUTE if entry.at else SUPPORTING
    if entry.kind == "module":
        # A file of definitions ranks below the definitions in it. A script ranks higher, because it contains no smaller
        # symbols.
        return 0.85 if entry.is_script else 0.6
    if is_abstract(entry):
        return 0.6
    return _STEP if entry.at else 1.0


_BODY = re.compile(
    r"^[^\S\n]*+(?:pass|\.\.\.|raise\s+(?:NotImplementedError|None)\b.*|return\s+NotImplemented)[^\S\n]*+$",
    re.MULTILINE,
)


def is_abstract(entry: Entry) -> bool:
    """Returns whether a function is a placeholder. The short body of a placeholder only passes or raises
    `NotImplementedError`."""
    return entry.kind in {"function", "method"} and entry.lines <= 12 and _BODY.search(entry.text) is not None


_DATA = frozenset("dataset datasets dataloader datamodule".split())


def holds_nothing(entry: Entry, about: Set[str]) -> bool:
    """Returns whether a symbol cannot implement the technique because it is a stub, is a settings class, or handles
    data while the technique does not. `about` contains the stems of the technique's words."""
    lines = entry.text.split("\n")
    signed = {1} if entry.kind != "module" else set[int]()
    if not working_ranges(lines, 1, len(lines), mark=comment_mark(entry.language), signed=signed):
        return True
    return bool(_DATA & set(words(entry.source.symbol.signature))) and not about & {stem(word) for word in _DATA}
