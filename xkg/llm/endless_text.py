"""Answers of which a text has lost its end: the same few characters again and again."""

from collections.abc import Mapping

from xkg.llm.client import AnswerType

_LONGEST_PERIOD = 120
_REPEATED = 1500
_PROBLEM = "a text goes on without end, repeating itself: answer again, and end it"


def endless(answer: AnswerType) -> str | None:
    """What is wrong with an answer of which a text has lost its end, in words for the model; None where none has."""
    return _PROBLEM if any(map(runs_on, _texts(answer.model_dump()))) else None


def runs_on(text: str) -> bool:
    """Whether a text ends in the same few characters again and again."""
    end = text[-_REPEATED:]
    return len(end) == _REPEATED and any(end[period:] == end[:-period] for period in range(1, _LONGEST_PERIOD + 1))


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    return [text for each in value for text in _texts(each)] if isinstance(value, (list, tuple)) else []
