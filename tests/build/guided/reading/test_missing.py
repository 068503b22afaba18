"""What the techniques of a paper leave out is added to them."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.build.codebases import codebase_of
from xkg.build.guided.reading.missing import Completed, in_preorder, with_missing
from xkg.build.guided.reading.paper_answer import Missing
from xkg.build.guided.reading.passages import read_passages
from xkg.build.guided.reading.public_code import PublicCode, public_code, unreached
from xkg.build.paper.document import Document
from xkg.build.paper.read import parse_paper
from xkg.model import Technique

PAPER = r"""\documentclass{article}
\title{Walkers}
\begin{document}
\maketitle
\section{Introduction}
Sampling is hard, and many people do it every day in all parts of the world.
\section{Method}
\begin{equation}\label{a} Y = X + Z(X - W) \end{equation}
is the proposal of a walker that stretches towards another walker of the ensemble.
\paragraph{Metropolis update} A proposal from a Gaussian is accepted by the ratio of densities.
We use simulated annealing with twenty temperatures before the main run begins.
\begin{equation}\label{b} \tau_f = 1 + 2 \sum_t \rho_f(t) \end{equation}
measures how long the chain remembers its beginning.
\end{document}
"""
STRETCH = Technique(
    id="p#stretch-move",
    name="Stretch Move",
    definition="The proposal of a walker, which stretches towards another walker of the ensemble, is $Y = X + Z(X-W)$.",
)


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Document:
    path = tmp_path_factory.mktemp("paper") / "paper.tex"
    path.write_text(PAPER)
    return parse_paper(path)


def entry(verdict: str, **more: Any) -> Missing:
    nothing: dict[str, Any] = {"of": 0, "name": "", "text": "", "passages": [], "code": []}
    return Missing.model_validate({"verdict": verdict, **nothing, **more})


def passage(document: Document, text: str) -> int:
    return next(p.number for p in read_passages(document).listed if text in p.text)


def completed(document: Document, *entries: Missing, code: Sequence[PublicCode] = ()) -> Completed:
    return with_missing([STRETCH], entries, read_passages(document), code)


def test_entries_add_techniques_complete_definitions_and_hide_the_rest(document: Document) -> None:
    update = passage(document, "accepted by the ratio")
    found = completed(
        document,
        entry("technique", of=1, name="Metropolis Update", text="A ratio decides on it.", passages=[update]),
        entry("part", of=1, text="It begins after annealing.", passages=[passage(document, "annealing")]),
        entry("outside", name="Autocorrelation Time", text="only judges a run"),
    )
    assert [t.id for t in found.techniques] == ["p#stretch-move", "p#stretch-move/metropolis-update"]
    assert found.techniques[1].excerpts
    assert found.techniques[1].depth == 1
    assert found.techniques[0].definition.endswith("It begins after annealing.")
    assert [t.hidden for t in found.outside] == ["not part of the paper's method: only judges a run"]
    every = in_preorder([*found.techniques, *found.outside])
    assert [t.id for t in every][:2] == [t.id for t in found.techniques]
    assert found.parts == 1


@pytest.mark.parametrize(
    "wrong",
    [
        entry("part", of=2, text="More."),
        entry("technique", of=1, name="Metropolis Update", passages=[1]),
        entry("outside", text="a baseline"),
        entry("technique", of=1, name="Metropolis Update", text="A ratio."),
        entry("technique", of=1, name="Metropolis Update", text="A ratio.", code=[7]),
        entry("part", of=1, text="The rate is 0.625."),
        entry("part", of=1, text="See Section 2."),
    ],
)
def test_an_entry_that_does_not_hold_is_passed_over(document: Document, wrong: Missing) -> None:
    found = completed(document, wrong)
    assert (found.techniques, found.outside) == ((STRETCH,), ())


def test_code_is_a_place_a_technique_or_left_out_with_its_place(document: Document) -> None:
    body = "    a = x\n    b = a\n    return b\n\n"
    names = ["walk", "metropolis_update", "anneal", "plot", "save"]
    codebase = codebase_of({"m.py": "".join(f"def {name}(x):\n{body}" for name in names)})
    code = public_code(codebase)
    assert [each.text for each in code] == [f"m.py: def {name}(x)" for name in names]
    found = completed(
        document,
        entry("technique", of=1, name="Metropolis Update", text="A ratio decides.", code=[2]),
        entry("outside", name="Simulated Annealing", text="it only begins a run", code=[3]),
        entry("part", of=1, code=[4]),
        code=code,
    )
    top, new = f"{codebase.repository.id}:m.py::", "p#stretch-move/metropolis-update"
    assert [t.id for t in found.techniques] == [STRETCH.id, new]
    assert found.places == {STRETCH.id: (f"{top}plot",), new: (f"{top}metropolis_update",)}
    assert [t.hidden for t in found.outside] == [
        "not part of the paper's method: it only begins a run (in the repository: m.py::anneal)"
    ]
    assert unreached(codebase, found.nothing_in, [f"{top}walk"]) == ("m.py::save",)


def test_entries_with_one_name_are_one_technique(document: Document) -> None:
    found = completed(
        document,
        *(
            entry("technique", of=1, name=name, text="A ratio decides.", passages=[n])
            for n, name in enumerate(("Metropolis Update", "metropolis update"), start=2)
        ),
    )
    assert [t.name for t in found.techniques] == ["Stretch Move", "Metropolis Update"]
    assert len(found.techniques[1].excerpts) == 2


def test_code_of_vendored_packages_is_asked_about_last() -> None:
    long = "def {}(x):\n    a = x\n    b = a\n    return b\n\n"
    files = {
        "apart/setup.py": "",
        "apart/apart/core.py": "".join(long.format(f"f{n}") for n in range(50)),
        "models.py": long.format("tidal"),
        "run_tide.py": long.format("pull") + "if __name__ == '__main__':\n    pull(1)\n",
    }
    first, second, *others = public_code(codebase_of(files))
    assert first.text == "models.py: def tidal(x)"
    assert second.text == "run_tide.py: def pull(x)"
    assert len(others) == 38
