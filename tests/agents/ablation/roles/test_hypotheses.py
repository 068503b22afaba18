import pytest

from xkg.agents.ablation.candidates import Candidate, Component, Place, Space
from xkg.agents.ablation.parsing import Function
from xkg.agents.ablation.roles.answers import Gap, Hypotheses, Hypothesis, PlaceNamed
from xkg.agents.ablation.roles.hypotheses import Code, joined, objection

TEXTS = {"model.py": "\n" * 40, "conf.yaml": "beta: 1\n"}
FUNCTIONS = [
    Function(path="model.py", name=name, start_line=start, end_line=end, body_line=start + 1)
    for name, start, end in (("Net.forward", 5, 15), ("loss", 20, 25), ("unused", 30, 35))
]
METRIC = Place(path="model.py", start_line=20, end_line=25, symbol="loss")
CODE = Code(TEXTS, FUNCTIONS, {"model.py": [5, 6, 7, 21]}, [METRIC])


def place(path: str = "model.py", symbol: str = "", start: int | None = None, end: int | None = None) -> PlaceNamed:
    return PlaceNamed(path=path, symbol=symbol, start_line=start, end_line=end)


def hypothesis(name: str, *places: PlaceNamed, **more: object) -> Hypothesis:
    fields = {"name": name, "why": "w", "places": places, "technique": None, "known": (), "weight": 0.7, **more}
    return Hypothesis.model_validate(fields)


@pytest.mark.parametrize(
    ("named", "fault"),
    [
        (place("gone.py", "f"), "no file 'gone.py'"),
        (place(symbol="backward"), "no function 'backward'"),
        (place(symbol="forward", start=2, end=3), "not in forward"),
        (place(symbol="unused"), "the baseline does not run"),
        (place(symbol="loss"), "computes the metric"),
        (place(start=39, end=60), "specify a function, or a range of lines"),
        (place(), "specify a function, or a range of lines"),
    ],
)
def test_places_that_are_refused(named: PlaceNamed, fault: str) -> None:
    places, told = CODE.places(hypothesis("h", named))
    assert not places
    assert fault in told
    assert fault in str(objection(Hypotheses(components=(hypothesis("h", named),), gaps=()), CODE))


def test_a_function_without_lines_is_meant_whole() -> None:
    assert CODE.places(hypothesis("h", place(symbol="forward()")))[0] == [
        Place(path="model.py", start_line=5, end_line=15, symbol="Net.forward")
    ]
    assert CODE.places(hypothesis("h", place("conf.yaml", start=1)))[0][0].end_line == 1


def test_most_must_have_a_place() -> None:
    good, bad = hypothesis("good", place(symbol="forward")), hypothesis("bad", place("gone.py"))
    assert objection(Hypotheses(components=(good, bad), gaps=()), CODE) is None
    assert "bad: there is no file" in str(objection(Hypotheses(components=(good, bad, bad), gaps=()), CODE))
    assert objection(Hypotheses(components=(), gaps=()), CODE) is not None


def test_hypotheses_take_over_what_they_are() -> None:
    switch = Place(path="model.py", start_line=6, end_line=6)
    known = Component(id="s", name="beta", places=(switch,))
    rest = Component(id="r", name="gamma", places=(switch,))
    of = {
        "kind": "scale",
        "value": "0",
        "baseline_value": "1",
        "places": (switch,),
        "description": "d",
        "replacements": (),
    }
    candidates = tuple(Candidate.model_validate({"component": c.id, **of}) for c in (known, rest))
    technique = Component(id="arxiv:1#beta", name="Beta term", places=())
    answer = Hypotheses(
        components=(
            hypothesis("Beta", place(symbol="forward"), known=(1, 9), technique=1, weight=4.0),
            hypothesis("Beta again", place(symbol="forward"), known=(1,), technique=1),
            hypothesis("nowhere", place("gone.py")),
        ),
        gaps=(Gap(name="teacher", why="absent"),),
    )
    space = joined(Space(components=(known, rest), candidates=candidates), answer, CODE, [technique])
    assert [c.id for c in space.components] == ["arxiv:1#beta", "hypothesis::beta-again", "r"]
    assert [c.component for c in space.candidates] == ["arxiv:1#beta", "r"]
    assert space.components[0].weight == 1.0
    assert space.components[1].technique == "arxiv:1#beta"
    assert [each.name for each in space.left_out] == ["nowhere", "teacher"]
    assert [c.order for c in space.components] == [0, 1, 2]
