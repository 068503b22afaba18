"""Rounds of candidates that overlap where there are several jobs."""

from collections.abc import Callable
from concurrent.futures import Future

from xkg.agents.ablation.outcomes import CandidateOutcome
from xkg.agents.ablation.rounds.candidates_for_arms import Picked, Proposals
from xkg.agents.ablation.rounds.fill import fill
from xkg.agents.ablation.selection.history import Policy, Pull, Trial
from xkg.agents.ablation.task import Task


def known_at(started: int, jobs: int, places: int) -> int:
    """How many of the candidates that were started have to be finished before the next round is chosen: whole waves of
    `jobs`, so that no job is idle while the last ones of a round run. The number depends on nothing that a clock
    decides: equal jobs choose alike. All of them where a round is one wave."""
    return started if jobs >= places else started - started % jobs


def start_rounds(
    task: Task,
    policy: Policy,
    proposals: Proposals,
    start: Callable[[Picked, int], "Future[CandidateOutcome]"],
    trial: Callable[[Pull, CandidateOutcome], Trial],
    jobs: int,
) -> "list[Future[CandidateOutcome]]":
    """The outcomes of all candidates, in the order in which they were chosen. A candidate that is not waited for counts
    as a visit of its arm and has no reward yet, as one of the same round has none. One that turns out to say nothing of
    its component (`tried`) leaves its place in the budget to another; twice the budget is the most that is chosen."""
    picked: list[Picked] = []
    futures: list[Future[CandidateOutcome]] = []
    number = 0
    while True:
        known = known_at(len(picked), jobs, task.places)
        outcomes = [future.result() for future in futures[:known]]
        room = task.budget - len(picked) + sum(not outcome.tried for outcome in outcomes)
        if room <= 0 and known < len(picked):
            known = len(picked)
            outcomes = [future.result() for future in futures]
            room = task.budget - sum(outcome.tried for outcome in outcomes)
        places = min(task.places, room, 2 * task.budget - len(picked))
        if places <= 0:
            return futures
        if number:
            proposals.learn(number, outcomes)
        trials = [trial(each.pull, outcome) for each, outcome in zip(picked, outcomes, strict=False)]
        trials += [Trial(pull=each.pull, finished=False) for each in picked[known:]]
        progress = min(1.0, (task.budget - room) / task.budget)
        new = fill(policy, proposals, trials, outcomes, places, progress)
        if not new:
            return futures
        number += 1
        picked += new
        futures += [start(each, number) for each in new]
