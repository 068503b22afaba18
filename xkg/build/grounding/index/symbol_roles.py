"""The role of a symbol in its repository: tests, plots, settings and file handling seldom hold a method."""

import re
from collections.abc import Collection

from xkg.build.grounding.index.identifier_words import stem, words
from xkg.build.grounding.index.symbol_index import Entry, strip_comments

# Words of a path or name that indicate a role, and the factor on the score of a candidate in it. It does not apply to a
# technique whose name or definition has such a word.
_ROLES: tuple[tuple[float, frozenset[str]], ...] = tuple(
    (factor, frozenset(stem(word) for word in text.split()))
    for factor, text in (
        (0.5, "test tests testing conftest mock stub deprecated"),
        (0.6, "log logs logger loggers logging wandb tensorboard print verbose profile"),
        (0.7, "plot plots plotting figure figures fig viz visualize visualization draw render video"),
        (0.7, "config configs configuration setup settings constants flags argparse args parser cli hydra main"),
        (0.75, "example examples demo demos tutorial notebook"),
        (0.85, "dataset datasets data dataloader loader download preprocess prepare"),
        (0.85, "save load dump read write checkpoint checkpoints serialize io"),
        (0.85, "eval evals evaluate evaluation benchmark"),
    )
)

SUPPORTING = 0.55
"""The factor on methods that only support their class: `__init__` names every setting, and does little."""


def role_factor(entry: Entry, about: Collection[str]) -> float:
    """The factor on a symbol's score from its place and shape, for a technique whose words have the stems `about`:
    0..1, 1 for an ordinary function or class."""
    symbol = entry.source.symbol
    # "visual" is excluded: a visual prompt is no visualization, though they share a stem.
    named = {stem(word) for word in words(f"{symbol.path} {symbol.qualified_name}") if word != "visual"}
    if symbol.path.endswith(".ipynb"):
        named.add(stem("notebook"))
    factor = min((factor for factor, role in _ROLES if named & role and not (role & set(about))), default=1.0)
    return factor * _shape_factor(entry)


def _shape_factor(entry: Entry) -> float:
    if entry.supports:
        return SUPPORTING
    if entry.kind == "module":
        # The definitions in a file are located instead of the file; a script has nothing narrower.
        return 0.6 if entry.members else 0.85
    if is_abstract(entry):
        return 0.6
    return 1.0


_BODY = re.compile(
    r"^[^\S\n]*+(?:pass|\.\.\.|raise\s+(?:NotImplementedError|None)\b.*|return\s+NotImplemented)[^\S\n]*+$",
    re.MULTILINE,
)


def is_abstract(entry: Entry) -> bool:
    """Whether a function is a placeholder: a short body that only passes or raises `NotImplementedError`."""
    return entry.kind in {"function", "method"} and entry.lines <= 12 and _BODY.search(entry.text) is not None


def is_thin(entry: Entry) -> bool:
    """Whether a function has at most three lines of code beside signature and docstring."""
    if entry.kind not in {"function", "method"}:
        return False
    if entry.language != "python":
        body = strip_comments(entry.text, entry.language)[len(entry.source.symbol.signature) :]
        return sum(any(c.isalnum() for c in line) and line.strip() != "end" for line in body.split("\n")) <= 3
    code = re.sub(r'("""|\'\'\')[\s\S]*?\1', "", entry.text, count=1)
    code = re.sub(r"^[\s\S]*?\)\s*+(?:->[^:]{0,500}+)?:\s*\n", "", code, count=1)
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in code.split("\n")) <= 3
