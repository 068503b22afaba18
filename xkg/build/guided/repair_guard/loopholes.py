"""Finds ways to bypass a test, such as ending the process, inspecting the caller or patching libraries. Silencing
messages also counts, as does catching errors that should end the run.

A loophole is a name that the program did not use before the repair."""

import ast
from collections import Counter
from collections.abc import Iterator

from xkg.sandbox.evidence.tampering import patches, texts, uses, why_not

Function = ast.FunctionDef | ast.AsyncFunctionDef
_COMPARING = frozenset("__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __bool__ __contains__ __instancecheck__".split())
_IMPORTING = frozenset("ImportError ModuleNotFoundError AttributeError".split())
_EVERYTHING = frozenset("Exception BaseException AssertionError".split())


def tricks(where: str, old: ast.Module, new: ast.Module) -> Iterator[str]:
    for name in Counter(uses(new)) - Counter(uses(old)):
        yield f"the {where} now uses `{name}`, which {why_not(name)}: repair the cause instead"
    for patched in sorted({*patches(new), *_judges(new)} - {*patches(old), *_judges(old)}):
        yield f"the {where} overwrites `{patched}` in something that it imports: call what you need instead"
    for name in sorted(set(_compared_by(new)) - set(_compared_by(old))):
        yield f"the {where} defines how objects compare (`{name}`): compare plain values"
    if where == "implementation" and _self_references(new) > _self_references(old):
        yield "the implementation checks how it is run (`__name__`, `__file__`): it has to behave the same everywhere"
    if {"test.py", "implementation.py", "harness.py"} & texts(new) - texts(old):
        yield f"the {where} reads the files from its own run"


def _self_references(tree: ast.Module) -> int:
    return sum(isinstance(n, ast.Name) and n.id in ("__name__", "__file__") for n in ast.walk(tree))


def _judges(tree: ast.Module) -> Iterator[str]:
    """Yields the builtins and assertion functions that a program redefines."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                if name in _JUDGES:
                    yield name
            case _:
                continue


_JUDGES = frozenset(
    "abs all any isinstance issubclass len round sum min max bool type allclose isclose approx AssertionError"
    " assert_allclose assert_close array_equal".split()
)


def _compared_by(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from (f"{node.name}.{s.name}" for s in node.body if isinstance(s, Function) and s.name in _COMPARING)
            yield from (
                f"{node.name}.{t.id}"
                for s in node.body
                if isinstance(s, ast.Assign)
                for t in s.targets
                if isinstance(t, ast.Name) and t.id in _COMPARING
            )


# --- swallowed exceptions


def swallowed(where: str, old: ast.Module, new: ast.Module) -> Iterator[str]:
    old_handlers = Counter(map(ast.dump, _swallowing(where, old)))
    for handler in _swallowing(where, new):
        dump = ast.dump(handler)
        if old_handlers[dump]:
            old_handlers[dump] -= 1
            continue
        caught = ast.unparse(handler.type) if handler.type is not None else "everything"
        yield f"the {where} now catches {caught} and continues: an error has to end the run, so repair its cause"
    if _ended_finally(new) > _ended_finally(old):
        yield f"the {where} now leaves a `finally` block early, which swallows exceptions"
    if where == "implementation" and _true_exits(new) > _true_exits(old):
        yield "the implementation returns True from `__exit__`, which swallows exceptions"


def _swallowing(where: str, tree: ast.Module) -> list[ast.ExceptHandler]:
    found: list[ast.ExceptHandler] = []
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Try, ast.TryStar)):
            continue
        for handler in node.handlers:
            if any(isinstance(n, ast.Raise) for n in ast.walk(handler)) or _is_import_fallback(node, handler):
                continue
            names = {n.id for n in ast.walk(handler.type or ast.Pass()) if isinstance(n, ast.Name)}
            broad = handler.type is None or not names.isdisjoint(_EVERYTHING)
            # A test may expect an error with `try: …; assert False` / `except ValueError: pass`.
            if where == "test" and not broad and any(_cannot_pass(s) for s in [*node.body[-1:], *node.orelse]):
                continue
            if where == "test" or broad or all(_does_nothing(s) for s in handler.body):
                found.append(handler)
    return found


def _cannot_pass(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Raise) or (
        isinstance(statement, ast.Assert) and isinstance(statement.test, ast.Constant) and not statement.test.value
    )


def _is_import_fallback(node: ast.Try | ast.TryStar, handler: ast.ExceptHandler) -> bool:
    """Returns whether a statement is an import fallback, such as `try: from a import b` / `except ImportError: from c
    import b`."""
    if handler.type is None or any(n.id not in _IMPORTING for n in ast.walk(handler.type) if isinstance(n, ast.Name)):
        return False
    imports = (ast.Import, ast.ImportFrom)
    simple = all(
        isinstance(s, imports) or (isinstance(s, ast.Assign) and isinstance(s.value, (ast.Attribute, ast.Name)))
        for s in node.body
    )
    return simple and all(isinstance(s, (*imports, ast.Assign)) for s in handler.body)


def _does_nothing(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Continue() | ast.Break() | ast.Return(value=None | ast.Constant()):
            return True
        case ast.Expr(value=ast.Constant()) | ast.Assign(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call(func=called)):
            return ast.unparse(called).rpartition(".")[2] in ("print", "warn", "warning", "debug", "info", "error")
        case _:
            return False


def _ended_finally(tree: ast.Module) -> int:
    leaving = (ast.Return, ast.Break, ast.Continue)
    tries = (n for n in ast.walk(tree) if isinstance(n, ast.Try))
    return sum(any(isinstance(s, leaving) for s in node.finalbody) for node in tries)


def _true_exits(tree: ast.Module) -> int:
    exits = (n for n in ast.walk(tree) if isinstance(n, Function) and n.name == "__exit__")
    returns = (s for node in exits for s in ast.walk(node) if isinstance(s, ast.Return))
    return sum(isinstance(s.value, ast.Constant) and s.value.value is True for s in returns)
