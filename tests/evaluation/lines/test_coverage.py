import numpy as np

from evaluation.lines.coverage import MarkedTechnique, scores
from evaluation.lines.overlap import span
from xkg.model import Code, Derivation, LineRange, Location, Paper, PaperBundle, Symbol, Technique


def nothing_alike(names, others):
    return np.zeros((len(names), len(others)), dtype=np.float32)


def symbol(name: str, first: int, last: int) -> Symbol:
    return Symbol(
        id=name, repository="r", path="a.py", qualified_name=name, kind="function", start_line=first, end_line=last
    )


BUNDLE = PaperBundle(
    paper=Paper(id="title:p", title="P", origin="build"),
    techniques=(Technique(id="title:p#kernel", name="Kernel"), Technique(id="title:p#step", name="Step rule")),
    code=(Code(id="title:p#kernel@1", technique="title:p#kernel", implementation="x"),),
    symbols=(symbol("f", 1, 10), symbol("g", 21, 30)),
    locations=(
        Location(technique="title:p#kernel", symbol="f", score=1, rank=1, focus=(LineRange(start_line=1, end_line=4),)),
        Location(technique="title:p#step", symbol="g", score=1, rank=1),
    ),
    derivations=(Derivation(code="title:p#kernel@1", symbol="f"),),
)


def test_places_by_their_own_technique_and_by_any() -> None:
    marked = [
        MarkedTechnique("g#kernel", "kernel", (span("a.py", 3, 6), span("a.py", 21, 22))),
        MarkedTechnique("g#noise", "noise", (span("a.py", 40, 41),)),
    ]
    assert scores(marked, BUNDLE, nothing_alike) == {
        "gold places touched by any technique": {"g#kernel@0": 1.0, "g#kernel@1": 1.0, "g#noise@0": 0.0},
        "gold places touched by their technique": {"g#kernel@0": 1.0, "g#kernel@1": 0.0, "g#noise@0": 0.0},
        "lines of gold places in its places": {"g#kernel@0": 0.5, "g#kernel@1": 0.0, "g#noise@0": 0.0},
        "lines of gold places in its code": {"g#kernel@0": 1.0, "g#kernel@1": 0.0, "g#noise@0": 0.0},
    }
