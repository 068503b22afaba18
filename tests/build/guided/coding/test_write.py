from collections.abc import Sequence
from typing import Any

import pytest

from tests.build.codebases import codebase_of, symbol
from tests.build.guided.fake_model import FakeModel
from xkg.build.code.codebase import Codebase
from xkg.build.guided.code_answers import Module
from xkg.build.guided.coding.trial import node
from xkg.build.guided.coding.write import (
    Component,
    Declined,
    Task,
    Writing,
    Written,
    size_of,
    together,
    written_from_definition,
)
from xkg.build.guided.draft import Draft
from xkg.llm.client import More
from xkg.model import Level, Technique
from xkg.sandbox.evidence.levels import prove
from xkg.sandbox.isolation.subprocess import UnsafeSubprocessRunner
from xkg.sandbox.runner import Environment, Limits

FILES = {
    "rates.py": '''import math

FLOOR = 1e-8

def decay(step):
    """Decays."""
    return max(FLOOR, math.exp(-step))
''',
    "train.py": "from rates import decay\n\n"
    "def schedule(steps, base=0.5):\n    return [base * decay(s) for s in range(steps)]\n",
}
DOCUMENTATION = "It decays. It takes a step. It gives a rate. It is called with a step. The floor is 1e-8."
DECAY: dict[str, Any] = {
    "technique": 1,
    "declined": None,
    "statements": [{"statement": 1, "origin": "lines", "note": "`decay` does it"}],
    "implementation": FILES["rates.py"],
    "test": "import math\nfrom implementation import decay\n\nfor step in (0.3, 2.5):\n"
    "    assert abs(decay(step) - math.e**-step) < 1e-12\nassert decay(100.0) == 1e-8\nassert decay(0.0) == 1.0\n",
    "documentation": f"  {DOCUMENTATION}\n",
}
SCHEDULE: dict[str, Any] = {
    "technique": 1,
    "declined": None,
    "statements": [{"statement": 1, "origin": "lines", "note": "schedule"}],
    "implementation": '"""Schedules."""\n\n\ndef schedule(steps: int, base: float = 0.5) -> list[float]:\n'
    '    """Rates, one a step."""\n    return [base * decay(s) for s in range(steps)]\n',
    "test": "import math\nfrom implementation import schedule\n\nfound = schedule(40)\nassert len(found) == 40\n"
    "for step in range(40):\n    assert abs(found[step] - 0.5 * max(1e-8, math.e**-step)) < 1e-12\n"
    "assert abs(schedule(3, 0.25)[2] - 0.25 * math.e**-2) < 1e-12\n",
    "documentation": DOCUMENTATION,
}
TECHNIQUE = Technique(id="p#decay", name="Decay", definition="Rates decay\nby exp.")
WHOLE = Technique(id="p#schedule", name="Schedule", definition="A rate for each step.")


RATES = Task(technique=TECHNIQUE, located=(symbol("rates.py::decay"),))
STEPS = Task(technique=WHOLE, located=(symbol("train.py::schedule"),))


def answering(*answers: dict[str, Any]) -> FakeModel:
    """Returns a model that gives these answers in order. Each answer contains one technique."""
    return FakeModel({"modularize": [{"modules": [answer]} for answer in answers]})


def drafts(
    tasks: Sequence[Task], codebase: Codebase, model: FakeModel, installed: Environment | None = None
) -> dict[str, Draft | Declined | str]:
    """Returns the drafts for tasks that do not depend on each other."""
    writing = Writing(tasks, codebase, model, installed)
    by_id = {task.technique.id: task for task in tasks}
    return {
        identity: writing.draft(by_id[identity], outcome) if isinstance(outcome, Written) else outcome
        for identity, outcome in writing.answers().items()
    }


def written(model: FakeModel, *components: Component, technique: Technique = TECHNIQUE) -> Draft | Declined | str:
    task = (RATES if technique is TECHNIQUE else STEPS).model_copy(update={"components": components})
    return drafts([task], codebase_of(FILES), model)[technique.id]


def proven(draft: Draft | Declined | str) -> Level:
    assert isinstance(draft, Draft)
    return prove(node(draft), UnsafeSubprocessRunner(), Environment(site=None, hash=""), Limits()).evidence.level


def component() -> Component:
    draft = written(answering(DECAY))
    assert isinstance(draft, Draft)
    given = draft.model_dump(include={"technique", "implementation", "sources", "excerpt"})
    return Component(name="Decay", **given)


def test_a_leaf_is_what_the_model_wrote_with_what_it_was_made_from() -> None:
    model = answering(DECAY)
    draft = written(model)
    assert isinstance(draft, Draft)
    assert (draft.technique, draft.implementation, draft.test) == (TECHNIQUE.id, DECAY["implementation"], DECAY["test"])
    assert draft.documentation == DOCUMENTATION
    assert draft.sources == (symbol("rates.py::decay"), symbol("rates.py::FLOOR"))
    assert "# --- rates.py:3-7" in draft.excerpt
    [(_, about, inputs, complaint)] = model.requests
    assert (about, complaint) == ("Decay", None)
    assert inputs["techniques"] == "## 1. Decay\n[1] Rates decay by exp.\n- rates.py::decay (function, lines 5-7)"
    assert inputs["code"] == draft.excerpt
    assert (inputs["packages"], inputs["components"], inputs["remarks"]) == ("numpy", "", "")
    assert proven(draft) is Level.TESTED


def test_a_composite_has_its_components_code_in_front() -> None:
    model = answering(SCHEDULE)
    draft = written(model, component(), technique=WHOLE)
    assert isinstance(draft, Draft)
    inputs = model.requests[0][2]
    assert inputs["components"].startswith("import math\n\n# --- component: Decay\nFLOOR = 1e-8\n")
    assert "_all" not in inputs["components"]
    assert "return max(FLOOR, math.exp(-step))" in inputs["components"]
    assert "math.exp" not in inputs["code"]
    assert "def decay" not in inputs["code"]
    assert inputs["remarks"] == "- Not shown again, since the component Decay was made from it: rates.py::decay"
    assert "math.exp" in draft.excerpt
    assert draft.implementation.startswith('"""Schedules."""\n\nimport math\n\n# --- component: Decay\nFLOOR = 1e-8\n')
    assert "# --- new\ndef schedule" in draft.implementation
    assert set(draft.sources) == {symbol(s) for s in ("train.py::schedule", "rates.py::decay", "rates.py::FLOOR")}
    assert proven(draft) is Level.TESTED


def test_what_a_component_was_made_from_counts_only_where_it_is_used() -> None:
    other = Component(
        name="Other",
        technique="p#other",
        implementation="def rise(x):\n    return x + 1\n",
        sources=("elsewhere",),
        excerpt="other = 1\n",
    )
    answer = SCHEDULE | {"documentation": f"{DOCUMENTATION} Other has no part in a rate."}
    draft = written(answering(answer), component(), other, technique=WHOLE)
    assert isinstance(draft, Draft)
    assert draft.uncalled == ("Other",)
    assert [(c.name, c.proven) for c in draft.components] == [("Decay", False)]
    assert "elsewhere" not in draft.sources
    assert "other = 1" not in draft.excerpt
    assert "rise" not in draft.implementation


def test_the_same_code_in_two_components_stands_there_once() -> None:
    twin = component().model_copy(update={"name": "Twin", "technique": "p#twin"})
    draft = written(answering(SCHEDULE), component(), twin, technique=WHOLE)
    assert isinstance(draft, Draft)
    assert draft.implementation.count("def decay") == 1
    assert draft.excerpt.count("math.exp(-step)") == 1


def test_components_without_code_are_told() -> None:
    model = answering(SCHEDULE)
    task = STEPS.model_copy(update={"components": (component(),), "absent": ("Restarts",)})
    draft = drafts([task], codebase_of(FILES), model)[WHOLE.id]
    assert "no code of its own; write what the code here contains of it: Restarts" in model.requests[0][2]["remarks"]
    assert isinstance(draft, Draft)
    assert draft.absent == ("Restarts",)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"declined": " "}, "one sentence that explains why"),
        ({"implementation": "def decay(x):\n    return floor(x)\n"}, "undefined: floor"),
        ({"documentation": " "}, "it is empty"),
    ],
)
def test_the_model_gets_the_faults_of_its_module(change: dict[str, Any], complaint: str) -> None:
    model = answering(DECAY | change, DECAY)
    assert isinstance(written(model), Draft)
    assert complaint in str(model.requests[0][3])
    assert model.requests[1][3] is None


def test_all_faults_are_reported_together() -> None:
    wrong = DECAY | {
        "implementation": "import argparse\n\ndef decay(x):\n    return open(x)\n",
        "test": "x = 1",
        "documentation": "",
    }
    model = answering(wrong, DECAY)
    written(model)
    complaint = str(model.requests[0][3])
    assert all(word in complaint for word in ("argparse", "open", "imports nothing", "asserts nothing", "it is empty"))


def test_packages_are_those_that_are_installed_with_their_versions() -> None:
    files = {"a.py": "import ott\nimport gone\nimport wandb\n\ndef f(x):\n    return ott.g(gone.h(wandb.i(x)))\n"}
    installed = Environment(
        site=None,
        hash="e",
        packages=("numpy==2.1.0", "ott-jax==0.2.6"),
        provided={"numpy": "numpy==2.1.0", "ott": "ott-jax==0.2.6"},
        missing={"gone": "no package gone in the registry"},
    )
    nothing = {**dict.fromkeys(DECAY.keys(), ""), "statements": []}
    model = answering({**nothing, "technique": 1, "declined": "Nothing of it is here."})
    task = Task(technique=TECHNIQUE, located=(symbol("a.py::f"),))
    drafts([task], codebase_of(files), model, installed)
    [(_, _, inputs, _)] = model.requests
    assert inputs["packages"] == "numpy 2.1.0, ott-jax 0.2.6 (import ott)"
    assert inputs["remarks"] == "- gone cannot be imported here: no package gone in the registry"


def test_functions_written_from_the_definition_alone_are_known() -> None:
    planned = [
        {"statement": 1, "origin": "lines", "note": "decay"},
        {"statement": 2, "origin": "definition", "note": "`is_low` compares"},
        {"statement": 3, "origin": "definition", "note": "decay, and is_low too"},
    ]
    more = f"{DECAY['implementation']}\n\ndef is_low(rate):\n    return rate < 0.5\n"
    answer = Module.model_validate({**DECAY, "statements": planned, "implementation": more})
    assert written_from_definition(answer) == {"is_low": (2, 3)}


def test_the_author_may_look_first_and_what_it_saw_is_among_the_source_lines() -> None:
    asking = {"modules": [], "open": ["train.py::schedule"], "search": ["base=", "nothing_has_this"]}
    model = FakeModel({"modularize": [asking, {"modules": [DECAY]}]})
    draft = written(model)
    assert isinstance(draft, Draft)
    shown = model.requests[0][3]
    assert isinstance(shown, More)
    for text in (shown.text, draft.excerpt):
        assert "# --- train.py:3-4\ndef schedule(steps, base=0.5):" in text
        assert "# train.py:3: def schedule(steps, base=0.5):" in text
    assert "# --- lines with 'nothing_has_this'\n# none" in shown.text
    assert draft.opened == (symbol("train.py::schedule"),)
    assert draft.searched


SECOND = SCHEDULE | {
    "technique": 2,
    "implementation": FILES["rates.py"] + "\n\n" + SCHEDULE["implementation"].partition("\n\n\n")[2],
}


def both(model: FakeModel) -> dict[str, Draft | Declined | str]:
    return drafts([RATES, STEPS], codebase_of(FILES), model)


def test_techniques_of_one_question_see_shared_code_once_and_are_compared_with_their_own() -> None:
    model = FakeModel({"modularize": [{"modules": [SECOND, DECAY]}]})
    found = both(model)
    [(_, about, inputs, _)] = model.requests
    assert about == "Decay, Schedule"
    assert inputs["code"].count("def decay") == 1
    assert "## 2. Schedule\n[1] A rate for each step.\n- train.py::schedule" in inputs["techniques"]
    decay, schedule = found[TECHNIQUE.id], found[WHOLE.id]
    assert isinstance(decay, Draft)
    assert isinstance(schedule, Draft)
    assert "def schedule" not in decay.excerpt
    assert "def schedule" in schedule.excerpt
    assert proven(decay) is proven(schedule) is Level.TESTED


def test_a_faulty_module_is_asked_for_again_alone() -> None:
    faulty = SECOND | {"documentation": ""}
    model = FakeModel({"modularize": [{"modules": [DECAY, faulty]}, {"modules": [SECOND | {"technique": 1}]}]})
    assert all(isinstance(draft, Draft) for draft in both(model).values())
    assert [about for _, about, *_ in model.requests] == ["Decay, Schedule", "Schedule"]
    assert model.requests[1][2]["refused"] == "documentation: it is empty"
    assert "def decay" in model.requests[1][2]["code"]


def test_a_question_holds_at_most_six_techniques_and_as_much_code_as_fits() -> None:
    codebase = codebase_of({**FILES, "long.py": "def long(x):\n" + "    x = x + 1.000001\n" * 1100 + "    return x\n"})
    short, long = (
        size_of(Task(technique=TECHNIQUE, located=(symbol(s),)), codebase) for s in ("rates.py::decay", "long.py::long")
    )
    assert [len(group) for group in together(dict.fromkeys("abcdefgh", short))] == [6, 2]
    assert together({"a": short, "b": long, "c": short, "d": long}) == [["a", "b", "c"], ["d"]]


MADE_OF_DECAY = STEPS.model_copy(update={"inside": (TECHNIQUE.id,)})


def test_a_component_that_is_written_again_stands_in_the_question_about_the_whole() -> None:
    renamed = DECAY | {k: DECAY[k].replace("decay", "fall") for k in ("implementation", "test")}
    whole = SCHEDULE | {"implementation": SCHEDULE["implementation"].replace("decay(", "fall(")}
    first = {"modules": [DECAY | {"documentation": ""}, SCHEDULE | {"technique": 2}]}
    model = FakeModel({"modularize": [first, {"modules": [renamed]}, {"modules": [whole]}]})
    outcomes = Writing([RATES, MADE_OF_DECAY], codebase_of(FILES), model).answers()
    assert [about for _, about, *_ in model.requests] == ["Decay, Schedule", "Decay", "Schedule"]
    assert "def fall(step)" in model.requests[2][2]["components"]
    assert "undefined: decay" in model.requests[2][2]["refused"]
    assert all(isinstance(outcome, Written) for outcome in outcomes.values())
