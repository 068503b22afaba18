"""Tests campaigns with a model."""

import os
import signal

import pytest

from tests.agents.ablation.model_world import (
    METRIC,
    SMOOTH_OFF,
    World,
    draft,
    once,
    replace,
    section,
)
from xkg.commands.ablate import read_campaign
from xkg.config import LlmSettings
from xkg.errors import InputError
from xkg.llm.costs import costs


def test_a_campaign_from_the_plan_to_the_words_of_the_report(world: World) -> None:
    result = world.run(run=None, metrics=None, seeds=[0, 1, 2, 3, 4])
    campaign = read_campaign(world.run_folder)
    assert campaign.task.metrics == (METRIC,)
    importance = {i.component.name: i for i in campaign.importances()}["smoothing"]
    best = importance.best
    assert best is not None
    assert best.candidate.by_model
    assert best.candidate.description == "smoothing off"
    assert importance.critical
    left = {each.name: each.reason for each in campaign.space.left_out}
    assert left["attention"] == "a hypothesis without a place: there is no file 'attention.py'"
    assert left["a teacher"].startswith("a gap")
    assert any("the data of the paper" in note for note in campaign.notes)
    report = (world.run_folder / "report.md").read_text()
    assert report.index("### Evidence that holds") < report.index("strong 1") < report.index("### Weak evidence")
    assert "- smoothing (critical: p " in report
    assert "language model: o4-mini" in report
    assert "Smoothing off changed the error." in report
    bill = costs(world.folder / "kg", LlmSettings(), ("run:run",))
    assert bill.total.calls == result.model_calls == len(world.endpoint.requests)
    assert result.dollars == pytest.approx(bill.total.dollars)
    assert world.run(run=None, metrics=None, seeds=[0, 1, 2, 3, 4]).model_calls == result.model_calls
    assert len(world.endpoint.requests) == bill.total.calls


@pytest.mark.product("each event × each kill", every=True)
@pytest.mark.parametrize("answers", [1, 6])
def test_a_run_killed_after_some_answers_pays_nothing_twice(world: World, answers: int) -> None:
    child = os.fork()
    if child == 0:
        count = 0

        def die(line: str) -> None:
            nonlocal count
            count += "answered a question about" in line
            if count == answers:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            world.run(notify=die, run=None, metrics=None)
        finally:
            os._exit(0)
    _, ended = os.waitpid(child, 0)
    assert os.WIFSIGNALED(ended)
    world.run(run=None, metrics=None)
    assert read_campaign(world.run_folder).analysis is not None
    questions = [str(body["messages"]) for body in world.endpoint.requests]
    assert len(set(questions)) == len(questions)
    assert costs(world.folder / "kg", LlmSettings(), ("run:run",)).total.calls == len(questions)


def test_a_failed_candidate_is_mended_once(world: World) -> None:
    broken = draft("smoothing off", replace("parts.py", "    return 0.5 * x\n", "    return x.half\n"))
    world.answers["candidates"] = lambda body: (
        {"candidates": [broken]} if section(body, "component").startswith("smoothing") else {"candidates": []}
    )
    mended = {"possible": True, "why": "a float has no half", "edits": SMOOTH_OFF["edits"]}
    world.answers["mended"] = lambda _: mended
    world.run(budget=1)
    [outcome] = read_campaign(world.run_folder).outcomes
    assert "AttributeError" in section(world.asked("mended")[0], "failure")
    assert outcome.failure is None
    assert outcome.mended.startswith("error:")
    assert outcome.effect is not None
    assert outcome.effect.change != 0
    assert len(world.asked("mended")) == 1
    assert "replaces a candidate that failed" in (world.run_folder / "report.md").read_text()


def test_a_change_that_never_runs_is_no_effect(world: World) -> None:
    dead = draft("after the end", replace("parts.py", "    return 0.5 * x\n", "    return 0.5 * x\n    return x\n"))
    world.answers["candidates"] = once({"candidates": [dead]})
    world.run(budget=1)
    outcome = read_campaign(world.run_folder).outcomes[0]  # another candidate took its place in the budget
    assert outcome.failure == "not in force"
    assert outcome.effect is None
    assert "parts.py:3" in (outcome.problem or "")


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        (
            draft("elsewhere", replace("train.py", "    x = 8.0\n", "    x = 9.0\n")),
            "which is outside the component's places",
        ),
        (draft("no Python", replace("parts.py", "    return 0.5 * x\n", "    return (\n")), "be valid Python"),
    ],
)
def test_candidates_that_cannot_be_run_are_refused_before_they_cost_one(
    world: World, bad: dict, complaint: str
) -> None:
    world.answers["candidates"] = once({"candidates": [bad]})
    world.run(budget=1)
    assert complaint in world.asked("candidates")[1]["messages"][-1]["content"]
    assert read_campaign(world.run_folder).outcomes[0].candidate.description == "smoothing off"


def test_hypotheses_are_formed_from_the_code_that_runs(world: World) -> None:
    (world.repository / "other.py").write_text("def idle():\n    return 0\n")
    world.run(budget=1)
    code = section(world.asked("hypotheses")[0], "code")
    assert "## parts.py\n    1  def smooth(x):\n    2      return 0.5 * x" in code
    assert "idle" not in code


def test_weak_evidence_is_not_strong(world: World) -> None:
    world.answers["analysis"] = once({"strong": [{"component": 2, "text": "it matters"}], "weak": [], "caveats": []})
    world.run(budget=1)
    assert "is weak (not tried)" in world.asked("analysis")[1]["messages"][-1]["content"]


def test_the_advice_of_a_round_reaches_the_next(world: World) -> None:
    world.run()
    assert section(world.asked("reflection")[0], "tried").startswith("round 1, smoothing: toggle, smoothing off: ")
    campaign = read_campaign(world.run_folder)
    assert campaign.lessons[0].advice[0].text == "try half of it"


def test_without_money_the_code_alone_goes_on(world: World) -> None:
    world.llm["max_cost"] = 0.0001
    result = world.run()
    assert result.candidates == 2
    assert any("not asked again" in note for note in result.notes)
    assert not world.endpoint.requests
    world.llm["max_cost"] = 5
    world.run()
    assert read_campaign(world.run_folder).analysis is not None


def test_without_a_model_what_to_run_must_be_said(world: World) -> None:
    world.llm["model"] = "none"
    with pytest.raises(InputError, match="--run and --metric are missing"):
        world.run(run=None)


def test_answers_that_are_never_usable_are_noted(world: World) -> None:
    world.answers["hypotheses"] = lambda _: "no JSON"
    result = world.run(budget=1)
    assert any("no usable answer" in note for note in result.notes)
    assert result.candidates == 1
