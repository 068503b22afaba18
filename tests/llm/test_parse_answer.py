"""Finds answers in any surrounding text, and rejects text that only looks like an answer."""

import json
from enum import StrEnum
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from xkg.llm.client import AnswerType
from xkg.llm.parse_answer import UnusableError, answer_schema, read_answer


class Kind(StrEnum):
    METHOD = "methodology"
    TECHNIQUE = "technique"


class Part(AnswerType):
    name: Annotated[str, Field(description="what it is called", min_length=1)]
    kind: Kind
    parts: tuple["Part", ...]
    weight: float | None


class Whole(AnswerType):
    top: Annotated[Part, Field(description="the outermost")]
    count: int


LEAF: dict[str, Any] = {"name": "kernel", "kind": "technique", "parts": [], "weight": None}
TREE = {"name": "svgd", "kind": "methodology", "parts": [LEAF, LEAF], "weight": 1}


def read(text: str) -> Part:
    return read_answer(text, Part)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(TREE),
        f"```json\n{json.dumps(TREE)}\n```",
        f"Sure! Here is it:\n\n```\n{json.dumps(TREE, indent=1)}\n```\nLet me know {{whatever}} you need.",
        f"<think>I could say {json.dumps(LEAF)} or {{\n</think>\n{json.dumps(TREE)}",
        f"{json.dumps(TREE)}\n<think>Or {json.dumps(LEAF)}?</think>",
        f"<think>One</think>\n<think>Or {json.dumps(LEAF)}?</think>{json.dumps(TREE)}",
        f'Okay, {{"name": ...}}, so\n</think>\n{json.dumps(TREE)}',
        f'<thinking>{{"name": ...}}</thinking>{json.dumps(TREE)}',
        f'<|channel|>analysis<|message|>{{"name": ..<|end|><|channel|>final<|message|>{json.dumps(TREE)}',
        f'◁think▷{{"name": ...}}◁/think▷{json.dumps(TREE)}',
        f'[THINK]{{"name": ...}}[/THINK]{json.dumps(TREE)}',
        f'analysisWe need {{"name": ..}}.assistantfinal{json.dumps(TREE)}',
        json.dumps({"Part": TREE}),
        f"<tool_call>{json.dumps({'name': 'answer', 'arguments': TREE})}</tool_call>",
        json.dumps(TREE, indent=1).replace("\n}", ",\n}").replace("}\n ]", "},\n ]"),
        f"First a draft: {json.dumps(LEAF)}. Better:\n{json.dumps(TREE)}",
        f"The set {{x_i}} and f(x) = {{ 1, 2 }}, thus {json.dumps(TREE)}",
        f'A broken try {{"name": "svgd", "parts": [{json.dumps(LEAF)}\nand whole:\n```json\n{json.dumps(TREE)}\n```',
        f"\ufeff{json.dumps(TREE)}\x00",
        json.dumps(json.dumps(TREE)),
    ],
)
def test_the_answer_is_found_in_what_stands_around_it(text: str) -> None:
    assert read(text) == Part.model_validate(TREE)


@given(
    st.text(alphabet=st.characters(codec="utf-8", exclude_characters='{"`<')),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc"], include_characters="\n\t\r")),
)
@settings(max_examples=25)
def test_any_text_fits_into_an_answer_and_words_may_surround_it(around: str, name: str) -> None:
    """Fences, braces, quotes and escapes inside a string do not end the answer."""
    sent = {**LEAF, "name": f"x{name}"}
    assert read(f"{around}{json.dumps(sent, ensure_ascii=False)}{around}").name == f"x{name}"
    assert read(f"{around}{json.dumps(sent)}{around}").name == f"x{name}"


@given(st.data())
def test_no_beginning_of_an_answer_is_taken_for_an_answer(data: st.DataObject) -> None:
    """A truncated answer may contain complete nested objects, but none of them is the answer."""
    text = json.dumps(TREE, indent=data.draw(st.sampled_from([None, 1])))
    end = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(UnusableError) as caught:
        read(text[:end])
    assert caught.value.shapeless


@given(st.text())
def test_what_is_no_answer_is_a_complaint_and_nothing_else(text: str) -> None:
    with pytest.raises(UnusableError):
        read(text)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"name": 3}, "name: Input should be a valid string"),
        ({"name": ""}, "name: String should have at least 1 character"),
        ({"kind": "method"}, "kind: Input should be 'methodology' or 'technique'"),
        ({"weight": "1"}, "weight: Input should be a valid number"),
        ({"parts": [{**LEAF, "parts": None}]}, "parts.0.parts: Input should be a valid"),
        ({"extra": 1}, "extra: Extra inputs are not permitted"),
    ],
)
def test_an_answer_of_another_type_is_told_where_and_why(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(UnusableError) as caught:
        read(json.dumps({**LEAF, **changed}))
    assert words in str(caught.value)
    assert caught.value.shapeless is ("extra" in changed)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({**LEAF, "weight": float("nan")}),
        json.dumps({**LEAF, "weight": float("inf")}),
        json.dumps({**LEAF, "name": "\ud800"}),
        '{"name": ' + "1" * 10_000 + "}",
        '{"a":' * 100_000,
        "{" * 100_000,
        '{"name": "x", "kind": ' * 5000,
        "__import__('os').system('true')",
    ],
)
def test_hostile_answers_are_refused(text: str) -> None:
    with pytest.raises(UnusableError):
        read(text)


def objects(node: Any) -> list[dict[str, Any]]:
    if isinstance(node, list):
        return [each for item in node for each in objects(item)]
    if not isinstance(node, dict):
        return []
    return [node, *(each for value in node.values() for each in objects(value))]


def test_the_schema_is_one_that_strict_structured_output_takes() -> None:
    schema = answer_schema(Whole)
    for node in objects(schema):
        if "properties" in node and "type" in node:
            assert node["additionalProperties"] is False
            assert node["required"] == list(node["properties"])
        assert not {"default", "minLength", "title"} & set(node) or "name" in node
        assert "$ref" not in node or len(node) == 1
    assert schema["properties"]["top"]["description"] == "the outermost"
    assert schema["properties"]["top"]["properties"]["name"]["type"] == "string"
    assert schema["$defs"]["Part"]["properties"]["parts"]["items"] == {"$ref": "#/$defs/Part"}


@pytest.mark.parametrize("said", [r"\frac12", r"\beta", "\\u001b[31m", "\\u009b31m"])
def test_what_a_terminal_would_obey_is_refused_with_what_to_do(said: str) -> None:
    with pytest.raises(UnusableError, match="write a backslash twice"):
        read(f'{{"name": "{said}", "kind": "technique", "parts": [], "weight": null}}')


def test_backslashes_that_are_written_twice_and_lines_are_text() -> None:
    said = r"\\frac12 \\beta \\u001b\n\tx\\\\b"
    answer = read(f'{{"name": "{said}", "kind": "technique", "parts": [], "weight": null}}')
    assert answer.name == "\\frac12 \\beta \\u001b\n\tx\\\\b"
