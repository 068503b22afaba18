"""Queries arXiv's API through the `arxiv` package. `Web` paces, retries and limits the requests.

The pause between requests is the default of `arxiv`, which follows the terms of use
(https://info.arxiv.org/help/api/tou.html)."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import arxiv

from xkg.build.sources.download import Web
from xkg.clock import Clock
from xkg.errors import UnreachableError

HOSTS = ("arxiv.org", "export.arxiv.org", "www.arxiv.org")
REMEDY = "check the network and the arxiv.url setting, or pass the paper's own files"
ABSENT = (403, 404, 410)

_LARGEST_FEED = 5_000_000


def arxiv_web(seconds: float, clock: Clock) -> Web:
    """Returns a client for arXiv with the pause that its terms of use require. `seconds` is the timeout for one
    request."""
    return Web(arxiv.Client().delay_seconds, REMEDY, seconds=seconds, clock=clock, hosts=HOSTS)


class Feed:
    """Reads entries from the API at `url`."""

    def __init__(self, web: Web, url: str) -> None:
        self._web, self._url = web, url

    def entries(self, *, ids: Sequence[str] = (), query: str = "", most: int) -> Iterator[arxiv.Result]:
        """Yields at most `most` entries from one request. The entries are those with these `ids`, or the results of
        `query` in order of relevance.

        Raises `UnreachableError`. Raises `arxiv.HTTPError` if arXiv rejects the request. The status is in `ABSENT`, or
        400 if an id is malformed."""
        client: Any = arxiv.Client(page_size=most, delay_seconds=0, num_retries=0)
        client.query_url_format = self._url + "/api/query?{}"
        client._session = _Session(self._web, self._url)
        search = arxiv.Search(query=query, id_list=list(ids), max_results=most)
        try:
            yield from client.results(search)
        except arxiv.HTTPError as error:
            if error.status in (400, *ABSENT):
                raise
            raise UnreachableError(
                f"{self._url} returned status {error.status}; try again later, or {REMEDY}"
            ) from error
        except ValueError as error:  # the date is invalid
            raise _no_feed(self._url) from error


class _Answer(NamedTuple):
    status_code: int
    content: bytes


class _Session:
    def __init__(self, web: Web, url: str) -> None:
        self._web, self._url = web, url

    def get(self, url: str, headers: object = None) -> _Answer:  # noqa: ARG002
        status, content = self._web.fetch(url, _LARGEST_FEED)
        if status == 200 and b"<feed" not in content[:2000]:
            raise _no_feed(self._url)
        return _Answer(status, content)


def _no_feed(url: str) -> UnreachableError:
    return UnreachableError(f"{url} does not respond like arXiv; {REMEDY}")
