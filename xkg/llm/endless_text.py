"""Detects answers in which a text repeats the same few characters without end."""

from collections.abc import Mapping

from xkg.llm.client import AnswerType

_LONGEST_PERIOD = 120
_REPEATED = 1500
_PROBLEM = "a text repeats itself without end: answer again, and end it"


def endless(answer: AnswerType) -> str | None:
    """The complaint about an answer whose text repeats without end, phrased for the model; None if there is none."""
    return _PROBLEM if any(map(runs_on, _texts(answer.model_dump()))) else None


def runs_on(text: str) -> bool:
    """Whether a text ends with the same few characters repeated many times."""
    end = text[-_REPEATED:]
    return len(end) == _REPEATED and any(end[period:] == end[:-period] for period in range(1, _LONGEST_PERIOD + 1))


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    return [text for each in value for text in _texts(each)] if isinstance(value, (list, tuple)) else []
