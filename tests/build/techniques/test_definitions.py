from pathlib import Path

import pytest

from xkg.build.paper.read import parse_paper
from xkg.build.techniques.extract import extract

PAPER = """# Tide gauges that listen

## Abstract

We propose TideNet, a network that listens to tide gauges. It filters the gauges and sums them.

## Method

{method}

## Experiments

We compare TideNet with three baselines on one data set.
"""


def definition(folder: Path, name: str, method: str) -> str:
    path = folder / "paper.md"
    path.write_text(PAPER.format(method=method))
    found = extract(parse_paper(path), "title:tides").techniques
    return next(t.definition for t in found if name in (t.name, *t.aliases))


@pytest.mark.parametrize(
    "aside",
    [
        "A growing line of work finds that gauge filtering can be undone by a storm.",
        "Several recent studies apply gauge filtering to rivers and lakes.",
        "We view gauge filtering as an explanation of why gauges are so seldom wrong.",
        "Interestingly, we strongly believe that gauge filtering is what made the old gauges work.",
        "Figure 3 shows gauge filtering on one gauge.",
    ],
)
def test_what_others_did_and_authors_think_defines_nothing(tmp_path: Path, aside: str) -> None:
    method = f"### Gauge filtering\n\n{aside} We multiply each gauge by a window of ten samples and keep the median."
    assert definition(tmp_path, "Gauge filtering", method).startswith("We multiply each gauge by a window")


def test_a_section_of_one_sentence_is_defined_by_its_background(tmp_path: Path) -> None:
    method = (
        "### Gauge alignment using dynamic warping\n\nWe next describe our alignment using dynamic warping.\n\n"
        "#### Background: dynamic warping\n\n"
        "Dynamic warping relies on pairs of gauges, of which the later one is stretched. "
        "It minimizes the sum of squared differences over all monotone paths.\n\n"
        "#### Window choice\n\nThe window choice sets the widest stretch to one hour, by a grid search over ten "
        "widths, as gauge alignment using dynamic warping needs."
    )
    found = definition(tmp_path, "Gauge alignment using dynamic warping", method)
    assert found.startswith("Dynamic warping relies on pairs of gauges")


def test_a_label_is_not_a_definition(tmp_path: Path) -> None:
    method = (
        "### Gauge filtering by medians\n\n**Algorithm.**\n\n#### Window choice\n\n"
        "The window choice sets the widest window to one hour, by a grid search over ten widths."
    )
    assert definition(tmp_path, "Gauge filtering by medians", method).startswith("The window choice sets")
