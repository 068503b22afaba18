"""Implements `xkg update`, which looks for new versions of papers and new commits in repositories, and rebuilds the
affected papers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Literal, NamedTuple

from xkg.blacklist import Blacklist, read_blacklist
from xkg.clock import CLOCK, Clock
from xkg.commands.batch.build_papers import BuildPapers
from xkg.commands.batch.paper_list import ListedPaper
from xkg.commands.batch.records import row_of
from xkg.commands.batch.side_by_side import Ended, Event, build_side_by_side
from xkg.commands.graph.open import chosen_papers, open_store, share_pace, stored_paper
from xkg.commands.library.follow import Wanted, in_libraries
from xkg.commands.library.pull import pull
from xkg.commands.published import BuildResult
from xkg.config import Settings
from xkg.engine.engine import Engine, WorkFailed
from xkg.engine.local import LocalEngine
from xkg.errors import InputError, SomeFailedError, XkgError
from xkg.library.places import shown
from xkg.model import Paper, PaperBundle, Repository
from xkg.store.bundle_changes import PaperChange, paper_change
from xkg.text.plural import plural
from xkg.value import Value

_AT_ONCE = 100
"""The number of papers per request to arXiv."""

State = Literal["current", "newer", "updated", "by hand", "not followed", "failed"]


class UpdatedPaper(Value):
    """One checked paper. `state` is `current`, `updated`, `failed`, `newer`, `by hand` or `not followed`. `newer` means
    that there is a new version or commit, but building was not requested. `by hand` means that there is a new version
    or commit, but the build needs other files that only the user has. `not followed` means that the paper came only
    from files, so newer versions cannot be looked up. `news` lists new versions and commits, one per line. `reason`
    says why the paper was not built. `change` is the difference between the old and the new paper."""

    paper: str
    title: str
    state: State
    news: tuple[str, ...] = ()
    reason: str = ""
    notes: tuple[str, ...] = ()
    change: PaperChange | None = None


class UpdateResult(Value):
    """The checked papers. `generation` is the resulting generation."""

    papers: tuple[UpdatedPaper, ...]
    generation: int
    notes: tuple[str, ...] = ()

    @property
    def failed(self) -> int:
        return sum(paper.state == "failed" for paper in self.papers)

    @property
    def failure(self) -> XkgError | None:
        return SomeFailedError(f"{plural(self.failed, 'paper')} failed; the reasons are above") if self.failed else None

    def __str__(self) -> str:
        lines = []
        for paper in self.papers:
            if paper.state in ("current", "not followed"):
                continue
            lines += [f"{paper.state}: {paper.title} ({paper.paper})", *(f"  {line}" for line in paper.news)]
            lines += [f"  {paper.reason}"] if paper.reason else []
            if paper.change is not None:
                lines += [f"  {line}" for line in str(paper.change).splitlines()[2:]]
            lines += [f"  note: {line}" for line in paper.notes]
        states = [paper.state for paper in self.papers]
        counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
        return "\n".join(
            [*lines, f"{plural(len(states), 'paper')}: {counts or 'none'}; the graph is generation {self.generation}"]
        )


Display = Callable[[int], AbstractContextManager[Callable[[Event], None]]]
"""Shows the progress of the given number of builds."""


def update(
    settings: Settings,
    papers: Sequence[str] = (),
    engine: Engine | None = None,
    *,
    check: bool = False,
    blacklist: Path | None = None,
    display: Display = lambda _: nullcontext(lambda _: None),
    clock: Clock = CLOCK,
) -> UpdateResult:
    """Checks the named papers (default: all that were built). Rebuilds papers that have a newer arXiv version, or a
    newer commit on the branch that was built. If `check` is set, only reports these papers. Builds `engine.jobs` papers
    at a time (by default one), and publishes them as `build_side_by_side` does. Keeps proven code until the new code is
    proven to the same level. If a library from which papers have been pulled contains the new version or commit, pulls
    the paper instead of building it. If one paper fails, the others are still updated. Raises `UnknownIdError` if a
    paper is unknown, `StoreError` if the graph cannot be read or written, and the same errors as
    `build_side_by_side`."""
    excluded = read_blacklist(blacklist) if blacklist is not None else Blacklist()
    with open_store(settings) as store, store.snapshot() as snapshot:
        bundles = [snapshot.bundle(paper) for paper in chosen_papers(store, snapshot, papers)]
    news = _News(settings, clock, excluded)
    looked_at = list(news.of([bundle for bundle in bundles if bundle.paper.origin == "build"]))
    libraries = in_libraries(
        settings, {each.bundle.paper.id: each.wanted for each in looked_at if each.state == "newer"}
    )
    outcomes = {
        line: _outcome(found)
        if check or found.bundle.paper.id not in libraries
        else _pulled(settings, found, libraries[found.bundle.paper.id], blacklist)
        for line, found in enumerate(looked_at, start=1)
    }
    newer = [
        ListedPaper(
            line=line,
            paper=found.paper,
            repository=found.repository,
            paper_id=found.bundle.paper.id,
            keep_proven=True,
            packages=found.bundle.paper.packages,
            cpu=found.bundle.paper.cpu,
        )
        for line, found in enumerate(looked_at, start=1)
        if outcomes[line].state == "newer" and not check
    ]
    notes: tuple[str, ...] = ()
    if newer:
        with display(len(newer)) as notify:

            def ended(listed: ListedPaper, built: Ended) -> None:
                outcomes[listed.line] = _updated(settings, looked_at[listed.line - 1], built.outcome)
                notify((listed, row_of(listed, built.outcome, built.seconds)))

            builds = BuildPapers.of(settings, newer, blacklist, clock=clock)
            notes = build_side_by_side(builds, engine or LocalEngine(), newer, ended, notify)
    with open_store(settings) as store, store.snapshot() as snapshot:
        return UpdateResult(papers=tuple(outcomes.values()), generation=snapshot.generation, notes=notes)


class _Found(NamedTuple):
    """New versions and commits of a paper, and the sources from which to rebuild it."""

    bundle: PaperBundle
    state: State
    news: tuple[str, ...] = ()
    reason: str = ""
    paper: str = ""
    repository: str | None = None
    wanted: Wanted = Wanted(None, None)


def _outcome(found: _Found, **update: object) -> UpdatedPaper:
    paper = found.bundle.paper
    outcome = UpdatedPaper(paper=paper.id, title=paper.title, state=found.state, news=found.news, reason=found.reason)
    return outcome.model_copy(update=update)


def _updated(settings: Settings, found: _Found, result: BuildResult | WorkFailed) -> UpdatedPaper:
    if isinstance(result, WorkFailed):
        return _outcome(found, state="failed", reason=f"{result}; stored data is unchanged")
    if result.stopped is not None and not result.published:
        return _outcome(found, state="failed", reason=result.unfinished)
    with open_store(settings) as store:
        known = stored_paper(store, result.paper)
    change = paper_change(found.bundle, known[1] if known is not None else None)
    state = "updated" if result.published else "current"
    return _outcome(found, state=state, change=change, notes=result.notes)


def _pulled(settings: Settings, found: _Found, library: str, blacklist: Path | None) -> UpdatedPaper:
    """Pulls the paper from a library. If the pull fails, the paper's state stays `newer`, and the paper is built
    instead."""
    paper = found.bundle.paper.id
    try:
        pulled = pull(settings, library, [paper], blacklist=blacklist, prefer=True)
    except XkgError as error:
        return _outcome(found, notes=(f"not pulled from {shown(library)}: {error}",))
    if paper not in pulled.papers:
        return _outcome(found, notes=pulled.problems)
    with open_store(settings) as store:
        known = stored_paper(store, paper)
    change = paper_change(found.bundle, known[1] if known is not None else None)
    return _outcome(found, state="updated", change=change, notes=(f"pulled from {shown(library)}", *pulled.kept))


class _News:
    """Queries arXiv at most once per paper, and the repositories' servers at most once per repository. Never contacts
    `excluded` repositories."""

    def __init__(self, settings: Settings, clock: Clock, excluded: Blacklist) -> None:
        from xkg.build.sources.arxiv import ArxivSource

        self._settings, self._clock, self._excluded = settings, clock, excluded
        share_pace(settings)
        self._fetched = ArxivSource(settings.kg / "papers", settings.arxiv.url, clock=clock)
        self._commits: dict[tuple[str, str | None], str | XkgError] = {}

    def of(self, bundles: Sequence[PaperBundle]) -> Iterator[_Found]:
        versions = {bundle.paper.id: self._version(bundle.paper) for bundle in bundles}
        newest = self._newest([each.paper.arxiv_id or "" for each in bundles if versions[each.paper.id]])
        for bundle in bundles:
            yield self._look(bundle, versions[bundle.paper.id], newest)

    def _version(self, paper: Paper) -> str | None:
        """Returns the arXiv version that was built, or None if unknown. Old builds did not record the version, but kept
        the fetched files."""
        if paper.arxiv_id is None:
            return None
        return paper.arxiv_version or self._fetched.stored_version(paper.arxiv_id)

    def _newest(self, ids: Sequence[str]) -> Mapping[str, str | XkgError]:
        from xkg.build.sources.arxiv_index import ArxivIndex

        index = ArxivIndex(self._settings.arxiv.url, clock=self._clock)
        newest: dict[str, str | XkgError] = {}
        for start in range(0, len(ids), _AT_ONCE):
            some = ids[start : start + _AT_ONCE]
            try:
                found = index.by_arxiv_ids(some)
            except XkgError as error:
                newest |= dict.fromkeys(some, error)
            else:
                newest |= {
                    paper.arxiv_id: paper.arxiv_version for paper in found if paper.arxiv_id and paper.arxiv_version
                }
        return newest

    def _look(self, bundle: PaperBundle, version: str | None, newest: Mapping[str, str | XkgError]) -> _Found:
        paper = bundle.paper
        arxiv_id = paper.arxiv_id or ""
        latest = newest.get(arxiv_id) if version is not None else None
        problems = [f"{latest}"] if isinstance(latest, XkgError) else []
        news = []
        spec = f"{arxiv_id}{version}"
        if version is not None and isinstance(latest, str) and _number(latest) > _number(version):
            news.append(f"arXiv has {latest}, but {version} was built")
            spec = f"{arxiv_id}{latest}"
        followed = [each for each in bundle.repositories if _is_followed(each)]
        head = followed[0] if followed else None
        if head is not None:
            commit = self._commit(head)
            if isinstance(commit, XkgError):
                problems.append(str(commit))
            elif commit is not None and commit != head.commit:
                news.append(f"{head.url} is at {commit[:12]}, but {(head.commit or '')[:12]} was built")
            elif len({each.name for each in bundle.repositories}) < len(bundle.repositories):
                news.append("code from an earlier commit is shown until the new code reaches the same level")
        if problems:
            return _Found(bundle, "failed", tuple(news), "; ".join(problems))
        if not news:
            return _Found(bundle, "current" if version is not None or head is not None else "not followed")
        here = next((each for each in bundle.repositories if not each.url or each.id.startswith("local:")), None)
        if version is None or (here is not None and head is None):
            what = "paper" if version is None else "repository"
            return _Found(
                bundle, "by hand", tuple(news), f"the {what} came from a file or folder; build it again from there"
            )
        commit = self._commit(head) if head is not None else None
        wanted = Wanted(latest if isinstance(latest, str) else None, commit if isinstance(commit, str) else None)
        return _Found(bundle, "newer", tuple(news), "", spec, _spec(bundle.repositories), wanted)

    def _commit(self, repository: Repository) -> str | XkgError | None:
        """Returns the current commit of the repository's branch, or an error if it is unknown. Returns None if the
        repository is pinned to a commit."""
        from xkg.build.repositories.clone import COMMIT, remote_commit

        asked = repository.url, repository.reference
        if asked[1] is not None and COMMIT.fullmatch(asked[1]):
            return None
        if (reason := self._excluded.repository(repository.url)) is not None:
            return InputError(
                f"{repository.url} is excluded: {reason}; update without --blacklist, or correct the blacklist"
            )
        if asked not in self._commits:
            try:
                self._commits[asked] = remote_commit(*asked) or repository.commit or ""
            except XkgError as error:
                self._commits[asked] = error
        return self._commits[asked]


def _is_followed(repository: Repository) -> bool:
    return repository.url.startswith("https://") and not repository.id.startswith("local:")


def _spec(repositories: Sequence[Repository]) -> str | None:
    if not repositories:
        return None
    first = repositories[0]
    return first.url if first.reference is None else f"{first.url}@{first.reference}"


def _number(version: str) -> int:
    return int(version.removeprefix("v"))
