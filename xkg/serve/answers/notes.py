"""Rewords the notes of an answer, which tell the reader what to ask next."""

from collections.abc import Callable
from typing import TypeVar

from pydantic import BaseModel

A = TypeVar("A")


def reworded(answer: A, words: Callable[[str], str]) -> A:
    """The answer with reworded notes. An answer without notes is returned unchanged."""
    if not isinstance(answer, BaseModel):
        return answer
    notes: dict[str, object] = {
        name: words(note) for name in ("cut", "note", "planned_by") if (note := getattr(answer, name, ""))
    }
    for name in ("parts", "ablations"):
        if parts := getattr(answer, name, ()):
            notes[name] = tuple(part.model_copy(update={"note": words(part.note)}) for part in parts)
    return answer.model_copy(update=notes) if notes else answer
