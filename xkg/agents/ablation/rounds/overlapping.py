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
    as a visit of its arm and has no reward yet, as one of the same round has none."""
    rounds = -(-task.budget // task.places)
    picked: list[Picked] = []
    futures: list[Future[CandidateOutcome]] = []
    for i in range(rounds):
        known = known_at(len(picked), jobs, task.places)
        outcomes = [future.result() for future in futures[:known]]
        if i:
            proposals.learn(i, outcomes)
        trials = [trial(each.pull, outcome) for each, outcome in zip(picked, outcomes, strict=False)]
        trials += [Trial(pull=each.pull, finished=False) for each in picked[known:]]
        new = fill(policy, proposals, trials, outcomes, min(task.places, task.budget - len(picked)), i / rounds)
        if not new:
            break
        picked += new
        futures += [start(each, i + 1) for each in new]
    return futures
