"""Finds names in a module's documentation that exist neither in the module nor in its imports. Runs no code."""

import ast
import builtins
import re
from collections.abc import Iterator
from pathlib import Path

from xkg.build.code.languages.python import parse_ast
from xkg.sandbox.evidence.python_ast import expression_tree

_SPAN = re.compile(r"(?<!`)`([^`\n]{1,300})`(?!`)")
_NAME = re.compile(r"[^\W\d]\w*")
_MOST_FILES = 300
_MOST_BYTES = 2_000_000
_BUILTINS = frozenset(dir(builtins)) | {"self", "cls"}
_REMARK = "Remark: no code here has the name {}."
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def unknown_names(documentation: str, implementation: str, source: str = "", site: Path | None = None) -> list[str]:
    """The names in backticks that do not exist, in order: callables that the module does not define; keywords and
    arguments that no such callable takes; attributes of packages under `site` that none of their files has; and other
    names found neither in the module nor in `source`, the lines that it was made from. Text in backticks that is not
    valid Python is skipped."""
    tree = parse_ast(implementation)
    if tree is None:
        return []
    module = _Module(tree, frozenset(_NAME.findall(implementation)), frozenset(_NAME.findall(source)), site)
    found: dict[str, None] = {}
    for match in _SPAN.finditer(documentation):
        try:
            span = expression_tree(match[1].strip())
        except (SyntaxError, ValueError, RecursionError):
            continue
        found |= dict.fromkeys(_unknown_in(span, module))
    return list(found)


def with_remark(documentation: str, implementation: str, source: str = "", site: Path | None = None) -> str:
    """The documentation, followed by a sentence that lists the names in it that do not exist, if there are any."""
    names = unknown_names(documentation, implementation, source, site)
    if not names:
        return documentation
    return f"{documentation.rstrip()} {_REMARK.format(', '.join(f'`{name}`' for name in names))}"


class _Module:
    """The names that a module has: its words and those of its source, its functions and methods, its imports."""

    def __init__(self, tree: ast.Module, words: frozenset[str], source: frozenset[str], site: Path | None) -> None:
        self.words = words
        self.source = source
        self.site = site
        self.functions: dict[str, list[_Function | None]] = {}
        self.packages: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                starts = [f for f in node.body if isinstance(f, _Function) and f.name == "__init__"]
                self.functions.setdefault(node.name, []).extend(starts or [None])
            elif isinstance(node, _Function):
                self.functions.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    whole = alias.name if alias.asname else alias.name.partition(".")[0]
                    self.packages[alias.asname or whole] = whole
                    self.packages[whole.partition(".")[0]] = whole.partition(".")[0]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    self.packages[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                self.packages.setdefault(node.module.partition(".")[0], node.module.partition(".")[0])


def _unknown_in(span: ast.expr, module: _Module) -> Iterator[str]:
    called = span.func if isinstance(span, ast.Call) else None
    target = called or span
    dotted = _dotted(target)
    if not dotted:
        # A formula or a value may have its own symbols.
        return
    root, _, rest = dotted.partition(".")
    last = dotted.rpartition(".")[2]
    if root in module.packages:
        if rest and not _package_has(f"{module.packages[root]}.{rest}", module.site):
            yield dotted
        return
    if called is not None and last not in module.words | _BUILTINS:
        yield dotted
        return
    known = module.words | module.source | _BUILTINS
    yield from dict.fromkeys(dotted for part in dotted.split(".") if part not in known)
    if isinstance(span, ast.Call) and last in module.functions:
        signatures = [f for f in module.functions[last] if f is not None]
        if len(signatures) == len(module.functions[last]):
            yield from _beyond(span, signatures, last)


def _beyond(call: ast.Call, functions: list[_Function], name: str) -> Iterator[str]:
    """The keywords that none of the functions takes, and the call itself if none takes that many arguments."""
    takes = [function.args for function in functions]
    for keyword in call.keywords:
        if keyword.arg and not any(a.kwarg or keyword.arg in _parameters(a) for a in takes):
            yield f"{name}({keyword.arg}=…)"
    given = [argument for argument in call.args if not isinstance(argument, ast.Starred)]
    # An ellipsis matches any arguments. A method may be shown with or without its object.
    if not any(isinstance(a, ast.Constant) and a.value is ... for a in given) and not any(
        a.vararg or len(given) + len(call.keywords) <= len(_parameters(a)) for a in takes
    ):
        yield f"{name}(…) with {len(given) + len(call.keywords)} arguments"


def _parameters(arguments: ast.arguments) -> list[str]:
    return [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _package_has(dotted: str, site: Path | None) -> bool:
    """Whether the files of an installed package have the attribute: as a folder, a file, or a word in a nearby file.
    True if the package is not installed here or is too large to read."""
    *folders, name = dotted.split(".")
    if site is None or not (site / folders[0]).is_dir():
        return True
    at = site
    for folder in folders:
        if not (at / folder).is_dir():
            # A module or an object in one: its attributes are searched in the folder that contains the module.
            break
        at = at / folder
    if (at / name).is_dir():
        return True
    word = re.compile(rf"\b{re.escape(name)}\b")
    files = sorted([*at.glob("*.py"), *at.glob("*.pyi"), *at.glob("*/*.py"), *at.glob("*/*.pyi")])
    if len(files) > _MOST_FILES:
        return True
    for file in files:
        if file.stem == name or file.stat().st_size > _MOST_BYTES:
            return True
        if word.search(file.read_text(encoding="utf-8", errors="replace")):
            return True
    # The names in compiled modules do not occur in any text file.
    return any(at.glob("*.so")) or any(at.glob("*.pyd"))


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return node.id if isinstance(node, ast.Name) else ""
