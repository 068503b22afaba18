"""A cross-reference leads to what it names, whatever format the paper is in."""

from pathlib import Path

import pytest

from xkg.build.guided.reading.cross_references import referenced
from xkg.build.guided.reading.passages import Passages, read_passages
from xkg.build.guided.reading.retrieval import nearest_chunks
from xkg.build.paper.read import parse_paper
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.model import Technique

MARKDOWN = (
    r"""# Tidal Descent

# Abstract

We propose tidal descent.

# 1 Method

Tidal descent solves a matrix equation in each step. For small batches a cheaper solver is presented in Lemma B. 2.

Its schedule and all other details are given in Appendix C.

# 2 Experiments

"""
    + "We compare the optimiser with others on several sets of images, where it does well.\n\n" * 60
    + r"""
# A. Proofs

The claim follows from convexity.

# B. Solvers

Lemma B.1. A first statement about matrices that are positive and large.

Lemma B. 2 (Cheap tide). The matrix $X$ equals $V - V Q (I + Q^T V Q)^{-1} Q^T V$.

# C. Details

Moon phases rise from 0.1 to 0.9.
"""
)
LATEX = r"""\documentclass{article}\begin{document}\title{Tidal Descent}\maketitle
\section{Method}
Tidal descent solves a matrix equation. Its schedule is given in Appendix~\ref{app:details}.
\appendix
\section{Proofs}
The claim follows from convexity.
\section{Details}\label{app:details}
Moon phases rise from 0.1 to 0.9.
\end{document}
"""


def passages_of(text: str, name: str, folder: Path) -> Passages:
    (folder / name).write_text(text)
    return read_passages(parse_paper(folder / name))


def holding(passages: Passages, words: str) -> int:
    return next(p.number for p in passages.listed if words in p.text)


def test_statements_and_parts_of_the_appendix_are_found_by_their_numbers(tmp_path: Path) -> None:
    passages = passages_of(MARKDOWN, "paper.md", tmp_path)
    solver, details = holding(passages, "cheaper solver"), holding(passages, "all other details")
    assert referenced([solver], passages) == [frozenset({holding(passages, "Cheap tide")})]
    assert referenced([details, solver], passages)[0] == frozenset({holding(passages, "Moon phases")})
    assert referenced([holding(passages, "Cheap tide")], passages) == []  # itself


def test_the_appendix_of_a_latex_source_is_counted(tmp_path: Path) -> None:
    passages = passages_of(LATEX, "paper.tex", tmp_path)
    assert referenced([holding(passages, "schedule")], passages) == [frozenset({holding(passages, "Moon phases")})]


def test_what_is_referred_to_and_not_there_is_left_out(tmp_path: Path) -> None:
    text = "# T\n\n# 1 Method\n\nSee Appendix Q, Lemma 9, Section 1 and Appendix A 1B, which nobody wrote.\n"
    passages = passages_of(text, "paper.md", tmp_path)
    assert referenced([holding(passages, "Appendix Q")], passages) == []


@pytest.mark.parametrize("words", ["cheaper solver", "all other details"])
def test_a_technique_is_read_where_its_passage_points(tmp_path: Path, words: str) -> None:
    passages = passages_of(MARKDOWN, "paper.md", tmp_path)
    technique = Technique(
        id="p#x", name="Step", definition="Solves.", excerpts=passages.excerpts([holding(passages, words)])
    )
    wanted = holding(passages, "Cheap tide" if "solver" in words else "Moon phases")
    first = nearest_chunks([technique], passages, OnnxEmbedder())[0][:2]
    assert wanted in {number for chunk in first for number in chunk.numbers}
