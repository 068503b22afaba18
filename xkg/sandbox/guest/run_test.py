"""Runs the test of a code node against its implementation. Runs inside the sandbox and uses only the standard library.

`implementation.py` and `test.py` are next to this file. The code is loaded from `loaded.py`, which contains the
implementation or one of its mutants. The loaded code gets the implementation's module name, path and line numbers, so a
test that inspects the code always sees the unchanged implementation. The test runs as `__main__`. Some tests are
written as the last part of the implementation's file, under `if __name__ == "__main__"`, and use the implementation's
namespace. Other tests are scripts that import the code under test. Such a script gets a separate namespace that starts
with the same names, so its `import numpy as np` does not rebind the implementation's `np`.

Two tokens, chosen for this run by the parent, are printed when the import finishes and when the test succeeds. The
second token is followed by the executed lines if `traced` is not empty. The tokens are read and their files removed
before any other code runs. After that, the tokens and all functions that are still to be called exist only on the stack
of a single expression. No variable, closure or module refers to the tokens, and replacing builtins has no effect on
this expression.

If `stack_after` contains a number of seconds, the stack is printed after that time. The parent ends the run shortly
afterwards."""

from __future__ import annotations

import ast
import contextlib
import faulthandler
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType, ModuleType, TracebackType
from typing import Any

OVER = "xkg: error ended"

# The sandbox has no network, so these libraries should fail at once instead of retrying for minutes.
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}


def main() -> None:
    os.environ.update(OFFLINE)
    if Path("no_gpu.py").exists():
        exec(compile(read_and_remove("no_gpu.py"), "no_gpu.py", "exec", dont_inherit=True), {"__name__": "no_gpu"})
    sys.argv = ["test.py"]
    module = ModuleType("implementation")
    # Pickle and `inspect` look up classes through this module.
    module.__file__ = str(Path("implementation.py").absolute())
    implementation = compile(read_and_remove("loaded.py"), module.__file__, "exec", dont_inherit=True)
    lines: set[int] | None = set() if read_and_remove("traced") else None
    stack_after = read_and_remove("stack_after")
    if stack_after:
        print_stack_after(float(stack_after))
    sys.modules["implementation"] = sys.modules["__main__"] = module
    show, errors, write = sys.__excepthook__, sys.stderr, os.write
    try:
        # Arguments are evaluated in order: tokens and builtins first, then the implementation, then the test.
        report(
            os.write,
            os.getpid,
            os.getpid(),
            read_and_remove("ended"),
            run(
                (exec, SystemExit, sys.gettrace, sorted, str),
                prepared("test.py"),
                module,
                lines,
                report(
                    os.write,
                    os.getpid,
                    os.getpid(),
                    read_and_remove("imported"),
                    load(exec, implementation, module, lines),
                ),
            ),
        )
    except SystemExit:
        raise
    except BaseException as error:
        sys.stderr = errors
        show(type(error), error, error.__traceback__)
        flush()
        write(1, f"\n{OVER}\n".encode())  # output from libraries at exit is not part of the error
        sys.exit(1)


def print_stack_after(seconds: float) -> None:
    """Prints the stack after some seconds, but not in forks. A fork does not inherit the thread that prints the stack,
    but would wait for this thread forever when it exits."""
    own, end = os.getpid(), time.monotonic() + seconds

    def start() -> None:
        if os.getpid() == own:
            faulthandler.dump_traceback_later(max(0.001, end - time.monotonic()), file=2)

    start()
    os.register_at_fork(before=faulthandler.cancel_dump_traceback_later, after_in_parent=start)


def read_and_remove(name: str) -> str:
    path = Path(name)
    text = path.read_bytes().decode("utf-8", "surrogatepass")
    path.unlink()
    return text


def prepared(name: str) -> tuple[CodeType | None, int, bool, BaseException | None]:
    """Returns the test's code, the line of its last statement, and whether the test is a script that imports the code
    under test. If the test does not compile, returns the error instead."""
    try:
        source = Path(name).read_bytes().decode("utf-8", "surrogatepass")
        code = compile(source, str(Path(name).absolute()), "exec", dont_inherit=True)
        tree = ast.parse(source)
        last = max((statement.lineno for statement in tree.body), default=0)
        return code, last, any(map(imports_implementation, ast.walk(tree))), None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return None, 0, False, error


def imports_implementation(node: ast.AST) -> bool:
    return (isinstance(node, ast.ImportFrom) and node.module == "implementation") or (
        isinstance(node, ast.Import) and any(alias.name == "implementation" for alias in node.names)
    )


def load(execute: Callable[..., None], code: CodeType, module: ModuleType, lines: set[int] | None) -> str:
    def enter(frame: FrameType, _event: str, _argument: object) -> Any:
        return each_line if frame.f_code.co_filename == code.co_filename else None

    def each_line(frame: FrameType, event: str, _argument: object) -> Any:
        if event == "line" and lines is not None:
            lines.add(frame.f_lineno)
        return each_line

    if lines is not None:
        threading.settrace(enter)
        sys.settrace(enter)
    execute(code, module.__dict__)
    flush()
    return ""


def run(
    originals: tuple[Callable[..., None], type[SystemExit], Callable[[], object], Callable[..., list[int]], type[str]],
    test: tuple[CodeType | None, int, bool, BaseException | None],
    module: ModuleType,
    lines: set[int] | None,
    _imported: bool,
) -> str:
    execute, leaving, tracer, in_order, text = originals
    code, last, apart, broken = test
    if broken is not None:
        raise broken
    if apart:
        script = ModuleType("__main__")
        script.__dict__.update({**module.__dict__, "__name__": "__main__"})
        sys.modules["__main__"] = script
    else:
        script = module
        module.__name__ = "__main__"
    before = tracer()
    try:
        execute(code, script.__dict__)
    except leaving as ended:
        if ended.code not in (None, 0) or not at_the_end(ended.__traceback__, code, last, module.__file__):
            raise
    finally:
        whole = before is not None and tracer() is before
        sys.settrace(None)
        threading.settrace(None)
    flush()
    return text(in_order(lines)) if whole and lines is not None else "null"


def at_the_end(trace: TracebackType | None, test: CodeType | None, last: int, implementation: str | None) -> bool:
    """Returns whether the process was ended by the test's last statement rather than by the code under test."""
    ended = False
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == implementation:
            return False
        ended = trace.tb_lineno >= last if code is test else ended
        trace = trace.tb_next
    return ended


def report(write: Callable[[int, bytes], int], process: Callable[[], int], own: int, token: str, text: str) -> bool:
    mine = process() == own  # a process forked by the test also gets here
    if mine:
        write(1, f"\n{token} {text}\n".encode())
    return mine


def flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the test may have replaced the stream
            stream.flush()


keep = sys.modules["__main__"]  # the module's namespace must survive the replacement of `__main__`
main()
