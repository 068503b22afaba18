"""Candidates from a model for the arms that a policy chooses. They are written when an arm is chosen, and ranked
together with those found in the code."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from xkg.agents.ablation.candidates import Candidate, Component, Space
from xkg.agents.ablation.outcomes import CandidateOutcome
from xkg.agents.ablation.roles.team import Team
from xkg.agents.ablation.rounds.candidates_for_arms import Picked
from xkg.agents.ablation.selection.history import Arm, Pull

_AT_ONCE = 4
_SPARE = 1
"""The number of extra candidates to ask for, so that there is a choice to rank."""


class Written:
    """Implements `Proposals`. An arm's candidates have no ids before they are written, so a policy chooses among
    numbered places."""

    def __init__(self, space: Space, team: Team, most: int) -> None:
        """`most` is the maximum number of candidates that run."""
        self._components = {component.id: component for component in space.components}
        self._weights = {component.id: component.weight for component in space.components}
        self._pools: dict[str, list[Candidate]] = {c.id: list(space.of(c.id)) for c in space.components}
        self._exhausted: set[str] = set()
        self._team, self._most = team, most

    def arms(self) -> Sequence[Arm]:
        return [
            Arm(
                id=c.id,
                candidates=tuple(f"{c.id}#{n}" for n in range(self._most)),
                weight=self._weights[c.id],
                order=c.order,
            )
            for c in self._components.values()
            if c.id not in self._exhausted
        ]

    def pick(self, pulls: Sequence[Pull], outcomes: Sequence[CandidateOutcome]) -> Sequence[Picked]:
        wanted: dict[str, list[Pull]] = {}
        for pull in pulls:
            wanted.setdefault(pull.arm, []).append(pull)

        def write(arm: str) -> list[Candidate]:
            count = len(wanted[arm]) + _SPARE
            return self._team.candidates(self._components[arm], count, outcomes, self._pools[arm])

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            written = list(pool.map(write, wanted))
        pools: list[tuple[Component, Sequence[Candidate]]] = []
        for arm, new in zip(wanted, written, strict=True):
            taken = {candidate.id for _, earlier in pools for candidate in earlier}
            self._pools[arm] = [c for c in [*new, *self._pools[arm]] if c.id not in taken]
            if not self._pools[arm]:
                self._exhausted.add(arm)
            else:
                pools.append((self._components[arm], self._pools[arm]))
        choice = any(len(pool) > len(wanted[component.id]) for component, pool in pools)
        order = self._team.ranked(pools, outcomes) if choice else [(c, "") for _, pool in pools for c in pool]
        return self._take(order, wanted)

    def _take(self, order: Sequence[tuple[Candidate, str]], wanted: dict[str, list[Pull]]) -> list[Picked]:
        picked = []
        for candidate, why in order:
            pulls = wanted[candidate.component]
            if pulls:
                picked.append(Picked(pulls.pop(0), candidate, why))
        chosen = {each.candidate.id for each in picked}
        for arm, pool in self._pools.items():
            self._pools[arm] = [candidate for candidate in pool if candidate.id not in chosen]
        self._team.use([each.candidate for each in picked])
        return picked

    def learn(self, number: int, outcomes: Sequence[CandidateOutcome]) -> None:
        components = [
            c.model_copy(update={"weight": self._weights[c.id]})
            for c in self._components.values()
            if c.id not in self._exhausted
        ]
        self._weights |= self._team.reflect(number, components, outcomes)
