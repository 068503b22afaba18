"""Finds a paper's repository. Checks the repositories that the paper mentions, then searches GitHub for the title."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from xkg.build.curation.curated_set import ChosenRepository
from xkg.build.curation.ownership import PaperIdentity, Verdict, judge
from xkg.build.curation.repository_links import RepositoryLink
from xkg.build.repositories.checkout import fetch_repository
from xkg.build.sources.download import BusyError
from xkg.build.sources.github import RepositoryFacts, github_name
from xkg.errors import InputError

_SEARCHED = 4
_MOST_LINKS = 6
_CERTAIN = 10.0
"""The search stops at a repository with at least this many points. A repository with fewer points may belong to a later
paper by the same authors."""
_README = ("readme.md", "readme.rst", "readme.txt", "readme")


class RepositoryHost(Protocol):
    """A repository host with lookup and search, such as `xkg.build.sources.github.GitHub`."""

    def search(self, phrases: Sequence[str], k: int) -> Sequence[RepositoryFacts]: ...
    def repository(self, full_name: str) -> RepositoryFacts | None: ...
    def committers(self, full_name: str) -> Sequence[str]: ...


class RepositoriesFound(NamedTuple):
    """The repositories examined for a paper. `unanswered` says why the host could not be searched."""

    repositories: tuple[ChosenRepository, ...]
    unanswered: str | None = None


class RepositorySearch:
    """Decides which repository is a paper's own. Reads a shallow clone in `cache` if `host` is None or the address is
    not on GitHub.

    `decide` is called if the facts are inconclusive. `refused` returns the reason for refusing an address, or None if
    it is allowed."""

    def __init__(
        self,
        host: RepositoryHost | None,
        cache: Path,
        *,
        decide: Callable[[PaperIdentity, RepositoryFacts, Verdict], tuple[bool, str] | None] = lambda *_: None,
        refused: Callable[[str], str | None] = lambda _: None,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._host, self._cache = host, cache
        self._decide, self._refused, self._note = decide, refused, note
        self._busy: str | None = None

    def of(
        self,
        paper: PaperIdentity,
        links: Sequence[RepositoryLink],
        later: Callable[[], Sequence[RepositoryLink]] = lambda: (),
    ) -> RepositoriesFound:
        """Returns all examined repositories. The paper's own repository comes first, followed by the others from most
        to least likely. `links` contains the links from the paper's abstract. `later` returns the links in the paper's
        text and is called if neither the abstract nor a search yields the paper's own repository."""
        looked_at: list[ChosenRepository] = []
        seen: set[str] = set()
        unanswered = None
        if not _add(self._linked(paper, links, seen), looked_at):
            matching, unanswered = self._searched(paper)
            certain = _add(self._matching(paper, matching, seen), looked_at)
            if not certain and not any(each.is_official for each in looked_at):
                _add(self._linked(paper, later(), seen), looked_at)
        return RepositoriesFound(
            tuple(sorted(looked_at, key=lambda each: (not each.is_official, -each.score))), unanswered
        )

    def _linked(
        self, paper: PaperIdentity, links: Sequence[RepositoryLink], seen: set[str]
    ) -> Iterator[ChosenRepository]:
        for link in [each for each in links if each.role != "cited"][:_MOST_LINKS]:
            # A search result is examined again if the paper calls the repository its own.
            if link.name not in seen or link.role == "own":
                seen.add(link.name)
                yield self._judged(link.url, paper, link)

    def _matching(
        self, paper: PaperIdentity, matching: Sequence[RepositoryFacts], seen: set[str]
    ) -> Iterator[ChosenRepository]:
        for facts in matching:
            if facts.name not in seen:
                seen.add(facts.name)
                yield self._judged(facts.url, paper, None)

    def _searched(self, paper: PaperIdentity) -> tuple[Sequence[RepositoryFacts], str | None]:
        """Returns the host's results for the title and arXiv id, and the reason if the search failed."""
        if self._host is None or self._busy is not None:
            return (), self._busy
        try:
            phrases = [paper.title, *([paper.arxiv_id] if paper.arxiv_id else [])]
            return self._host.search(phrases, _SEARCHED), None
        except InputError as error:
            self._failed(f"could not search for repositories of {paper.title[:80]!r}: {error}", error)
            return (), str(error)

    def _judged(self, url: str, paper: PaperIdentity, link: RepositoryLink | None) -> ChosenRepository:
        found = "a GitHub search for the title" if link is None else _words(link)
        if (reason := self._refused(url)) is not None:
            return ChosenRepository(url=url, is_official=False, evidence=(reason,), found=found)
        try:
            facts = self._facts(url)
        except InputError as error:
            if self._busy is None:  # otherwise, the problem was already noted
                self._failed(f"could not examine {url}: {error}", error)
            return ChosenRepository(url=url, evidence=(f"it could not be examined: {error}",), found=found)
        if facts is None:
            gone = "the repository does not exist: it was deleted or is private"
            return ChosenRepository(url=url, is_official=False, evidence=(gone,), found=found)
        origin = f"https://github.com/{facts.source}" if facts.source is not None else ""
        if reason := self._refused(facts.url) or (self._refused(origin) if "/" in (facts.source or "") else None):
            return ChosenRepository(url=facts.url, is_official=False, evidence=(reason,), found=found)
        role = link.role if link is not None else None
        verdict = judge(facts, paper, role)
        if verdict.wants_author:
            facts = self._with_committers(facts)
            verdict = judge(facts, paper, role)
        official, evidence = verdict.official, verdict.evidence
        if official is None and (decided := self._decide(paper, facts, verdict)) is not None:
            official, evidence = decided[0], (*evidence, decided[1])
        return ChosenRepository(
            url=facts.url,
            commit=facts.commit,
            default_branch=facts.default_branch,
            license=facts.license,
            stars=facts.stars,
            archived=facts.archived,
            size_kb=facts.size_kb,
            created=facts.created,
            committed=facts.committed,
            is_official=official,
            score=verdict.points,
            evidence=evidence,
            is_named=link is not None and link.role == "own",
            found=found,
        )

    def _facts(self, url: str) -> RepositoryFacts | None:
        """Returns the facts about a repository, or None if it does not exist. Raises `InputError` if the facts are
        unavailable."""
        name = github_name(url)
        if name is not None and self._host is not None:
            if self._busy is not None:
                raise InputError(self._busy)
            return self._host.repository(name)
        checkout = fetch_repository(url, self._cache)
        names = {
            file.path.lower(): file.path for file in checkout.files if file.kind == "file" and "/" not in file.path
        }
        readme = next((names[name] for name in _README if name in names), None)
        content = next((data for _, data in checkout.read([readme])), None) if readme is not None else None
        repository = checkout.repository
        return RepositoryFacts(
            url=repository.url,
            full_name=repository.url.removeprefix("https://").partition("/")[2],
            license=repository.license,
            commit=repository.commit,
            committed=checkout.committed,
            readme=(content or b"").decode("utf-8", "replace"),
        )

    def _with_committers(self, facts: RepositoryFacts) -> RepositoryFacts:
        name = github_name(facts.url)
        if name is None or self._host is None or self._busy is not None:
            return facts
        try:
            return facts.model_copy(update={"committers": tuple(self._host.committers(name))})
        except InputError as error:
            self._failed(f"could not list the committers of {name}: {error}", error)
            return facts

    def _failed(self, line: str, error: InputError) -> None:
        if isinstance(error, BusyError):
            self._busy = str(error)
        self._note(line)


def _words(link: RepositoryLink) -> str:
    return f"{'' if link.role == 'suggested' else 'the paper: '}{link.words[-240:]}"


def _add(candidates: Iterable[ChosenRepository], looked_at: list[ChosenRepository]) -> bool:
    """Appends candidates up to the first one that is certainly the paper's own, and returns whether there is one."""
    for candidate in candidates:
        looked_at.append(candidate)
        if candidate.is_official and (candidate.score >= _CERTAIN or candidate.is_named):
            return True
    return False
