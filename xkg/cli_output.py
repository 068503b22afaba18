"""How commands print what they did: for a person, or as JSON."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from pydantic import BaseModel

    from xkg.serve.answer_text import Told


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Prints for a person. Names and titles come from papers and repositories: nothing in them is for the terminal to
    obey."""
    from xkg.serve.untrusted import visible

    typer.echo(visible(text), err=err, nl=nl)


def print_each(results: "Sequence[BaseModel]", as_json: bool, *, several: bool = False) -> None:
    """One by one; as JSON one object, or a list of several."""
    if as_json and (several or len(results) != 1):
        typer.echo(json.dumps([result.model_dump() for result in results], indent=2))
    else:
        for result in results:
            print_result(result, as_json)


def print_result(result: "BaseModel", as_json: bool) -> None:
    say(json_of(result.model_dump()) if as_json else str(result))


def print_answer(answer: "Told", as_json: bool) -> None:
    from xkg.serve.answer_text import text

    say(json_of(answer.model_dump()) if as_json else text(answer))


def json_of(value: dict[str, Any]) -> str:
    """ASCII alone: half a surrogate pair in a paper has no UTF-8, and is still valid JSON."""
    return json.dumps(value, indent=2)
