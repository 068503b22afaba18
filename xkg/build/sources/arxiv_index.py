"""Implements `PaperIndex` for arXiv. One request covers up to a hundred ids, or six titles."""

import re
from collections.abc import Iterator, Sequence

import arxiv

from xkg.build.sources.arxiv_feed import Feed, arxiv_web
from xkg.build.sources.paper_index import FoundPaper
from xkg.clock import CLOCK, Clock
from xkg.text.arxiv_id import arxiv_id

_IDS, _TITLES, _PER_TITLE = 100, 6, 5
_MOST_WORDS = 24
_COMMON = frozenset("a an and as at by for from in into is of on or the to via with using".split())
_WORD = re.compile(r"[^\W_]+")


class ArxivIndex:
    """Searches the papers on arXiv, or on a mirror at `url`."""

    name = "arXiv"
    is_slow = True

    def __init__(self, url: str, *, clock: Clock = CLOCK) -> None:
        self._feed = Feed(arxiv_web(60, clock), url.rstrip("/"))

    def by_arxiv_ids(self, ids: Sequence[str]) -> Sequence[FoundPaper]:
        return [paper for some in _batches(ids, _IDS) for paper in self._ask(ids=some, most=len(some))]

    def by_dois(self, dois: Sequence[str]) -> Sequence[FoundPaper]:
        """Returns papers for DOIs that arXiv itself issued (10.48550). arXiv cannot search for other DOIs."""
        named = [arxiv_id(doi) for doi in dois]
        return self.by_arxiv_ids([each.number for each in named if each is not None])

    def by_titles(self, titles: Sequence[str]) -> Sequence[FoundPaper]:
        phrases = [f'ti:"{words}"' for title in titles if (words := _words(title))]
        return [
            paper
            for some in _batches(phrases, _TITLES)
            for paper in self._ask(query=" OR ".join(some), most=_PER_TITLE * len(some))
        ]

    def search(self, query: str, k: int) -> Sequence[FoundPaper]:
        """Returns results in arXiv's order of relevance. Papers that match more words, or rarer words, come first."""
        words = [word for word in _words(query).split() if word.lower() not in _COMMON]
        return list(self._ask(query=" OR ".join(f"all:{word}" for word in words), most=k)) if words else []

    def _ask(self, *, ids: Sequence[str] = (), query: str = "", most: int) -> Iterator[FoundPaper]:
        try:
            for entry in self._feed.entries(ids=ids, query=query, most=most):
                if (found := _found(entry)) is not None:
                    yield found
        except arxiv.HTTPError:  # arXiv rejects queries that contain certain words, so return no results
            return


def _found(entry: arxiv.Result) -> FoundPaper | None:
    known = arxiv_id(entry.entry_id)
    if known is None:
        return None
    doi = re.search(r"10\.\d{4,9}/\S{1,200}", entry.doi or "")
    return FoundPaper(
        source=ArxivIndex.name,
        title=" ".join(entry.title.split()),
        authors=tuple(" ".join(author.name.split()) for author in entry.authors),
        abstract=" ".join(entry.summary.split()),
        comment=" ".join((entry.comment or "").split()),
        published=entry.published.date().isoformat() if entry.published.year > 1 else None,
        arxiv_id=known.number,
        arxiv_version=known.version or None,
        doi=doi.group() if doi else None,
    )


def _words(text: str) -> str:
    """Returns the text without quotation marks, brackets and colons, because these belong to the query syntax."""
    return " ".join(_WORD.findall(text)[:_MOST_WORDS])


def _batches(values: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    distinct = tuple(dict.fromkeys(values))
    return (distinct[at : at + size] for at in range(0, len(distinct), size))
