from pathlib import Path

import pytest

from xkg.build.guided.reading.paper_text import paper_text
from xkg.build.guided.reading.passages import Passages, read_passages
from xkg.build.paper.read import parse_paper

PAPER = r"""# Tidal Descent

## Abstract

We propose tidal descent.

## Introduction

Sailors have watched the tide for a long time.

## Preliminaries and related work

The pull is $\pi(x) = x^2$, as in older works.

## Method

The water is pulled by $\pi$ and by the moon $M$, which the appendix defines.

## Experiments

We tried it in many harbours, and it was faster in 93 of them.

### Implementation details

The step is 0.25 in all harbours.

### Ablations

Without the moon the loss

$$
L(x) = \sum_i M(x_i)
$$

grows. Some of us were surprised.

| harbour | days |
|---|---|
| north | 12.5 |

## Related work

Others have sailed before.

## Acknowledgements

We thank the moon.

## References

Long, A. Tides. 1990.

# Appendix

## A. The moon

The moon is $M(x) = \cos(x)^2$.

## B. Proof of Theorem 1

Lemma 1. The water of every harbour falls again when the moon has set.

It follows by induction over harbours.

## C. More results

In the south it was slower.
"""


@pytest.fixture(scope="module")
def passages(tmp_path_factory: pytest.TempPathFactory) -> Passages:
    path = tmp_path_factory.mktemp("paper") / "paper.md"
    path.write_text(PAPER, encoding="utf-8")
    return read_passages(parse_paper(path))


@pytest.mark.parametrize(
    "words",
    [
        r"\pi(x) = x^2",
        "pulled by",
        "The step is 0.25",
        r"L(x) = \sum_i",
        r"M(x) = \cos(x)^2",
        "when the moon has set",
        "in 93 of",
    ],
)
def test_what_defines_something_is_shown_wherever_it_stands(passages: Passages, words: str) -> None:
    assert words in paper_text(passages, 128_000)


@pytest.mark.parametrize("words", ["12.5", "Others have", "Long, A.", "by induction", "We thank"])
def test_tables_of_results_related_work_and_proofs_are_left_out(passages: Passages, words: str) -> None:
    text = paper_text(passages, 128_000)
    assert words not in text
    assert "Experiments" in text
    assert "More results" in text


def test_a_small_window_keeps_the_method(tmp_path: Path) -> None:
    sailors = "Sailors have watched the tide for a long time.\n\n"
    path = tmp_path / "paper.md"
    path.write_text(PAPER.replace(sailors, sailors * 40), encoding="utf-8")
    text = paper_text(read_passages(parse_paper(path)), 800)
    assert len(text) <= 4 * 200 + 100
    assert "pulled by" in text
    assert text.count("Sailors") < 10
