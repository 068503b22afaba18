"""Finds papers on arXiv by their titles."""

import re
from typing import NamedTuple

from xkg.build.sources.paper_index import FoundPaper, PaperIndex
from xkg.build.sources.paper_source import PaperFile, Source
from xkg.errors import InputError
from xkg.text.titles import title_similarity

ALIKE = 0.9
"""Minimum similarity for a title to match a paper (`title_similarity`)."""

_DOUBTFUL = 0.5
_LISTED = 5
_LONGEST = 400  # characters; no title is longer, and arXiv rejects longer queries
_WORD = re.compile(r"[^\W\d_]{2,}")
_FILE = re.compile(r"\.(?:tex|ltx|md|markdown|pdf|html?|xhtml|txt|zip|gz|tgz|tar|bz2|xz)$", re.I)


class _Match(NamedTuple):
    similarity: float
    paper: FoundPaper

    def __str__(self) -> str:
        by = f", {self.paper.authors[0]}" if self.paper.authors else ""
        year = f", {self.paper.year}" if self.paper.year else ""
        return f"{self.paper.arxiv_id} {self.paper.title[:120]}{by}{year}"


def can_be_title(spec: str) -> bool:
    """Returns whether the text may be a title. A title contains a word and is neither a path nor an address."""
    text = spec.strip()
    if len(text) > _LONGEST or "://" in text or "\n" in text or _FILE.search(text):
        return False
    return bool(_WORD.search(text)) and not re.search(r"[/\\]\S|^[.~-]|^[a-z]+:\S", text)


class TitleSource:
    """Looks up titles in `index` and fetches the papers from `papers`.

    If several papers match a title, the error lists them. If `first` is True, the most similar paper is used instead,
    and the order in `index` breaks ties."""

    def __init__(self, index: PaperIndex, papers: Source, *, first: bool = False) -> None:
        self._index, self._papers, self._first = index, papers, first

    def names(self, spec: str) -> bool:
        return can_be_title(spec)

    def paper(self, spec: str) -> PaperFile:
        """Returns the paper with this title. Raises the same errors as `Source.paper`. Also raises `InputError` if no
        paper, or more than one, matches the title."""
        title = " ".join(spec.split())
        match = self._match(title)
        found = self._papers.paper(match.paper.arxiv_id or "")
        note = f"the title {title!r} was matched to arXiv:{match} (similarity {match.similarity:.2f})"
        return found.model_copy(update={"notes": (*found.notes, note)})

    def _match(self, title: str) -> _Match:
        known = {paper.arxiv_id: paper for paper in self._index.by_titles([title]) if paper.arxiv_id}
        matches = [_Match(title_similarity(title, paper.title), paper) for paper in known.values()]
        matches = sorted(matches, key=lambda match: -match.similarity)
        for least in (1.0, ALIKE):
            alike = [match for match in matches if match.similarity >= least]
            if len(alike) == 1 or (alike and self._first):
                return alike[0]
            if alike:
                listed = "; ".join(map(str, alike[:_LISTED]))
                raise InputError(
                    f"{len(alike)} papers on {self._index.name} have the title {title!r}: {listed}; pass the id of the "
                    "right paper, or --first"
                )
        nearest = [match for match in matches if match.similarity >= _DOUBTFUL]
        if nearest and self._first:
            return nearest[0]
        near = f"; nearest: {'; '.join(map(str, nearest[:_LISTED]))} (--first picks the first)" if nearest else ""
        raise InputError(
            f"there is no file with this name, and {self._index.name} has no paper titled {title!r}{near}; pass a "
            "file or an arXiv id"
        )
