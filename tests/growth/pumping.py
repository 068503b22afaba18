"""Derives texts from a pattern for which matching might take more than linear time. Each text repeats an example of one
of the pattern's repeats, or the beginning of a match, and ends with text that cannot match."""

import re
import re._constants as c  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

MOST = 80  # maximum number of pumps per pattern
_REPEATS = (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT)
_LETTERS = "a \n0A\t_-.,;:()[]{}<>\\/$*+#%&@=~^|!?'\"`xé"
_NOTHING = "\x00"  # few patterns match this character


@dataclass(frozen=True)
class Pump:
    """A text that consists of `before`, `piece` repeated up to the length, and `after`."""

    before: str
    piece: str
    after: str

    def text(self, length: int) -> str:
        return self.before + self.piece * max(1, length // len(self.piece)) + self.after


def pumps_of(pattern: re.Pattern[str] | re.Pattern[bytes]) -> list[Pump]:
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    tree = list(
        parser.parse(source, pattern.flags & ~re.DEBUG & ~(re.UNICODE if isinstance(pattern.pattern, bytes) else 0))
    )
    found: dict[Pump, None] = {}
    repeats = list(_repeats(tree, ""))
    if not repeats:
        return []  # the pattern reads a bounded amount of text from each position
    for before, body, behind in repeats:
        for one in _samples(body, 4):
            for piece in dict.fromkeys((one, before + one, one + behind, before + one + behind)):
                for after in ("", _NOTHING, "\n" + _NOTHING):
                    found[Pump(before, piece, after)] = None
                found[Pump("", piece, _NOTHING)] = None
    for end in range(1, len(tree) + 1):
        for piece in _samples(tree[:end], 3):
            found[Pump("", piece, _NOTHING)] = None
            found[Pump("", piece + " ", _NOTHING)] = None
            found[Pump("", piece + "\n", _NOTHING)] = None
    for letter in dict.fromkeys([" ", "\n", "a", "0", *(x for x in source if not x.isalnum())]):
        found[Pump("", letter, _NOTHING)] = None
        found[Pump("a", letter, "a")] = None
    usable = [pump for pump in found if pump.piece]
    step = max(1, len(usable) // MOST)
    return usable[::step] if step > 1 else usable


def _repeats(tree: Sequence[Any], before: str) -> Iterator[tuple[str, Sequence[Any], str]]:
    """Yields each repeat that has no small bound: a sample of the text before it, its body, and a sample of the text
    after it."""
    for at, (op, value) in enumerate(tree):
        here = before + next(_samples(tree[:at], 1), "")
        behind = next(_samples(tree[at + 1 :], 1), "")
        if op in _REPEATS:
            _low, high, body = value
            if high > 100:
                yield here, list(body), behind
            yield from _repeats(list(body), here)
        for part in _parts(op, value):
            yield from _repeats(part, here)


def _parts(op: Any, value: Any) -> list[list[Any]]:
    if op is c.SUBPATTERN:
        return [list(value[3])]
    if op is c.BRANCH:
        return [list(branch) for branch in value[1]]
    if op in (c.ASSERT, c.ASSERT_NOT):
        return [list(value[1])]
    if op is c.ATOMIC_GROUP:
        return [list(value)]
    if op is c.GROUPREF_EXISTS:
        return [list(part) for part in value[1:] if part]
    return []


def _samples(tree: Sequence[Any], most: int) -> Iterator[str]:
    """Returns a limited number of different texts that (nearly) match a sequence."""
    seen: dict[str, None] = {}
    for turn in range(most):
        text = "".join(_sample(op, value, turn) for op, value in tree)
        if text not in seen:
            seen[text] = None
            yield text


def _sample(op: Any, value: Any, turn: int) -> str:
    if op is c.LITERAL:
        return chr(value)
    if op in (c.NOT_LITERAL, c.ANY, c.IN):
        fitting = [x for x in _LETTERS if _fits(op, value, x)] or [chr(v) for o, v in _items(value) if o is c.LITERAL]
        return fitting[turn % len(fitting)] if fitting else ""
    if op in _REPEATS:
        low, high, body = value
        return "".join(_sample(o, v, turn) for o, v in body) * min(max(low, 1), max(high, 0), 50)
    if op is c.BRANCH:
        branches = value[1]
        return "".join(_sample(o, v, turn) for o, v in branches[turn % len(branches)])
    if op is c.ASSERT_NOT or (op is c.ASSERT and value[0] < 0):
        return ""
    if parts := _parts(op, value):
        return "".join(_sample(o, v, turn) for o, v in parts[0])
    return ""


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _fits(op: Any, value: Any, letter: str) -> bool:
    if op is c.ANY:
        return letter != "\n"
    if op is c.NOT_LITERAL:
        return bool(ord(letter) != value)
    negated, fits = False, False
    for kind, item in value:
        if kind is c.NEGATE:
            negated = True
        elif kind is c.LITERAL:
            fits |= ord(letter) == item
        elif kind is c.RANGE:
            fits |= item[0] <= ord(letter) <= item[1]
        elif kind is c.CATEGORY:
            fits |= _CATEGORIES[item](letter)
    return fits != negated


_CATEGORIES = {
    c.CATEGORY_DIGIT: str.isdigit,
    c.CATEGORY_NOT_DIGIT: lambda x: not x.isdigit(),
    c.CATEGORY_SPACE: str.isspace,
    c.CATEGORY_NOT_SPACE: lambda x: not x.isspace(),
    c.CATEGORY_WORD: lambda x: x.isalnum() or x == "_",
    c.CATEGORY_NOT_WORD: lambda x: not (x.isalnum() or x == "_"),
}
