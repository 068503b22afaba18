"""Reads task files (`implement.yaml`, `ablate.yaml`) and creates tasks from them."""

import difflib
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from xkg.errors import InputError
from xkg.files import read_regular
from xkg.value import Value

V = TypeVar("V", bound=Value)

_LARGEST = 1 << 20


def read_fields(file: Path, kind: type[Value]) -> dict[str, Any]:
    """Returns a task file's fields. Raises `InputError` if the file cannot be read, contains no fields, or contains a
    field that this kind of task does not have."""
    try:
        fields = yaml.safe_load(read_regular(file, _LARGEST))
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror}); pass a task file or options") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"{file} is not a task file: {' '.join(str(error).split())[:200]}") from error
    if not isinstance(fields, dict):
        raise InputError(f"{file} is not a task file: expected lines such as `run: python train.py`")
    known = [*kind.model_fields]
    for name in map(str, fields):
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            meant = f"the closest is {near[0]}" if near else f"the fields are {', '.join(known)}"
            raise InputError(f"{file}: there is no field {name[:80]!a}; {meant}")
    return {str(name): value for name, value in fields.items()}


def task_of(kind: type[V], fields: dict[str, Any]) -> V:
    """Creates a task from its fields. Raises `InputError` with the first invalid field in the message."""
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(
            f"the task's {'.'.join(map(str, first['loc']))}: {first['msg'].removeprefix('Value error, ')}"
        ) from error
