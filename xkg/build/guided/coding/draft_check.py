"""Checks a module and its test without running them. The messages are written for the model that wrote the code."""

import ast
import sys
from collections.abc import Collection, Iterator

from xkg.build.slicing.scoping.scopes import module_scope
from xkg.model import Level
from xkg.sandbox.evidence.mutation import stubs
from xkg.sandbox.evidence.python_ast import syntax_tree
from xkg.sandbox.evidence.static_checks import check_parsed
from xkg.sandbox.evidence.tampering import bound_names

# Packages that are not part of a method's own code.
PLUMBING = frozenset(
    "argparse absl click fire hydra matplotlib ml_collections omegaconf seaborn tensorboard tensorboardX tqdm "
    "unittest pytest wandb".split()
)
_OUTSIDE = frozenset(
    "ftplib http requests shutil socket socketserver ssl subprocess tempfile urllib webbrowser".split()
)
_REACHING = frozenset({"from_pretrained", "load_dataset", "load_state_dict_from_url", "urlopen", "urlretrieve"})
_FILE_CALLS = frozenset(
    "torch.load torch.save torch.hub.load np.load np.save np.savez np.loadtxt np.savetxt os.system os.makedirs "
    "os.mkdir os.remove os.listdir pd.read_csv pd.read_json pickle.load pickle.dump json.load json.dump".split()
)


def implementation_faults(source: str, allowed: Collection[str]) -> Iterator[str]:
    """Yields the faults in an implementation. `allowed` lists the packages that may be imported in addition to the
    standard library."""
    parsed = check_parsed(source)
    if parsed.level is Level.NONE:
        yield f"implementation: {parsed.reason}"
        return
    tree = syntax_tree(source)
    yield from _imports("implementation", tree, allowed)
    yield from _reaches_out("implementation", tree)
    if not stubs(source):
        yield "implementation: it has no public function or class with a working body"
    empty = [node.name for node in _functions(tree) if _is_stub(node)]
    if empty:
        yield f"implementation: {', '.join(empty[:5])} has no working body; write it, or make it a parameter"


def script_faults(test: str, implementation: str, allowed: Collection[str]) -> Iterator[str]:
    """Yields the faults in a test. The implementation must parse."""
    parsed = check_parsed(test)
    if parsed.level is Level.NONE:
        advice = f"{parsed.reason}; import the code under test from implementation" if parsed.reason else ""
        yield f"test: {advice}"
        return
    tree = syntax_tree(test)
    yield from _imports("test", tree, {*allowed, "implementation"})
    yield from _reaches_out("test", tree)
    names, whole = _imported_from_implementation(tree)
    if not names and not whole:
        yield "test: it imports nothing from implementation; write `from implementation import …` with the names tested"
    scope = module_scope(implementation)
    missing = sorted(names - scope.bindings.keys()) if scope is not None else []
    if missing:
        yield f"test: implementation does not define {', '.join(missing[:5])}"
    if any(isinstance(node, ast.Try) and node.handlers for node in ast.walk(tree)):
        yield "test: it catches exceptions; let them fail the test"
    if not any(_asserts(node) for node in ast.walk(tree)):
        yield "test: it asserts nothing; compare the results with independently known values"


def _imports(where: str, tree: ast.Module, allowed: Collection[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            module = "." * node.level + (node.module or "")
            yield f"{where}: relative import of {module}; all code must be in the module itself"
            continue
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            yield f"{where}: `from {node.module} import *`; import by name"
        modules = (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
        for top in dict.fromkeys(module.partition(".")[0] for module in modules):
            if top in PLUMBING:
                yield f"{where}: it imports {top}, which is only for experiments or test runners; leave it out"
            elif top in _OUTSIDE:
                yield f"{where}: it imports {top}; there is no network, and there are no files or programs to use"
            elif top not in allowed and top not in sys.stdlib_module_names:
                named = ", ".join(sorted(set(allowed) - {"implementation"})) or "none"
                yield f"{where}: it imports {top}, which is not allowed (allowed packages: {named})"


def _reaches_out(where: str, tree: ast.Module) -> Iterator[str]:
    own = bound_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = _dotted(node.func)
            opens = called == "open" and "open" not in own
            if opens or called in _FILE_CALLS or called.rpartition(".")[2] in _REACHING - own:
                yield f"{where}: it calls {called} (line {node.lineno}), but it has no access to files or the network"


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in tree.body:
        for inner in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                yield inner


def _is_stub(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    marks = {ast.unparse(mark).rpartition(".")[2] for mark in function.decorator_list}
    if marks & {"abstractmethod", "overload"} or function.name == "__init__":
        return False
    body = [s for s in function.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    match body:
        case [] | [ast.Pass()]:
            return True
        case [ast.Raise(exc=error)] if error is not None:
            return "NotImplementedError" in ast.unparse(error) and not _is_base(function)
        case _:
            return False


def _is_base(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Returns whether the function is a method that subclasses must override."""
    arguments = [*function.args.posonlyargs, *function.args.args]
    return bool(arguments) and arguments[0].arg == "self"


def _imported_from_implementation(tree: ast.Module) -> tuple[set[str], bool]:
    """Returns the names imported from the implementation, and whether the implementation itself is imported."""
    names: set[str] = set()
    whole = False
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "implementation" and not node.level:
            names |= {alias.name for alias in node.names} - {"*"}
            whole = whole or any(alias.name == "*" for alias in node.names)
        elif isinstance(node, ast.Import):
            whole = whole or any(alias.name == "implementation" for alias in node.names)
    return names, whole


def _asserts(node: ast.AST) -> bool:
    """Returns whether an assertion checks a value, unlike `assert True`."""
    if isinstance(node, ast.Assert):
        return any(isinstance(inner, ast.Name | ast.Attribute | ast.Call) for inner in ast.walk(node.test))
    if isinstance(node, ast.Call):
        name = _dotted(node.func).rpartition(".")[2]
        return name.startswith("assert_") and bool(node.args)
    return isinstance(node, ast.Raise) and node.exc is not None and "AssertionError" in ast.unparse(node.exc)


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""
