"""Defines `PaperIndex`, the protocol for indexes that can look up and search papers, and `FoundPaper`, the type of the
results."""

from collections.abc import Sequence
from typing import Protocol

from xkg.value import Value


class FoundPaper(Value):
    """A paper, as described by an index. Unknown fields are '' or None. `source` is the index, `arxiv_id` has no
    version, and `arxiv_version` is the newest version, such as `v2`. `published` is a date (YYYY-MM-DD). `comment` is
    the authors' comment on arXiv."""

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
    """An index of papers. `is_slow` is True if the index allows so few requests that it should be searched last.

    All methods raise `InputError` with a one-line message if the index is unreachable, is busy for too long, returns an
    unexpected response or requires a key."""

    name: str
    is_slow: bool

    def by_arxiv_ids(self, ids: Sequence[str]) -> Sequence[FoundPaper]:
        """Returns the papers with these ids, in any order. Omits unknown ids."""
        ...

    def by_dois(self, dois: Sequence[str]) -> Sequence[FoundPaper]:
        """Returns the papers with these DOIs, in any order. Omits unknown DOIs."""
        ...

    def by_titles(self, titles: Sequence[str]) -> Sequence[FoundPaper]:
        """Returns papers with titles similar to these, in any order. The caller must compare the titles."""
        ...

    def search(self, query: str, k: int) -> Sequence[FoundPaper]:
        """Returns at most `k` papers that match the words of `query`, best first."""
        ...
