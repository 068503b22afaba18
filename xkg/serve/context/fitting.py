"""Fits the parts of a document into a token budget."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from xkg.errors import InputError

CHARACTERS_A_TOKEN = 4
"""Characters per token, as in `xkg.llm.prices.tokens`."""


class Step(NamedTuple):
    """Puts `text` at a place in a document (places are ordered), replacing the text there, which is never longer.
    `group` names what is missing from a document without this step."""

    group: str
    place: tuple[int, ...]
    text: str


def room(budget_tokens: int) -> int:
    """Returns the characters in a budget, minus the newline that ends a printed document."""
    return budget_tokens * CHARACTERS_A_TOKEN - 1


def reach(steps: Sequence[Step], characters: int, rest: Callable[[int], int]) -> int:
    """Returns how many of the first steps fit into `characters` if `rest(n)` more characters follow n steps. Raises
    `InputError` if not even the first step fits."""
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
        raise InputError(f"the budget is too small for a context of this paper: give {least} tokens or more")
    return best


def document(steps: Sequence[Step], last: str) -> str:
    """Returns the document that results from the steps and the last line."""
    placed = {step.place: step.text for step in steps}
    return "\n".join([*(placed[place] for place in sorted(placed)), last])
