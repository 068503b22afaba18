from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.agents.codification.method_text import method_text
from xkg.agents.codification.task import read_method, read_task
from xkg.build.paper.document import Document
from xkg.build.paper.read import parse_paper
from xkg.build.parsing.parsers import Parsers

STEP = "We propose to keep a velocity of all gradients and to move every weight along it. "
SECTIONS = {
    "Introduction": "Training is slow, as everybody knows.",
    "Background": "Let $w$ be the weights of a network.",
    "Heavy Ball Training": "Our method has two steps, of which Algorithm 1 shows the order.",
    "Keeping the velocity": STEP + "\\begin{equation} v = \\beta v + g \\end{equation}",
    "Moving the weights": STEP.replace("propose", "use") + "The weights move by $\\eta v$.",
    "Experiments": "We compare with baselines on 3 datasets, and the accuracy is 94.1.",
    "Hyperparameters": "We set $\\beta$ to 0.9 in all experiments and never decay it.",
    "Conclusion": "It is fast.",
}
BELOW = {"Keeping the velocity", "Moving the weights", "Hyperparameters"}


def parsed(folder: Path, sections: dict[str, str]) -> Document:
    body = "\n".join(f"\\{'sub' * (title in BELOW)}section{{{title}}}\n{text}\n" for title, text in sections.items())
    file = folder / "paper.tex"
    file.write_text(
        "\\documentclass{article}\\title{Heavy Balls}\\begin{document}\\maketitle\n"
        f"\\begin{{abstract}}Balls that are heavy roll on.\\end{{abstract}}\n{body}\\end{{document}}\n"
    )
    return parse_paper(file)


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Document:
    return parsed(tmp_path_factory.mktemp("paper"), SECTIONS)


def test_the_method_is_whole_with_its_settings_and_without_results(paper: Document) -> None:
    found = method_text(paper)
    assert found is not None
    assert found.note() is None
    for words in (
        "Algorithm 1 shows the order",
        "v = \\beta v + g",
        "$\\eta v$",
        "$\\beta$ to 0.9",
        "weights of a net",
    ):
        assert words in found.text, words
    assert found.text.index("velocity") < found.text.index("move by")
    for words in ("94.1", "Training is slow", "It is fast"):
        assert words not in found.text


@given(st.integers(60, 1500))
def test_a_bound_cuts_by_section_and_says_which(paper: Document, most: int) -> None:
    found = method_text(paper, most)
    whole = method_text(paper)
    assert found is not None
    assert whole is not None
    text = "\n\n".join(line for line in found.text.split("\n\n") if not line.startswith("[left out here: "))
    assert len(text) <= max(most, 60) + 100
    blocks = whole.text.split("\n\n")
    assert [block for block in blocks if block in text.split("\n\n")] == text.split("\n\n")
    for title in found.left_out:
        assert f"{title}]" in found.text
    assert (found.note() is None) == (found.text == whole.text)


def test_a_section_that_is_too_long_has_its_beginning(tmp_path: Path) -> None:
    long = "\n\n".join(f"{STEP}This is paragraph {n}." for n in range(40))
    found = method_text(parsed(tmp_path, {**SECTIONS, "Keeping the velocity": long}), 2000)
    assert found is not None
    assert "paragraph 3." in found.text
    assert "paragraph 39." not in found.text
    assert "[left out here: the rest of Keeping the velocity]" in found.text
    assert "the rest of Keeping the velocity" in (found.note() or "")


def test_a_long_paper_without_a_section_named_is_its_method(tmp_path: Path, parsers: Parsers) -> None:
    parsed(tmp_path, {**SECTIONS, "Introduction": "Training is slow, as everybody knows. " * 2000})
    given = {"starter": "s", "run": "r", "metric": "a:max", "method": str(tmp_path / "paper.tex")}
    method = read_method(read_task(None, given), parsers)
    assert "keep a velocity" in method.text
    assert "Training is slow" not in method.text
    assert "using the method sections of" in method.notes[0]


def test_a_paper_without_a_method_has_none(tmp_path: Path) -> None:
    assert method_text(parsed(tmp_path, {"Related Work": "Others did much.", "Conclusion": "Nothing."})) is None
