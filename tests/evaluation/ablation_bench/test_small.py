"""Checks that text cut off for the small benchmark does not reappear in the graph."""

import json
from pathlib import Path

from evaluation.ablation_bench.instances import load
from evaluation.ablation_bench.small import leaks, make
from xkg.model import Finding, Paper, PaperBundle, Technique

PAPER = """\\title{Crust by Steam}
\\begin{abstract}
We bake loaves with steam. Steam makes a soft crust.
\\end{abstract}
\\section*{1. Introduction}
Crust matters. We propose steam injection, which pours water on hot iron in the oven.
\\section*{2. Method}
\\subsection*{2.1. Steam Injection}
Steam injection pours water on hot iron so that the crust stays soft while the loaf rises in the oven.
\\subsection*{2.2. Scoring}
Scoring cuts the dough with a blade before it enters the oven so that the loaf opens where it is cut.
\\section*{3. Experiments}
We bake without steam and find that loaves of rye stay flat and dense in nine of ten ovens that we tried.
"""
ABLATION = {"name": "No steam", "ablated_part": "steam injection", "action": "REMOVE", "metrics": ["height"]}
GOLD = {"id": "crust", "cut_before": "experiments", "ablations_in_paper": json.dumps([ABLATION])}


def bundle(definition: str, **fields: object) -> PaperBundle:
    paper = Paper(id="p", title="Crust by Steam", origin="build")
    technique = Technique(id="p#steam", name="Steam", definition=definition)
    return PaperBundle(paper=paper, techniques=(technique,), **fields)  # type: ignore[arg-type]


def test_a_paper_is_cut_and_its_graph_has_nothing_of_the_rest(tmp_path: Path) -> None:
    (tmp_path / "papers" / "crust").mkdir(parents=True)
    (tmp_path / "papers" / "crust" / "paper.md").write_text(PAPER)
    out = tmp_path / "out"
    (audit,) = make(tmp_path / "papers", None, out, [GOLD])
    assert audit.clean
    assert audit.words > 20
    (instance,) = load(out / "instances.jsonl", "author").instances
    assert (instance.id, [g.name for g in instance.golds]) == ("crust", ["No steam"])
    assert instance.abstract == "We bake loaves with steam. Steam makes a soft crust."
    cut = (out / "papers" / "crust" / "paper.md").read_text()
    assert "Scoring cuts" in cut
    assert "Experiments" not in cut


def test_what_was_cut_off_is_found_in_a_graph_that_has_it() -> None:
    cut, _, rest = PAPER.partition("\\section*{3. Experiments}")
    stolen = "In our ovens the loaves of rye stay flat and dense in nine of ten ovens."
    audit = leaks(bundle(stolen), cut, rest)
    assert not audit.clean
    assert audit.example == "loaves of rye stay flat and dense in"
    assert leaks(bundle("Steam injection pours water on hot iron so that the crust stays soft."), cut, rest).clean
    finding = Finding(id="p#finding/1", name="Steam helps")
    assert not leaks(bundle("Steam.", findings=(finding,)), cut, rest).clean
