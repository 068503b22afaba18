"""Imitates on loopback the services that a curation uses: arXiv (Atom feed, e-prints), OpenAlex (works and cursors) and
GitHub (REST with pages, limits and entity tags). Searches match words, roughly as in the real services."""

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from urllib.parse import unquote, urlsplit

from tests.build.arxiv_server import Arxiv, StandInPaper, on_loopback, reply, words
from xkg.clock import CLOCK, Clock


@dataclass
class StandInRepository:
    full_name: str
    readme: str | None = "# A repository"
    description: str = ""
    stars: int = 3
    fork: str | None = None
    archived: bool = False
    private: bool = False
    license: str | None = "MIT"
    size: int = 120
    created: str = "2021-03-01"
    pushed: str = "2021-06-01"
    branch: str = "main"
    commit: str | None = "a" * 40
    committers: tuple[str, ...] = ()

    def value(self) -> dict[str, object]:
        owner, name = self.full_name.split("/")
        value: dict[str, object] = {
            "id": abs(hash(self.full_name)) % 10**9,
            "name": name,
            "full_name": self.full_name,
            "owner": {"login": owner, "id": 1, "type": "User"},
            "private": self.private,
            "html_url": f"https://github.com/{self.full_name}",
            "description": self.description or None,
            "fork": self.fork is not None,
            "created_at": f"{self.created}T00:00:00Z",
            "pushed_at": f"{self.pushed}T00:00:00Z",
            "updated_at": f"{self.pushed}T00:00:00Z",
            "homepage": None,
            "size": self.size,
            "stargazers_count": self.stars,
            "archived": self.archived,
            "license": {"spdx_id": self.license, "key": "x", "name": "x"} if self.license else None,
            "default_branch": self.branch,
        }
        if self.fork is not None:
            value["source"] = {"full_name": self.fork}
        return value


@dataclass
class Scholarly(Arxiv):
    """Adds two more services to `Arxiv`. `limit` is the number of requests that GitHub still answers, or None for any
    number. According to `clock`, GitHub resets the limit `reset` seconds after each answer."""

    repositories: dict[str, StandInRepository] = field(default_factory=dict)
    not_modified: int = 0
    limit: int | None = None
    reset: float = 3600.0
    clock: Clock = CLOCK
    page: int = 30

    def host(self, *repositories: StandInRepository) -> None:
        self.repositories |= {each.full_name.lower(): each for each in repositories}

    @property
    def openalex(self) -> str:
        return f"{self.url}/openalex"

    @property
    def github(self) -> str:
        return f"{self.url}/github"

    def respond(self, handler: BaseHTTPRequestHandler, path: str, query: dict[str, str]) -> None:
        kind, _, rest = path.removeprefix("/").partition("/")
        if kind == "openalex":
            self._openalex(handler, query)
        elif kind == "github":
            self._github(handler, rest, query)
        else:
            super().respond(handler, path, query)

    def ranked(self, text: str) -> list[StandInPaper]:
        return self.found(" OR ".join(f"all:{word}" for word in dict.fromkeys(words(text))))

    # --- OpenAlex -----------------------------------------------------------------------------------------------------

    def _openalex(self, handler: BaseHTTPRequestHandler, query: dict[str, str]) -> None:
        size, cursor = int(query.get("per-page", 25)), query.get("cursor", "*")
        chosen = query.get("filter", "")
        if chosen.startswith("doi:"):
            asked = [doi.lower() for doi in unquote(chosen[4:]).split("|")]
            found = [p for p in self.papers.values() if {p.doi.lower(), f"10.48550/arxiv.{p.number}"} & set(asked)]
        elif chosen.startswith("title.search:"):
            asked = words(unquote(chosen.partition(":")[2]))
            found = [p for p in self.ranked(" ".join(asked)) if set(asked) <= set(words(p.title))]
        else:
            found = self.ranked(query.get("search", ""))
        start = 0 if cursor == "*" else int(cursor)
        page = found[start : start + size]
        following = str(start + size) if start + size < len(found) else None
        value = {"meta": {"count": len(found), "next_cursor": following}, "results": [_work(paper) for paper in page]}
        _say(handler, value)

    # --- GitHub -------------------------------------------------------------------------------------------------------

    def _github(self, handler: BaseHTTPRequestHandler, rest: str, query: dict[str, str]) -> None:
        limits = {"X-RateLimit-Limit": "60", "X-RateLimit-Remaining": str(60 if self.limit is None else self.limit)}
        limits["X-RateLimit-Reset"] = str(int(self.clock.now() + self.reset))
        if self.limit is not None:
            if self.limit <= 0:
                _say(handler, {"message": "API rate limit exceeded"}, 403, limits | {"X-RateLimit-Remaining": "0"})
                return
            self.limit -= 1
        parts = rest.split("/")
        if rest == "search/repositories":
            self._search(handler, query, limits)
            return
        repository = self.repositories.get("/".join(parts[1:3]).lower()) if parts[0] == "repos" else None
        if repository is None or (repository.private and not handler.headers.get("Authorization")):
            _say(handler, {"message": "Not Found"}, 404, limits)
        elif len(parts) == 3:
            _say(handler, repository.value(), headers=limits, seen=self._seen)
        elif parts[3] == "readme" and repository.readme is not None:
            content = base64.b64encode(repository.readme.encode()).decode()
            value = {"encoding": "base64", "content": content, "size": len(repository.readme), "path": "README.md"}
            _say(handler, value, headers=limits, seen=self._seen)
        elif parts[3] == "commits":
            commits = [{"sha": "b" * 40, "commit": {"author": {"name": name}}} for name in repository.committers]
            _say(handler, commits, headers=limits, seen=self._seen)
        elif parts[3] == "branches" and repository.commit is not None:
            day = f"{repository.pushed}T00:00:00Z"
            commit = {"sha": repository.commit, "commit": {"committer": {"name": "x", "date": day}}}
            _say(handler, {"name": repository.branch, "commit": commit}, headers=limits, seen=self._seen)
        else:
            _say(handler, {"message": "Not Found"}, 404, limits)

    def _search(self, handler: BaseHTTPRequestHandler, query: dict[str, str], limits: dict[str, str]) -> None:
        wanted = [" ".join(words(phrase)) for phrase in re.findall(r'"([^"]*)"', query["q"])]
        found = [
            each
            for each in self.repositories.values()
            if any(w in " ".join(words(f"{each.full_name} . {each.description} . {each.readme or ''}")) for w in wanted)
            and not each.private
        ]
        found.sort(key=lambda each: -each.stars)
        size, number = int(query.get("per_page", 30)), int(query.get("page", 1))
        size = min(size, self.page)
        page = found[(number - 1) * size : number * size]
        headers = dict(limits)
        if number * size < len(found):
            parts = urlsplit(handler.path)
            rest = re.sub(r"&?page=\d+", "", parts.query)
            headers["Link"] = f'<{self.url}{parts.path}?{rest}&page={number + 1}>; rel="next"'
        value = {"total_count": len(found), "incomplete_results": False, "items": [each.value() for each in page]}
        _say(handler, value, headers=headers, seen=self._seen)

    def _seen(self) -> None:
        self.not_modified += 1


def _work(paper: StandInPaper) -> dict[str, object]:
    index: dict[str, list[int]] = {}
    for place, word in enumerate(paper.abstract.split()):
        index.setdefault(word, []).append(place)
    pages = [{"landing_page_url": f"https://arxiv.org/abs/{paper.number}"}] if paper.listed else []
    return {
        "id": f"https://openalex.org/W{abs(hash(paper.number)) % 10**9}",
        "doi": f"https://doi.org/{paper.doi}" if paper.doi else f"https://doi.org/10.48550/arxiv.{paper.number}",
        "display_name": paper.title,
        "publication_date": paper.published,
        "authorships": [{"author": {"display_name": name}} for name in paper.authors],
        "locations": pages,
        "abstract_inverted_index": index or None,
    }


def _say(
    handler: BaseHTTPRequestHandler,
    value: object,
    status: int = 200,
    headers: dict[str, str] | None = None,
    seen: object = None,
) -> None:
    body = json.dumps(value).encode()
    tag = f'"{abs(hash(body))}"'
    headers = {"Content-Type": "application/json; charset=utf-8", "ETag": tag, **(headers or {})}
    if status == 200 and handler.headers.get("If-None-Match") == tag:
        if callable(seen):
            seen()
        reply(handler, 304, b"", headers)
        return
    reply(handler, status, body, headers)


@contextmanager
def serving() -> Iterator[Scholarly]:
    state = Scholarly()
    with on_loopback(state.answer) as state.url:
        yield state
