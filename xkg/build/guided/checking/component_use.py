"""Finds the components that a module includes, and those that a text names."""

import ast
import re
from collections.abc import Iterable, Sequence

from xkg.build.code.languages.python import parse_ast
from xkg.build.grounding.index.identifier_words import stems
from xkg.build.slicing.compose import Composed, Part
from xkg.sandbox.evidence.own_statements import own_lines


def uncalled(composed: Composed, parts: Sequence[Part]) -> list[int]:
    """The indices of the parts that contribute no public definition to a composed module. A definition that two parts
    share counts for both."""
    return [i for i, part in enumerate(parts) if i not in composed.used and not _shares(part.source, composed.source)]


def _shares(component: str, module: str) -> bool:
    tree = parse_ast(component)
    own = own_lines(component, [module])
    definitions = [] if tree is None else [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    return any(not node.name.startswith("_") and node.lineno not in own for node in definitions)


def named(names: Iterable[str], text: str) -> list[str]:
    """The names that occur in a text: literally, or as all their words in one sentence, ignoring word endings."""
    plain = " ".join(text.split()).casefold()
    sentences = [frozenset(stems(sentence)) for sentence in re.split(r"[.!?;] ", plain)]
    found = []
    for name in names:
        words = frozenset(stems(name.casefold()))
        literal = re.escape(" ".join(name.split()).casefold())
        if re.search(rf"(?<!\w){literal}(?!\w)", plain) or (words and any(words <= s for s in sentences)):
            found.append(name)
    return found
