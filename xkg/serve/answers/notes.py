"""Rewords an answer's notes, which suggest what to ask next."""

from collections.abc import Callable
from typing import TypeVar

from pydantic import BaseModel

A = TypeVar("A")


def reworded(answer: A, words: Callable[[str], str]) -> A:
    """Returns the answer with its notes reworded, or the same answer if it has none."""
    if not isinstance(answer, BaseModel):
        return answer
    notes: dict[str, object] = {
        name: words(note) for name in ("cut", "note", "planned_by") if (note := getattr(answer, name, ""))
    }
    for name in ("parts", "ablations"):
        if parts := getattr(answer, name, ()):
            notes[name] = tuple(part.model_copy(update={"note": words(part.note)}) for part in parts)
    return answer.model_copy(update=notes) if notes else answer
