from pathlib import Path

import pytest

from tests.build.paper import papers
from xkg.build.paper.document import Document
from xkg.build.paper.headings import run_in, split_number
from xkg.build.paper.plain import plain
from xkg.build.paper.read import parse_paper


def paper(folder: Path, text: str) -> Document:
    path = folder / "paper.md"
    path.write_text(text)
    return parse_paper(path)


def outline(document: Document) -> list[tuple[int, str | None, str]]:
    return [(section.level, section.number, section.title) for section in document.walk()]


def test_a_mathpix_paper(tmp_path: Path) -> None:
    document = paper(tmp_path, papers.MATHPIX)
    assert document.title == "Ember: Warm Restarts for Sparse Probes"
    assert document.authors == ("Ada Lind", "Bo van der Berg")
    assert document.year == 2021
    assert document.abstract == "We present Ember, a way to restart sparse probes."
    assert outline(document) == [
        (1, "1", "Introduction"),
        (1, "2", "Method"),
        (4, None, "Warm Restart"),
        (4, None, r"Choice of $\eta_{0}$ in Eq. (3)"),
        (2, "2.1", "The Restart Loop"),
        (1, None, "Limitations"),
        (1, None, "References"),
        (1, "A", "Details"),
        (2, "A.1", "Hardware"),
    ]
    assert [s.title for s in document.walk() if s.appendix] == ["Details", "Hardware"]
    (algorithm,) = document.algorithms
    assert algorithm.title == "Warm Restart"
    assert algorithm.body.split("\n") == [
        "Input: data $X$, steps $T$",
        r"for $t=1, \ldots, T$ do",
        "Update the variables by",
        r"$w=w-\eta \nabla L(w)$",
        "Return to the start",
        "end for",
    ]
    assert [(e.latex, e.label) for e in document.equations] == [(r"\hat{w}=\arg \min _{w} L(w)", "1")]
    assert [(r.title, r.year) for r in document.references] == [
        ("Sparse probes: An étude", 2019),
        ("Are restarts enough?", 2020),
        ("Probes technical report", 2023),
    ]
    assert document.references[0].doi == "10.1234/jmlr.5"
    assert document.references[1].arxiv_id == "2001.01234"


def test_sentences_that_the_page_cut_are_whole_again(tmp_path: Path) -> None:
    document = paper(tmp_path, papers.MATHPIX)
    section = document.sections[0]
    assert plain(document, section.body_start, section.end).split("\n\n") == [
        "Probes are slow. In this work we study how to make them converge without help, "
        "and why that matters in practice. It does.",
        "Results are shown in Table 2. They are good enough for us to continue with the work described here.",
    ]
    loop = next(s for s in document.walk() if s.title == "The Restart Loop")
    assert plain(document, loop.body_start, loop.end) == (
        r"We minimise the loss $\hat{w}=\arg \min _{w} L(w)$ where $w$ is a vector."
        "\n\nof the loop. More text follows here."
    )


def test_a_plain_paper(tmp_path: Path) -> None:
    document = paper(tmp_path, papers.PLAIN)
    assert document.title == "Ember: Warm Restarts for Sparse Probes"
    assert document.authors == ("Ada Lind", "Bo van der Berg")
    assert document.year == 2021
    assert document.abstract == "We present Ember, a way to restart probes."
    assert outline(document) == [
        (1, "1", "Introduction"),
        (2, "1.1", "Why"),
        (1, None, "Method"),
        (4, None, "Warm restart"),
        (1, None, "References"),
    ]
    assert [(e.text, e.style) for e in document.emphases] == [
        ("Ember", "italic"),
        ("warm restart", "bold"),
        ("lr=0", "monospace"),
    ]
    assert [e.latex for e in document.equations] == ["L(w) = 0"]
    assert [(a.title, a.body) for a in document.algorithms] == [("Warm restart", "for t in steps:\nw = w - lr * g")]
    assert [(r.title, r.year) for r in document.references] == [("Sparse Probes", 2019), ("Restarts are enough", 2020)]
    section = document.sections[0]
    assert plain(document, section.body_start, section.children[0].start) == (
        "Probes are slow. A warm restart helps, lr=0 does not, and 2 * 3 * 4 is no emphasis. See the site."
    )


def test_latex_algorithms_and_headings_of_both_kinds_in_one_paper(tmp_path: Path) -> None:
    text = (
        "# A Title of a Paper\n\n## Abstract\n\nShort.\n\n## Introduction\n\nText.\n\n\\subsection*{1.1. Sub}\n\n"
        "\\begin{algorithm}\n\\caption{Loop}\n\\begin{algorithmic}\\State one\\end{algorithmic}\n\\end{algorithm}\n\n"
        "Algorithm 2: Bare\nInput: x\n1: do it\n2: return x\n\nAfter.\n"
    )
    document = paper(tmp_path, text)
    assert (document.title, document.abstract) == ("A Title of a Paper", "Short.")
    assert outline(document) == [(1, None, "Introduction"), (2, "1.1", "Sub")]
    assert [(a.title, a.body) for a in document.algorithms] == [
        ("Loop", "one"),
        ("Bare", "Input: x\ndo it\nreturn x"),
    ]


def test_a_paper_without_sections(tmp_path: Path) -> None:
    document = paper(tmp_path, "Just text.\n\nAnd *more* of it.\n")
    assert document.sections == ()
    assert plain(document, 0, len(document.text)) == "Just text.\n\nAnd more of it."


@pytest.mark.parametrize(
    ("heading", "number", "title"),
    [
        ("3.1. Algorithm", "3.1", "Algorithm"),
        ("A. Proofs", "A", "Proofs"),
        ("C.1 Batch step", "C.1", "Batch step"),
        ("Appendix B: More", "B", "More"),
        ("IV. RESULTS", "IV", "RESULTS"),
        ("A Mechanistic View", None, "A Mechanistic View"),
        ("3D Reconstruction", None, "3D Reconstruction"),
        ("2024 in review", None, "2024 in review"),
        ("V-trace", None, "V-trace"),
    ],
)
def test_numbers_of_headings(heading: str, number: str | None, title: str) -> None:
    assert split_number(heading) == (number, title)


@pytest.mark.parametrize(
    "title",
    [
        "Goal-conditioned RL",
        "Zero-shot reinforcement learning with successor features",
        "Datasets",
        "SMM Has a Lower Approximation Error",
        "Effects of Number of Prompt Embeddings $N_{p}$ in FOA",
    ],
)
def test_titles_that_open_a_paragraph(title: str) -> None:
    text = f"{title}. This is what the paragraph goes on to say, at some length."
    assert run_in(text, 0, len(text)) == (title, len(title) + 2)


@pytest.mark.parametrize(
    "text",
    [
        "Results are shown in Table 3. The numbers there are means over ten runs of it.",
        "Figure 3. Overview of the method and of all the parts that it consists of, left to right.",
        "Proof. The claim follows from the lemma above and from the definition of the step.",
        "Theorem 3.1. Suppose that the step is small enough for all of this to be of use.",
        "Lind, A. Sparse probes and what they are good for. Journal of Nothing, 12, 2019.",
        "FRE assumes that rewards are pure. All of the rewards that we use here are of that kind.",
        "Q: Was it enough. The answer to this question is not known to us at the time of writing.",
        "Vaswani et al. (2017) proposed attention, which all of the later work has made use of.",
        "Short Title. Too short.",
        "The divergence in eq. (3) has many properties that are of use. We name some of them here.",
    ],
)
def test_sentences_that_open_a_paragraph(text: str) -> None:
    assert run_in(text, 0, len(text)) is None


def test_pseudocode_with_a_caption_below_it(tmp_path: Path) -> None:
    text = "# A Title\n\n## Method\n\nText.\n\n```\ny = 2\n```\n\n**Listing 3**: Shell check\n\n## End\n\nText.\n"
    assert [(a.title, a.body) for a in paper(tmp_path, text).algorithms] == [("Shell check", "y = 2")]


def test_tags_are_the_numbers_of_equations(tmp_path: Path) -> None:
    text = "# A Title of a Paper\n\n## Method\n\nIt is\n\n$$\nx = y \\tag{3}\n$$\n\nand\n\n$$\nz\n$$\n"
    assert [e.numbers for e in paper(tmp_path, text).equations] == [("3",), ()]
