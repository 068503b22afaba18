"""The protocol `PaperIndex`: places where papers are looked up and searched; `FoundPaper`, what they say of one."""

from collections.abc import Sequence
from typing import Protocol

from xkg.value import Value


class FoundPaper(Value):
    """A paper as an index describes it ('' or None for what it does not say). `source` is the index, `arxiv_id` is
    without a version, `arxiv_version` the newest (`v2`), `published` a day (YYYY-MM-DD); `comment` is the authors' own,
    as arXiv has it."""

    source: str
    title: str
    authors: tuple[str, ...] = ()
    abstract: str = ""
    comment: str = ""
    published: str | None = None
    arxiv_id: str | None = None
    arxiv_version: str | None = None
    doi: str | None = None

    @property
    def year(self) -> int | None:
        return int(self.published[:4]) if self.published else None


class PaperIndex(Protocol):
    """An index of papers. All methods raise `InputError` with one line where it cannot be asked: not reachable, busy
    for too long, no answer of its form, a key that is missing. `is_slow`: its rules allow few requests, so that it is
    searched only where no other index could be."""

    name: str
    is_slow: bool

    def by_arxiv_ids(self, ids: Sequence[str]) -> Sequence[FoundPaper]:
        """The papers of these ids, in any order, without unknown ones."""
        ...

    def by_dois(self, dois: Sequence[str]) -> Sequence[FoundPaper]:
        """The papers of these DOIs, in any order, without unknown ones."""
        ...

    def by_titles(self, titles: Sequence[str]) -> Sequence[FoundPaper]:
        """Papers whose titles are like these, in any order; the caller compares them."""
        ...

    def search(self, query: str, k: int) -> Sequence[FoundPaper]:
        """At most `k` papers for the words of `query`, best first."""
        ...
