"""The printed names of statements and of references to them."""

from pathlib import Path

from xkg.build.guided.reading.passages import read_passages
from xkg.build.paper.latex.tex.labels import theorems_in
from xkg.build.paper.read import parse_paper


def test_a_title_that_a_macro_holds_is_that_title() -> None:
    text = r"\newtheorem{cond}{\protect\conditionname}\providecommand{\conditionname}{Condition}"
    assert theorems_in(text)["cond"].title == "Condition"
    assert theorems_in(r"\newtheorem{assumption}{\protect\assumptionname}")["assumption"].title == "Assumption"
    assert theorems_in(r"\newtheorem{lem}{\protect\lemmaname}")["lem"].title == "Lemma"


def test_references_of_refstyle_have_their_word(tmp_path: Path) -> None:
    path = tmp_path / "paper.tex"
    path.write_text(
        r"""\documentclass{article}\newtheorem{cond}{Condition}
\AtBeginDocument{\providecommand\condref[1]{\ref{cond:#1}}}
\newref{cond}{refcmd={Condition \ref{#1}}}
\title{T}\begin{document}\maketitle
\section{Method}
\begin{cond}\label{cond:set} The weights average to at most one in every set that is asked for.\end{cond}
Now \condref{set} is what the bound of the approximation needs in all that follows.
\end{document}"""
    )
    text = " ".join(passage.text for passage in read_passages(parse_paper(path)).listed)
    assert "Now Condition 1 is what" in text
    assert "Condition 1. The weights average" in text
