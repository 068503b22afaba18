"""Detects code that could get around a test by ending the process, inspecting its own source or its callers, or
patching its imports. Only the syntax tree is searched, so names built at run time are missed."""

import ast
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum

from xkg.sandbox.evidence.python_ast import last_name


class Reach(StrEnum):
    """A target of tampering. `INTERPRETER` stands for the harness's frames and memory: code that reaches them could
    forge the result. `SOURCE` stands for the code's own source: code that reads it could recognise a mutant without
    running it. `PATCH` stands for the modules that the code imports. `OTHER` is any other construct that a repair must
    not introduce."""

    INTERPRETER = "interpreter"
    SOURCE = "source"
    PATCH = "patch"
    OTHER = "other"


_ENDS, _CALLERS = "exits the process before the run finishes", "inspects its callers"
_UNNOTICED = "runs something whose failure would go unnoticed"
_OWN_CODE, _MEMORY = "inspects its own code", "inspects the memory of the program that runs it"
_TRACES, _FRAMES = "monitors or controls the program that runs it", "inspects the frames of the program that runs it"

_NAMES: Mapping[str, tuple[Reach, str]] = {
    name: (reach, what)
    for reach, what, names in (
        (Reach.OTHER, _ENDS, "os._exit _exit sys.exit exit quit SystemExit os.kill os.abort os.execv"),
        (Reach.OTHER, "runs something when the process exits", "atexit.register"),
        (Reach.OTHER, "changes how exceptions are reported", "sys.excepthook"),
        (Reach.INTERPRETER, _TRACES, "sys.settrace sys.setprofile sys.monitoring threading.settrace"),
        (Reach.INTERPRETER, _CALLERS, "sys._getframe sys._current_frames inspect.stack inspect.currentframe"),
        (
            Reach.INTERPRETER,
            _CALLERS,
            "inspect.trace inspect.getouterframes inspect.getinnerframes inspect.getframeinfo",
        ),
        (Reach.INTERPRETER, _CALLERS, "traceback.extract_stack traceback.walk_stack traceback.walk_tb"),
        (Reach.INTERPRETER, _MEMORY, "gc.get_objects gc.get_referrers gc.get_referents ctypes faulthandler"),
        (Reach.SOURCE, _OWN_CODE, "inspect.getsource inspect.getsourcelines inspect.getsourcefile inspect.getfile"),
        (Reach.SOURCE, _OWN_CODE, "inspect.findsource inspect.getcomments linecache dis marshal types.CodeType"),
        (Reach.OTHER, "accesses the loaded modules", "sys.modules"),
        (Reach.OTHER, "reads its arguments or environment", "sys.argv os.environ os.getenv"),
        (Reach.OTHER, "accesses the program that runs it", "__main__"),
        (Reach.PATCH, "accesses the builtins", "builtins __builtins__"),
        (Reach.OTHER, "runs code from a string", "exec eval compile __import__"),
        (Reach.OTHER, "reloads a module", "importlib.reload"),
        (Reach.PATCH, "replaces the code under test", "mock.patch unittest.mock.patch patch"),
        (Reach.OTHER, "replaces the code under test", "unittest.mock MagicMock monkeypatch"),
        (Reach.OTHER, "swallows exceptions", "contextlib.suppress suppress"),
        (Reach.OTHER, "turns warnings off", "warnings.filterwarnings warnings.simplefilter warnings.catch_warnings"),
        (Reach.OTHER, "turns warnings off", "filterwarnings simplefilter"),
        (Reach.OTHER, "turns messages off", "logging.disable"),
        (Reach.OTHER, _UNNOTICED, "threading.Thread threading.Timer multiprocessing.Process concurrent.futures"),
        (Reach.OTHER, _UNNOTICED, "subprocess"),
        (Reach.OTHER, "skips the test", "pytest.skip pytest.mark.skip pytest.mark.xfail unittest.skip SkipTest"),
    )
    for name in names.split()
}
_ATTRIBUTES: Mapping[str, tuple[Reach, str]] = {
    name: (reach, what)
    for reach, what, names in (
        (
            Reach.INTERPRETER,
            _FRAMES,
            "tb_frame f_back f_locals f_globals f_builtins f_trace f_lineno gi_frame cr_frame",
        ),
        (Reach.INTERPRETER, _FRAMES, "ag_frame __closure__ cell_contents __globals__"),
        (Reach.SOURCE, _OWN_CODE, "__code__ f_code gi_code cr_code ag_code co_code co_consts co_names co_lines"),
        (Reach.SOURCE, _OWN_CODE, "co_firstlineno co_positions co_lnotab co_linetable tb_lineno"),
    )
    for name in names.split()
}
# Attributes and items of these names also match: `sys.modules[...]`, `ctypes.string_at`, `os.environ.get`.
_WHOLE = frozenset(
    "sys.modules sys.monitoring os.environ __main__ builtins ctypes faulthandler linecache dis marshal mock.patch"
    " unittest.mock.patch".split()
)
_MODULES = frozenset("__main__ builtins unittest.mock ctypes faulthandler linecache dis marshal".split())
_OWN_FILE = re.compile(r"(?:\S*/)?(?:implementation|harness|loaded)\.pyc?|/proc(?:/\S*)?")


def bound_names(tree: ast.Module) -> set[str]:
    """Returns the names that a program binds, except through imports from `implementation`."""
    bound: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                bound.add(name)
            case ast.ImportFrom(module=module, names=names) if module != "implementation":
                bound |= {a.asname or a.name for a in names}
            case _:
                continue
    return bound


def tampering(tree: ast.Module, *, test: bool) -> Iterator[tuple[Reach, str]]:
    """Yields reasons why a test proves nothing. Each reason is a phrase to put after "it". If `test` is false, `tree`
    is the implementation, which may patch modules and use its own path."""
    for name in uses(tree):
        reach, what = _ATTRIBUTES.get(name) or _NAMES[name]
        if reach in (Reach.INTERPRETER, Reach.SOURCE) or (test and reach is Reach.PATCH):
            yield reach, f"uses `{name}`, which {what}"
    for text in sorted(filter(_OWN_FILE.fullmatch, texts(tree))):
        memory = text.startswith("/proc")
        yield (
            (Reach.INTERPRETER if memory else Reach.SOURCE),
            f"mentions `{text}`, which {_MEMORY if memory else _OWN_CODE}",
        )
    if test:
        if any(isinstance(n, ast.expr) and last_name(n) == "__file__" for n in ast.walk(tree)):
            yield Reach.SOURCE, f"uses `__file__`, which {_OWN_CODE}"
        for patched in patches(tree):
            yield Reach.PATCH, f"overwrites `{patched}`, which belongs to an imported module"


def watches_tracing(tree: ast.Module) -> bool:
    """Returns whether a program can detect tracing."""
    return any(isinstance(n, ast.expr) and last_name(n) in ("gettrace", "getprofile") for n in ast.walk(tree))


def why_not(name: str) -> str:
    """Returns why a name from `uses` is not allowed, as a phrase to put after "which"."""
    return (_ATTRIBUTES.get(name) or _NAMES[name])[1]


def texts(tree: ast.Module) -> set[str]:
    """Returns the string constants in a program."""
    return {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def uses(tree: ast.Module) -> Iterator[str]:
    """Yields the forbidden names and attributes that a program uses, with import aliases resolved."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            aliases |= {a.asname: a.name for a in node.names if a.asname}
            yield from (a.name for a in node.names if a.name in _MODULES)
        elif isinstance(node, ast.ImportFrom):
            aliases |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
            if node.module in _MODULES:
                yield node.module
    parameters = {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)} - {"monkeypatch"}
    own = (bound_names(tree) | parameters) - aliases.keys()
    inner = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in _ATTRIBUTES:
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in _ATTRIBUTES:
            yield node.value  # the string may be an argument of getattr
        if not isinstance(node, (ast.Name, ast.Attribute)) or id(node) in inner:
            continue
        dotted = ast.unparse(node)
        root, _, rest = dotted.partition(".")
        if root in own and (not rest or root in parameters):
            continue
        full = aliases.get(root, root) + (f".{rest}" if rest else "")
        if full.endswith(("catch_warnings", "simplefilter", "filterwarnings")) and "warnings" not in full:
            continue
        parts = full.split(".")
        for n in range(len(parts), 0, -1):
            name = ".".join(parts[:n])
            if name in _NAMES and (n == len(parts) or name in _WHOLE):
                yield name
                break


def patches(tree: ast.Module) -> Iterator[str]:
    """Yields attributes of imported modules that a program overwrites."""
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
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="globals" | "vars")))):
                yield ast.unparse(node.func)
            case ast.Subscript(value=ast.Call(func=ast.Name(id="globals" | "vars")), ctx=ast.Store()):
                yield ast.unparse(node)
            case _:
                continue


def _is_setting(node: ast.Attribute) -> bool:
    """Returns whether an assignment is a setting such as `torch.backends.cudnn.deterministic = True`."""
    return "backends" in ast.unparse(node) or node.attr in ("deterministic", "benchmark", "allow_tf32")


def _root(node: ast.expr) -> str | None:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
