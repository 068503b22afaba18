"""Ways around a test rather than through the code: ending the process, looking at who calls, patching libraries,
turning messages off, catching what should end the run. Told by what a program uses that it did not use before."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping

from xkg.build.guided.names import bound_names
from xkg.build.guided.reach import Function, constant_truth

# Calls and names that reach around a test rather than through the code.
_SWITCHES: Mapping[str, str] = {
    "os._exit": "ends the process before the end",
    "_exit": "ends the process before the end",
    "sys.exit": "ends the process before the end",
    "exit": "ends the process before the end",
    "quit": "ends the process before the end",
    "SystemExit": "ends the process before the end",
    "os.kill": "ends the process before the end",
    "os.abort": "ends the process before the end",
    "os.execv": "ends the process before the end",
    "atexit.register": "runs something at the end of the process",
    "sys.excepthook": "replaces how exceptions are told",
    "sys.settrace": "looks into who calls it",
    "sys._getframe": "looks into who calls it",
    "inspect.stack": "looks into who calls it",
    "inspect.currentframe": "looks into who calls it",
    "traceback.extract_stack": "looks into who calls it",
    "sys.modules": "reaches into the loaded modules",
    "sys.argv": "reads how it was started",
    "os.environ": "reads how it was started",
    "os.getenv": "reads how it was started",
    "__main__": "reaches into the program that runs it",
    "builtins": "reaches into the builtins",
    "__builtins__": "reaches into the builtins",
    "exec": "runs code from text",
    "eval": "runs code from text",
    "compile": "runs code from text",
    "__import__": "runs code from text",
    "importlib.reload": "loads a module again",
    "unittest.mock": "replaces what is tested",
    "mock.patch": "replaces what is tested",
    "patch": "replaces what is tested",
    "MagicMock": "replaces what is tested",
    "monkeypatch": "replaces what is tested",
    "contextlib.suppress": "swallows exceptions",
    "suppress": "swallows exceptions",
    "warnings.filterwarnings": "turns warnings off",
    "warnings.simplefilter": "turns warnings off",
    "filterwarnings": "turns warnings off",
    "simplefilter": "turns warnings off",
    "warnings.catch_warnings": "turns warnings off",
    "logging.disable": "turns messages off",
    "threading.Thread": "runs something where its failure goes unnoticed",
    "threading.Timer": "runs something where its failure goes unnoticed",
    "multiprocessing.Process": "runs something where its failure goes unnoticed",
    "concurrent.futures": "runs something where its failure goes unnoticed",
    "subprocess": "runs something where its failure goes unnoticed",
    "pytest.skip": "skips the test",
    "pytest.mark.skip": "skips the test",
    "pytest.mark.xfail": "skips the test",
    "unittest.skip": "skips the test",
    "SkipTest": "skips the test",
}
_COMPARING = frozenset("__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __bool__ __contains__ __instancecheck__".split())
_IMPORTING = frozenset("ImportError ModuleNotFoundError AttributeError".split())
_EVERYTHING = frozenset("Exception BaseException AssertionError".split())


def tricks(where: str, old: ast.Module | None, new: ast.Module) -> Iterator[str]:
    had = Counter(_switches(old)) if old is not None else Counter[str]()
    for name in Counter(_switches(new)) - had:
        yield f"the {where} now uses `{name}`, which {_SWITCHES[name]}: mend the cause instead"
    old_patches = set(_patches(old)) if old is not None else set()
    for patched in sorted(set(_patches(new)) - old_patches):
        yield f"the {where} overwrites `{patched}` of something that it imports: call what you need instead"
    old_compared = set(_compared_by(old)) if old is not None else set()
    for name in sorted(set(_compared_by(new)) - old_compared):
        yield f"the {where} defines how objects compare (`{name}`): compare plain values"
    if where == "implementation":
        asks = sum(isinstance(n, ast.Name) and n.id in ("__name__", "__file__") for n in ast.walk(new))
        asked = sum(isinstance(n, ast.Name) and n.id in ("__name__", "__file__") for n in _walk(old))
        if asks > asked:
            yield "the implementation asks how it is run (`__name__`, `__file__`): it has to do the same everywhere"
    reads = {"test.py", "implementation.py", "harness.py"}
    if reads & _texts(new) - (_texts(old) if old is not None else set()):
        yield f"the {where} reads the files of its own run"


def _walk(tree: ast.Module | None) -> Iterator[ast.AST]:
    return ast.walk(tree) if tree is not None else iter(())


def _texts(tree: ast.Module) -> set[str]:
    return {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def _switches(tree: ast.Module) -> Iterator[str]:
    """The names of `_SWITCHES` that a program uses, by whatever alias it imported them."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            aliases |= {a.asname: a.name for a in node.names if a.asname}
            yield from (a.name for a in node.names if a.name in ("__main__", "builtins", "unittest.mock"))
        elif isinstance(node, ast.ImportFrom):
            aliases |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
            if node.module in ("__main__", "builtins", "unittest.mock"):
                yield node.module
    own = bound_names(tree) - aliases.keys()
    inner = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Name, ast.Attribute)) or id(node) in inner:
            continue
        dotted = ast.unparse(node)
        root, _, rest = dotted.partition(".")
        if not rest and root in own:
            continue
        full = aliases.get(root, root) + (f".{rest}" if rest else "")
        if full.endswith(("catch_warnings", "simplefilter", "filterwarnings")) and "warnings" not in full:
            continue
        parts = full.split(".")
        for n in range(len(parts), 0, -1):
            name = ".".join(parts[:n])
            if name in _SWITCHES and (n == len(parts) or name in ("sys.modules", "os.environ", "__main__", "builtins")):
                yield name
                break


def _patches(tree: ast.Module) -> Iterator[str]:
    """Attributes of imported modules, and builtins, that a program gives another value."""
    imported = {
        (a.asname or a.name).partition(".")[0]
        for n in ast.walk(tree)
        if isinstance(n, (ast.Import, ast.ImportFrom))
        for a in n.names
    }
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(ctx=ast.Store() | ast.Del()) if _root(node) in imported | {"implementation"}:
                if not _is_setting(node):
                    yield ast.unparse(node)
            case ast.Call(func=ast.Name(id="setattr"), args=[target, *_]) if _root(target) in imported:
                yield f"setattr({ast.unparse(target)}, …)"
            case ast.Name(id=name, ctx=ast.Store()) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                if name in _JUDGES:
                    yield name
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="globals" | "vars")))):
                yield ast.unparse(node.func)
            case ast.Subscript(value=ast.Call(func=ast.Name(id="globals" | "vars")), ctx=ast.Store()):
                yield ast.unparse(node)
            case _:
                continue


_JUDGES = frozenset(
    "abs all any isinstance issubclass len round sum min max bool type allclose isclose approx AssertionError"
    " assert_allclose assert_close array_equal".split()
)


def _is_setting(node: ast.Attribute) -> bool:
    """`torch.backends.cudnn.deterministic = True` and their like."""
    return "backends" in ast.unparse(node) or node.attr in ("deterministic", "benchmark", "allow_tf32")


def _root(node: ast.expr) -> str | None:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


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


def swallowed(where: str, old: ast.Module | None, new: ast.Module) -> Iterator[str]:
    had = Counter(map(ast.dump, _swallowing(where, old))) if old is not None else Counter[str]()
    for handler in _swallowing(where, new):
        dump = ast.dump(handler)
        if had[dump]:
            had[dump] -= 1
            continue
        caught = ast.unparse(handler.type) if handler.type is not None else "everything"
        yield f"the {where} now catches {caught} and goes on: an error has to end the run, so mend its cause"
    finals = sum(1 for n in ast.walk(new) if isinstance(n, ast.Try) and _ends_finally(n))
    if finals > sum(1 for n in _walk(old) if isinstance(n, ast.Try) and _ends_finally(n)):
        yield f"the {where} now leaves a `finally` by `return`, which swallows exceptions"
    if where == "implementation":
        exits = Counter(_exit_methods(new)) - (Counter(_exit_methods(old)) if old is not None else Counter[str]())
        yield from (f"{name} returns True from `__exit__`, which swallows exceptions" for name in exits)


def _swallowing(where: str, tree: ast.Module) -> list[ast.ExceptHandler]:
    found: list[ast.ExceptHandler] = []
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Try, ast.TryStar)):
            continue
        for handler in node.handlers:
            if any(isinstance(n, ast.Raise) for n in ast.walk(handler)) or _is_import_fallback(node, handler):
                continue
            taken = (
                {n.id for n in ast.walk(handler.type) if isinstance(n, ast.Name)} if handler.type is not None else set()
            )
            # A test may expect an error by `try: …; assert False` / `except ValueError: pass`.
            expected = where == "test" and handler.type is not None and taken.isdisjoint(_EVERYTHING)
            if expected and any(_cannot_pass(s) for s in [*node.body[-1:], *node.orelse]):
                continue
            broad = handler.type is None or not taken.isdisjoint(_EVERYTHING)
            if where == "test" or broad or all(_does_nothing(s) for s in handler.body):
                found.append(handler)
    return found


def _cannot_pass(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Raise) or (
        isinstance(statement, ast.Assert) and constant_truth(statement.test) is False
    )


def _is_import_fallback(node: ast.Try | ast.TryStar, handler: ast.ExceptHandler) -> bool:
    """`try: from a import b` / `except ImportError: from c import b`."""
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


def _ends_finally(node: ast.Try) -> bool:
    return any(isinstance(s, (ast.Return, ast.Break, ast.Continue)) for s in node.finalbody)


def _exit_methods(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, Function) and node.name == "__exit__":
            yield from (
                node.name
                for s in ast.walk(node)
                if isinstance(s, ast.Return) and s.value is not None and constant_truth(s.value)
            )
