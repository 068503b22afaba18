"""Rounds that overlap: what is chosen depends on the number of jobs, and on nothing that a clock decides."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from xkg.agents.ablation.candidates import Candidate, Component, Place, Replacement, Space
from xkg.agents.ablation.outcomes import CandidateOutcome
from xkg.agents.ablation.rounds.candidates_for_arms import Listed, Picked
from xkg.agents.ablation.rounds.overlapping import known_at, start_rounds
from xkg.agents.ablation.selection.bandit import Bandit
from xkg.agents.ablation.selection.history import Pull, Trial
from xkg.agents.ablation.task import Task

TASK = Task(repo=".", run="python train.py", metrics=("loss ([0-9.]+):min",), budget=10)


def space() -> Space:
    place = Place(path="train.py", start_line=1, end_line=2)
    components = [Component(id=f"c{i}", name=f"part {i}", places=(place,), weight=i / 10, order=i) for i in range(6)]
    candidates = [
        Candidate(
            component=c.id,
            kind="scale",
            value=str(n),
            baseline_value="1",
            places=(place,),
            description=f"{c.id} x {n}",
            replacements=(Replacement(path="train.py", start=i, end=i + 1, old="9", new=str(n)),),
        )
        for i, c in enumerate(components)
        for n in range(3)
    ]
    return Space(components=tuple(components), candidates=tuple(candidates))


def change(candidate: Candidate) -> float:
    return 0.1 * int(candidate.component[1:]) + 0.01 * int(candidate.value or 0)


def trial(pull: Pull, outcome: CandidateOutcome) -> Trial:
    return Trial(pull=pull, change=change(outcome.candidate))


@pytest.mark.parametrize(
    ("started", "jobs", "known"), [(5, 1, 5), (5, 2, 4), (10, 2, 10), (5, 3, 3), (15, 4, 12), (5, 5, 5), (5, 8, 5)]
)
def test_whole_waves_are_waited_for(started: int, jobs: int, known: int) -> None:
    assert known_at(started, jobs, 5) == known


def test_the_next_round_begins_while_the_last_of_one_runs() -> None:
    """With two jobs the fifth candidate of the first round ends only when one of the second has begun."""
    second_round = threading.Event()
    with ThreadPoolExecutor(2) as pool:

        def start(each: Picked, number: int) -> "Future[CandidateOutcome]":
            numbers.append(number)
            position = len(numbers)

            def work() -> CandidateOutcome:
                if position == 5:
                    assert second_round.wait(60)
                if number == 2:
                    second_round.set()
                return CandidateOutcome(candidate=each.candidate, round=number, commit=None, diff="")

            return pool.submit(work)

        numbers: list[int] = []
        futures = start_rounds(TASK, Bandit(), Listed(space()), start, trial, 2)
        assert [future.result().round for future in futures] == [1] * 5 + [2] * 5


@pytest.mark.parametrize("jobs", [1, 3])
def test_equal_jobs_choose_alike_whatever_ends_first(jobs: int) -> None:
    def chosen(slow: bool) -> list[str]:
        with ThreadPoolExecutor(10) as pool:

            def start(each: Picked, number: int) -> "Future[CandidateOutcome]":
                outcome = CandidateOutcome(candidate=each.candidate, round=number, commit=None, diff="")
                if slow:
                    return pool.submit(lambda: threading.Event().wait(0.01) or outcome)
                done: Future[CandidateOutcome] = Future()
                done.set_result(outcome)
                return done

            futures = start_rounds(TASK, Bandit(), Listed(space()), start, trial, jobs)
            return [future.result().id for future in futures]

    fast = chosen(slow=False)
    assert fast == chosen(slow=True)
    assert len(set(fast)) == 10


def test_what_was_not_in_force_leaves_its_place_to_others() -> None:
    def start(each: Picked, number: int) -> "Future[CandidateOutcome]":
        done: Future[CandidateOutcome] = Future()
        failure = "not in force" if each.candidate.component == "c5" else None
        done.set_result(CandidateOutcome(candidate=each.candidate, round=number, commit=None, diff="", failure=failure))
        return done

    outcomes = [future.result() for future in start_rounds(TASK, Bandit(), Listed(space()), start, trial, 1)]
    assert sum(outcome.tried for outcome in outcomes) == TASK.budget
    assert len(outcomes) > TASK.budget
    everything = TASK.model_copy(update={"budget": 100})
    assert len(start_rounds(everything, Bandit(), Listed(space()), start, trial, 1)) == len(space().candidates)
