from pathlib import Path

import pytest

from xkg.agents.ablation.candidates import NOT_RUN, Candidate, Component, LeftOut, Place, Replacement, Space
from xkg.agents.ablation.effects import effect, unchanged
from xkg.agents.ablation.measurements import measurements
from xkg.agents.ablation.outcomes import Baseline, Campaign, CandidateOutcome, RunOutcome
from xkg.agents.ablation.report.markdown import markdown
from xkg.agents.ablation.report.rows import verdict
from xkg.agents.ablation.rounds.trials import constant_note
from xkg.agents.ablation.task import Task, read_task
from xkg.errors import InputError

PLACE = Place(path="train.py", start_line=3, end_line=3)
BASELINE = (1.0, 1.01, 0.99, 1.02, 0.98)
TASK = Task(repo="./repo", run="python train.py", metrics=("out.json:loss:min",))


def outcome(component: str, *values: float, baseline: tuple[float, ...] = BASELINE) -> CandidateOutcome:
    candidate = Candidate(
        component=component, kind="toggle", value="0", baseline_value="1", places=(PLACE,),
        description=f"{component} <script> & | off",
        replacements=(Replacement(path="train.py", start=len(component), end=len(component) + 1, old="1", new="0"),),
    )  # fmt: skip
    runs = tuple(RunOutcome(seed=i, command="c", values=(value,), seconds=2.0) for i, value in enumerate(values))
    return CandidateOutcome(
        candidate=candidate, round=1, commit="c", diff="--- a\n+++ b\n```\n", runs=runs,
        failure=None if values else "shape", problem=None if values else "bad shapes",
        effect=effect(baseline, values) if values else None,
    )  # fmt: skip


def campaign(*outcomes: CandidateOutcome, technique: str | None = "p#t") -> Campaign:
    names = dict.fromkeys(o.candidate.component for o in outcomes)
    components = tuple(Component(id=n, name=n, places=(PLACE,), technique=technique) for n in names)
    runs = tuple(RunOutcome(seed=i, command="c", values=(v,), seconds=2.0) for i, v in enumerate(BASELINE))
    return Campaign(
        id="run", task=TASK, repository="r@1", commit="c0ffee",
        baseline=Baseline(runs=runs, verdict="1", noise=0.01, exact=False),
        space=Space(components=components, candidates=tuple(o.candidate for o in outcomes)), outcomes=outcomes,
        runner="bubblewrap", environment="", when="2026-01-02T03:04:05+00:00", jobs=1,
    )  # fmt: skip


def test_a_seed_given_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="give each seed only once"):
        Task(repo=".", run="python train.py", metrics=("out.json:loss:min",), seeds=(1, 1))


def test_strong_and_weak_evidence_are_told_apart() -> None:
    found = campaign(
        outcome("strong", 2.0, 2.01, 1.99, 2.02, 1.98),
        outcome("small", 1.03, 1.04, 1.035, 1.045, 1.05),
        outcome("chances", 1.05, 1.03, 0.9, 1.1, 1.2),
        outcome("few", 3.0, 3.1),
        outcome("once", 1.005),
        outcome("lost"),
    )
    words = {i.component.name: verdict(i) for i in found.importances()}
    assert words == {
        "few": "5 and 2 runs are too few for a claim",
        "strong": "critical: p 0.02 among all comparisons",
        "chances": "may be chance: p 0.19 among all comparisons",
        "small": "beyond the noise, below 5 %: p 0.02 among all comparisons",
        "once": "run once, within the baseline's range",
        "lost": "every candidate failed",
    }
    assert [*words][:2] == ["few", "strong"]


@pytest.mark.parametrize(
    ("runs", "where", "missed"),
    [
        (1, "its one run", "one run misses an effect that shows in one run in five with a probability of 80%"),
        (5, "each of 5 runs", "5 runs miss an effect that shows in one run in five with a probability of 33%"),
    ],
)
def test_equal_runs_say_what_they_may_have_missed(runs: int, where: str, missed: str) -> None:
    same = outcome("same", *[2.0] * runs).model_copy(update={"effect": unchanged([2.0] * runs)})
    [found] = campaign(same).importances()
    assert verdict(found) == f"the same value in {where}, although the changed code was used; {missed}"


def test_measurements_are_of_techniques_that_ran_alone() -> None:
    ran, lost = outcome("a", 2.0, 2.1), outcome("b")
    [one] = measurements(campaign(ran, lost))
    assert (one.technique, one.metric, one.direction, one.seeds) == ("p#t", "out.json:loss", "min", 2)
    assert one.id.startswith("p#t!")
    assert not measurements(campaign(ran, technique=None))


def test_reports_escape_what_a_repository_says() -> None:
    found = campaign(outcome("a_b", 2.0, 2.1), outcome("lost"))
    assert "<script>" not in markdown(found).replace(r"\<script\>", "")
    assert "````diff" in markdown(found)


@pytest.mark.parametrize(
    ("flags", "what"),
    [
        ({"run": "python t.py", "metrics": ["x:min"]}, "--repo"),
        ({"repo": ".", "metrics": ["x:min"]}, "--run"),
        ({"repo": ".", "run": "t"}, "--metric"),
        ({"repo": ".", "run": "t", "metrics": ["out.json:loss"]}, "better"),
        ({"repo": ".", "run": "t", "metrics": ["x:min"], "budget": 0}, "budget"),
    ],
)
def test_a_task_that_says_too_little_is_refused(flags: dict[str, object], what: str) -> None:
    with pytest.raises(InputError, match=what):
        read_task(None, flags)


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("metrcs: x:min", "no field 'metrcs'; the closest is metrics"),
        ("budgt: 1", "no field 'budgt'; the closest is budget"),
        ("qqq: 1", "no field 'qqq'; the fields are repo, run, metrics"),
    ],
)
def test_an_unknown_field_in_a_task_file_is_named_first(tmp_path: Path, field: str, said: str) -> None:
    (tmp_path / "ablate.yaml").write_text(f"repo: .\n{field}\n")
    with pytest.raises(InputError, match=said):
        read_task(tmp_path / "ablate.yaml", {})


def test_metrics_and_commands() -> None:
    flags = {"setup": "python make.py", "run": "python train.py --seed {seed}", "metrics": ["log.csv:val:min"]}
    task = read_task(None, {"repo": ".", **flags})
    assert (task.metric.source, task.metric.path, task.metric.key) == ("csv", "log.csv", "val")
    assert task.command(7) == "python make.py && python train.py --seed 7"


def test_a_metric_that_no_candidate_moves_is_warned_of() -> None:
    same = [outcome(name, 2.0).model_copy(update={"effect": effect([2.0, 2.0], [2.0])}) for name in "abc"]
    assert "may be constant" in (constant_note(same) or "")
    assert constant_note(same[:2]) is None
    moved = outcome("d", 3.0).model_copy(update={"effect": effect([2.0, 2.0], [3.0])})
    assert constant_note([*same, moved]) is None


def test_a_campaign_that_measured_no_component_says_so_first_and_why() -> None:
    left = LeftOut(name="epochs", place=PLACE, reason="the length of training")
    idle = LeftOut(name="plots.py", place=PLACE, reason=NOT_RUN)
    nothing = campaign().model_copy(update={"space": Space(components=(), candidates=(), left_out=(idle, left))})
    assert f"only the baseline (epochs ({PLACE}): the length of training)" in nothing.unmeasured
    assert "the code that runs has no settings" in campaign().unmeasured
    first = markdown(campaign(outcome("lost"))).split("\n\n")[1]
    assert first == (
        "**no component was measured, only the baseline (1 failed: shape); repeat the command with --llm MODEL to look "
        "further**"
    )
    assert campaign(outcome("lost"), outcome("strong", 2.0, 2.01)).unmeasured == ""
