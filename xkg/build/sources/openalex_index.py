"""Implements `PaperIndex` for OpenAlex, through `pyalex`. `Web` paces, retries and limits the requests.

OpenAlex is described in Priem, Piwowar and Orr, "OpenAlex: A fully-open index of scholarly works, authors, venues,
institutions, and concepts", 2022. Without a key, OpenAlex answers only a limited number of requests each day. A key in
`OPENALEX_API_KEY` removes that limit."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pyalex

from xkg.build.sources.download import Web
from xkg.build.sources.paper_index import FoundPaper
from xkg.clock import CLOCK, Clock
from xkg.errors import UnreachableError
from xkg.text.arxiv_id import arxiv_id
from xkg.text.doi import canonical_doi

URL = "https://api.openalex.org"

_LARGEST = 20_000_000
_DOIS, _PER_TITLE = 50, 3
_REMEDY = "check the network and the curation.openalex setting, or turn it off ('none')"
_FIELDS = ["id", "doi", "title", "display_name", "publication_date", "authorships", "locations"]
_WITH_ABSTRACT = [*_FIELDS, "abstract_inverted_index"]


class OpenAlexIndex:
    """Searches the works in OpenAlex, or in a mirror at `url`."""

    name = "OpenAlex"
    is_slow = False

    def __init__(self, url: str = URL, *, clock: Clock = CLOCK) -> None:
        self._url = url.rstrip("/")
        self._web = Web(0.1, _REMEDY, seconds=60, clock=clock)

    def by_arxiv_ids(self, ids: Sequence[str]) -> Sequence[FoundPaper]:
        return self.by_dois([f"10.48550/arxiv.{each}" for each in ids])

    def by_dois(self, dois: Sequence[str]) -> Sequence[FoundPaper]:
        distinct = tuple(
            dict.fromkeys((canonical_doi(doi) or doi) for doi in dois if "|" not in doi and "," not in doi)
        )
        found: list[FoundPaper] = []
        for at in range(0, len(distinct), _DOIS):
            works = self._works().filter(doi="|".join(distinct[at : at + _DOIS])).select(_WITH_ABSTRACT)
            for page in works.paginate(per_page=_DOIS, n_max=2 * _DOIS):
                found += _papers(page)
        return found

    def by_titles(self, titles: Sequence[str]) -> Sequence[FoundPaper]:
        found: list[FoundPaper] = []
        for title in dict.fromkeys(titles):
            words = " ".join(re.findall(r"[^\W_]+", title)[:40])
            if words:
                works = self._works().search_filter(title=words).select(_WITH_ABSTRACT)
                found += _papers(works.get(per_page=_PER_TITLE))
        return found

    def search(self, query: str, k: int) -> Sequence[FoundPaper]:
        works = self._works().search(" ".join(re.findall(r"[^\W_]+", query)[:40]))
        return _papers(works.select(_WITH_ABSTRACT).get(per_page=min(k, 100)))

    def _works(self) -> Any:
        return Works(self._web, self._url)


class Works(pyalex.Works):  # type: ignore[misc]
    """Sends the package's queries through `Web`. The package derives the URL path from the name of this class."""

    def __init__(self, web: Web, url: str) -> None:
        super().__init__()
        self._web, self._base = web, urlsplit(url)

    def _get_from_url(self, url: str, session: object = None) -> Any:  # noqa: ARG002
        parts = urlsplit(url)
        path = self._base.path.rstrip("/") + parts.path
        address = urlunsplit((self._base.scheme, self._base.netloc, path, parts.query, ""))
        key = os.environ.get("OPENALEX_API_KEY", "")
        status, value = self._web.json(address, _LARGEST, {"Authorization": f"Bearer {key}"} if key else None)
        if status in (401, 403):
            raise UnreachableError("OpenAlex requires a key; set OPENALEX_API_KEY, or curation.openalex=none")
        results, meta = (value.get("results"), value.get("meta")) if isinstance(value, dict) else (None, None)
        if status != 200 or not isinstance(results, list) or not isinstance(meta, dict):
            raise UnreachableError(f"{self._base.netloc} does not respond like OpenAlex (status {status}); {_REMEDY}")
        return pyalex.api.OpenAlexResponseList(
            [work for work in results if isinstance(work, dict)],
            {"next_cursor": None, **meta},
            self.resource_class,
        )


def _papers(works: Iterable[Mapping[str, Any]]) -> list[FoundPaper]:
    found = []
    for work in works:
        try:
            found.append(_paper(work))
        except (AttributeError, KeyError, TypeError, ValueError):  # skip a malformed work and keep the others
            continue
    return found


def _paper(work: Mapping[str, Any]) -> FoundPaper:
    doi = canonical_doi(work.get("doi") or "")
    places = [doi or "", *((place or {}).get("landing_page_url") or "" for place in work.get("locations") or ())]
    known = next((each for place in places[:50] if (each := arxiv_id(place)) is not None), None)
    names = [(each.get("author") or {}).get("display_name") or "" for each in (work.get("authorships") or ())[:100]]
    day = work.get("publication_date")
    index = work.get("abstract_inverted_index")
    return FoundPaper(
        source=OpenAlexIndex.name,
        title=" ".join((work.get("display_name") or work["title"]).split())[:1000],
        authors=tuple(name for name in names if name),
        abstract=(pyalex.invert_abstract(index) or "")[:20_000] if isinstance(index, dict) else "",
        published=day if isinstance(day, str) and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", day) else None,
        arxiv_id=known.number if known else None,
        doi=doi if doi is None or arxiv_id(doi) is None else None,
    )
