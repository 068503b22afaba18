"""Checks that techniques which a paper only names are left out, and that those it uses appear once."""

from pathlib import Path

import pytest

from tests.build.techniques.papers import extracted, techniques
from xkg.build.techniques.tree import DOUBT
from xkg.model import Technique


def whole(folder: Path, title: str, body: str) -> dict[str, Technique]:
    """Returns all techniques of a paper by name, including hidden ones."""
    top = f"\\documentclass{{article}}\\title{{{title}}}\\begin{{document}}\\maketitle\n"
    return {t.name: t for t in extracted(folder, f"{top}{body}\\end{{document}}\n").techniques}


def visible(found: dict[str, Technique]) -> list[str]:
    return [name for name, technique in found.items() if technique.hidden is None]


def test_data_sets_and_architectures_under_headings_of_results_are_none(tmp_path: Path) -> None:
    body = (
        "\\begin{abstract}We bound how far nests drift in streams from Tern-50, GullBank and ShoreNet.\\end{abstract}\n"
        "\\section{Introduction} Nests drift.\n\\section{Methods}\n\\subsection{Anchor bounds}\n"
        "The anchor bound compares two nests, as a limit bound does:\n\\begin{equation} a = b \\end{equation}\n"
        "\\subsection{Jittering the eggs of a nest} Jittering moves every egg by a small step.\n"
        "\\subsection{Limit bounds} A small step gives the limit bound.\n"
        "\\section{Results}\n\\subsection{Tern-50} Tern-50 has 50 classes. We train on Tern-50 with batches of 16.\n"
        "\\subsection{ShoreNet}\n\\subsubsection{GullFormer-B} We use the trained GullFormer-B of the library.\n"
    )
    found = whole(tmp_path, "What nests give away", body)
    assert list(found) == ["Anchor bounds", "Jittering the eggs of a nest", "Limit bounds"]
    assert visible(found) == list(found)


def test_a_data_set_in_the_method_and_one_that_is_proposed_are_none(tmp_path: Path) -> None:
    method = (
        "We train on TernBank. \\subsection{TernBank}\nWe read the TernBank dataset. TernBank has 9 classes.\n"
        "We propose GullBank, a dataset of gulls. The GullBank dataset is large.\n"
    )
    method += "\\subsection{GullNet-18}\nWe train GullNet-18 of the library. We use it for eggs.\n"
    assert set(techniques(tmp_path, method)) == {"TS"}


def test_claims_under_headings_are_hidden_with_the_reason(tmp_path: Path) -> None:
    body = (
        "\\begin{abstract}We propose egg turning, a sampler that turns eggs by their weight.\\end{abstract}\n"
        "\\section{Related Work}\\paragraph{Clock turning.} Clock turning turns all eggs at noon.\n"
        "\\section{Egg Turning}\n\\begin{enumerate}\n"
        "\\item \\textbf{Compute the egg weights:} $w=\\max m$.\n\\end{enumerate}\n"
        "\\subsection{Stability in Cold Weather} Eggs stay warm.\n\\subsection{Ease of Use}"
        "\\begin{itemize}\\item \\textbf{Community Adoption:} Many farms have it.\\end{itemize}\n"
        "\\section{Experiments} We compare with clock turning.\n"
    )
    found = whole(tmp_path, "Egg Turning for Farms", body)
    assert visible(found) == ["Egg Turning", "Clock turning"]
    assert {t.hidden for t in found.values() if t.hidden} == {DOUBT}


def test_a_heading_of_two_techniques_is_two(tmp_path: Path) -> None:
    method = (
        "\\subsection{Nest proximity and the egg score}\nNest proximity is the distance of two nests. "
        "We compute the egg score from the shells.\n"
    )
    assert {"Nest proximity", "egg score"} <= set(techniques(tmp_path, method))


def test_a_heading_whose_halves_the_text_does_not_tell_apart_is_one(tmp_path: Path) -> None:
    found = techniques(tmp_path, "\\subsection{Egg sorting and nest marking}\nWe sort and mark all in one pass.\n")
    assert [name for name in found if "gg" in name] == ["Egg sorting and nest marking"]


def test_what_stands_before_a_colon_is_no_second_technique(tmp_path: Path) -> None:
    method = (
        "\\subsection{Matching method: path algorithm}\nWe call it the \\emph{matching method}. The path algorithm "
        "follows the nests.\n\\subsection{Matching method}\nWe match nests.\n"
    )
    found = techniques(tmp_path, method)
    assert [name for name in found if "atching" in name] == ["Matching method: path algorithm"]


def test_a_titled_paragraph_of_an_introduction_is_one_if_it_says_what_this_does(tmp_path: Path) -> None:
    body = (
        "\\section{Introduction}\nWe propose Tern Hiding (TH), a way to hide. TH is fast.\n"
        "\\paragraph{Egg folding.} Egg folding hides the eggs that others see.\n"
        "\\paragraph{Nest moving.} We move nests.\n\\paragraph{Motivation.} We need it.\n"
    )
    assert visible(whole(tmp_path, "Tern Hiding", body)) == ["TH", "Egg folding"]


def test_what_a_paper_proposes_in_passing_or_gives_a_formula_is_none_without_a_name(tmp_path: Path) -> None:
    method = (
        "We propose a nest regularization. Nest regularization is cheap. The egg loss is defined as\n"
        "\\begin{equation} a = b \\end{equation}\nEggs need an egg loss.\n"
    )
    assert set(techniques(tmp_path, method)) == {"TS"}


def test_a_loss_that_a_paper_proposes_is_a_part_of_its_method(tmp_path: Path) -> None:
    assert "nest loss" in techniques(tmp_path, "We propose a nest loss. The nest loss is cheap.\n")


def test_the_names_that_authors_give_in_their_experiments(tmp_path: Path) -> None:
    after = "\n\\section{Ablation study}\nIt yields a policy, that we call \\emph{Weighted policy}. It picks eggs.\n"
    assert "Weighted policy" in techniques(tmp_path, "We sample terns.\n", after)


@pytest.mark.parametrize(
    "method",
    [
        "\\subsubsection{Egg layouts}\nTS has two egg layouts.\n",
        "\\paragraph{Highlights.} This study highlights eggs.\n",
    ],
)
def test_a_heading_with_which_the_text_does_not_work_is_hidden(tmp_path: Path, method: str) -> None:
    assert set(techniques(tmp_path, f"\\subsection{{Nest pooling}}\nWe pool nests.\n{method}")) == {
        "TS",
        "Nest pooling",
    }


def test_the_method_that_a_paper_builds_on_is_not_its_root(tmp_path: Path) -> None:
    body = (
        "\\section{Introduction}\nMany use gull search \\cite{g}. Gull search is slow. Gull search is old.\n"
        "\\section{Method}\n\\subsection{Shell pooling}\nWe pool shells. Shell pooling needs gull search.\n"
    )
    found = whole(tmp_path, "Pooling shells using Gull Search", body)
    assert all(t.parent is None for t in found.values())
    assert visible(found)[0] == "Shell pooling"


def test_a_name_in_one_word_is_spelt_as_the_text_spells_it(tmp_path: Path) -> None:
    caption = "\\caption{RandomizedTernApproximation}\\begin{algorithmic}\\State turn\\State stop\\end{algorithmic}"
    found = techniques(tmp_path, f"We sample.\n\\begin{{algorithm}}{caption}\\end{{algorithm}}\n")
    assert "Randomized Tern Approximation" in found


def test_an_abbreviation_that_the_method_introduces_is_one_and_the_subject_is_none(tmp_path: Path) -> None:
    method = "We incorporate tern-by-tern weighting (TTW) of eggs. TTW is cheap. ER is old. ER needs eggs.\n"
    found = techniques(tmp_path, method, "\\section{Outlook}\nEgg ranking (ER) is a field.\n")
    assert set(found) == {"TS", "tern-by-tern weighting"}
