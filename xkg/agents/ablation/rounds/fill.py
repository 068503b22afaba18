"""Fills one round, by the policy that a task names."""

from collections.abc import Callable, Mapping, Sequence

from xkg.agents.ablation.outcomes import CandidateOutcome
from xkg.agents.ablation.rounds.candidates_for_arms import Picked, Proposals
from xkg.agents.ablation.selection.bandit import Bandit
from xkg.agents.ablation.selection.baselines import Exhaustive, Heuristic, Random, Uniform
from xkg.agents.ablation.selection.history import Policy, Trial
from xkg.agents.ablation.task import PolicyName, Task


def make_policy(name: PolicyName, task: Task) -> Policy:
    policies: Mapping[PolicyName, Callable[[], Policy]] = {
        "bandit": lambda: Bandit(task.bandit),
        "uniform": Uniform,
        "heuristic": Heuristic,
        "random": Random,
        "exhaustive": Exhaustive,
    }
    return policies[name]()


def fill(
    policy: Policy,
    proposals: Proposals,
    trials: Sequence[Trial],
    outcomes: Sequence[CandidateOutcome],
    places: int,
    progress: float,
) -> list[Picked]:
    """The candidates of a round, at most `places`: what an arm that has none leaves free goes to others."""
    picked: list[Picked] = []
    while len(picked) < places:
        under_way = [Trial(pull=each.pull, finished=False) for each in picked]
        arms = proposals.arms()
        pulls = policy.choose(arms, [*trials, *under_way], places - len(picked), progress)
        new = proposals.pick(pulls, outcomes) if pulls else ()
        picked += new
        if not pulls or (not new and len(proposals.arms()) == len(arms)):
            break
    return picked
