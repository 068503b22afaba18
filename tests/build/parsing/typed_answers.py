"""Provides functions for the confined process. Some return values of the wrong type."""

from collections.abc import Mapping
from typing import Any

from xkg.build.parsing.typed_tasks import Mark, tasks


def lengths(mark: Mark, texts: Mapping[str, str]) -> dict[str, int]:
    mark("lengths")
    return {path: len(text) for path, text in texts.items()}


def echoed(_: Mark, text: str) -> str:
    return text


def lying(_: Mark) -> dict[str, int]:
    answer: Any = ["no mapping"]
    return answer  # type: ignore[no-any-return]


def not_a_task(_: Mark) -> str:
    return "it ran"


TASKS = tasks(lengths, echoed, lying)
