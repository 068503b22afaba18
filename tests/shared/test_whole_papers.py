"""Checks the passages of the shared papers, which are Mathpix Markdown that contains LaTeX."""

import os
from collections import Counter
from pathlib import Path

import pytest

from evaluation.whole_papers import measure
from xkg.build.paper.read import parse_paper

SHARED = Path(os.environ.get("XKG_SHARED") or Path(__file__).parents[3] / "shared")
pytestmark = pytest.mark.shared


def test_equations_formulas_tables_and_sentences_are_read() -> None:
    total: Counter[str] = Counter()
    for path in sorted((SHARED / "papers").glob("*/paper.md")):
        count, remarks = measure(parse_paper(path))
        assert count["rows_lost"] == 0, remarks
        total += count
    assert total["rows"] > 400
    assert total["equations_lost"] <= 1
    assert total["formulas_lost"] <= 5
    # These are impact statements, and paragraphs that directly follow a figure without a blank line.
    assert total["sentences_lost"] <= 0.03 * total["sentences"]
