"""Patterns of metrics that a model wrote: they find what they should, and none takes more than linear time."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.agents.ablation.reproduction.patterns import bounded
from xkg.errors import InputError


@pytest.mark.parametrize(
    ("metric", "line", "value"),
    [
        ("loss: ([0-9.e+-]+):min", "iter 9: y = [1], loss: 2.6e-06", "2.6e-06"),
        (r"^\| *\d+ +\| +([0-9.e+]+):min", "| 100 | 7416.57 | 3 |", "7416.57"),
        (r"Test [Aa]ccuracy:?\s+(\d+\.\d{2})%:max", "Test accuracy: 91.25%", "91.25"),
        (r"score=(-?[0-9]+?) :max", "score=-31 ", "-31"),
    ],
)
def test_ordinary_patterns_find_what_they_found(metric: str, line: str, value: str) -> None:
    pattern = bounded(metric).rpartition(":")[0]
    for text in (metric.rpartition(":")[0], pattern):
        found = re.search(text, line)
        assert found is not None
        assert found[1] == value


@pytest.mark.parametrize(
    "metric",
    [
        "(a+)+b:min",
        "(?:a|a)*b:min",
        "loss.*([0-9]+):min",
        r"(a)\1:min",
        "(?=x)([0-9]):max",
        "a|b ([0-9]+):min",
        "a" * 300 + ":min",
    ],
)
def test_what_could_take_for_ever_is_refused(metric: str) -> None:
    with pytest.raises(InputError, match="pattern"):
        bounded(metric)


def test_files_are_as_they_were() -> None:
    assert bounded("out/results.json:test.mse:min") == "out/results.json:test.mse:min"


@given(st.text(alphabet="ab[]()+*?{},1\\d.|^$ -", max_size=40))
def test_what_is_accepted_ends(pattern: str) -> None:
    try:
        made = bounded(f"{pattern}:min")
    except InputError:
        return
    re.search(made.rpartition(":")[0], "ab1 " * 1000 + "!")
