"""Concise answers: short ids for techniques, code by its digest, and relatives by no more than their ids."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from xkg.serve.answers.types import Relative
from xkg.value import Value

A = TypeVar("A", bound=Value)
ShortIds = Callable[[Sequence[str]], Mapping[str, str]]
"""Short ids of techniques (`xkg.serve.answers.references`)."""

_FIELDS = frozenset(("id", "code", "parent", "technique", "component_ids", "own", "other"))
"""Fields that hold ids."""


def concise(answer: A, short_ids: ShortIds) -> A:
    """The answer with `short_ids` for all techniques but the one that it is about. A code id is `@` and its digest
    where the id of its technique stands beside it."""
    fields = {name: getattr(answer, name) for name in type(answer).model_fields if name != "id"}
    techniques = dict.fromkeys(_technique(node) for node in _ids(fields) if "#" in node)
    short = short_ids(list(techniques)) if techniques else {}
    return answer.model_copy(update={name: _shortened(value, name, short) for name, value in fields.items()})


def _ids(value: Any, name: str = "") -> Iterator[str]:
    match value:
        case str() if name in _FIELDS:
            yield value
        case BaseModel():
            for field, item in value.__dict__.items():
                yield from _ids(item, field)
        case dict():
            for field, item in value.items():
                yield from _ids(item, field)
        case tuple():
            for item in value:
                yield from _ids(item, name)


def _shortened(value: Any, name: str, short: Mapping[str, str]) -> Any:
    match value:
        case str() if name == "code" and "#" in value:
            return value[value.rfind("@") :]
        case str() if name in _FIELDS:
            return short.get(value, value)
        case Relative():
            return Relative(id=short.get(value.id, value.id), relation=value.relation)
        case BaseModel():
            changed = {field: _shortened(item, field, short) for field, item in value.__dict__.items()}
            return value.model_copy(update=changed)
        case tuple():
            return tuple(_shortened(item, name, short) for item in value)
        case _:
            return value


def _technique(node: str) -> str:
    return node[: node.rfind("@")] if "@" in node.rpartition("/")[2] else node
