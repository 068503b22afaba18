from pathlib import Path

import pytest

from tests.build.paper.latex.test_document import paper
from xkg.build.guided.reading.passages import read_passages

STEPS = r"\begin{algorithmic}\State draw $x$ \State keep $x$\end{algorithmic}"
LIST = r"\begin{enumerate}\item draw $x$ from the ring \item keep $x$\end{enumerate}"


def box(begin: str, inside: str, end: str) -> str:
    return f"\\begin{{{begin}{inside}\\end{{{end}}}"


@pytest.mark.parametrize(
    ("preamble", "body"),
    [
        ("", box("tcolorbox}[title=Algorithm 1: Ring Sampling]", STEPS, "tcolorbox")),
        ("", box(r"tcolorbox}[colback=white, title={\textbf{Algorithm 2} (Ring Sampling)}, float]", LIST, "tcolorbox")),
        ("", box(r"tcolorbox}[enhanced,title=\textsc{Algorithm} 4 --- Ring Sampling]", LIST, "tcolorbox")),
        ("", box("tcolorbox}[title=Ring Sampling]", STEPS, "tcolorbox")),
        ("", box("mdframed}[frametitle={Procedure. Ring Sampling}]", LIST, "mdframed")),
        ("", box(r"framed}\noindent\textbf{Algorithm 2.} Ring Sampling \\ ", LIST, "framed")),
        (r"\newtcolorbox{algo}[2]{title={Algorithm #1: #2}}", box("algo}{3}{Ring Sampling}", LIST, "algo")),
        (
            r"\newtcolorbox{algbox}[2][]{colback=white,title={#2},#1}",
            box("algbox}[float]{Algorithm 3: Ring Sampling}", LIST, "algbox"),
        ),
        (
            r"\newtcolorbox[auto counter]{mybox}[1]{title=Algorithm~\thetcbcounter: #1}",
            box("mybox}{Ring Sampling}", LIST, "mybox"),
        ),
        (
            r"\newtcbtheorem[auto counter]{procbox}{Algorithm}{colback=white}{alg}",
            box("procbox}{Ring Sampling}{ring}", LIST, "procbox"),
        ),
        (
            r"\DeclareTColorBox{algb}{O{} m}{title={Algorithm: #2},#1}",
            box("algb}{Ring Sampling}", LIST, "algb"),
        ),
        (
            r"\newenvironment{wrapped}[1]{\begin{tcolorbox}[title=Algorithm: #1]}{\end{tcolorbox}}",
            box("wrapped}{Ring Sampling}", LIST, "wrapped"),
        ),
        ("", box("figure*}" + box("tcolorbox}[title=Algorithm 1: Ring Sampling]", LIST, "tcolorbox"), "", "figure*")),
        (
            "",
            box("tcolorbox}[title=x]" + box(r"algorithm}\caption{Ring Sampling}", STEPS, "algorithm"), "", "tcolorbox"),
        ),
    ],
)
def test_a_box_with_the_title_of_an_algorithm_is_one(tmp_path: Path, preamble: str, body: str) -> None:
    document = paper(tmp_path, f"\\section{{Method}}\nBefore it goes.\n\n{body}\n\nAfter it goes.", preamble)
    (algorithm,) = document.algorithms
    assert algorithm.title == "Ring Sampling"
    text = "\n".join(passage.text for passage in read_passages(document).listed)
    assert text.count("draw") == 1
    assert "colback" not in text


@pytest.mark.parametrize("title", ["Takeaway", "Algorithm intuition", "Algorithmic Fairness"])
def test_a_box_with_another_title_is_text(tmp_path: Path, title: str) -> None:
    document = paper(tmp_path, f"\\section{{A}}\n\\begin{{tcolorbox}}[title={title}]Rings are round.\\end{{tcolorbox}}")
    assert document.algorithms == ()
    assert "Rings are round." in read_passages(document).listed[-1].text
