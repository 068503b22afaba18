"""Rounds of candidates that overlap if there are several jobs."""

from collections.abc import Callable
from concurrent.futures import Future

from xkg.agents.ablation.outcomes import CandidateOutcome
from xkg.agents.ablation.rounds.candidates_for_arms import Picked, Proposals
from xkg.agents.ablation.rounds.fill import fill
from xkg.agents.ablation.selection.history import Policy, Pull, Trial
from xkg.agents.ablation.task import Task


def known_at(started: int, jobs: int, places: int) -> int:
    """The number of started candidates that must finish before the next round is chosen. These are whole waves of
    `jobs`, so that no job idles while a round ends. If a round is one wave, all must finish. The number does not depend
    on timing, so equal `jobs` give equal choices."""
    return started if jobs >= places else started - started % jobs


def start_rounds(
    task: Task,
    policy: Policy,
    proposals: Proposals,
    start: Callable[[Picked, int], "Future[CandidateOutcome]"],
    trial: Callable[[Pull, CandidateOutcome], Trial],
    jobs: int,
) -> "list[Future[CandidateOutcome]]":
    """The outcomes of all candidates, in the order in which they were chosen. A candidate that is still running counts
    as a visit of its arm without a reward, like one of the same round. If a trial says nothing about its component (see
    `tried`), its place in the budget goes to another; at most twice the budget is chosen."""
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
