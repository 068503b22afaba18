"""Semantic Scholar as a `PaperIndex`, through `semanticscholar`, whose requests `Web` paces, retries and bounds.

Kinney et al., "The Semantic Scholar Open Data Platform", 2023. Without a key (`SEMANTIC_SCHOLAR_API_KEY`) all callers
of the world share one limit, so that it is often busy."""

import asyncio
import json
import logging
import os
import re
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any

from semanticscholar.AsyncSemanticScholar import AsyncSemanticScholar

from xkg.build.sources.download import Web
from xkg.build.sources.paper_index import FoundPaper
from xkg.clock import CLOCK, Clock
from xkg.errors import UnreachableError
from xkg.text.arxiv_id import arxiv_id

URL = "https://api.semanticscholar.org"

_LARGEST = 20_000_000
_IDS = 200
_REMEDY = "check the network and the setting curation.semantic_scholar, or switch it off ('none')"
_FIELDS = ["title", "abstract", "externalIds", "publicationDate", "year", "authors"]


class SemanticScholarIndex:
    """The papers of Semantic Scholar, or of a mirror at `url`."""

    name = "Semantic Scholar"
    is_slow = False

    def __init__(self, url: str = URL, *, pause: float = 1.0, seconds: float = 60, clock: Clock = CLOCK) -> None:
        logging.getLogger("semanticscholar").setLevel(logging.ERROR)  # it warns of each unknown id
        key = os.environ.get("SEMANTIC_SCHOLAR_API_KEY") or None
        self._client = AsyncSemanticScholar(api_key=key, api_url=url.rstrip("/"), retry=False)
        self._client._requester = _Requester(Web("xkg", pause, _REMEDY, seconds=seconds, clock=clock))

    def by_arxiv_ids(self, ids: Sequence[str]) -> Sequence[FoundPaper]:
        return self._batch([f"ARXIV:{each}" for each in dict.fromkeys(ids)])

    def by_dois(self, dois: Sequence[str]) -> Sequence[FoundPaper]:
        return self._batch([f"DOI:{each}" for each in dict.fromkeys(dois)])

    def by_titles(self, titles: Sequence[str]) -> Sequence[FoundPaper]:
        """The first for each title."""
        return [paper for title in dict.fromkeys(titles) for paper in self.search(title, 1)]

    def search(self, query: str, k: int) -> Sequence[FoundPaper]:
        words = " ".join(re.findall(r"[^\W_]+", query)[:40])
        if not words:
            return []
        found = _run(self._client.search_paper(words, fields=_FIELDS, limit=min(k, 100)))
        return _papers(found.items if hasattr(found, "items") else ())[:k]

    def _batch(self, ids: Sequence[str]) -> list[FoundPaper]:
        return [
            paper
            for at in range(0, len(ids), _IDS)
            for paper in _papers(_run(self._client.get_papers(list(ids[at : at + _IDS]), fields=_FIELDS)))
        ]


class _Requester:
    """What the package's client asks through."""

    timeout, retry = 60, False

    def __init__(self, web: Web) -> None:
        self._web = web

    async def get_data_async(self, url: str, parameters: str, headers: dict[str, str], payload: object = None) -> Any:
        address = f"{url}?{parameters.lstrip('&')}" if parameters else url
        body = json.dumps(payload).encode() if payload else None
        typed = {**headers, "Content-Type": "application/json"} if body else dict(headers)
        status, value = self._web.json(address, _LARGEST, typed, body)
        if status == 404:
            return {"data": [], "total": 0}
        if status != 200 or not isinstance(value, dict | list):
            raise UnreachableError(f"Semantic Scholar answers {status}, not as it does; {_REMEDY}")
        return value


def _run(call: Coroutine[Any, Any, Any]) -> Any:
    try:
        return asyncio.run(call)
    except (KeyError, TypeError, AttributeError, ValueError) as error:  # the package trusts the form of an answer
        raise UnreachableError(f"Semantic Scholar gives no answer of its form; {_REMEDY}") from error


def _papers(papers: Iterable[Any]) -> list[FoundPaper]:
    found = []
    for paper in papers:
        try:
            found.append(_paper(paper.raw_data))
        except (AttributeError, KeyError, TypeError, ValueError):
            continue
    return found


def _paper(raw: dict[str, Any]) -> FoundPaper:
    ids = raw.get("externalIds") or {}
    known = arxiv_id(ids.get("ArXiv") or "")
    day = raw.get("publicationDate") or (f"{raw['year']}-01-01" if raw.get("year") else None)
    return FoundPaper(
        source=SemanticScholarIndex.name,
        title=" ".join(raw["title"].split())[:1000],
        authors=tuple(author["name"] for author in (raw.get("authors") or ())[:100]),
        abstract=(raw.get("abstract") or "")[:20_000],
        published=day if day is not None and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", day) else None,
        arxiv_id=known.number if known is not None else None,
        doi=ids.get("DOI"),
    )
