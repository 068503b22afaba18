"""Chooses values for switches."""

import ast
from collections.abc import Iterator

from xkg.agents.ablation.candidates import COMMAND, Kind
from xkg.agents.ablation.space.python_source import words_of
from xkg.agents.ablation.space.switches import Switch

_NEGATIVE = frozenset({"no", "without", "disable", "skip"})


def values_of(
    switch: Switch, *, leaves_out: bool, selects: bool, chance: bool = False
) -> Iterator[tuple[Kind, str, str]]:
    """Yields (kind, new text, readable value) for each way to set a switch. Numbers stay valid. A number below 1 stays
    below 1, because it may be a fraction, and a `chance` in percent stays below 100. An integer never becomes 0 or 1,
    because 0 and 1 are often invalid counts."""
    value = switch.value
    whole = 100 if chance and isinstance(value, int | float) and value >= 1 else 1
    written = str if switch.at.path == COMMAND else ast.literal_eval
    others = [choice for choice in switch.choices if written(choice) != value]
    if isinstance(value, bool):
        negative = bool(words_of(switch.name)) and words_of(switch.name)[0] in _NEGATIVE
        on = value is not negative
        if on or selects:
            new = str(not value)
            text = switch.at.new or (new.lower() if switch.text.islower() else new)
            yield "toggle" if on else "replace", text, new
    elif isinstance(value, str):
        yield from (("replace", choice, choice) for choice in others)
    elif value and switch.choices:
        yield from (("grid", choice, choice) for choice in others)
    elif isinstance(value, int) and value > 0:
        for count in dict.fromkeys((max(2, value // 2), round(_above(value, whole)))):
            if count != value:
                yield "scale", str(count), str(count)
    elif isinstance(value, float) and value:
        above = _above(value, whole)
        for number in (0.0, value / 2, above) if leaves_out and not learns(switch.name) else (value / 2, above):
            yield "scale", f"{number:.12g}" if number else "0.0", f"{number:.12g}" if number else "0.0"


def _above(value: float, whole: int) -> float:
    return (whole + value) / 2 if whole / 2 <= value < whole else value * 2


def learns(name: str) -> bool:
    """Returns whether a name denotes a learning rate, which must not be 0."""
    return not {"lr", "learning"}.isdisjoint(words_of(name))
