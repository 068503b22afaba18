"""Candidates for the arms that a policy chooses. Without a model, these are the candidates found in the code, in
order."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from xkg.agents.ablation.candidates import Candidate, Space
from xkg.agents.ablation.outcomes import CandidateOutcome
from xkg.agents.ablation.selection.history import Arm, Pull


class Picked(NamedTuple):
    """A pull with its candidate, and why it was chosen ('' if the policy alone decided)."""

    pull: Pull
    candidate: Candidate
    why: str = ""


class Proposals(Protocol):
    """`arms` are those that have, or may get, candidates that have not run. `pick` returns candidates for pulls, fewer
    if an arm has none. `learn` is called with the outcomes of each round except the last."""

    def arms(self) -> Sequence[Arm]: ...

    def pick(self, pulls: Sequence[Pull], outcomes: Sequence[CandidateOutcome]) -> Sequence[Picked]: ...

    def learn(self, number: int, outcomes: Sequence[CandidateOutcome]) -> None: ...


class Listed:
    """The candidates of a space."""

    def __init__(self, space: Space) -> None:
        self._arms = [
            Arm(id=c.id, candidates=tuple(k.id for k in space.of(c.id)), weight=c.weight, order=c.order)
            for c in space.components
        ]
        self._by_id: Mapping[str, Candidate] = {candidate.id: candidate for candidate in space.candidates}

    def arms(self) -> Sequence[Arm]:
        return self._arms

    def pick(self, pulls: Sequence[Pull], outcomes: Sequence[CandidateOutcome]) -> Sequence[Picked]:  # noqa: ARG002
        return [Picked(pull, self._by_id[pull.candidate]) for pull in pulls]

    def learn(self, number: int, outcomes: Sequence[CandidateOutcome]) -> None:
        """Does nothing: the order of candidates is fixed."""
