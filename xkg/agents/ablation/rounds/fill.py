"""Fills one round according to a policy."""

from collections.abc import Sequence

from xkg.agents.ablation.outcomes import CandidateOutcome
from xkg.agents.ablation.rounds.candidates_for_arms import Picked, Proposals
from xkg.agents.ablation.selection.history import Policy, Trial


def fill(
    policy: Policy,
    proposals: Proposals,
    trials: Sequence[Trial],
    outcomes: Sequence[CandidateOutcome],
    places: int,
    progress: float,
) -> list[Picked]:
    """The candidates of a round, at most `places`. Places that an arm cannot use go to other arms."""
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
