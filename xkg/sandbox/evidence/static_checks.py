"""Checks code without running it, and explains why a run failed."""

import ast
import re
import sys
from collections.abc import Iterable, Iterator

from pyflakes import checker, messages

from xkg.clock import stamp
from xkg.model import Evidence, Level
from xkg.sandbox.evidence.python_ast import silently, statements_of, syntax_tree
from xkg.sandbox.runner import Environment, Limits, Outcome

_MAX_SOURCE = 5_000_000
_FRAME = re.compile(r'^  File "[^"]*/implementation\.py", line (\d+)', re.M)
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([^'.]++)([^']*+)'")
_ERROR_LINE = re.compile(r"^[\w.]*(?:Error|Exception|Exit|Interrupt|Warning|Iteration|Group)\b.*|^\w+(?:\.\w+)+: .*")


def check_parsed(source: str) -> Evidence:
    """Returns `parsed` if `source` compiles and every name in `source` is defined, imported or builtin. Otherwise,
    returns `none` with the reason.

    Names from `from m import *` count as imported. Names in strings (such as string annotations) do not count as used.
    The source is not run. No source makes this function raise an error."""
    reason = _unparsed(source)
    return Evidence(level=Level.NONE if reason else Level.PARSED, reason=reason, checked_at=stamp())


def lacking(parsed: Evidence, source: str, environment: Environment) -> Evidence | None:
    """Returns evidence that lists the imports in `source` missing from `environment`, with reasons. Returns None if
    nothing is missing."""
    absent = [name for name in needed_imports(source) if name in environment.missing]
    if not absent:
        return None
    why = "; ".join(f"{name}: {environment.missing[name]}" for name in absent)
    update = {"reason": f"missing package {why}", "missing": tuple(absent), "environment": environment.hash}
    return parsed.model_copy(update=update)


def failure(outcome: Outcome, limits: Limits) -> str:
    """Explains in one line why a run failed, based on the limit that it hit or the last error that it printed."""
    if outcome.ended == "timeout":
        return f"timeout: the run reached its limit of {limits.seconds:g} seconds"
    if outcome.ended == "memory":
        return f"memory: needed more than {limits.memory_mb:,} MB"
    if outcome.ended == "disk":
        return f"disk: wrote more than {limits.disk_mb:,} MB"
    if outcome.ended == "output":
        return "output: printed without end"
    if outcome.ended == "killed":
        return f"killed by signal {outcome.exit_code - 128}" if outcome.exit_code else "killed for too many processes"
    lines = [line.strip() for line in outcome.output.splitlines() if line.strip()]
    message = next((line for line in reversed(lines) if _ERROR_LINE.match(line)), lines[-1] if lines else "")
    if (missing := _NO_MODULE.match(message)) and not missing[2]:
        return f"missing package {missing[1]}: {message}"
    if message.startswith("MemoryError"):
        return f"memory: {message}"
    if outcome.exit_code == 0:
        return "exited the process before its import finished"
    return message[:500] or f"exit code {outcome.exit_code} and no output"


def missing_package(outcome: Outcome, source: str) -> str | None:
    """Returns the package that made the import of `source` fail. The package is not installed, cannot be imported, or
    lacks an imported name in the installed version. Returns None if the code itself failed or hit a limit."""
    if outcome.ended != "exited":
        return None
    last = outcome.output.rpartition("Traceback (most recent call last):")[2]
    lines = [int(line) for line in _FRAME.findall(last)]
    errors = [line for line in last.splitlines() if _ERROR_LINE.match(line)]
    if absent := _NO_MODULE.match(errors[-1] if errors else ""):
        return absent[1]
    for node in ast.walk(syntax_tree(source)) if lines else ():
        if isinstance(node, ast.Import | ast.ImportFrom) and node.lineno <= lines[-1] <= (node.end_lineno or 0):
            modules = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            names = [module.partition(".")[0] for module in modules]
            return next((name for name in names if name and name not in sys.stdlib_module_names), None)
    return None


def needed_imports(source: str) -> list[str]:
    """Returns the top-level names of the packages required to import the module, in order. Excludes optional imports,
    such as imports in functions, under `if TYPE_CHECKING`, or in a `try` with handlers. Returns an empty list if the
    source does not parse."""
    return list(dict.fromkeys(_needed(statements_of(source).body)))


def _needed(body: Iterable[ast.stmt]) -> Iterator[str]:
    for statement in body:
        match statement:
            case ast.Import(names=names):
                yield from (alias.name.partition(".")[0] for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0]
            case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"), orelse=orelse):
                yield from _needed(orelse)
            case ast.If():  # only one branch may run
                continue
            case ast.Try(body=inner, handlers=handlers, orelse=orelse, finalbody=finalbody):
                yield from _needed([*([] if handlers else inner), *([] if handlers else orelse), *finalbody])
            case ast.With(body=inner) | ast.ClassDef(body=inner):
                yield from _needed(inner)
            case _:
                continue


def _unparsed(source: str) -> str | None:
    if not source.strip():
        return "there is no code"
    if len(source) > _MAX_SOURCE:
        return f"the source has {len(source):,} characters, over the limit of {_MAX_SOURCE:,}"
    try:
        tree = syntax_tree(source)
        with silently():
            compile(source, "<code>", "exec", dont_inherit=True)
        problems = _Checker(tree, filename="<code>", withDoctest=False).messages
    except SyntaxError as error:
        return f"does not parse: {error.msg}" + (f" (line {error.lineno})" if error.lineno else "")
    except (RecursionError, MemoryError):
        return "does not parse: too large or nested too deeply"
    except ValueError as error:  # raised for a NUL byte, for example
        return f"does not parse: {error}"
    undefined = dict.fromkeys(str(m.message_args[0]) for m in problems if isinstance(m, messages.UndefinedName))
    if undefined:
        names = list(undefined)
        more = f" and {len(names) - 10} more" if len(names) > 10 else ""
        return f"undefined: {', '.join(names[:10])}{more}"
    return None


class _Checker(checker.Checker):  # type: ignore[misc]
    def handleStringAnnotation(self, *_: object) -> None:
        """Ignores strings in annotations, because they are often shapes ("batch dim") rather than names."""
