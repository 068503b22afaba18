from pathlib import Path

import pytest

from tests.build.curation.conftest import TARGET
from xkg.build.curation.citations import first_surname, mentions
from xkg.build.curation.ranking import weight_of_use
from xkg.build.paper.read import parse_paper
from xkg.build.techniques.definitions import read
from xkg.model import Reference

MARKDOWN = """# Tides

## 1 Introduction

Many works sample (Sea and Foam, 2020; Luna, 2019a; One et al., 2011).

## 2 Method

We use the kernel of Luna (2019b) and nothing else.

## References

Luna, C. Moons. Journal of Kernels, 2019a.

Luna, C. More moons. Journal of Kernels, 2019b.

One, F. and Two, G. On samplers in general. Old Letters, 2011.

Sea, A. and Foam, B. Wave transport for particles. arXiv preprint arXiv:2001.00001, 2020.
"""
NUMBERED = """# Tides

## 1 Introduction

Many works sample [1-3].

## 2 Method

We use the kernel of [2].

## References

[1] C. Luna. Moons of the north. Journal of Kernels, 2019.

[2] C. Luna. More moons of the north. Journal of Kernels, 2018.

[3] F. One. On samplers in general. Old Letters, 2011.
"""


def cited(tmp_path: Path, name: str, text: bytes) -> list[list[tuple[str, int]]]:
    path = tmp_path / name
    path.write_bytes(text)
    reader, parts = read(parse_paper(path))
    return [[(mention.role, mention.together) for mention in each] for each in mentions(reader, parts)]


def test_citations_of_latex_by_key(tmp_path: Path) -> None:
    wave, moon, reef, gone, *_ = cited(tmp_path, "main.tex", TARGET)
    assert wave == [("introduction", 4), ("method", 1)]
    assert moon == [("method", 1)]
    assert [role for role, _ in (*reef, *gone)] == ["experiments", "experiments"]


def test_citations_by_author_and_year(tmp_path: Path) -> None:
    first, second, one, sea = cited(tmp_path, "main.md", MARKDOWN.encode())
    assert [together for _, together in first] == [3]
    assert second == [("method", 1)]
    assert len(one) == len(sea) == 1


def test_citations_by_number(tmp_path: Path) -> None:
    first, second, third = cited(tmp_path, "main.md", NUMBERED.encode())
    assert [together for _, together in second] == [3, 1]
    assert [together for _, together in (*first, *third)] == [3, 3]


def test_what_the_method_uses_weighs_more_than_a_list(tmp_path: Path) -> None:
    path = tmp_path / "main.tex"
    path.write_bytes(TARGET)
    reader, parts = read(parse_paper(path))
    weights = [weight_of_use(each) for each in mentions(reader, parts)]
    wave, moon, reef, _, *listed = weights
    assert min(wave, moon, reef) > max(listed)
    assert weight_of_use([]) == 0


@pytest.mark.parametrize(
    ("text", "surname"),
    [
        ("Luna, C. and Tide, D. Moons. 2019", "Luna"),
        ("C. Luna and D. Tide. Moons. 2019", "Luna"),
        ("Kevin Frans, Seohong Park. Zero-shot. 2024", "Frans"),
        ("van Hasselt, H. P. Learning. 2010", "van Hasselt"),
        ("2019. Moons", ""),
    ],
)
def test_the_first_surname(text: str, surname: str) -> None:
    assert first_surname(Reference(title=None, text=text)) == surname
