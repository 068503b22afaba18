"""Provides an Inspect model that answers from a list. The model reports its usage, because Inspect would otherwise
download a tokenizer to count tokens."""

from collections.abc import Callable, Sequence
from typing import Any

from inspect_ai.model import Model, ModelOutput, ModelUsage, get_model

NAME = "mockllm/model"


def scripted(*answers: str | ModelOutput) -> Model:
    return get_model(NAME, custom_outputs=[_output(answer) for answer in answers], memoize=False)


def answering(answer: Callable[[Sequence[Any]], str | ModelOutput]) -> Model:
    """Returns a model that calls `answer` with the messages of each question, in any order."""
    return get_model(NAME, custom_outputs=lambda messages, *_: _output(answer(messages)), memoize=False)


def calling(tool: str, **arguments: Any) -> ModelOutput:
    return ModelOutput.for_tool_call(NAME, tool, arguments)


def _output(answer: str | ModelOutput) -> ModelOutput:
    output = ModelOutput.from_content(NAME, answer) if isinstance(answer, str) else answer
    output.usage = ModelUsage(input_tokens=100, output_tokens=10, total_tokens=110)
    return output
