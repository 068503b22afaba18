"""One technique that a heading and the words of its section name."""

from pathlib import Path

import pytest

from tests.build.techniques.papers import techniques


@pytest.mark.parametrize(
    ("heading", "inner"),
    [
        ("Choosing nests with tidal search", "Tidal search"),
        ("Joint nest clustering over colonies", "Joint clustering"),
    ],
)
def test_a_component_that_repeats_its_heading_is_an_alias(tmp_path: Path, heading: str, inner: str) -> None:
    method = (
        f"\\subsection{{{heading}}}\nWe compute it daily. We use eggs.\n"
        f"\\subsubsection{{{inner}}}\nWe compute it again. We sample eggs.\n"
    )
    found = techniques(tmp_path, method)
    assert heading in found
    assert inner in found[heading].aliases
    assert inner not in found


def test_a_short_section_is_the_technique_that_it_opens_with(tmp_path: Path) -> None:
    method = "\\subsection{Egg Processing}\nEggs differ. We employ a shell encoding \\cite{b}. It has two parts.\n"
    found = techniques(tmp_path, method)
    assert found["Egg Processing"].aliases == ("shell encoding",)


def test_parts_of_a_heading_s_technique_stay_apart(tmp_path: Path) -> None:
    method = (
        "\\subsection{Nest kernel with tidal scaling}\nWe compute it once.\n"
        "\\subsubsection{Tidal scaling}\nWe estimate the tide.\n"
        "\\subsubsection{Nest smoothing}\nWe smooth nests.\n"
    )
    assert {"Nest kernel with tidal scaling", "Tidal scaling", "Nest smoothing"} <= set(techniques(tmp_path, method))


def test_a_run_in_heading_that_a_later_section_repeats(tmp_path: Path) -> None:
    method = (
        "\\subsection{Framing}\nWe maximize a bound.\n\n\\textbf{Neural egg model.} We train it on eggs.\n\n"
        "\\subsection{Sleep: Learning an Egg Model}\nWe train the model daily. We use nests.\n"
    )
    found = techniques(tmp_path, method)
    assert "Neural egg model" not in found
    assert "Neural egg model" in found["Sleep: Learning an Egg Model"].aliases


def test_run_in_headings_of_a_section_are_its_parts(tmp_path: Path) -> None:
    method = (
        "\\subsection{Extracting Egg Vectors}\nWe extract vectors daily.\n\n"
        "\\textbf{Egg vectors in nests.} We compute them once.\n\n"
        "\\textbf{Egg vectors in trees.} We compute them twice.\n"
    )
    assert {"Egg vectors in nests", "Egg vectors in trees"} <= set(techniques(tmp_path, method))
