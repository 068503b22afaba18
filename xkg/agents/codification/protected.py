"""What may not change: the code that measures (by fingerprint), and the starter's settings, unless the method says so.

The evaluation is found by name: test files, functions named for evaluating or for the metric, statements that print or
write the metric, and what the task protects besides. What is renamed, removed, defined again or assigned over has
changed too."""

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from xkg.agents.workspace.edits import definitions
from xkg.agents.workspace.metric import Metric

_TEST_FILE = re.compile(r"(^|/)(tests?/.*|test_[^/]*|[^/]*_test|conftest)\.py$")
_MEASURES = re.compile(r"(^|_)(eval\w{0,80}+|test\w{0,80}+|valid\w{0,80}+|metrics?|accuracy|acc|benchmark)(_|$)", re.I)
_SETTINGS_FILE = re.compile(r"\.(ya?ml|json|toml|ini|cfg)$", re.I)
_WORD = re.compile(r"[A-Za-z][A-Za-z_ ]{2,}")
_PRINTS, _NAMES = "(prints the metric)", "(names the metric)"


def evaluation(
    files: Mapping[str, str], metric: Metric, protect: Sequence[str] = (), deadly: Collection[str] = ()
) -> dict[str, str]:
    """The parts of the code that measure, by `path::name` (or `path`), with a digest of each. Layout and comments do
    not count. Files that do not parse count as a whole where the task protects them; those that are `deadly` are not
    parsed, and count as a whole."""
    found: dict[str, list[str]] = {}
    printed, label = _literal(metric), _label(metric)
    word = printed.replace(" ", "_")
    for path, text in files.items():
        whole = path in protect or path in deadly or bool(_TEST_FILE.search(path))
        if not path.endswith(".py") or path in deadly or (tree := _tree(text)) is None:
            if whole:
                found.setdefault(path, []).append(text)
            continue
        if whole:
            found.setdefault(path, []).append(ast.dump(tree))
            continue
        for name, node in definitions(tree):
            named = f"{path}::{name}" in protect or _MEASURES.search(node.name)
            if (named or (word and word in node.name.lower())) and not isinstance(node, ast.ClassDef):
                found.setdefault(f"{path}::{name}", []).append(ast.dump(node))
        statements = [(each, [text.lower() for text in _strings(each)]) for each in _simple_statements(tree)]
        labelled = [each for each, texts in statements if label and any(label in text for text in texts)]
        named_in = [each for each, texts in statements if printed and any(printed in text for text in texts)]
        if printing := labelled or named_in:
            name = f"{path}::{_PRINTS if labelled else _NAMES}"
            found[name] = [ast.dump(each) for each in printing]
    return {name: hashlib.sha256("\0".join(parts).encode()).hexdigest() for name, parts in sorted(found.items())}


def changed_evaluation(
    before: Mapping[str, str],
    after: Mapping[str, str],
    new_files: Mapping[str, str],
    old_files: Mapping[str, str] | None = None,
) -> list[str]:
    """The parts that changed, in order: other digests, parts that are gone, places that print the metric beside those
    that did, and names of parts that `new_files` assign more often than `old_files`. Other new parts are no change."""
    changed = [name for name, digest in before.items() if after.get(name) != digest]
    if any(name.endswith(_PRINTS) for name in before):
        changed += [name for name in after if name.endswith(_PRINTS) and name not in before]
    own = {name.rpartition("::")[2].rpartition(".")[2] for name in before if not name.endswith(")") and "::" in name}
    for path, text in new_files.items():
        more = _assigned(path, text) - _assigned(path, (old_files or {}).get(path, ""))
        names = own & more.keys()
        changed += [f"{path} assigns over {name}" for name in sorted(names)]
    return changed


def may_measure(path: str, protect: Sequence[str]) -> bool:
    """Whether a file can have a part of the evaluation, by its path."""
    return path.endswith(".py") or path in protect


def may_set(path: str) -> bool:
    """Whether a file can have settings, by its path."""
    return path.endswith(".py") or bool(_SETTINGS_FILE.search(path))


def settings(files: Mapping[str, str], deadly: Collection[str] = ()) -> dict[str, str]:
    """The values that an experiment is set up with, by name: constants of modules and classes, defaults of parameters,
    defaults of command line arguments, and files of settings (and those that are `deadly`, which are not parsed) by
    their digest."""
    found: dict[str, str] = {}
    for path, text in files.items():
        if _SETTINGS_FILE.search(path) or path in deadly:
            found[path] = hashlib.sha256(text.encode()).hexdigest()[:12]
        tree = _tree(text) if path.endswith(".py") and path not in deadly else None
        if tree is None:
            continue
        for name, value in (*_constants(tree), *_defaults(tree), *_arguments(tree)):
            found.setdefault(f"{path}::{name}", value)
    return found


def changed_settings(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Settings of the starter that have another value now, or are gone."""
    return {name: (value, after.get(name, "gone")) for name, value in before.items() if after.get(name) != value}


def says(method: str, quotation: str) -> bool:
    """Whether a quotation of at least three words is in the method's text, whatever its spacing and case."""
    words = " ".join(quotation.split()).lower()
    return len(words.split()) >= 3 and words in " ".join(method.split()).lower()


def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _literal(metric: Metric) -> str:
    """The longest run of words in the metric's pattern, or the name of its value."""
    if metric.source != "output":
        return metric.key.rpartition(".")[2].lower()
    words = _WORD.findall(re.sub(r"\\.|\[[^\]]{0,200}\]|\(\?\w{0,20}", "|", metric.key))
    return max(words, key=len, default="").strip().lower()


def _label(metric: Metric) -> str:
    """What stands before the number in the output: the pattern up to its group, where that is plain text with a word
    in it; '' for other patterns."""
    if metric.source != "output":
        return ""
    plain = (
        re.sub(r"\\s[*+?]?|\\([^\w\s])", lambda match: match[1] or " ", metric.key.partition("(")[0]).strip().lower()
    )
    return plain if _WORD.search(plain) and not re.search(r"[][{}*+?^$|\\]", plain) else ""


def _simple_statements(tree: ast.AST) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return)):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue  # a docstring
            yield node


def _strings(node: ast.AST) -> list[str]:
    return [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def _assigned(path: str, text: str) -> Counter[str]:
    """The names that a file gives a value, with how often: by assignment, definition, import, `setattr`, or as
    a key of `globals()` and the like."""
    tree = _tree(text) if path.endswith(".py") else None
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


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    classes = [(f"{name}.", node.body) for name, node in definitions(tree) if isinstance(node, ast.ClassDef)]
    for prefix, body in [("", tree.body), *classes]:
        for node in body:
            targets = (
                node.targets
                if isinstance(node, ast.Assign)
                else [node.target]
                if isinstance(node, ast.AnnAssign)
                else []
            )
            value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
            for target in targets:
                if isinstance(target, ast.Name) and value is not None and _is_literal(value):
                    yield f"{prefix}{target.id}", ast.unparse(value)


def _defaults(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for name, node in definitions(tree):
        if isinstance(node, ast.ClassDef):
            continue
        given = node.args
        positional = [*given.posonlyargs, *given.args]
        pairs = list(zip(positional[len(positional) - len(given.defaults) :], given.defaults, strict=True))
        pairs += [(a, d) for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True) if d is not None]
        for parameter, default in pairs:
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
