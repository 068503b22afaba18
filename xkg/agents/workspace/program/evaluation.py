"""Computes digests of the evaluation code, which agents and ablations must not alter.

Evaluation code is found by name. The evaluation consists of test files, functions named after evaluation or the metric,
and statements that print or write the metric. Tasks can protect additional parts. A part counts as changed if it is
renamed, removed, redefined or reassigned."""

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from xkg.agents.workspace.files.edits import definitions
from xkg.agents.workspace.program.metric import Metric, plain_text
from xkg.build.code.test_files import is_test_file
from xkg.sandbox.evidence.python_ast import syntax_tree

_MEASURES = re.compile(r"(^|_)(eval\w{0,80}+|test\w{0,80}+|valid\w{0,80}+|metrics?|accuracy|acc|benchmark)(_|$)", re.I)
_WORD = re.compile(r"[A-Za-z][A-Za-z_ ]{2,}")
_PRINTS, _NAMES = "(prints the metric)", "(names the metric)"


def evaluation(
    files: Mapping[str, str], metric: Metric, protect: Sequence[str] = (), deadly: Collection[str] = ()
) -> dict[str, str]:
    """Returns a digest of each part of the measurement code, by `path::name` (or `path`). Ignores layout and comments.
    A protected file that does not parse counts as one part. Files in `deadly` crash the parser, so they are never
    parsed and also count as one part each."""
    found: dict[str, list[str]] = {}
    for path, text in files.items():
        whole = path in protect or path in deadly or is_test_file(path)
        if not path.endswith(".py") or path in deadly or (tree := tree_or_none(text)) is None:
            if whole:
                found.setdefault(path, []).append(text)
            continue
        for name, node in measuring(path, tree, metric, protect):
            found.setdefault(name, []).append(ast.dump(node))
    return {name: hashlib.sha256("\0".join(parts).encode()).hexdigest() for name, parts in sorted(found.items())}


def measuring(
    path: str, tree: ast.Module, metric: Metric, protect: Sequence[str] = (), *, program: bool = False
) -> Iterator[tuple[str, ast.Module | ast.stmt]]:
    """Yields the parts of a file that measure results, with their names (see `evaluation`) and syntax tree nodes. If
    `program` is set, a command starts the file, so it does not count as a test file."""
    if path in protect or (is_test_file(path) and not program):
        yield path, tree
        return
    printed, label = literal(metric), _label(metric)
    word = printed.replace(" ", "_")
    for name, node in definitions(tree):
        named = f"{path}::{name}" in protect or is_measure(node.name)
        if (named or (word and word in node.name.lower())) and not isinstance(node, ast.ClassDef):
            yield f"{path}::{name}", node
    written = metric.source == "output"
    statements = [(each, [text.lower() for text in _strings(each, written)]) for each in _simple_statements(tree)]
    labelled = [each for each, texts in statements if label and any(label in text for text in texts)]
    named_in = [each for each, texts in statements if printed and any(printed in text for text in texts)]
    for each in labelled or named_in:
        yield f"{path}::{_PRINTS if labelled else _NAMES}", each


def is_measure(function: str) -> bool:
    """Returns whether a function measures something, judging by its name alone, regardless of the metric."""
    return bool(_MEASURES.search(function))


def changed_evaluation(
    before: Mapping[str, str],
    after: Mapping[str, str],
    new_files: Mapping[str, str],
    old_files: Mapping[str, str] | None = None,
) -> list[str]:
    """Returns the changed parts in order. A part is changed if its digest differs, if it was removed, or if `new_files`
    assign its name more often than `old_files`. New statements that print the metric count as changes if the metric was
    printed before. Other new parts do not count as changes."""
    changed = [name for name, digest in before.items() if after.get(name) != digest]
    if any(name.endswith(_PRINTS) for name in before):
        changed += [name for name in after if name.endswith(_PRINTS) and name not in before]
    own = {name.rpartition("::")[2].rpartition(".")[2] for name in before if not name.endswith(")") and "::" in name}
    for path, text in new_files.items():
        more = _assigned(path, text) - _assigned(path, (old_files or {}).get(path, ""))
        names = own & more.keys()
        changed += [f"{path} reassigns {name}" for name in sorted(names)]
    return changed


def may_measure(path: str, protect: Sequence[str]) -> bool:
    """Returns whether a file could contain part of the evaluation, judging by its path."""
    return path.endswith(".py") or path in protect


def tree_or_none(text: str) -> ast.Module | None:
    """Parses Python text. Returns None if the text is not valid Python."""
    try:
        return syntax_tree(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def literal(metric: Metric) -> str:
    """Returns the longest run of words in the metric's pattern, or the name of its value."""
    if metric.source != "output":
        return metric.key.rpartition(".")[2].lower()
    words = _WORD.findall(plain_text(metric.key))
    return max(words, key=len, default="").strip().lower()


def _label(metric: Metric) -> str:
    """Returns the text that precedes the number in the output: the pattern up to its group (`R2: `). Returns '' if this
    text contains special characters, or no word of at least two characters."""
    if metric.source != "output":
        return ""
    plain = (
        re.sub(r"\\s[*+?]?|\\([^\w\s])", lambda match: match[1] or " ", metric.key.partition("(")[0]).strip().lower()
    )
    return plain if re.search(r"[a-z]\w", plain) and not re.search(r"[][{}*+?^$|\\]", plain) else ""


def _simple_statements(tree: ast.AST) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return)):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue  # skips docstrings
            yield node


def _strings(statement: ast.stmt, written: bool) -> list[str]:
    """Returns the strings in a statement, including names of keyword arguments. If `written` is set, ignores strings in
    an assigned dictionary, list or tuple, because they only name values that other statements print."""
    if written and isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Dict | ast.List | ast.Tuple):
        return []
    found = [n.value for n in ast.walk(statement) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return found + [n.arg for n in ast.walk(statement) if isinstance(n, ast.keyword) and n.arg]


def _assigned(path: str, text: str) -> Counter[str]:
    """Returns how often a file assigns each name. Counts assignments, definitions, imports and `setattr`, and keys in
    `globals()` and similar mappings."""
    tree = tree_or_none(text) if path.endswith(".py") else None
    return Counter() if tree is None else Counter(_given_values(tree))


def _given_values(tree: ast.AST) -> Iterator[str]:
    methods = {id(each) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for each in node.body}
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if id(node) not in methods:
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.Subscript(slice=ast.Constant(value=str(name)), ctx=ast.Store()):
                yield name
            case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value=str(name)), *_]):
                yield name
            case ast.alias(asname=str(name)):
                yield name
