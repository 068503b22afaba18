"""Shortens ids in answers for models and for people. For models, relatives are reduced to their ids."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from xkg.serve.answers.types import Relative
from xkg.value import Value

A = TypeVar("A", bound=Value)
ShortIds = Callable[[Sequence[str]], Mapping[str, str]]
"""Returns short ids for techniques or papers (`xkg.serve.answers.references`)."""

_FIELDS = frozenset(("id", "code", "parent", "technique", "component_ids", "own", "other", "paper"))
"""Fields that contain ids."""

_WITHOUT_IDS = frozenset((str, float, int, bool, type(None)))
"""Types whose values are ids only in the fields in `_FIELDS`."""


def concise(answer: A, short_ids: ShortIds, short_papers: ShortIds | None = None) -> A:
    """Returns the answer with short ids for all techniques and code. The answer's own id stays unchanged. Relatives are
    reduced to an id and relation. A code id is shortened to `@` and its digest. `short_papers`, if given, also shortens
    paper ids."""
    return _replaced(answer, _short(answer, short_ids, short_papers), brief=True)


def readable(answer: A, short_ids: ShortIds, short_papers: ShortIds) -> A:
    """Returns the answer for a person, with short ids for all papers, techniques and code. The answer's own id stays
    unchanged."""
    return _replaced(answer, _short(answer, short_ids, short_papers), brief=False)


def _short(answer: Value, short_ids: ShortIds, short_papers: ShortIds | None) -> Callable[[str], str]:
    """Returns a function that shortens the ids of the answer's techniques, code and papers."""
    nodes: dict[str, str] = {}
    _replaced(answer, lambda node: nodes.setdefault(node, node), brief=False)
    papers = [node for node in nodes if node.startswith("title:") and "#" not in node] if short_papers else []
    within = [node for node in nodes if "#" in node]
    short = short_ids(list(dict.fromkeys(map(_technique, within)))) if within else {}
    nodes |= {node: short[_technique(node)] + node[len(_technique(node)) :] for node in within}
    nodes |= short_papers(papers) if short_papers and papers else {}
    return nodes.__getitem__


def _replaced(answer: A, short: Callable[[str], str], *, brief: bool) -> A:
    """Returns the answer with all ids shortened except its own."""

    def replaced(value: Any, name: str) -> Any:
        match value:
            case str() if brief and name == "code" and "#" in value:
                return value[value.rfind("@") :]
            case str():
                return short(value) if name in _FIELDS else value
            case Relative() if brief:
                return Relative(id=short(value.id), relation=value.relation)
            case BaseModel():
                return value.model_copy(update=inside(value))
            case tuple():
                return tuple([replaced(item, name) for item in value]) if value else value
            case _:
                return value

    def inside(value: BaseModel) -> dict[str, Any]:
        fields = value.__dict__.items()
        return {
            name: replaced(item, name) for name, item in fields if name in _FIELDS or type(item) not in _WITHOUT_IDS
        }

    return answer.model_copy(update={name: value for name, value in inside(answer).items() if name != "id"})


def _technique(node: str) -> str:
    return node[: node.rfind("@")] if "@" in node.rpartition("/")[2] else node
