from pathlib import Path

from xkg.build.guided.reading.paper_text import paper_text
from xkg.build.guided.reading.passages import read_passages
from xkg.build.paper.read import parse_paper

PAPER = "\n\n".join(
    [
        "# Tidal Descent",
        "## Introduction",
        "Sailors have watched the tide for a long time.",
        "## Preliminaries and related work",
        r"The pull is $\pi(x) = x^2$, as in older works.",
        "## Method",
        r"The water is pulled by $\pi$ and by the moon $M$, which the appendix defines.",
        "## Experiments",
        "We tried it in many harbours, and it was faster in 93 of them.",
        "### Implementation details",
        "The step is 0.25 in all harbours.",
        "### Ablations",
        "Without the moon the loss",
        "$$\n" r"L(x) = \sum_i M(x_i)" "\n$$",
        "grows. Some of us were surprised.",
        "| harbour | days |\n|---|---|\n| north | 12.5 |",
        "## Related work",
        "Others have sailed before.",
        "## Acknowledgements",
        "We thank the moon.",
        "## References",
        "Long, A. Tides. 1990.",
        "# Appendix",
        "## A. The moon",
        r"The moon is $M(x) = \cos(x)^2$.",
        "## B. Proof of Theorem 1",
        "Lemma 1. The water of every harbour falls again when the moon has set.",
        "It follows by induction over harbours.",
        "## C. More results",
        "In the south it was slower.",
    ]
)


def test_what_defines_something_is_shown_wherever_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "paper.md"
    path.write_text(PAPER, encoding="utf-8")
    text = paper_text(read_passages(parse_paper(path)), 128_000)
    assert "Experiments" in text
    assert "More results" in text
    for words in (
        r"\pi(x) = x^2",
        "pulled by",
        "is 0.25",
        r"L(x) = \sum_i",
        r"M(x) = \cos(x)^2",
        "moon has set",
        "in 93",
    ):
        assert words in text
    for words in ("12.5", "Others have", "Long, A.", "by induction", "We thank"):
        assert words not in text


def test_a_small_window_keeps_the_method(tmp_path: Path) -> None:
    sailors = "Sailors have watched the tide for a long time.\n\n"
    path = tmp_path / "paper.md"
    path.write_text(PAPER.replace(sailors, sailors * 40), encoding="utf-8")
    text = paper_text(read_passages(parse_paper(path)), 800)
    assert len(text) <= 4 * 200 + 100
    assert "pulled by" in text
    assert text.count("Sailors") < 10
