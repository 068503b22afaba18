"""Parses the shared papers, which are all Mathpix Markdown, and checks outline, front matter, references and text."""

import os
import re
from functools import cache
from pathlib import Path

import pytest

from xkg.build.paper.document import Document
from xkg.build.paper.plain import plain
from xkg.build.paper.read import parse_paper

SHARED = Path(os.environ.get("XKG_SHARED") or Path(__file__).parents[3] / "shared")
pytestmark = pytest.mark.shared

# Each row contains the title, the authors, the sections of the main part, and the number of references.
PAPERS = {
    "bam": ("Batch and match", 7, 6, 55),
    "bbox": ("BBox-AdAPTER", 5, 5, 60),
    "bridging-data-gaps": ("Bridging Data Gaps", 5, 6, 39),
    "fre": ("Unsupervised Zero-Shot", 4, 6, 60),
    "mechanistic-understanding": ("A Mechanistic Understanding", 6, 9, 52),
    "sample-specific-masks": ("Sample-specific Masks", 5, 6, 46),
    "test-time-model-adaptation": ("Test-Time Model Adaptation", 5, 5, 78),
}
RUN_IN = {
    "bam": ["Notation", "Batch Step", "Match Step", "KL regularization term"],
    "bbox": ["Initialization", "Sampling from Adapted Inference", "Updating Training Data with Feedback"],
    "bridging-data-gaps": ["Datasets", "Configurations", "Evaluation Metrics", "Baselines"],
    "fre": ["Goal-conditioned reinforcement learning", "Offline Meta-RL", "Practical Implementation"],
    "mechanistic-understanding": ["Transformers, MLPs", "Gated Linear Units", "SVD: Decomposed Toxic Vectors"],
    "sample-specific-masks": ["Hypothesis Space Induced by SMM", "Impact of Masking"],
    "test-time-model-adaptation": ["CMA-Based Prompt Adaptation", "Fitness Function for CMA", "Statistics calculation"],
}
ALGORITHMS = {
    "bam": ["Batch and match VI", "Implementation of ADVI", "Implementation of GSM"],
    "bbox": ["Overview of BBOX-ADAPTER"],
    "bridging-data-gaps": ["Training DPMs with ANT"],
    "fre": ["Functional Reward Encodings (FRE)"],
    "test-time-model-adaptation": ["Forward-Optimization Adaptation (FOA)"],
}


@cache
def read(name: str) -> Document:
    return parse_paper(SHARED / "papers" / name / "paper.md")


@pytest.mark.parametrize("name", PAPERS)
def test_front_matter(name: str) -> None:
    title, authors, _, _ = PAPERS[name]
    document = read(name)
    assert document.title.startswith(title)
    assert len(document.authors) == authors
    assert document.year == 2024
    assert len(document.abstract) > 500
    assert document.warnings == ()


@pytest.mark.parametrize("name", PAPERS)
def test_outline(name: str) -> None:
    document = read(name)
    numbers = [s.number for s in document.sections if s.number and not s.appendix]
    assert numbers == [str(n + 1) for n in range(PAPERS[name][2])]
    lines = document.text.split("\n")
    marked = [line for line in lines if line.startswith(("\\section*{", "\\subsection*{"))]
    repeated = [line for line in marked if line.endswith("of Alignment Algorithms}")]
    found = [s for s in document.walk() if s.level < 4]
    assert len(found) == len(marked) - len(repeated)
    for section in found:
        if section.number:
            assert section.level == section.number.count(".") + 1
            assert section.appendix == section.number[0].isalpha()
    run_ins = [s.title for s in document.walk() if s.level == 4]
    assert set(RUN_IN[name]) <= set(run_ins)
    assert not [t for t in run_ins if re.match(r"(?:Proof|Theorem|Figure|Table|We|In)\b|.* is ", t)]


@pytest.mark.parametrize("name", PAPERS)
def test_references(name: str) -> None:
    references = read(name).references
    assert len(references) == PAPERS[name][3]
    assert all(r.title and r.year and 1930 < r.year < 2025 for r in references)
    assert not [r.title for r in references if r.title and (len(r.title) < 8 or "http" in r.title)]
    assert sum(r.arxiv_id is not None for r in references) >= 3


@pytest.mark.parametrize("name", ALGORITHMS)
def test_algorithms(name: str) -> None:
    document = read(name)
    assert [a.title for a in document.algorithms] == ALGORITHMS[name]
    assert all(len(a.body.split("\n")) >= 6 for a in document.algorithms)


@pytest.mark.parametrize("name", PAPERS)
def test_text_reads_as_text(name: str) -> None:
    document = read(name)
    for section in document.walk():
        if section.children or section.title in ("References", "Prompt Design"):
            continue
        text = plain(document, section.body_start, section.end)
        without_math = re.sub(r"\$[^$]*\$", "", text)
        assert not re.search(r"\\(?:section|footnote|begin|text)|!\[|```|\{\}|et al\., \d{4}", without_math)
        assert "Correspondence to" not in text
