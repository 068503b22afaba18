"""What the definitions of a paper's techniques leave out is asked about once, and the answer is kept."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.build.guided.fake_model import FakeModel
from tests.build.slicing.test_slice import codebase_of
from xkg.build.guided.reading.passages import read_passages
from xkg.build.guided.reading.sweep import in_preorder, sweep_with_model
from xkg.build.guided.reading.uncovered import left_side, uncovered
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


def item(candidate: int, verdict: str, **more: Any) -> dict[str, Any]:
    return {"candidate": candidate, "verdict": verdict, "of": 0, "name": "", "text": "", **more}


def test_formulas_heads_and_steps_without_a_definition_are_found(document: Document) -> None:
    found = " ".join(each.text for each in uncovered(read_passages(document), [STRETCH]))
    assert "\\tau_f" in found
    assert "Metropolis update" in found
    assert "simulated annealing" in found
    assert "Z(X - W)" not in found
    assert "Sampling is hard" not in found


def test_the_answer_adds_techniques_completes_definitions_and_hides_the_rest(document: Document) -> None:
    numbers = [n for n, _ in enumerate(uncovered(read_passages(document), [STRETCH]), start=1)]
    first, *others = numbers
    answer = {
        "items": [
            item(first, "technique", of=1, name="Metropolis Update", text="A proposal is accepted by a ratio."),
            *(item(n, "outside", name="Simulated Annealing", text="no part of it") for n in others[:1]),
            *(item(n, "part", of=1, text="It begins after annealing.") for n in others[1:]),
        ]
    }
    swept = sweep_with_model([STRETCH], document, FakeModel({"sweep": [answer]}))
    assert [t.id for t in swept.techniques] == ["p#stretch-move", "p#stretch-move/metropolis-update"]
    assert swept.techniques[1].excerpts
    assert swept.techniques[1].depth == 1
    assert [t.hidden for t in swept.outside] == ["not part of the paper's method: no part of it"] * len(others[:1])
    assert ("annealing" in swept.techniques[0].definition) is bool(others[1:])
    every = in_preorder([*swept.techniques, *swept.outside])
    assert [t.id for t in every][:2] == [t.id for t in swept.techniques]


def test_an_answer_that_says_nothing_of_a_passage_goes_back(document: Document) -> None:
    numbers = [n for n, _ in enumerate(uncovered(read_passages(document), [STRETCH]), start=1)]
    whole = {"items": [item(n, "none") for n in numbers]}
    ask = FakeModel({"sweep": [{"items": whole["items"][:-1]}, whole]})
    swept = sweep_with_model([STRETCH], document, ask)
    assert swept.techniques == (STRETCH,)
    assert swept.passages == len(numbers)
    assert "once" in (ask.requests[0][-1] or "")


def test_code_that_no_technique_uses_is_a_place_a_technique_or_left_out_with_its_place(document: Document) -> None:
    body = "    a = x\n    b = a\n    return b\n\n"
    names = ["walk", "metropolis_update", "anneal", "plot"]
    codebase = codebase_of({"m.py": "".join(f"def {name}(x):\n{body}" for name in names)})
    top = f"{codebase.repository.id}:m.py::"
    located = {STRETCH.id: [f"{top}walk"]}
    count = len(uncovered(read_passages(document), [STRETCH]))
    by_name = {
        "metropolis_update": {"verdict": "technique", "of": 1, "name": "Metropolis Update", "text": "A ratio decides."},
        "anneal": {"verdict": "outside", "name": "Simulated Annealing", "text": "it only begins a run"},
        "plot": {"verdict": "part", "of": 1},
    }

    def answer(inputs: Mapping[str, str]) -> dict[str, Any]:
        found = re.findall(r"^(\d+)\. m\.py:\S+ def (\w+)", inputs["code"], re.M)
        items = [item(int(n), **{"verdict": "none", **by_name[name]}) for n, name in found]
        return {"items": [*(item(n, "none") for n in range(1, count + 1)), *items]}

    swept = sweep_with_model([STRETCH], document, FakeModel({"sweep": answer}), codebase, located)
    new = "p#stretch-move/metropolis-update"
    assert [t.id for t in swept.techniques] == [STRETCH.id, new]
    assert swept.places == {STRETCH.id: (f"{top}plot",), new: (f"{top}metropolis_update",)}
    assert [t.hidden for t in swept.outside] == [
        "not part of the paper's method: it only begins a run (in the repository: m.py::anneal)"
    ]
    assert (swept.passages, swept.code) == (count, 3)


def test_candidates_with_one_name_are_one_technique(document: Document) -> None:
    count = len(uncovered(read_passages(document), [STRETCH]))
    items = [item(n, "technique", of=1, name="Metropolis Update", text="A ratio decides.") for n in range(1, count + 1)]
    swept = sweep_with_model([STRETCH], document, FakeModel({"sweep": [{"items": items}]}))
    assert [t.name for t in swept.techniques] == ["Stretch Move", "Metropolis Update"]
    assert len(swept.techniques[1].excerpts) == count


def test_where_nothing_was_found_is_stored(document: Document) -> None:
    found = uncovered(read_passages(document), [STRETCH])
    none = {"items": [item(n, "none") for n in range(1, len(found) + 1)]}
    nothing_in = sweep_with_model([STRETCH], document, FakeModel({"sweep": [none]})).nothing_in
    assert found
    assert [text[:60] for text in nothing_in] == [" ".join(each.text.split())[:60] for each in found]
    assert all(len(text) <= 161 for text in nothing_in)
    part = {"items": [item(n, "part", of=1, text="A ratio decides.") for n in range(1, len(found) + 1)]}
    assert sweep_with_model([STRETCH], document, FakeModel({"sweep": [part]})).nothing_in == ()


def test_code_without_a_technique_is_stored_by_its_name(document: Document) -> None:
    source = "def walk(x):\n    y = x + 1\n    z = y * 2\n    return z - x\n"
    codebase = codebase_of({"walkers.py": source})

    def none(inputs: Mapping[str, str]) -> dict[str, Any]:
        numbers = re.findall(r"^(\d+)\. ", f"{inputs['passages']}\n{inputs['code']}", re.M)
        return {"items": [item(int(n), "none") for n in numbers]}

    swept = sweep_with_model([STRETCH], document, FakeModel({"sweep": none}), codebase, {})
    assert swept.nothing_in[-1] == "walkers.py::walk"


def test_what_is_left_out_has_a_name(document: Document) -> None:
    count = len(uncovered(read_passages(document), [STRETCH]))
    nameless = {"items": [item(n, "outside", text="a baseline") for n in range(1, count + 1)]}
    whole = {"items": [item(n, "none") for n in range(1, count + 1)]}
    ask = FakeModel({"sweep": [nameless, whole]})
    assert sweep_with_model([STRETCH], document, ask).outside == ()
    assert "give its name" in (ask.requests[0][-1] or "")


def test_conditions_and_procedures_of_experiments_are_asked_about_and_proofs_and_cited_passages_are_not(
    tmp_path: Path,
) -> None:
    path = tmp_path / "paper.tex"
    path.write_text(
        r"""\documentclass{article}\newtheorem{cond}{\protect\conditionname}\providecommand{\conditionname}{Condition}
\title{T}\begin{document}\maketitle
\section{Method} A walker stretches towards another walker.
\section{Results}
\begin{cond}[Complexity] A set of weights has complexity $\delta$ if its gradients average to at most that.\end{cond}
\begin{proof} We compute the bound by induction over the weights of the set.\end{proof}
\section{Experiments}
We regress the genes on a spline basis, and cluster the coefficients. We use a fast computer.
\end{document}"""
    )
    passages = read_passages(parse_paper(path))
    found = uncovered(passages, [STRETCH])
    texts = " ".join(each.text for each in found)
    assert "Condition 1 (Complexity). A set" in texts
    assert "spline basis" in texts
    assert "induction" not in texts
    citing = STRETCH.model_copy(update={"excerpts": passages.excerpts([each.passage for each in found])})
    assert uncovered(passages, [citing]) == []


def test_nothing_is_asked_where_all_is_covered(document: Document) -> None:
    text = " ".join(piece.text for p in read_passages(document).listed for piece in p.pieces)
    whole = STRETCH.model_copy(update={"definition": f"{text} $\\tau_f$ $Y$ Metropolis update"})
    assert sweep_with_model([whole], document, FakeModel({})).techniques == (whole,)


@pytest.mark.parametrize(
    ("latex", "left"),
    [
        (r"\hat{P}_{N}(\omega) = 1 - \chi^2", "P_N"),
        (r"\mathrm{KL}(p\,\|\,q) := \int p", "KL"),
        (r"x + y", ""),
        (r"= 3", ""),
    ],
)
def test_the_left_side_of_an_equation_is_its_symbol(latex: str, left: str) -> None:
    assert left_side(latex) == left
