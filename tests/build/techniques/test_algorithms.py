from pathlib import Path

import pytest

from tests.build.techniques.papers import techniques
from xkg.build.techniques.algorithms import caption_name

_STEPS = "\\begin{algorithmic}\\State draw a nest\\State keep the best nest\\end{algorithmic}"


@pytest.mark.parametrize(
    ("caption", "name"),
    [
        ("PyTorch-style pseudocode for Nest Balancing", "Nest Balancing"),
        ("Implementation of the Nest Balancing", "Nest Balancing"),
        ("Training of Nest Balancing (our method, $k=3$)", "Nest Balancing"),
        ("Nest balancing. Each step draws a nest.", "Nest balancing"),
        ("$k$-nest balancing for $x \\in X$", "k-nest balancing"),
        ("Calc. $x^{t+1}_i$ for Nest Balancing", ""),
        ("Calculate $x^{t+1}_i$ for Nest Balancing", ""),
    ],
)
def test_a_caption_names_what_its_steps_do(caption: str, name: str) -> None:
    assert caption_name(caption) == name


def test_an_algorithm_that_no_sentence_describes_is_defined_by_its_steps(tmp_path: Path) -> None:
    found = techniques(
        tmp_path,
        "We sample terns.\n",
        f"\\begin{{algorithm}}\\caption{{Nest Balancing}}{_STEPS}\\end{{algorithm}}\n"
        f"\\appendix\\section{{Tables}}\n\\begin{{algorithm}}\\caption{{Egg rotation}}{_STEPS}\\end{{algorithm}}\n",
    )
    assert "Nest Balancing" in found
    assert found["Egg rotation"].definition == "Egg rotation: draw a nest; keep the best nest"
    assert found["Egg rotation"].excerpts[0].path == "paper.tex"


def test_an_algorithm_under_the_heading_that_refers_to_it_is_one_technique(tmp_path: Path) -> None:
    method = (
        "\\subsection{Nest Search}\nWe compute the nest by search (Algorithm~\\ref{alg:s}).\n"
        f"\\begin{{algorithm}}\\caption{{Search for nests by TS}}\\label{{alg:s}}{_STEPS}\\end{{algorithm}}\n"
    )
    found = techniques(tmp_path, method)
    assert [name for name in found if "earch" in name] == ["Nest Search"]


def test_an_algorithm_with_half_of_the_words_of_its_heading_is_apart(tmp_path: Path) -> None:
    method = (
        "\\subsection{Nest Search}\nWe compute the nest by search (Algorithm~\\ref{alg:s}).\n"
        "\\begin{tcolorbox}[title={Algorithm 1: Nest Repair}]\\label{alg:s}\\begin{enumerate}\\item Draw a nest."
        "\\item Keep it.\\end{enumerate}\\end{tcolorbox}\n"
    )
    assert {"Nest Search", "Nest Repair"} <= set(techniques(tmp_path, method))


def test_a_prompt_in_verbatim_is_no_technique(tmp_path: Path) -> None:
    listing = "\\begin{verbatim}\nYou are a helpful bird.\nAnswer in one word\nDo not sing\n\\end{verbatim}\n"
    found = techniques(tmp_path, f"We sample terns. The code of the egg rotation prompt is this.\n{listing}")
    assert set(found) == {"TS"}


def test_titled_definitions_of_methods_are_techniques(tmp_path: Path) -> None:
    method = (
        "We sample terns.\n\\begin{definition}[Surrogate objective]\nThe sum of the least rewards.\n\\end{definition}\n"
        "\\begin{definition}[Metric space]\nA set.\\end{definition}\n"
    )
    found = techniques(tmp_path, method)
    assert set(found) == {"TS", "Surrogate objective"}
    assert found["Surrogate objective"].definition == "Surrogate objective: The sum of the least rewards."


def test_what_a_macro_leaves_out_is_no_part_of_the_paper(tmp_path: Path) -> None:
    method = (
        "\\newcommand{\\cut}[1]{}We sample terns.\n\\cut{We call this \\emph{Egg Folding}.\n"
        f"\\begin{{algorithm}}\\caption{{Shell folding}}{_STEPS}\\end{{algorithm}}}}\n"
    )
    assert set(techniques(tmp_path, method)) == {"TS"}
