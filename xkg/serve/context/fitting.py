"""Fits a document's parts into a token budget."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from xkg.errors import InputError

CHARACTERS_A_TOKEN = 4
"""As in `xkg.llm.prices.tokens`."""


class Step(NamedTuple):
    """A step that puts `text` at a place in a document, which is sorted by place. Any text already at this place is
    replaced, and must not be longer than `text`. `group` describes what is missing without this step."""

    group: str
    place: tuple[int, ...]
    text: str


def room(budget_tokens: int) -> int:
    """Returns the number of characters in a budget, minus one for the final newline."""
    return budget_tokens * CHARACTERS_A_TOKEN - 1


def reach(steps: Sequence[Step], characters: int, rest: Callable[[int], int]) -> int:
    """Returns how many steps fit into `characters`, where n steps are followed by `rest(n)` more characters. Raises
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
        raise InputError(f"the budget is too small for this paper; use at least {least} tokens")
    return best


def document(steps: Sequence[Step], last: str) -> str:
    """Returns the document made up of the steps and a last line."""
    placed = {step.place: step.text for step in steps}
    return "\n".join([*(placed[place] for place in sorted(placed)), last])
