"""Finds the starter's settings, which may change only if the method says so. The evaluation code is protected by
`xkg.agents.workspace.program.evaluation`."""

import ast
import hashlib
import re
from collections.abc import Collection, Iterator, Mapping

from xkg.agents.ablation.space.python_source import defaults_of
from xkg.agents.workspace.files.edits import definitions
from xkg.agents.workspace.program.evaluation import tree_or_none

_SETTINGS_FILE = re.compile(r"\.(ya?ml|json|toml|ini|cfg)$", re.I)


def may_set(path: str) -> bool:
    """Returns whether a file may contain settings, judging by its path."""
    return path.endswith(".py") or bool(_SETTINGS_FILE.search(path))


def settings(files: Mapping[str, str], deadly: Collection[str] = ()) -> dict[str, str]:
    """Returns an experiment's settings by name. Settings are constants of modules and classes, and defaults of
    parameters and command-line arguments. For settings files and files in `deadly` (which crash the parser), returns a
    digest."""
    found: dict[str, str] = {}
    for path, text in files.items():
        if _SETTINGS_FILE.search(path) or path in deadly:
            found[path] = hashlib.sha256(text.encode()).hexdigest()[:12]
        tree = tree_or_none(text) if path.endswith(".py") and path not in deadly else None
        if tree is None:
            continue
        for name, value in (*_constants(tree), *_defaults(tree), *_arguments(tree)):
            found.setdefault(f"{path}::{name}", value)
    return found


def changed_settings(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Returns the settings that were changed or removed."""
    return {name: (value, after.get(name, "gone")) for name, value in before.items() if after.get(name) != value}


def says(method: str, quotation: str) -> bool:
    """Returns whether a quotation has at least three words and occurs in the method's text. Ignores spacing and
    case."""
    words = " ".join(quotation.split()).lower()
    return len(words.split()) >= 3 and words in " ".join(method.split()).lower()


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    classes = [(f"{name}.", node.body) for name, node in definitions(tree) if isinstance(node, ast.ClassDef)]
    for prefix, body in [("", tree.body), *classes]:
        for node in body:
            if not isinstance(node, ast.Assign | ast.AnnAssign):
                continue
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                pairs, value = [(target, node.value)], node.value
                if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                    pairs = [*zip(target.elts, value.elts, strict=False)]
                for one, of in pairs:
                    if isinstance(one, ast.Name) and of is not None and _is_literal(of):
                        yield f"{prefix}{one.id}", ast.unparse(of)


def _defaults(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for name, node in definitions(tree):
        if isinstance(node, ast.ClassDef):
            continue
        for parameter, default in defaults_of(node):
            if _is_literal(default):
                yield f"{name}({parameter.arg})", ast.unparse(default)


def _arguments(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            flags = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            default = next((k.value for k in node.keywords if k.arg == "default"), None)
            if flags:
                yield f"argument {flags[-1]}", "none" if default is None else ast.unparse(default)


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True
