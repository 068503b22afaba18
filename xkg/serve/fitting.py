"""Texts within a budget of tokens."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from xkg.errors import InputError
from xkg.llm_prices import tokens

CHARACTERS_A_TOKEN = 4
"""As `tokens` counts."""


class Step(NamedTuple):
    """Puts `text` at a place of a document (places are in order), instead of what stands there. `group` is what a
    reader misses without it."""

    group: str
    place: tuple[int, ...]
    text: str


def fit(steps: Sequence[Step], budget_tokens: int, left_out: Callable[[int], str]) -> tuple[str, int]:
    """The document after as many of the steps as the budget holds, first to last, and how many. `left_out(n)` is the
    document's last line after n of them. So a larger budget only adds. Raises `InputError` where none fits."""
    room = budget_tokens * CHARACTERS_A_TOKEN
    placed: dict[tuple[int, ...], str] = {}
    best: int | None = None
    size = 0
    for n, step in enumerate((*steps, None)):
        if size + len(left_out(n)) <= room:
            best = n
        if step is None or size > room:
            break
        size += len(step.text) - len(placed[step.place]) if step.place in placed else len(step.text) + 1
        placed[step.place] = step.text
    if best is None or best == 0:
        raise too_small(budget_tokens, len(steps[0].text) + 1 + len(left_out(1)))
    placed = {step.place: step.text for step in steps[:best]}
    text = "\n".join([*(placed[place] for place in sorted(placed)), left_out(best)])
    assert tokens(text) <= budget_tokens
    return text, best


def too_small(budget_tokens: int, characters: int) -> InputError:
    """The error of a budget that does not even hold the head of a document, so many characters long."""
    least = -(-characters // CHARACTERS_A_TOKEN)
    return InputError(f"{budget_tokens} tokens hold no context of this paper: give a budget of {least} or more")
