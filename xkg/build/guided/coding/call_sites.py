"""Calls of a located function in its repository, with their arguments and the use of the result."""

import ast
from collections.abc import Collection, Iterator

from xkg.build.code.codebase import Codebase, Module
from xkg.build.code.languages.python import parse_ast
from xkg.model import Symbol

_MOST_SITES = 2
_AFTER = 6  # lines
_LONGEST = 14  # lines
_MOST_MODULES = 200


def call_sites(codebase: Codebase, symbol: Symbol, shown: Collection[str]) -> list[str]:
    """Up to two calls of a Python function or method elsewhere in its repository, with the following lines, as
    comments. Calls in its own file come first, calls in tests last. Calls inside `shown` symbols (ids) are skipped."""
    if symbol.kind not in ("function", "method") or codebase.module(symbol).language != "python":
        return []
    name = symbol.qualified_name.rpartition(".")[2]
    if name.startswith("__"):
        return []
    modules = [m for m in codebase.modules if m.language == "python" and name in m.text][:_MOST_MODULES]
    modules.sort(key=lambda m: (m.path != symbol.path, "test" in m.path, m.path))
    symbols = codebase.symbols()
    spans = [symbols[each].symbol for each in shown if each in symbols and symbols[each].symbol.kind != "module"]
    found: list[str] = []
    for module in modules:
        lines = module.text.split("\n")
        for first, last in _calls(module, name):
            if any(s.path == module.path and s.start_line <= first <= s.end_line for s in (symbol, *spans)):
                continue
            end = min(_end(lines, first, last), first + _LONGEST - 1)
            text = "\n".join(f"# {line}".rstrip() for line in lines[first - 1 : end])
            found.append(f"# --- called in {module.path}:{first}-{end}\n{text}\n")
            if len(found) == _MOST_SITES:
                return found
    return found


def _calls(module: Module, name: str) -> Iterator[tuple[int, int]]:
    """The first and last lines of the simple statements that call a function of this name."""
    tree = parse_ast(module.text)
    for node in ast.walk(tree) if tree is not None else ():
        if not isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Return):
            continue
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and _last_name(call.func) == name:
                yield node.lineno, node.end_lineno or node.lineno
                break


def _last_name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _end(lines: list[str], first: int, last: int) -> int:
    """The last of the following lines in the same block as the statement."""
    margin = len(lines[first - 1]) - len(lines[first - 1].lstrip())
    end = last
    for number in range(last + 1, min(last + _AFTER, len(lines)) + 1):
        line = lines[number - 1]
        if line.strip() and len(line) - len(line.lstrip()) < margin:
            break
        end = number if line.strip() else end
    return end
