from pathlib import Path

from tests.build.paper.latex.test_document import paper
from xkg.build.paper.latex.tex.labels import theorems_in
from xkg.build.paper.plain import plain


def test_a_title_that_a_macro_holds_is_that_title() -> None:
    text = r"\newtheorem{cond}{\protect\conditionname}\providecommand{\conditionname}{Condition}"
    assert theorems_in(text)["cond"].title == "Condition"
    assert theorems_in(r"\newtheorem{assumption}{\protect\assumptionname}")["assumption"].title == "Assumption"
    assert theorems_in(r"\newtheorem{lem}{\protect\lemmaname}")["lem"].title == "Lemma"


def test_a_macro_that_sets_a_label_gives_its_number(tmp_path: Path) -> None:
    preamble = r"\newcommand{\sectlabel}[1]{\label{sect:#1}}\newcommand{\eqlabel}[1]{\label{eq:#1}}"
    preamble += r"\renewcommand{\eqref}[1]{\ref{eq:#1}}"
    body = r"\section{Rings}\sectlabel{r}See \ref{sect:r} and \eqref{x}.\begin{equation}\eqlabel{x} y\end{equation}"
    document = paper(tmp_path, body, preamble)
    assert document.labels == {"sect:r": "Section 1", "eq:x": "Equation 1"}
    assert "See 1 and 1." in plain(document, document.sections[0].body_start, len(document.text))
