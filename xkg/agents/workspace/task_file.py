"""Task files (`implement.yaml`, `ablate.yaml`), and tasks made from their fields."""

from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from xkg.errors import InputError
from xkg.files import read_regular
from xkg.value import Value

V = TypeVar("V", bound=Value)

_LARGEST = 1 << 20


def read_fields(file: Path) -> dict[str, Any]:
    """The fields of a task file. Raises `InputError` if it cannot be read or has none."""
    try:
        fields = yaml.safe_load(read_regular(file, _LARGEST))
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror}); give a task file, or options") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"{file} is not a task file: {' '.join(str(error).split())[:200]}") from error
    if not isinstance(fields, dict):
        raise InputError(f"{file} is not a task file: expected lines such as `run: python train.py`")
    return {str(name): value for name, value in fields.items()}


def task_of(kind: type[V], fields: dict[str, Any]) -> V:
    """Raises `InputError` with the first wrong field."""
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"the task's {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
