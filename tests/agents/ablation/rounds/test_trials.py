from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from xkg.agents.ablation.candidates import Candidate, Component, Place, Replacement, Space
from xkg.agents.ablation.outcomes import Baseline, CandidateOutcome, RunOutcome
from xkg.agents.ablation.parsing import Mutated
from xkg.agents.ablation.report.rows import change
from xkg.agents.ablation.rounds.choice import Choice
from xkg.agents.ablation.rounds.trials import Trials, with_effects
from xkg.agents.ablation.running.slots import Slots
from xkg.agents.ablation.task import Task

PLACE = Place(path="a.py", start_line=1, end_line=1)
CHANGE = Replacement(path="a.py", start=0, end=1, old="1", new="2")
ONE = Candidate(
    component="rate", kind="scale", value="2", baseline_value="1", places=(PLACE,), description="rate: 1 → 2",
    replacements=(CHANGE,), probe=(CHANGE.model_copy(update={"new": "probe"}),),
)  # fmt: skip


def run(seed: int, value: float | None) -> RunOutcome:
    return RunOutcome(seed=seed, command="", values=(value,), failure=None if value is not None else "error")


BASELINE = Baseline(
    runs=tuple(run(i, value) for i, value in enumerate((10.0, 10.5, 10.2))), verdict="", noise=0.1, exact=False
)


def outcomes(
    probed: Mapping[str, float | None],
    *candidates: Candidate,
    values: Sequence[float] = (1.0, 1.0, 1.0),
    notify: Callable[[str], None] = lambda _: None,
) -> list[CandidateOutcome]:
    """Returns the outcomes of candidates that all change the metric to `values`, one per seed. `probed` maps each
    candidate to the metric of a run with a value that would end the run if it were used."""

    def do(_name: str, _inputs: object, _kind: object, work: Callable[[], Any]) -> Any:
        return work()

    runs = SimpleNamespace(
        task=Task(repo=".", run="python a.py", metrics=("x:max",), seeds=(0, 1, 2), budget=1),
        identity={}, files="", changed={},
        operations=SimpleNamespace(do=do), run=lambda _, seed: run(seed, values[seed]),
        probed=lambda candidate: run(0, probed[candidate.id]),
    )  # fmt: skip
    made = Mutated(commit="c", diff="", places=())
    mutations = SimpleNamespace(made=lambda _: made, decided_by=lambda _: {})
    component = Component(id="rate", name="rate", places=(PLACE,))
    space = Space(components=(component,), candidates=candidates)
    with Slots(1) as slots:
        trials = Trials(cast(Any, runs), cast(Any, mutations), slots, BASELINE, space, None, notify)
        return trials.outcomes(Choice(space))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ((10.2,), ["round 1: rate: 1 → 2: 10.2 (+2.0%)"]),
        (
            (10.0, 10.4, 13.0),
            ["round 1: rate: 1 → 2: 10 (0.0%)", "again with 2 more seeds: rate: 1 → 2: mean 11.1333 (+2.0%)"],
        ),
    ],
)
def test_progress_and_result_compare_one_run_with_the_same_seed(values: tuple[float, ...], said: list[str]) -> None:
    lines: list[str] = []
    [found] = with_effects(outcomes({ONE.id: None}, ONE, values=values, notify=lines.append), BASELINE)
    assert lines == said
    assert lines[-1].endswith(f"({change(found.effect)})")


def test_a_change_of_the_metric_is_no_effect_of_a_value_that_nothing_uses() -> None:
    [found] = outcomes({ONE.id: 10.4}, ONE)
    assert found.failure == "not in force"
    assert "the code is unused" in (found.problem or "")


def test_changes_that_are_not_in_force_do_not_count_towards_the_budget() -> None:
    inert = [
        ONE.model_copy(update={"replacements": (CHANGE.model_copy(update={"new": str(i + 3)}),), "probe": (each,)})
        for i, each in enumerate(CHANGE.model_copy(update={"new": f"probe{i}"}) for i in range(3))
    ]
    probed: dict[str, float | None] = {each.id: 10.0 for each in inert}
    found = outcomes({**probed, ONE.id: None}, *inert, ONE)
    assert [each.failure for each in found] == ["not in force"] * 3 + [None]
