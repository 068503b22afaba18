"""Writes code for one technique after another, with a scripted model and a runner without a sandbox."""

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.build.codebases import codebase_of, symbol
from tests.build.guided.fake_model import FakeModel
from tests.build.guided.quick_runner import QuickRunner
from tests.timeless import timeless_code
from tests.tiny_world import (
    FILES,
    Question,
    code,
    declined,
    script,
    sound,
    verdict,
    written,
)
from xkg.build.guided.coding.technique import Coded, CodingContext, code_techniques
from xkg.build.guided.coding.trial import Trials
from xkg.build.guided.draft import prompt
from xkg.config import LlmSettings, Settings
from xkg.errors import AnswerError, BudgetError, LanguageModelError, ModelUnavailableError
from xkg.llm.prompt import Prompt
from xkg.model import Code, Level, Technique
from xkg.sandbox.runner import Environment, Limits

TOP = Technique(id="p#top", name="Damped peak filter", definition="Clips counts, then damps them.")
CLIPPING = Technique(id="p#top/clip", name="Median peak clipping", definition="Clips.", parent=TOP.id)
DAMPING = Technique(id="p#top/damp", name="Exponential damping", definition="Damps.", parent=TOP.id)
ALL = [TOP, CLIPPING, DAMPING]


LOCATED = {
    TOP.id: [symbol("counts/filtering.py::filter_counts")],
    CLIPPING.id: [symbol("counts/clipping.py::clip_peaks")],
    DAMPING.id: [symbol("counts/damping.py::damp")],
}
CODEBASE = codebase_of(FILES)


class Build:
    """Writes code in one folder with the given answers. Each call is a separate build. `progress` is the last progress
    reported."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model = FakeModel({})
        self.progress: list[tuple[int, int, str]] = []
        self.incomplete = False
        self.prompts = "1"

    def for_paper(self, _: str) -> FakeModel:
        return self.model

    def identity(self, *prompts: Prompt) -> Mapping[str, str]:
        return {prompt.name: self.prompts for prompt in prompts}

    def __call__(
        self,
        techniques: Sequence[Technique] = ALL,
        located: Mapping[str, Sequence[str]] = LOCATED,
        *,
        runs: bool = True,
        jobs: int = 1,
        **changed: Callable[[Question], Any],
    ) -> tuple[dict[str, Coded], LanguageModelError | None]:
        self.model = FakeModel(script(**{"modularize": sound, **changed}))
        self.progress = []
        settings = Settings(kg=self.folder, llm=LlmSettings(concurrency=jobs))
        environment = Environment(site=None, hash="none", incomplete=self.incomplete)
        trials = Trials(self.folder / "runs", QuickRunner(), Limits(), lambda *_: environment, [], None, {})
        context = CodingContext(
            folder=self.folder,
            why={},
            settings=settings,
            codebase=CODEBASE,
            model=self,
            ask=self.model,
            trials=trials if runs else None,
            runs=runs,
            jobs=jobs,
        )
        return code_techniques(techniques, located, context, lambda *event: self.progress.append(event))

    @property
    def requests(self) -> list[tuple[str, str]]:
        """Returns each prompt with the technique that it asks about, in the order of the answers."""
        return [(name, part.technique) for name, _, inputs, _ in self.model.requests for part in _about(name, inputs)]

    def offered_to(self, technique: Technique) -> str:
        """Returns the code of components in the last question about a technique's code."""
        asked = [
            i
            for name, _, i, _ in self.model.requests
            if name == "modularize" and technique.name in [part.technique for part in _about(name, i)]
        ]
        return asked[-1]["components"]


def _about(name: str, inputs: Mapping[str, str]) -> list[Question]:
    asked = Question(name, inputs, None)
    return asked.parts if name in ("modularize", "fidelity") else [asked]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    return Build(tmp_path)


def code_of(coded: Coded) -> Code:
    assert coded.code is not None
    return coded.code


def test_leaves_come_before_what_is_made_of_them(build: Build) -> None:
    coded, stopped = build()
    assert stopped is None
    assert [name for name, *_ in build.model.requests] == ["modularize", "fidelity"]
    assert [name for _, name in build.requests] == [CLIPPING.name, DAMPING.name, TOP.name] * 2
    assert list(coded) == [TOP.id, CLIPPING.id, DAMPING.id]  # in the order of the paper
    assert {c.code.level for c in coded.values() if c.code} == {Level.FAITHFUL}
    assert build.progress == [(1, 3, CLIPPING.name), (2, 3, DAMPING.name), (3, 3, TOP.name)]
    whole = code_of(coded[TOP.id]).implementation
    assert all(part in whole for part in ("# --- component: Median peak clipping", "def clip_peaks", "def damp"))
    assert {d.symbol for d in coded[TOP.id].derivations} == {s for found in LOCATED.values() for s in found}
    assert {d.code for d in coded[TOP.id].derivations} == {code_of(coded[TOP.id]).id}


@pytest.fixture
def whole_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reserves a separate question for the composite, because a question has room for only two techniques."""
    monkeypatch.setattr("xkg.build.guided.coding.write._MOST_TOGETHER", 2)


def test_review_and_writing_begin_alike(build: Build) -> None:
    build()
    (first, _, inputs, _), (second, _, others, _) = build.model.requests
    one, other = prompt(first).render(inputs), prompt(second).render(others)
    assert one[0] == other[0]
    end = one[1].index("<<<end techniques")
    assert one[1][:end] == other[1][:end]


STAGE = Technique(id="p#top/stage", name="Smoothing stage", definition="Smooths.", parent=TOP.id)
DEEP = DAMPING.model_copy(update={"parent": STAGE.id})


STAGE_LOCATED = {**LOCATED, STAGE.id: LOCATED[TOP.id]}
SMOOTH = "def smooth(values):\n    return damp(values, 0.5)\n"
SMOOTH_TEST = "from implementation import smooth\n\nassert smooth([4.0, 8.0]) == [4.0, 6.0]\n"


@pytest.mark.usefixtures("whole_later")
@pytest.mark.product("each fate")
@pytest.mark.parametrize("fate", ["not located", "declined", "no answer", "does not run", "something else"])
def test_a_component_without_running_code_gives_way_to_its_own_components(build: Build, fate: str) -> None:
    located = LOCATED if fate == "not located" else STAGE_LOCATED
    broken = written(SMOOTH.replace("values, 0.5", "values[9]"), SMOOTH_TEST)

    def answer(request: Question) -> Any:
        if request.technique != STAGE.name:
            return sound(request)
        if fate == "no answer":
            raise AnswerError("modularize, Smoothing stage: none")
        return {
            "declined": declined("It only calls."),
            "does not run": broken,
            "something else": written(SMOOTH, SMOOTH_TEST),
        }[fate]

    def judged(request: Question) -> Any:
        odd = request.technique == STAGE.name
        return verdict(("unrelated", "this is another filter")) if odd else verdict()

    def repair(_: Question) -> Any:
        return {"cause": "nothing can be done", "edits": []}

    coded, stopped = build([TOP, CLIPPING, STAGE, DEEP], located, modularize=answer, fidelity=judged, repair=repair)
    assert stopped is None
    assert code_of(coded[TOP.id]).level is Level.FAITHFUL
    offered = build.offered_to(TOP)
    assert "def damp(values, rate=0.25)" in offered
    assert "def smooth" not in offered


@pytest.mark.usefixtures("whole_later")
def test_a_check_that_the_model_cannot_make_keeps_what_was_reached_and_is_made_again(build: Build) -> None:
    def judged(request: Question) -> Any:
        if request.technique == CLIPPING.name:
            raise AnswerError("check: no usable answer")

    coded, _ = build(fidelity=judged)
    assert (code_of(coded[CLIPPING.id]).level, coded[CLIPPING.id].reason) == (Level.TESTED, None)
    assert coded[CLIPPING.id].failed == "check: no usable answer"
    again, _ = build()
    assert (code_of(again[CLIPPING.id]).level, again[CLIPPING.id].failed) == (Level.FAITHFUL, None)
    assert {name for _, name in build.requests} == {CLIPPING.name, TOP.name}


@pytest.mark.parametrize("error", [BudgetError("code: spent"), ModelUnavailableError("code: down")])
@pytest.mark.usefixtures("whole_later")
def test_a_stop_keeps_what_is_finished_and_the_next_build_asks_the_rest(build: Build, error: Exception) -> None:
    def answer(request: Question) -> Any:
        if request.technique == TOP.name:
            raise error
        return sound(request)

    coded, stopped = build(modularize=answer)
    assert stopped is error
    assert list(coded) == [CLIPPING.id, DAMPING.id]
    assert build.progress == [(1, 3, CLIPPING.name), (2, 3, DAMPING.name)]
    again, stopped = build()
    assert stopped is None
    assert list(again) == [TOP.id, CLIPPING.id, DAMPING.id]
    assert again[CLIPPING.id] == coded[CLIPPING.id]
    assert {name for _, name in build.requests} == {TOP.name}


def test_a_stop_lets_what_is_under_way_end_and_begins_no_composite(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xkg.build.guided.coding.write._MOST_TOGETHER", 1)
    stopped_there = threading.Event()

    def answer(request: Question) -> Any:
        if request.technique == DAMPING.name:
            stopped_there.set()
            raise BudgetError("code: spent")
        assert stopped_there.wait(60)
        return sound(request)

    coded, stopped = build(modularize=answer, jobs=2)
    assert isinstance(stopped, BudgetError)
    assert list(coded) == [CLIPPING.id]
    assert TOP.name not in {name for _, name in build.requests}


@pytest.mark.product("each input")
@pytest.mark.parametrize("change", ["definition", "places", "prompts", "sandbox"])
def test_a_changed_input_of_a_technique_s_code_repeats_only_its_question(build: Build, change: str) -> None:
    build()
    techniques, located, runs = list(ALL), dict(LOCATED), True
    if change == "definition":
        techniques[2] = DAMPING.model_copy(update={"definition": "Damps more."})
    elif change == "places":
        located[DAMPING.id] = [*LOCATED[DAMPING.id], *LOCATED[TOP.id]]
    elif change == "prompts":
        build.prompts = "2"
    else:
        runs = False
    build(techniques, located, runs=runs)
    request = {name for prompt, name in build.requests if prompt == "modularize"}
    assert DAMPING.name in request
    assert (CLIPPING.name in request) == (change in ("prompts", "sandbox"))


def test_a_result_without_its_registry_is_not_stored(build: Build) -> None:
    build.incomplete = True
    first, _ = build()
    assert not any(c.final for c in first.values())
    build.incomplete = False
    again, _ = build()
    assert all(c.final for c in again.values())
    assert {name for prompt, name in build.requests if prompt == "modularize"} == {t.name for t in ALL}


def test_the_outcome_does_not_depend_on_how_many_work_at_a_time(tmp_path: Path) -> None:
    def timeless(coded: Mapping[str, Coded]) -> dict[str, Any]:
        return {key: c.model_copy(update={"code": timeless_code(code_of(c))}) for key, c in coded.items()}

    one, _ = Build(tmp_path / "one")(modularize=code)
    four, _ = Build(tmp_path / "four")(modularize=code, jobs=4)
    assert timeless(one) == timeless(four)


def test_code_of_a_technique_that_the_definition_names_is_offered_wherever_it_stands(build: Build) -> None:
    beside = Technique(
        id="p#other", name="Damped peak filter", definition="Clips, then applies the exponential damping to counts."
    )
    alone = DAMPING.model_copy(update={"parent": None})
    located = {beside.id: LOCATED[TOP.id], alone.id: LOCATED[DAMPING.id]}
    build([beside, alone], located)
    assert [name for prompt, name in build.requests if prompt == "modularize"] == [alone.name, beside.name]
    assert "Made of: Exponential damping (1)" in build.model.requests[0][2]["techniques"]


def test_two_techniques_that_name_each_other_do_not_wait_for_each_other(build: Build) -> None:
    first = CLIPPING.model_copy(update={"parent": None, "definition": "Clips before the exponential damping."})
    second = DAMPING.model_copy(update={"parent": None, "definition": "Damps after the median peak clipping."})
    coded, _ = build([first, second], {t.id: LOCATED[t.id] for t in (first, second)})
    assert set(coded) == {first.id, second.id}


def test_what_a_component_departs_in_is_said_of_the_whole(build: Build) -> None:
    def compared(question: Question) -> dict[str, Any]:
        differs = question.technique == CLIPPING.name
        kind, remark = ("differs", "above nine medians") if differs else ("same", "")
        return {**verdict(), "statements": [{"statement": 1, "verdict": kind, "remark": remark}]}

    done, _ = build(fidelity=compared)
    part, whole = done[CLIPPING.id].code, done[TOP.id].code
    assert part is not None
    assert whole is not None
    assert [each.component for each in part.departures] == [""]
    assert whole.departures == (part.departures[0].model_copy(update={"component": CLIPPING.name}),)
    assert not (done[DAMPING.id].code or part).departures
