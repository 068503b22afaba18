"""Texts within a budget of tokens."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from xkg.errors import InputError

CHARACTERS_A_TOKEN = 4
"""As `xkg.llm.prices.tokens` counts."""


class Step(NamedTuple):
    """Puts `text` at a place of a document (places are in order), instead of what stands there, which is no longer.
    `group` is what a reader misses without it."""

    group: str
    place: tuple[int, ...]
    text: str


def room(budget_tokens: int) -> int:
    """The characters of a budget, less the newline that whoever prints the document ends it with."""
    return budget_tokens * CHARACTERS_A_TOKEN - 1


def reach(steps: Sequence[Step], characters: int, rest: Callable[[int], int]) -> int:
    """How many of the steps, first to last, such a document holds at most, where `rest(n)` characters more come after n
    of them. More characters never hold fewer steps, if they leave no less beside the rest. Raises `InputError` where
    not even the first is held."""
    best = size = 0
    placed: dict[tuple[int, ...], int] = {}
    for n, step in enumerate(steps, start=1):
        size += len(step.text) - placed[step.place] if step.place in placed else len(step.text) + 1
        placed[step.place] = len(step.text)
        if size > characters:
            break
        if size + rest(n) <= characters:
            best = n
    if best == 0:
        least = -(-(len(steps[0].text) + 2 + rest(1)) // CHARACTERS_A_TOKEN)
        raise InputError(f"the budget holds no context of this paper: give {least} tokens or more")
    return best


def document(steps: Sequence[Step], last: str) -> str:
    """What the steps make, and the last line."""
    placed = {step.place: step.text for step in steps}
    return "\n".join([*(placed[place] for place in sorted(placed)), last])
