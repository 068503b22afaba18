"""Parameters of Inspect tasks: an invalid one is reported in one line, not as a traceback of Inspect."""

import inspect
import sys
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any, ParamSpec, get_type_hints

from inspect_ai import Task
from pydantic import TypeAdapter, ValidationError

from evaluation.inputs.rows import first_error
from xkg.errors import InputError, XkgError

P = ParamSpec("P")


def checked(make: Callable[P, Task]) -> Callable[P, Task]:
    """Wraps a task function, below `@task`. Parameters are checked against their types, a `ValueError` becomes an
    `InputError`, and Inspect's command prints one line for an `XkgError` instead of a traceback."""
    hints = get_type_hints(make)
    signature = inspect.signature(make)

    @wraps(make)
    def make_checked(*args: P.args, **kwargs: P.kwargs) -> Task:
        try:
            given = _bound(signature, make.__name__, *args, **kwargs)
            for name, value in given.items():
                _check(name, value, hints[name])
            return make(*args, **kwargs)
        except XkgError:
            _end_in_one_line()
            raise
        except (ValueError, OSError) as error:
            _end_in_one_line()
            raise InputError(f"{make.__name__}: {error}") from error

    return make_checked


def _bound(signature: inspect.Signature, task: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
    try:
        return signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        raise InputError(f"{task}: {error}; give parameters as -T NAME=VALUE") from error


def _check(name: str, value: Any, kind: Any) -> None:
    try:
        TypeAdapter(kind).validate_python(value, strict=True)
    except ValidationError as error:
        raise InputError(f"-T {name}={value}: {first_error(error)}") from error


def _end_in_one_line() -> None:
    """Makes the interpreter print one line for an uncaught `XkgError`."""
    before = sys.excepthook

    def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, XkgError):
            print(error, file=sys.stderr)
        else:
            before(kind, error, trace)

    sys.excepthook = report
