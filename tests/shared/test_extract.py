"""Extracts techniques statically from real papers. The roots and the steps must match what a reader would expect."""

import os
from pathlib import Path

import pytest

from xkg.build.paper.read import parse_paper
from xkg.build.techniques.extract import extract

SHARED = Path(os.environ.get("XKG_SHARED", Path(__file__).parents[3] / "shared"))
EXPECTED = {
    "fre": ("FRE", {"Random Functions as a Prior Reward Distribution", "Offline RL with FRE"}),
    "bbox": ("BBOX-ADAPTER", {"BBOX-ADAPTER Adapted Inference", "Online Adaptation", "ranking-based NCE loss"}),
    "bam": ("BaM", {"score-based divergence", "BaM Batch Step", "BaM Match Step"}),
    "sample-specific-masks": ("SMM", {"SMM Lightweight Mask Generator Module", "SMM Patch-wise Interpolation Module"}),
    "bridging-data-gaps": ("DPMs-ANT", {"Similarity-Guided Training", "Adversarial Noise Selection"}),
    "test-time-model-adaptation": ("FOA", {"Forward-Only Prompt Adaptation", "Back-to-Source Activation Shifting"}),
    "mechanistic-understanding": (None, {"Toxicity Probe Vector", "Interventions Using Toxic Vectors"}),
}


@pytest.mark.shared
@pytest.mark.parametrize("paper", sorted(EXPECTED))
def test_trees_of_real_papers(paper: str) -> None:
    root, parts = EXPECTED[paper]
    found = extract(parse_paper(SHARED / "papers" / paper / "paper.md"), "title:x").techniques
    assert root is None or [t.name for t in found if t.depth == 0] == [root]
    assert parts <= {t.name for t in found}
    assert len(found) <= 15
    assert all(t.definition and t.excerpts for t in found)
