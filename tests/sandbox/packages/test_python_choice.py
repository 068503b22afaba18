import platform

import pytest
from packaging.specifiers import SpecifierSet

from xkg.sandbox.isolation.interpreters import own
from xkg.sandbox.packages.plan import Offer
from xkg.sandbox.packages.python_choice import (
    asked,
    first_day,
    nearest,
    version_of,
    where_wheels_are,
    with_most_wheels,
)

HERE = ("3.7", "3.8", "3.11", "3.12")
MACHINE = platform.machine()


@pytest.mark.parametrize(
    ("specifier", "chosen"),
    [
        ("==3.7.*", "3.7"),
        (">=3.6,<3.9", "3.8"),
        (">=3.7.1", "3.12"),
        ("==3.6.*", "3.7"),  # the first after it
        (">=3.13", None),
        ("==2.7.*", None),
    ],
)
def test_the_nearest_of_those_that_are_here(specifier: str, chosen: str | None) -> None:
    assert nearest(SpecifierSet(specifier), HERE) == chosen


def test_what_a_line_on_python_asks_for() -> None:
    assert asked("python>=3.6,<3.8") == SpecifierSet(">=3.6,<3.8")
    assert asked(None) == asked("python") == asked("python=>3") == SpecifierSet()


def offer(line: str, *tags: str) -> Offer:
    return Offer(line=line, wheels=tuple(f"x-1-{tag}-none-any.whl" for tag in tags), source=None)


@pytest.mark.parametrize(
    ("wheel", "pythons"),
    [
        (f"numpy-1.19.5-cp37-cp37m-manylinux1_{MACHINE}.whl", ["3.7"]),
        (f"numpy-1.19.5-cp38-cp38-manylinux_2_5_{MACHINE}.manylinux1_{MACHINE}.whl", ["3.8"]),
        (f"tokens-1.0-cp38-abi3-manylinux2014_{MACHINE}.whl", ["3.12", "3.11", "3.8"]),
        ("plain-1.0-py2.py3-none-any.whl", ["3.12", "3.11", "3.8", "3.7"]),
        ("numpy-1.19.5-cp38-cp38-win_amd64.whl", []),
        ("not a wheel", []),
    ],
)
def test_the_python_versions_of_a_wheel_are_in_its_name(wheel: str, pythons: list[str]) -> None:
    offer = Offer(line="x", wheels=(wheel,), source=None)
    assert [version for version in offer.pythons if version in HERE] == pythons


def test_the_version_with_most_wheels_of_those_that_are_lacking() -> None:
    offers = [offer("a==1", "cp37", "cp38"), offer("b==1", "cp37"), offer("c==1", "cp38"), offer("d==1")]
    assert with_most_wheels(offers, HERE) == ["3.8", "3.7"]
    assert with_most_wheels(offers, ("3.12",)) == []
    assert where_wheels_are(offers, "3.8") == ["b==1 needs Python 3.7, which is not installed; run `pyenv install 3.7`"]
    assert where_wheels_are(offers[:1], "3.11") == [
        "a==1 needs Python 3.7 to 3.8, which is not installed; run `uv python install 3.8`"
    ]


def test_the_python_of_a_day() -> None:
    assert version_of("2019-06-01") == "3.7"
    assert version_of("2016-06-01") == "3.7"
    assert version_of("2020-06-01") == "3.8"
    assert version_of(first_day(own().minor)) is None
    assert version_of(None) is None
