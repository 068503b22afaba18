"""Techniques from headings, run-in heads and titles of list items."""

from pathlib import Path

import pytest

from tests.build.techniques.papers import techniques


def test_symbols_are_no_part_of_a_heading_s_name(tmp_path: Path) -> None:
    method = "\\subsection{Neighbour sampling $S_{\\text{N}}$}\nWe sample neighbours.\n"
    method += "\\subsection{The Setting of Weight Matrix $\\mathbf{W}$}\nIt is set by noise. We compute it once.\n"
    assert {"Neighbour sampling", "Weight Matrix W"} <= set(techniques(tmp_path, method))


def test_a_heading_without_words_of_its_own_is_named_after_the_method(tmp_path: Path) -> None:
    method = "\\subsection{Model Training}\nWe train the model on nests. We update it daily.\n"
    assert "TS Model Training" in techniques(tmp_path, method)


@pytest.mark.parametrize("title", ["High-level motivation", "Whole operation", "Refinements", "Design problem"])
def test_a_topic_is_no_technique(tmp_path: Path, title: str) -> None:
    assert set(techniques(tmp_path, f"\\subsection{{{title}}}\nWe compute things. We use them.\n")) == {"TS"}


def test_run_in_heads_with_and_without_a_stop(tmp_path: Path) -> None:
    method = (
        "\\textbf{Nest pooling.} Eggs are pooled by size. We compute it once.\n\n"
        "\\textbf{Contrastive loss}\nWe minimize a margin over eggs.\n\n"
        "(1) \\textbf{Update $\\mathbf{X}$ while fixing $\\mathbf{Z}$}:\n\\begin{equation} x = z \\end{equation}\n"
    )
    assert {"Nest pooling", "Contrastive loss", "Update X while fixing Z"} <= set(techniques(tmp_path, method))


def test_titles_of_list_items(tmp_path: Path) -> None:
    method = (
        "A step has parts:\n\\begin{itemize}\n\\item \\textbf{Egg head.} It predicts the size of an egg.\n"
        "\\item \\emph{Shell decoder}: it maps the size to a shell.\n\\item Half-step momentum update: $v = w$\n"
        "\\end{itemize}\n"
    )
    assert {"Egg head", "Shell decoder", "Half-step momentum update"} <= set(techniques(tmp_path, method))


def test_the_names_that_authors_give_in_their_experiments(tmp_path: Path) -> None:
    after = "\n\\section{Ablation study}\nIt yields a policy, that we call \\emph{Weighted policy}. It picks eggs.\n"
    assert "Weighted policy" in techniques(tmp_path, "We sample terns.\n", after)


def test_a_description_that_never_comes_again_is_no_name(tmp_path: Path) -> None:
    found = techniques(tmp_path, "We propose an expanding procedure for eggs. We construct functional estimators.\n")
    assert set(found) == {"TS"}
