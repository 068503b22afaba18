"""Recovers ligatures in PDFs whose fonts do not identify their characters, as in "e?ective" and "speci?c".

Because fonts number ligatures arbitrarily, each number is assumed to be the ligature that completes the most words."""

from collections import Counter
from collections.abc import Callable
from itertools import takewhile

Place = tuple[str, int]
"""A font and the number of a character in the font."""
Words = dict[Place, Counter[tuple[str, str]]]
"""The letters before and after each unreadable character, keyed by position."""

# Maps each ligature to parts of common words that contain it.
_WORDS = {
    "ff": "differ effect effort offer affect buffer stuff staff suffer tradeoff cutoff effici suffici coeffici difficu "
    "office",
    "ffi": "effici suffici coeffici difficu office affini affili",
    "fi": "defin specifi first field find final signifi identifi classifi figur config confid modifi verifi benefi "
    "infini filter profil quantifi unifi simplifi justifi artifi",
    "fl": "flow flex reflect influ float conflict",
    "ffl": "offline shuffle waffle",
    "ft": "often after left shift draft",
    "tt": "setti attent better matter pattern attrib attack written",
    "Th": "The This Then Thus Three",
}
_LEAST_SHARE = 0.3
_LONGEST = 20


def split_word(character: Callable[[int], str], at: int) -> tuple[str, str]:
    """Returns the letters directly before and after an unreadable character."""
    before = "".join(takewhile(str.isalpha, map(character, range(at - 1, max(-1, at - _LONGEST), -1))))
    return before[::-1], "".join(takewhile(str.isalpha, map(character, range(at + 1, at + _LONGEST))))


def ligatures(words: Words) -> dict[Place, str]:
    """Maps each place to its ligature, judging by the surrounding words. Omits places without a plausible ligature."""
    found = {}
    for place, split in words.items():
        scores = {ligature: _completed(ligature, split) for ligature in _WORDS}
        best = max(scores, key=lambda ligature: scores[ligature])
        if scores[best] >= _LEAST_SHARE * split.total():
            found[place] = best
    return found


def _completed(ligature: str, split: Counter[tuple[str, str]]) -> int:
    """Returns how many words become common words with this ligature."""
    ends = [word.split(ligature) for word in _WORDS[ligature].split()]
    return sum(
        count
        for (before, after), count in split.items()
        if any(
            after.startswith(right) and (before.casefold().endswith(left) if left or right[3:] else not before)
            for left, right in ends
        )
    )
