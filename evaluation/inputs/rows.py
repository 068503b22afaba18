"""Rows that people or models wrote, as JSON lines. Malformed ones are counted and never crash a measurement."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from xkg.errors import InputError
from xkg.files import read_regular
from xkg.value import Value

LARGEST = 64 * 1024 * 1024

V = TypeVar("V", bound=Value)


def read_rows(path: Path, kind: type[V]) -> tuple[list[V], list[str]]:
    """The rows of a file, and one line for each that is not of this kind. Raises `InputError` if the file cannot be
    read."""
    rows: list[V] = []
    problems: list[str] = []
    for number, line in _lines(path):
        try:
            rows.append(kind.model_validate_json(line))
        except ValidationError as error:
            problems.append(f"{path}: line {number}: {first_error(error)}")
    return rows, problems


def first_error(error: ValidationError) -> str:
    """The location and message of the first error, in one line."""
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    message = " ".join(first["msg"].split())[:200]
    return f"{where}: {message}" if where else message


def read_json(path: Path) -> object:
    """The value in a JSON file. Raises `InputError` naming the file."""
    try:
        return json.loads(read_regular(path, LARGEST))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); correct its path") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is no JSON ({str(error)[:120]}); correct it") from error


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        data = read_regular(path, LARGEST)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); correct its path") from error
    for number, line in enumerate(data.splitlines(), start=1):
        if line.strip():
            yield number, line
