"""Checks that text and structured content contain the same facts."""

import json
from enum import Enum
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from xkg.serve.answer_text import text, text_for_agents
from xkg.serve.answers.json import as_json, structured
from xkg.serve.answers.quoting import escaped, hidden_in
from xkg.serve.answers.types import (
    CodeAnswer,
    CypherAnswer,
    ImplementationsAnswer,
    LocateAnswer,
    PaperAnswer,
    SchemaAnswer,
    SearchAnswer,
    TechniqueAnswer,
    Value,
)
from xkg.serve.search.related import RelatedAnswer

SAID = st.text(st.characters(exclude_categories=()), max_size=8)


def made(kind: Any) -> st.SearchStrategy[Any]:
    """Generates values that a field of this type may contain."""
    arguments = get_args(kind)
    if kind in (str, Any):
        return SAID
    if kind is float:
        return st.integers(0, 1000).map(lambda n: n / 1000)
    if kind in (int, bool):
        return st.integers(1, 99) if kind is int else st.booleans()
    if get_origin(kind) is Literal or (isinstance(kind, type) and issubclass(kind, Enum)):
        return st.sampled_from(arguments or list(kind))
    if get_origin(kind) is tuple:
        return st.lists(made(arguments[0]), max_size=2).map(tuple)
    if get_origin(kind) is dict:
        return st.just({})
    if arguments:
        return st.one_of(st.none() if part is type(None) else made(part) for part in arguments)
    kind.model_rebuild()
    fields = {name: made(field.annotation) for name, field in kind.model_fields.items() if name != "notice"}
    return st.fixed_dictionaries(fields).map(lambda values: kind(**values))


def with_an_id_each(answer: TechniqueAnswer) -> TechniqueAnswer:
    return answer.model_copy(update={"component_ids": tuple(f"id {n}" for n in range(len(answer.components)))})


def without_addresses_inside(answer: PaperAnswer) -> PaperAnswer:
    inside = tuple(code.model_copy(update={"uri": None}) for code in answer.implementations)
    return answer.model_copy(update={"implementations": inside})


KINDS: dict[type[Value], st.SearchStrategy[Any]] = {
    SearchAnswer: made(SearchAnswer),
    ImplementationsAnswer: made(ImplementationsAnswer),
    RelatedAnswer: made(RelatedAnswer),
    PaperAnswer: made(PaperAnswer).map(without_addresses_inside),
    TechniqueAnswer: made(TechniqueAnswer).map(with_an_id_each),
    CodeAnswer: made(CodeAnswer),
    LocateAnswer: made(LocateAnswer),
    SchemaAnswer: made(SchemaAnswer),
    CypherAnswer: st.builds(
        CypherAnswer, columns=st.tuples(SAID, SAID), rows=st.lists(st.tuples(SAID, SAID)).map(tuple), cut=SAID
    ),
}


def seen(said: str) -> str:
    """Normalises white space, and removes the marks of quoted lines."""
    return "".join(said.replace("\\n", "\n").replace(">", "").split())


def facts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [fact for key, item in value.items() if key not in ("query", "notice") for fact in facts(item)]
    if isinstance(value, list):
        return [fact for item in value for fact in facts(item)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
def test_text_says_what_structured_content_says(kind: type[Value], data: st.DataObject) -> None:
    answer = data.draw(KINDS[kind])
    said = seen(text_for_agents(answer))
    fields = structured(answer)
    # Evidence is written as JSON.
    missing = [
        fact
        for fact in facts(fields)
        if not any(seen(form) in said for form in (escaped(fact), json.dumps(fact, ensure_ascii=False)[1:-1]))
    ]
    assert missing == []
    assert hidden_in(text_for_agents(answer)) == hidden_in(text(answer)) == ()
    json.dumps(fields, ensure_ascii=False).encode()
    assert json.loads(as_json(answer)) == fields
    kind.model_validate(fields)
