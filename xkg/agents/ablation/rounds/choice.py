"""Chooses candidates. Components take turns. The component with the fewest candidates so far comes first. Ties are
broken by expected importance, highest first. On methods with known effects, more elaborate strategies (such as a
bandit) do not find more of them."""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from xkg.agents.ablation.candidates import Candidate, Space
from xkg.agents.ablation.outcomes import CandidateOutcome
from xkg.agents.ablation.roles.team import Team

A_ROUND = 5
"""The maximum number of candidates per round if a model is used. The model learns between rounds."""
_AT_ONCE = 4


class Choice:
    """Chooses from the candidates in a space. If there is a `writer`, it adds candidates for each component whose turn
    it is. `round` is the number of rounds so far."""

    def __init__(self, space: Space, writer: Team | None = None) -> None:
        self._components = {component.id: component for component in space.components}
        self._left = {component.id: list(space.of(component.id)) for component in space.components}
        self._exhausted: set[str] = set()
        self._visits: Counter[str] = Counter()
        self._writer = writer
        self.round = 0

    def next(self, most: int, outcomes: Sequence[CandidateOutcome]) -> list[Candidate]:
        """Returns at most `most` candidates for the next round, given the `outcomes` of earlier rounds. Returns an
        empty list if no candidate is left."""
        if self._writer is not None:
            most = min(most, A_ROUND)
            if self.round:
                self._learn(self._writer, outcomes)
        self.round += 1
        picked: list[Candidate] = []
        while len(picked) < most and (turns := self._turns(most - len(picked))):
            if self._writer is not None:
                self._write(self._writer, Counter(turns), outcomes)
            for component in turns:
                if self._left[component]:
                    picked.append(self._left[component].pop(0))
                    self._visits[component] += 1
        return picked

    def _turns(self, count: int) -> list[str]:
        turns: list[str] = []
        while len(turns) < count:
            taken = Counter(turns)
            open_ = [
                c
                for c in self._components.values()
                if (len(self._left[c.id]) > taken[c.id] if self._writer is None else c.id not in self._exhausted)
            ]
            if not open_:
                break
            turns.append(min(open_, key=lambda c: (self._visits[c.id] + taken[c.id], -c.weight, c.order)).id)
        return turns

    def _write(self, writer: Team, turns: Counter[str], outcomes: Sequence[CandidateOutcome]) -> None:
        """Asks the writer for candidates, and puts the new ones first. A component that has fewer candidates than turns
        gets no further turns."""

        def write(component: str) -> list[Candidate]:
            return writer.candidates(self._components[component], turns[component], outcomes, self._left[component])

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            written = list(pool.map(write, turns))
        for component, new in zip(turns, written, strict=True):
            known = {candidate.id for candidate in new}
            self._left[component] = [*new, *(c for c in self._left[component] if c.id not in known)]
            if len(self._left[component]) < turns[component]:
                self._exhausted.add(component)

    def _learn(self, writer: Team, outcomes: Sequence[CandidateOutcome]) -> None:
        listed = [component for component in self._components.values() if component.id not in self._exhausted]
        for component, weight in writer.reflect(self.round, listed, outcomes).items():
            self._components[component] = self._components[component].model_copy(update={"weight": weight})
