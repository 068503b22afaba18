"""Checks that every pattern in xkg takes linear time in the length of its text (`make search`)."""

import json
import re

import pytest

from tests.growth.measuring import growths
from tests.growth.pumping import Pump, pumps_of
from tests.growth.written import Written, written_patterns

SHARES = 16
LENGTHS = (1_600, 6_400, 25_600)  # at the last length, even a nanosecond per pair of characters is noticeable
# Maps the beginning of a pattern to the maximum length of its texts. `True` means that the texts never repeat spaces.
GIVEN: dict[str, tuple[int, bool]] = {
    r"(?:\A|\n[ \t]*\n|\\par(?![a-zA-Z])": (200, False),  # used for the text before a run-in heading
    r"[ \t]*\n[ \t]*\n|\s*\\(?:begin|item": (200, False),  # used for the text after a run-in heading
    r" {0,3}(?:<(?:span|a)\b": (1_000, False),
    r"([^\W\d_]{2,})-$": (80, False),
    r"[^\W\d_]{2}.*\d{4}": (300, False),
    r"(?:[,.]?\s*\(?(?:1[89]|20)\d\d": (4_000, True),
    r"[.,]?\s*(?:URL\s+)?https?:.*$": (4_000, True),
    r"[,.]?\s*\(?(?:1[89]|20)\d\d[a-z]?\)?\W*$": (4_000, True),
    r"\b(?:recent|prior|previous|existing": (4_000, True),
    r"(?:[\w-]+,?\s+){0,3}?(?:the|our": (4_000, True),
    r"(.+?)\s*\(\s*([\w+-]+)\s*\)": (1_000, True),
    r"^(?:.*\D)?(?:19|20)\d\d[a-z]?(?:[,;]": (800, False),
    r"(\.git)?(@[^/]*)?/*$": (500, False),
}
# These modules read only xkg's own files, or the user's.
OWN = ("xkg.llm.prompt:", "xkg.store.neo4j.db.migrations:", "xkg.store.neo4j.db.connection:")
# These patterns are imported under another name. xkg calls only `match` on them, once per formula.
MATCHED = (r"((?:[^$\\\n]|\\.|\n(?![ \t]*+\n)){0,4000}+)\$", r"((?:[^$\\]|\\.){0,20000}+)\$\$")


@pytest.mark.parametrize("share", range(SHARES))
def test_time_grows_with_the_text(share: int) -> None:
    patterns, _ = written_patterns()
    assert len(patterns) > 500
    found = {
        f"{one.places[0]} {one.pattern.pattern!r:.80}": [str(each) for each in grown]
        for one in patterns[share::SHARES]
        if not one.places[0].startswith(OWN) and (grown := growths(subject(one), *probes(one), enough=3))
    }
    assert not found


def test_a_pattern_that_grows_is_found() -> None:
    for source in (r"(?m)^\s*(?:class|using)\b", r"(?:\d{1,2}\.?)+\s", r"(a|a?)+$", r"\[[^\]]*\]\("):
        one = Written(re.compile(source), ["here"], {"search"})
        assert growths(subject(one), *probes(one), enough=1), source


def subject(one: Written) -> str:
    source, flags, uses = one.pattern.pattern, one.pattern.flags, one.uses
    binary = isinstance(source, bytes)
    return json.dumps(
        {
            "pattern": source.decode("latin-1") if isinstance(source, bytes) else source,
            "flags": flags if binary else flags & ~re.UNICODE,
            "bytes": binary,
            "uses": ["match"] if source in MATCHED else sorted(uses),
        }
    )


def probes(one: Written) -> tuple[list[Pump], tuple[int, ...]]:
    source = str(one.pattern.pattern)
    longest, single = next((given for start, given in GIVEN.items() if source.startswith(start)), (None, False))
    pumps = pumps_of(one.pattern)
    if single:
        pumps = [pump for pump in pumps if not re.search(r"\s\s|\s$", pump.piece * 2)]
    return pumps, LENGTHS if longest is None else (longest // 4, longest)
