"""Tests the metrics for PDF parsing on texts with known differences."""

from hypothesis import given
from hypothesis import strategies as st

from evaluation.beside_latex import Share, ascending, measures
from xkg.build.paper.files import MemoryReader, PaperFiles
from xkg.build.paper.latex.document import parse_latex
from xkg.build.paper.markdown.document import parse_markdown
from xkg.model import Reference

TEX = r"""\documentclass{article}\begin{document}\section{Filters}
Particle filters keep samples with weights~\cite{a}. Samples become alike after drawing many times.

Merging replaces neighbours with their common weighted average.
\begin{equation}\label{mean} m = \sum_i w_i x_i \end{equation}
\begin{figure}\caption{Neighbours merge into their common weighted average}\end{figure}
\section{Proof of \ref{x}}\end{document}"""
SAME = r"""# Title

## 1 Filters

Particle filters keep samples with weights (Author, 2011). Samples become alike after drawing many times.

Merging replaces neighbours with their common weighted average.

$$
m = w x \tag{3}
$$

Figure 1: Neighbours merge into their common weighted average

## 2 Proof of Lemma 1
"""


def shares(markdown: str, tex: str = TEX, printed: str = "") -> dict[str, Share]:
    source = parse_latex(PaperFiles(MemoryReader({"a.tex": tex.encode()})), "a.tex")
    read = parse_markdown(PaperFiles(MemoryReader({"a.md": markdown.encode()})), "a.md")
    one, other = Reference(title="Merging of samples"), Reference(title=None, text="Author. https://example.org")
    source = source.model_copy(update={"references": (one, other)})
    read = read.model_copy(update={"references": (Reference(title="MERGING of-samples"), Reference(title="PMLR"))})
    return measures(source, read, printed)


def test_what_is_the_same_is_found() -> None:
    found = shares(SAME)
    assert found == {
        "references": Share(1, 2),
        "extra": Share(1, 2),
        "sentences": Share(3, 3),
        "sections": Share(2, 2),
        "captions": Share(1, 1),
    }


def test_what_is_missing_or_elsewhere_is_not() -> None:
    first = "Particle filters keep samples with weights (Author, 2011)."
    moved = SAME.replace(first + " ", "").replace("weighted average.\n\n$$", f"weighted average. {first}\n\n$$")
    assert shares(moved)["sentences"] == Share(2, 3)
    torn = SAME.replace(
        "become alike",
        "become something that another column says about quite other things that were read into this line alike",
    )
    assert shares(torn)["sentences"] == Share(2, 3)
    assert shares(SAME.replace("Figure 1: ", ""))["captions"] == Share(0, 1)
    assert shares(SAME.replace("## 2 Proof of Lemma 1", ""))["sections"] == Share(1, 2)


@given(st.lists(st.integers(0, 30), max_size=30))
def test_ascending_is_bounded_and_whole_where_sorted(places: list[int]) -> None:
    assert ascending(sorted(places)) == len(places)
    assert bool(places) <= ascending(places) <= len(places)
    assert ascending([*places, 31]) == ascending(places) + 1
