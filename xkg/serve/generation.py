"""State shared by all answers from the same generation of a graph."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from cachetools import LRUCache

from xkg.attestations.trust import Trust
from xkg.blacklist import read_blacklist
from xkg.serve.answers.measured import Ablations, by_technique
from xkg.serve.answers.paper_list import PaperList
from xkg.serve.answers.types import SearchAnswer
from xkg.serve.excluded import excluded_papers, without
from xkg.serve.trusted import with_trust
from xkg.store.graph_store import GraphStore, Snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping


ANSWERS = 256
"""Number of cached search answers. Each answer takes about 10 kB."""


class Generation:
    """A snapshot as seen by a user who trusts the keys in `trust`. Papers listed in the file `exclude` are hidden.
    `trust` and `exclude` may be None. All properties are computed on first use. Raises `InputError` if `exclude` cannot
    be read, because an unfiltered answer could contain excluded papers."""

    def __init__(self, store: GraphStore, snapshot: Snapshot, trust: Trust | None, exclude: Path | None) -> None:
        self.snapshot, self.trust = snapshot, trust
        self._store, self._exclude = store, exclude
        self.answers: LRUCache[object, SearchAnswer] = LRUCache(ANSWERS)

    @cached_property
    def hidden(self) -> "Mapping[str, str]":
        """The excluded papers' ids, mapped to the reasons."""
        if self._exclude is None or self.snapshot.generation == 0:
            return {}
        return excluded_papers(self._store, self.snapshot, read_blacklist(self._exclude))

    @cached_property
    def shown(self) -> Snapshot:
        """The snapshot without excluded papers, and with the levels attested by trusted keys."""
        attested = self.snapshot if self.trust is None else with_trust(self.snapshot, self.trust)
        return without(attested, self.hidden)

    @cached_property
    def ablations(self) -> Ablations:
        """All measurements."""
        return by_technique(self._store.ablations())

    @cached_property
    def papers(self) -> PaperList:
        return PaperList(self.snapshot.generation, self.shown.paper_lines())
