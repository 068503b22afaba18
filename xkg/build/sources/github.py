"""Searches GitHub and reads facts about repositories through `PyGithub`. `Web` limits the requests.

Without `GITHUB_TOKEN`, GitHub allows 60 requests an hour and 10 searches a minute
(https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api), so responses are cached with their
ETag. With a token, cached responses are revalidated. Revalidation does not count against the rate limit if a response
is unchanged. Without a token, cached responses are valid for a day."""

import hashlib
import os
import re
from collections.abc import Callable, ItemsView, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from github import Auth, Github, GithubException, UnknownObjectException
from github.Repository import Repository as GithubRepository
from pydantic import ValidationError

from xkg.build.sources.download import BusyError, HttpReply, Web
from xkg.clock import CLOCK, Clock
from xkg.errors import ConfigError, InputError, UnreachableError
from xkg.files import private_folder, write_whole
from xkg.text.address import repository_address
from xkg.value import Value

URL = "https://api.github.com"

_LARGEST = 8_000_000
_LARGEST_README = 400_000
_COMMITS = 100
_FRESH = 86_400.0  # in seconds
_MOST_STARS = 2**40  # a larger number cannot be correct, and is too large for a graph
_REMEDY = "check the network and the curation.github setting, or turn it off ('none')"
_NAME = re.compile(r"(?ai)(?P<owner>[a-z0-9][a-z0-9-]{0,38})/[\w.-]{1,100}")
_NO_REPOSITORIES = frozenset(
    ("about", "apps", "features", "login", "marketplace", "orgs", "settings", "sponsors", "topics", "user-attachments")
)


class RepositoryFacts(Value):
    """Facts about a repository from its host. Unknown facts are '' or None. Dates have the form YYYY-MM-DD. For a fork,
    `source` is the full name of the original repository. `size_kb` includes the whole history. `committers` contains
    the names of recent committers if they were requested with `GitHub.committers`."""

    url: str
    full_name: str
    description: str = ""
    homepage: str = ""
    stars: int | None = None
    archived: bool | None = None
    source: str | None = None
    license: str | None = None
    size_kb: int | None = None
    created: str | None = None
    pushed: str | None = None
    default_branch: str = ""
    commit: str | None = None
    committed: str | None = None
    readme: str = ""
    committers: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Returns the canonical name of the repository, which is the same for all spellings of its address."""
        repository = repository_address(self.url)
        return self.url if repository is None else repository.name


def github_name(url: str) -> str | None:
    """Extracts `owner/name` from the address of a GitHub repository, or of a page in a repository. Returns None for any
    other address."""
    repository = repository_address(url)
    if repository is None or repository.server != "github.com":
        return None
    match = _NAME.fullmatch(repository.path)
    return None if match is None or match["owner"].lower() in _NO_REPOSITORIES else repository.path


class _Stored(Value):
    etag: str
    at: float
    headers: dict[str, str]
    body: str


class GitHub:
    """Reads repositories on GitHub, or on a server with GitHub's API at `url`. Caches responses in `folder`.

    All methods raise `InputError` with a one-line message if GitHub cannot be reached, `BusyError` if its rate limit is
    exhausted, and `ConfigError` if GitHub rejects the token."""

    def __init__(self, folder: Path, url: str = URL, *, clock: Clock = CLOCK) -> None:
        self._token = os.environ.get("GITHUB_TOKEN", "").strip()
        self._folder, self._clock = folder, clock
        self._web = Web(0.0, _REMEDY, seconds=60, clock=clock)
        self._host = urlsplit(url).netloc
        self._github = Github(
            base_url=url.rstrip("/"),
            auth=Auth.Token(self._token) if self._token else None,
            user_agent="xkg",
            retry=None,
            seconds_between_requests=None,
        )
        # PyGithub's own hook for this purpose affects every client in the process.
        made = partial(_Connection, self._answer, urlsplit(url).scheme)
        self._github.requester._Requester__connectionClass = made  # type: ignore[attr-defined]

    @property
    def limits(self) -> str:
        """Describes the current rate limits for the user in one sentence."""
        if self._token:
            return "GitHub requests use the token in GITHUB_TOKEN"
        return "no GitHub token is set: 60 requests an hour, 10 searches a minute; set GITHUB_TOKEN to raise the limits"

    def search(self, phrases: Sequence[str], k: int) -> Sequence[RepositoryFacts]:
        """Returns at most `k` repositories whose name, description or README contains any of these phrases, best first.
        Does not load READMEs."""
        words = [" ".join(re.findall(r"[\w.:-]+", phrase))[:180].strip() for phrase in phrases]
        wanted = " OR ".join(f'"{phrase}"' for phrase in words if phrase)
        if not wanted:
            return []
        with self._said():
            self._github.per_page = min(k, 100)
            found: Iterable[GithubRepository] = self._github.search_repositories(f"{wanted} in:name,description,readme")
            return [facts for each in islice(found, k) if (facts := _facts(each)) is not None]

    def repository(self, full_name: str) -> RepositoryFacts | None:
        """Returns the repository, with the README and newest commit of its default branch. Returns None if the
        repository does not exist or is not visible."""
        with self._said():
            try:
                found = self._github.get_repo(full_name)
            except UnknownObjectException:
                return None
            facts = _facts(found)
            if facts is None:
                return None
            more: dict[str, object] = {}
            with suppress(UnknownObjectException):
                readme = found.get_readme()
                if readme.encoding == "base64" and (readme.size or 0) <= _LARGEST_README:
                    more["readme"] = readme.decoded_content.decode("utf-8", "replace")[:_LARGEST_README]
            with suppress(UnknownObjectException):  # the repository is empty
                head = found.get_branch(facts.default_branch).commit
                more |= {"commit": head.sha, "committed": _day(head.commit.committer.date)}
            return facts.model_copy(update=more)

    def committers(self, full_name: str) -> tuple[str, ...]:
        """Returns the names of the authors of the repository's last hundred commits. Each name occurs once."""
        with self._said():
            try:
                self._github.per_page = _COMMITS
                found = self._github.get_repo(full_name).get_commits()
                names = [commit.commit.author.name for commit in islice(found, _COMMITS)]
            except GithubException as error:
                if error.status in (404, 409):  # the repository no longer exists or is empty
                    return ()
                raise
        return tuple(dict.fromkeys(name[:200] for name in names if name))

    def _said(self) -> "_Errors":
        return _Errors(self._host, bool(self._token))

    def _answer(self, url: str, headers: Mapping[str, str]) -> HttpReply:
        path = self._folder / (hashlib.sha256(f"{url}\0{self._token}".encode()).hexdigest() + ".json")
        stored = _read(path)
        if stored is not None and not self._token and 0 <= self._clock.now() - stored.at < _FRESH:
            return HttpReply(200, stored.headers, stored.body.encode())
        condition = {"If-None-Match": stored.etag} if stored is not None else {}
        reply = self._web.reply(url, _LARGEST, {**headers, **condition})
        if stored is not None and reply.status == 304:
            reply = HttpReply(200, stored.headers, stored.body.encode())
        if reply.status == 200 and (etag := reply.headers.get("etag", stored.etag if stored else "")):
            kept = {name: value for name, value in reply.headers.items() if name in ("link", "content-type", "etag")}
            fresh = _Stored(etag=etag, at=self._clock.now(), headers=kept, body=reply.body.decode("utf-8", "replace"))
            with suppress(OSError):  # without a writable cache, responses are just requested again
                private_folder(self._folder.parent)
                private_folder(self._folder)
                write_whole(path, fresh.model_dump_json().encode())
        return reply


def _read(path: Path) -> _Stored | None:
    try:
        return _Stored.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


class _Errors:
    """Converts PyGithub errors into one-line errors."""

    def __init__(self, host: str, token: bool) -> None:
        self._host, self._token = host, token

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, BusyError) and not self._token:
            raise BusyError(f"{error}, or set GITHUB_TOKEN, which raises the limit", error.seconds) from error
        if isinstance(error, InputError):
            return
        if isinstance(error, GithubException) and error.status == 401:
            raise ConfigError("GitHub rejects the token in GITHUB_TOKEN; create a new one, or unset it") from error
        if isinstance(error, GithubException):
            raise UnreachableError(
                f"{self._host} returned status {error.status}; try again later, or {_REMEDY}"
            ) from error
        if isinstance(error, TypeError | KeyError | AttributeError | ValueError | AssertionError | RuntimeError):
            raise UnreachableError(f"{self._host} does not respond like GitHub; {_REMEDY}") from error


class _Connection:
    """Replaces PyGithub's connection class."""

    def __init__(
        self,
        answer: Callable[[str, Mapping[str, str]], HttpReply],
        scheme: str,
        host: str,
        port: int | None = None,
        **_: object,
    ) -> None:
        self._answer, self.host = answer, host
        self._base = f"{scheme}://{host}" + (f":{port}" if port else "")
        self._url, self._headers = "", {"": ""}

    def request(
        self,
        verb: str,
        url: str,
        input: object,
        headers: dict[str, str],
        stream: bool = False,  # noqa: ARG002
    ) -> None:
        if verb != "GET" or input is not None:
            raise RuntimeError("only GET requests are sent to GitHub")
        self._url, self._headers = self._base + url, headers

    def getresponse(self) -> "_Response":
        return _Response(self._answer(self._url, self._headers))

    def close(self) -> None:
        pass


class _Response:
    def __init__(self, reply: HttpReply) -> None:
        self.status, self.headers, self._body = reply.status, dict(reply.headers), reply.body

    def getheaders(self) -> ItemsView[str, str]:
        return self.headers.items()

    def read(self) -> str:
        return self._body.decode("utf-8", "replace")


def _facts(found: GithubRepository) -> RepositoryFacts | None:
    """Returns the facts in a search result. Returns None if the repository is private, or if its name cannot be part of
    an address."""
    name = github_name(f"https://github.com/{found.full_name}")
    if name is None or found.private:
        return None
    raw: Mapping[str, Any] = found._rawData  # `raw_data` would request each search result in full
    license_id = (raw.get("license") or {}).get("spdx_id")
    origin = (raw.get("source") or raw.get("parent") or {}).get("full_name") if raw.get("fork") else None
    return RepositoryFacts(
        url=f"https://github.com/{name}",
        full_name=name,
        description=(found.description or "")[:1000],
        homepage=(found.homepage or "")[:300],
        stars=found.stargazers_count if 0 <= found.stargazers_count <= _MOST_STARS else None,
        archived=bool(found.archived),
        source=(origin or "a fork") if raw.get("fork") else None,
        license=license_id if license_id not in (None, "NOASSERTION") else None,
        size_kb=found.size,
        created=_day(found.created_at),
        pushed=_day(found.pushed_at),
        default_branch=found.default_branch or "",
    )


def _day(moment: datetime | None) -> str | None:
    return moment.date().isoformat() if moment is not None else None
