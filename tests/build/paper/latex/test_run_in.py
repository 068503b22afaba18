from pathlib import Path

import pytest

from xkg.build.guided.reading.passages import read_passages
from xkg.build.paper.document import Document
from xkg.build.paper.read import parse_paper


def document(folder: Path, body: str, kind: str = "revtex4-2") -> Document:
    preamble = "\\newcommand{\\head}[1]{\\textit{#1}.---}\\title{On Rings}"
    (folder / "p.tex").write_text(
        f"\\documentclass{{{kind}}}{preamble}\n\\begin{{document}}\n{body}\n\\end{{document}}"
    )
    return parse_paper(folder / "p.tex")


def text_of(document: Document) -> str:
    return "\n".join(passage.text for passage in read_passages(document).listed)


@pytest.mark.parametrize(
    "begin",
    [
        r"\textit{Model.}---", r"\emph{Model.---}", "\\emph{Model.—} ", r"{\it Model.---}", r"{\em Model}.---",
        r"\textbf{Model} --- ", r"\emph{Model.}\textemdash ", r"\noindent\emph{Model.} --- ", r"\textit{Model}---",
        r"\head{Model} ", r"\paragraph{Model.---}", r"\textit{\textbf{Model.}}---", r"\textit{Model.}-- ",
        "\\emph{Model.}---%\n",
    ],
)  # fmt: skip
def test_a_title_before_a_dash_is_a_heading(tmp_path: Path, begin: str) -> None:
    found = document(tmp_path, f"Rings are old.\n\n{begin}We take a ring.\n\n\\emph{{The results.---}}All rings close.")
    assert [section.title for section in found.walk()] == ["Model", "The results"]
    assert "We take a ring." in text_of(found)
    assert not set("—–") & set(text_of(found))


@pytest.mark.parametrize("begin", [r"\emph{Rings}---round things---are", r"\textit{In vivo} --- alive --- they are"])
def test_a_parenthesis_between_dashes_is_none(tmp_path: Path, begin: str) -> None:
    assert document(tmp_path, f"Rings.\n\n{begin} here.").walk() == []


@pytest.mark.parametrize(
    "frame",
    [
        r"\begin{frame}{Ring Sampling}We draw rings.\end{frame}",
        r"\begin{frame}<1->[fragile]{Ring Sampling}{A Subtitle}We draw rings.\end{frame}",
        r"\begin{frame}\frametitle<presentation>{Ring Sampling}\framesubtitle{S}We draw rings.\end{frame}",
        r"\frame{\frametitle{Ring Sampling} We draw rings.}",
        r"\begin{frame}{Ring Sampling}\begin{itemize}\item<2-> We draw rings.\item $a>1$\end{itemize}\end{frame}",
        r"\begin{frame}{Ring Sampling}\only<2>{We draw rings.}\pause\note[item]{Say hello.}\end{frame}",
        r"\begin{frame}{Ring Sampling}\begin{block}<2->{A Block}We draw rings.\end{block}\end{frame}",
    ],
)
def test_slides_have_titles_and_no_steps(tmp_path: Path, frame: str) -> None:
    found = document(tmp_path, "\\section{Method}\n" + frame, "beamer")
    assert [section.title for section in found.walk()][:2] == ["Method", "Ring Sampling"]
    text = text_of(found)
    assert "We draw rings." in text
    assert not any(step in text for step in ("<2", "<1-", "presentation", "hello"))


def test_a_command_that_is_not_known_and_begins_paragraphs_with_titles_is_a_heading(tmp_path: Path) -> None:
    parts = "\\step{Tidal Gate}\nThe gate opens.\n\n\\step{Drift Repair} It mends. \\step{Not} at a start.\n\n"
    found = document(tmp_path, f"\\section{{Method}}\nWe gate.\n\n{parts}\\once{{Kept Apart}} We thank.", "article")
    assert [section.title for section in found.walk()] == ["Method", "Tidal Gate", "Drift Repair", "Not"]
