"""A snapshot as seen by a user who trusts certain keys. Claimed code gets the level that these keys attest, along with
a list of the keys.

Trust is applied when reading and never stored, so revoking a key takes effect immediately."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

from xkg.attestations.trust import Trust
from xkg.model import Code, PaperBundle
from xkg.store.graph_store import Facts, PaperLine, Snapshot, TechniqueView


def with_trust(snapshot: Snapshot, trust: Trust) -> Snapshot:
    """Returns the snapshot with the levels attested by the keys in `trust`."""
    return cast(Snapshot, _Trusted(snapshot, trust)) if trust.names else snapshot


class _Trusted:
    """Revises answers that contain a level. All other calls are delegated to the snapshot."""

    def __init__(self, snapshot: Snapshot, trust: Trust) -> None:
        self._inner, self._trust = snapshot, trust

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def paper_lines(self) -> Sequence[PaperLine]:
        return [self._line(line) if line.attested else line for line in self._inner.paper_lines()]

    def bundle(self, paper: str) -> PaperBundle:
        bundle = self._inner.bundle(paper)
        return bundle.model_copy(update={"code": tuple(map(self._trust.seen, bundle.code))})

    def technique(self, technique: str) -> TechniqueView:
        return self._view(self._inner.technique(technique))

    def techniques(self, ids: Sequence[str]) -> Sequence[TechniqueView]:
        return [self._view(view) for view in self._inner.techniques(ids)]

    def code(self, code: str) -> Code:
        return self._trust.seen(self._inner.code(code))

    def facts(self, ids: Sequence[str]) -> Mapping[str, Facts]:
        found = self._inner.facts(ids)
        return {each: self._revise(facts) if facts.vouchers else facts for each, facts in found.items()}

    def _revise(self, facts: Facts) -> Facts:
        return facts.model_copy(update={"level": self._trust.attested(facts.level, facts.vouchers)[0]})

    def _view(self, view: TechniqueView) -> TechniqueView:
        if view.code is None or not view.code.attestations:
            return view
        return view.model_copy(update={"code": self._trust.seen(view.code)})

    def _line(self, line: PaperLine) -> PaperLine:
        levels = Counter(line.levels)
        for level, vouchers in line.attested:
            levels[level] -= 1
            levels[self._trust.attested(level, vouchers)[0]] += 1
        return line._replace(levels={level: count for level, count in levels.items() if count > 0})
