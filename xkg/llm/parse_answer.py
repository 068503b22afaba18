"""Parses an answer's text into a typed object. Parsing is lenient, validation is strict, and no text is evaluated as
code."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from xkg.text.unicode import printable_line

A = TypeVar("A", bound=BaseModel)

_LISTED_FAULTS = 6
_LONGEST_FAULT = 200
_LONGEST_ANSWER = 400_000
_MAX_STARTS = 1000
_THOUGHT_END = re.compile(r"</think(?:ing)?>")
_THOUGHT_START = re.compile(r"^[ \t]*+<think(?:ing)?>", re.M)
_CHANNELS = re.compile(r"\A.*?<\|channel\|>final(?:[^{<]|<(?!\|message)){0,60}<\|message\|>", re.S)
"""Matches the output in other gpt-oss channels before the answer."""
_OBJECT_START = re.compile(r'\{(?=\s*["}])')
_SPARE_COMMA = re.compile(r'("(?:[^"\\]|\\(?s:.)?)*+"?)|,(?=\s*+[}\]])')
# Matches escaped control characters, because terminals interpret them, and an unescaped `\frac` contains one.
_CONTROL = re.compile(r"(?<!\\)(?:\\\\)*(\\[bf]|\\u00(?:0[0-8bef]|1[0-9a-f]|7f)|[\x7f-\x9f])")
# Matches the possible ends of the text before an answer: a fence, or a closing thought tag in any model's syntax.
_ENDED = re.compile(r"^[ \t]*```|</[\w:]{1,30}>|◁/\w{1,30}▷|\[/[A-Z]{1,30}\]|<\|\w{1,30}\|>|assistantfinal", re.M)
# Strict structured output rejects these schema keywords, which are enforced when an answer is validated.
_NOT_STRICT = {"default", "title", "minLength", "maxLength", "uniqueItems", "examples"}


class UnusableError(ValueError):
    """Raised for an unusable answer. The exception message is a complaint phrased for the model. `shapeless` means that
    the answer is not an object with the expected fields."""

    def __init__(self, complaint: str, *, shapeless: bool) -> None:
        super().__init__(complaint)
        self.shapeless = shapeless


def read_answer(text: str, kind: type[A]) -> A:
    """Returns the last JSON object of the right type in the text. Raises `UnusableError` if there is none."""
    if text.lstrip().startswith('"'):  # some gateways encode the answer twice
        with suppress(ValueError):
            text = str(json.loads(text))
    answered = _CHANNELS.sub("", _without_thoughts(text))
    objects = _objects(answered) or _objects(text) or _objects(_SPARE_COMMA.sub(r"\1", answered))
    if not objects:
        raise UnusableError("it has no complete JSON object; give exactly one", shapeless=True)
    complaints: list[UnusableError] = []
    for value in reversed(objects):
        try:
            return _validated(value, kind)
        except ValidationError as error:
            complaints.append(complaint_of(error))
    if complaints[0].shapeless:  # some models wrap the whole answer in an object with a single key
        for inner in objects[-1].values():
            with suppress(ValidationError):
                return _validated(inner, kind)
    raise complaints[0]


def _without_thoughts(text: str) -> str:
    """Removes thoughts from the text. A thought without an opening tag starts at the beginning of the text."""
    *before, answer = _THOUGHT_END.split(text)
    starts = ((piece, _THOUGHT_START.search(piece)) for piece in before)
    return "".join(piece[: start.start()] for piece, start in starts if start) + answer


def _validated(value: Any, kind: type[A]) -> A:
    answer = kind.model_validate_json(json.dumps(value), strict=True)
    if control := _CONTROL.search(answer.model_dump_json()):
        raise UnusableError(
            f"a string contains the control character {control[1]!a}: in JSON, write a backslash twice, as in \\\\frac",
            shapeless=False,
        )
    return answer


def objection(answer: Mapping[str, Any], schema: Mapping[str, Any]) -> str | None:
    """Returns a one-line description of how an answer violates a schema, or None if it is valid."""
    from jsonschema import Draft202012Validator

    faults = sorted(Draft202012Validator(schema).iter_errors(answer), key=lambda fault: list(map(str, fault.path)))
    if len(json.dumps(answer)) > _LONGEST_ANSWER:
        return f"it has more than {_LONGEST_ANSWER:,} characters"
    words = [
        f"{_path(tuple(fault.absolute_path))}: {printable_line(fault.message)[-_LONGEST_FAULT:]}"
        for fault in faults[:_LISTED_FAULTS]
    ]
    return "; ".join(words) or None


def complaint_of(error: ValidationError) -> UnusableError:
    faults = error.errors(include_url=False, include_input=False, include_context=False)
    words = [f"{_path(fault['loc'])}: {fault['msg']}" for fault in faults[:_LISTED_FAULTS]]
    if len(faults) > _LISTED_FAULTS:
        words.append(f"and {len(faults) - _LISTED_FAULTS} more faults")
    shapeless = any(fault["type"] in ("missing", "extra_forbidden") for fault in faults)
    return UnusableError("; ".join(words), shapeless=shapeless)


@cache
def answer_schema(kind: type[BaseModel]) -> dict[str, Any]:
    """Returns an answer's JSON schema for strict structured output: every object is closed and every field is
    required."""
    schema = kind.model_json_schema()
    definitions = schema.get("$defs", {})
    strict: dict[str, Any] = _strict(schema, definitions)
    return strict


def _strict(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_strict(each, definitions) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node and len(node) > 1:  # strict output does not allow a description next to a `$ref`
        target = definitions[node["$ref"].rpartition("/")[2]]
        node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
    strict: dict[str, Any] = {}
    for key, value in node.items():
        if key in ("properties", "$defs"):  # these keywords map names to schemas
            strict[key] = {name: _strict(each, definitions) for name, each in value.items()}
        elif key not in _NOT_STRICT:
            strict[key] = _strict(value, definitions)
    if "properties" in strict:
        strict["required"] = list(strict["properties"])
        strict["additionalProperties"] = False
    return strict


def _objects(text: str) -> list[dict[str, Any]]:
    """Returns the outermost JSON objects in the text, in order.

    An object inside a truncated object is not the answer, so the search continues after the truncated object."""
    decoder = json.JSONDecoder(strict=False, parse_constant=_no_number)
    objects: list[dict[str, Any]] = []
    position = 0
    for _ in range(_MAX_STARTS):
        start = _OBJECT_START.search(text, position)
        if start is None:
            break
        try:
            value, position = decoder.raw_decode(text, start.start())
            objects.append(value)
        except (ValueError, RecursionError):
            ended = _ENDED.search(text, start.end())
            if ended is None:
                break
            position = ended.end()
    return objects


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not valid JSON")


def _path(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) or "the answer"
