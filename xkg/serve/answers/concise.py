"""Concise answers: short ids for techniques, digests for code, and only ids for relatives."""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any, TypeVar

from pydantic import BaseModel

from xkg.serve.answers.types import Relative
from xkg.value import Value

A = TypeVar("A", bound=Value)
ShortIds = Callable[[Sequence[str]], Mapping[str, str]]
"""Short ids of techniques (`xkg.serve.answers.references`)."""

_FIELDS = frozenset(("id", "code", "parent", "technique", "component_ids", "own", "other"))
"""Fields that hold ids."""

_WITHOUT_IDS = frozenset((str, float, int, bool, type(None)))
"""Types of values that contain no ids in any other field."""


def concise(answer: A, short_ids: ShortIds) -> A:
    """The answer with `short_ids` for all techniques except its subject. A code id is shortened to `@` and its digest
    if the id of its technique is next to it."""
    fields = {name: getattr(answer, name) for name in type(answer).model_fields if name != "id"}
    techniques = dict.fromkeys(_technique(node) for node in _ids(fields) if "#" in node)
    short = short_ids(list(techniques)) if techniques else {}
    return answer.model_copy(update={name: _shortened(value, name, short) for name, value in fields.items()})


def readable(answer: A, short_ids: ShortIds, short_papers: ShortIds) -> A:
    """The answer for a person, with short ids for all papers, techniques and code except its subject."""
    fields = {name: getattr(answer, name) for name in type(answer).model_fields if name != "id"}
    nodes = dict.fromkeys(_ids(fields, fields_of_ids=_FIELDS | {"paper"}))
    techniques = dict.fromkeys(_technique(node) for node in nodes if "#" in node)
    short = dict(short_ids(list(techniques))) if techniques else {}
    papers = [node for node in nodes if node.startswith("title:") and "#" not in node]
    short |= short_papers(papers) if papers else {}
    short |= {node: short[_technique(node)] + node[len(_technique(node)) :] for node in nodes if "#" in node}
    return answer.model_copy(update={name: _replaced(value, name, short) for name, value in fields.items()})


def _replaced(value: Any, name: str, short: Mapping[str, str]) -> Any:
    match value:
        case str():
            return short.get(value, value) if name in _FIELDS or name == "paper" else value
        case BaseModel():
            changed = {field: _replaced(item, field, short) for field, item in value.__dict__.items()}
            return value.model_copy(update=changed)
        case tuple():
            return tuple(_replaced(item, name, short) for item in value)
        case _:
            return value


def _ids(value: Any, name: str = "", *, fields_of_ids: Set[str] = _FIELDS) -> Iterator[str]:
    if type(value) is str and name not in fields_of_ids:  # the common case
        return
    match value:
        case str() if name in fields_of_ids:
            yield value
        case BaseModel():
            for field, item in value.__dict__.items():
                if type(item) is not str or field in fields_of_ids:
                    yield from _ids(item, field, fields_of_ids=fields_of_ids)
        case dict():
            for field, item in value.items():
                yield from _ids(item, field, fields_of_ids=fields_of_ids)
        case tuple():
            for item in value:
                yield from _ids(item, name, fields_of_ids=fields_of_ids)


def _shortened(value: Any, name: str, short: Mapping[str, str]) -> Any:
    if type(value) is str and name not in _FIELDS:  # the common case
        return value
    match value:
        case str() if name == "code" and "#" in value:
            return value[value.rfind("@") :]
        case str() if name in _FIELDS:
            return short.get(value, value)
        case Relative():
            return Relative(id=short.get(value.id, value.id), relation=value.relation)
        case BaseModel():
            changed = {
                field: _shortened(item, field, short)
                for field, item in value.__dict__.items()
                if field in _FIELDS or type(item) not in _WITHOUT_IDS
            }
            return value.model_copy(update=changed)
        case tuple():
            return tuple([_shortened(item, name, short) for item in value]) if value else value
        case _:
            return value


def _technique(node: str) -> str:
    return node[: node.rfind("@")] if "@" in node.rpartition("/")[2] else node
