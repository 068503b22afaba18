"""Checks that every parser of untrusted text takes linear time, even if any part of its syntax is repeated (`make
search`)."""

import pytest

from tests.growth.fragments import FRAGMENTS
from tests.growth.measuring import growths
from tests.growth.parsers import PARSERS
from tests.growth.pumping import Pump
from xkg.store.cypher.tokens import LONGEST_STATEMENT

LENGTHS = (3_000, 12_000)
LONG = (50_000, 200_000)
ABSTRACT = ("\\documentclass{article}\\begin{document}\\begin{abstract}", "\\end{abstract}\\end{document}")
SLOW_ONCE = [
    ("h", Pump("int f();", "\n", "")),
    ("markdown", Pump("", "[", "")),
    ("markdown", Pump("", "**a", "")),
    ("latex", Pump(ABSTRACT[0], ",", ABSTRACT[1])),
    ("latex", Pump("", ";", "")),
    ("html", Pump("", "<p>", "")),
    ("pyproject.toml", Pump("a", ".a", "=1")),
    ("environment.yml", Pump("a: &a [b]\n", "c: &a [*a, *a]\n", "dependencies: *a\n")),
    ("notebook JSON", Pump("", "[", "")),
    ("python", Pump("x = ", "(", "")),
]


def test_every_parser_is_tried() -> None:
    assert set(PARSERS) == set(FRAGMENTS)


@pytest.mark.parametrize("name", FRAGMENTS)
def test_time_grows_with_the_text(name: str) -> None:
    lengths = tuple(min(length, LONGEST_STATEMENT - 100) for length in LENGTHS)
    confirm = LONGEST_STATEMENT - 100 if name == "cypher" else 4 * LENGTHS[-1]
    assert not [str(each) for each in growths(name, FRAGMENTS[name], lengths, confirm)]


@pytest.mark.parametrize(("name", "pump"), SLOW_ONCE)
def test_what_was_slow_once(name: str, pump: Pump) -> None:
    assert not [str(found) for found in growths(name, [pump], LONG)]
