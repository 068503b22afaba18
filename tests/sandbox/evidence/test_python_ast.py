import ast
import gc
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import xkg
from xkg.sandbox.evidence.python_ast import expression_tree, syntax_tree


@pytest.mark.parametrize("parse", [syntax_tree, expression_tree])
def test_what_is_nested_too_deeply_is_an_error_of_syntax(parse: Callable[[str], ast.AST]) -> None:
    with pytest.raises((SyntaxError, RecursionError)):
        parse("-" * 50_000 + "1")


@pytest.fixture
def switching() -> Iterator[None]:
    """Makes threads switch as often as possible, even while a tree is created. Garbage collection calls a function that
    lets another thread run."""

    def collected(*_: object) -> None:
        for _ in range(20):
            pass

    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(20)
    gc.callbacks.append(collected)
    yield
    gc.callbacks.remove(collected)
    gc.set_threshold(*threshold)
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("switching")
def test_several_threads_make_trees() -> None:
    """Without a lock, this test fails within a few attempts on Python up to 3.12."""
    source = Path(ast.__file__).read_text()[:6_000]
    source = source[: source.rindex("\ndef ")]

    def made(n: int) -> int:
        # The threads start at different call depths, because the parser's counters depend on the depth.
        return (
            made(n - 1) if n else len(syntax_tree(source).body) + isinstance(expression_tree("1 + (2 * x)"), ast.BinOp)
        )

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(made, range(24)))) == 1


def test_a_tree_is_made_again_where_python_itself_parsed_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python may itself parse code in another thread, for example to print a traceback."""
    parse, failures = ast.parse, iter([True, True])

    def disturbed(*arguments: str) -> ast.AST:
        if next(failures, False):
            raise SystemError("AST constructor recursion depth mismatch (before=81, after=42)")
        return parse(*arguments)

    monkeypatch.setattr(ast, "parse", disturbed)
    assert len(syntax_tree("x = 1").body) == 1


def test_nothing_else_in_this_process_makes_trees() -> None:
    """Code that runs in a separate process inside the sandbox may create trees."""
    package = Path(xkg.__file__).parent
    guests = {"sandbox/guest/run_script.py", "sandbox/guest/run_test.py"}
    alone = {"sandbox/evidence/python_ast.py", *guests}
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if "ast.parse(" in path.read_text(encoding="utf-8")
    }
    assert found == alone
