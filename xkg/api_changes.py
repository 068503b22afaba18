"""Methods that change a graph or take a long time, such as builds, imports, checks and runs. Each method corresponds to
the command with the same name."""

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack

if TYPE_CHECKING:
    from datetime import timedelta

    from xkg.agents.ablation.fields import TaskFields as AblationFields
    from xkg.agents.codification.fields import TaskFields
    from xkg.agents.codification.result import CodificationResult
    from xkg.attestations.trust import TrustedKey
    from xkg.build.curation.curated_set import CuratedSet
    from xkg.commands.ablate import AblateResult
    from xkg.commands.batch.run import BatchReport
    from xkg.commands.batch.side_by_side import Event
    from xkg.commands.build import BuildPlan
    from xkg.commands.engines import EngineFields
    from xkg.commands.graph.contents import ExportResult, ImportResult, RemoveResult
    from xkg.commands.graph.diff import DiffResult
    from xkg.commands.graph.link import LinkResult
    from xkg.commands.library.pull import PulledPapers
    from xkg.commands.library.push import PushedPapers
    from xkg.commands.published import BuildResult
    from xkg.commands.update import UpdateResult
    from xkg.commands.verify import VerifyResult
    from xkg.config import Settings
    from xkg.llm.costs import Costs
    from xkg.serve.jobs.answers import JobAnswer
    from xkg.serve.jobs.jobs import BuildModel, Jobs
    from xkg.serve.jobs.open_questions import QuestionsAnswer, TakenAnswer

Folder = str | PathLike[str]
Progressed = Callable[[object], None]


def ignore(_: object) -> None:
    """Discards progress events."""


class PaperEvent(NamedTuple):
    """An event for one of several papers. `paper` is the paper's name as passed by the caller."""

    paper: str
    event: object

    def __str__(self) -> str:
        return f"{self.paper}: {self.event}"


class Step(NamedTuple):
    """A progress event with the step's name, the number of items done, the total (0 if unknown), and the current
    item."""

    what: str
    done: int
    total: int
    about: str

    def __str__(self) -> str:
        count = f" {self.done}/{self.total}" if self.total else ""
        return f"{self.what}{count}: {self.about}"


class GraphChanges:
    """Provides the methods of `xkg.KnowledgeGraph` that write to the graph or take a long time."""

    _settings: "Settings"

    def build(
        self,
        paper: Folder,
        repository: Folder | None = None,
        *,
        paper_id: str | None = None,
        blacklist: Folder | None = None,
        first: bool = False,
        progress: Progressed | None = None,
    ) -> "BuildResult":
        """Builds a paper and its repository, publishes the paper, and returns the result. `paper` is a file or folder,
        an arXiv id or address, or a title. `repository` is a folder or address, optionally with @commit; "auto" finds
        the paper's own repository. Creates the graph's folder if it is missing. Repeating the call resumes an
        interrupted build.

        `paper_id` sets the paper's id. Papers and repositories listed in the file `blacklist` are refused. If several
        papers match the title, `first` selects the best match. If the model fails midway, the finished part of the
        paper is published, and the result's `unfinished` explains why the build stopped. Raises `InputError` if the
        paper or repository is missing or unreadable, and `ModelUnavailableError` if the model needs a key that is not
        set.

        >>> import xkg
        >>> with xkg.open("storage/mine", llm={"model": "none"}) as kg:
        ...     built = kg.build("paper.tex", "code")
        ...     kg.search("median heuristic", k=1).rows[0].paper == built.paper
        True
        """
        from xkg.commands.build import build

        return build(
            self._settings,
            *_inputs(paper, repository),
            paper_id=paper_id,
            blacklist=_path(blacklist),
            first=first,
            notify=progress or ignore,
        )

    def plan_build(
        self, paper: Folder, repository: Folder | None = None, *, paper_id: str | None = None
    ) -> "BuildPlan":
        """Estimates how many questions `build` would ask a language model, and their cost, without asking any. Raises
        the same errors as `build`, and `ConfigError` if no model is configured."""
        from xkg.commands.build import plan

        return plan(self._settings, *_inputs(paper, repository), paper_id=paper_id)

    def build_papers(
        self,
        papers: "Folder | Sequence[tuple[Folder, Folder | None]]",
        *,
        retry_failed: bool = False,
        blacklist: Folder | None = None,
        first: bool = False,
        progress: Progressed | None = None,
        **where: "Unpack[EngineFields]",
    ) -> "BatchReport":
        """Builds several papers, `jobs` at a time. `papers` is a list file, as for `xkg build --papers`, or a sequence
        of (paper, repository) pairs. Skips unchanged papers and, unless `retry_failed` is set, papers that failed
        before. A failure does not stop the other builds; the report has a row for each paper. `progress` receives
        `PaperEvent`s. Raises `InputError` if the list cannot be read."""
        from xkg.commands.batch.paper_list import paper_list, read_list
        from xkg.commands.batch.run import run
        from xkg.commands.engines import engine_of

        if isinstance(papers, str | PathLike):
            listed = read_list(Path(papers))
        else:
            listed = paper_list((*_inputs(*pair), None, None) for pair in papers)
        with engine_of(where) as engine:
            return run(
                self._settings,
                listed,
                engine,
                retry_failed=retry_failed,
                blacklist=_path(blacklist),
                first=first,
                notify=_of_papers(progress),
            )

    def curate(
        self,
        target: Folder,
        *,
        most: int = 10,
        paper_id: str | None = None,
        blacklist: Folder | None = None,
        progress: Progressed | None = None,
    ) -> "CuratedSet":
        """Finds up to `most` papers, with repositories, that are worth building alongside a target paper, and says why.
        To build these papers, pass the result's `pairs()` to `build_papers`. Queries arXiv, OpenAlex and GitHub. Raises
        `InputError` if the target cannot be read, and `ConfigError` if the `curation` extra is not installed."""
        from xkg.commands.curate import curate

        return curate(
            self._settings,
            str(target),
            most=number(most),
            blacklist=_path(blacklist),
            paper_id=paper_id,
            notify=progress or ignore,
        )

    def update(
        self,
        papers: Sequence[str] = (),
        *,
        check: bool = False,
        blacklist: Folder | None = None,
        progress: Progressed | None = None,
        **where: "Unpack[EngineFields]",
    ) -> "UpdateResult":
        """Rebuilds each of the given papers (default: all) that has a new arXiv version or new commits, and returns the
        changes. If `check` is set, only reports new versions and commits. `progress` receives `PaperEvent`s. Raises
        `UnknownIdError`."""
        from xkg.commands.engines import engine_of
        from xkg.commands.update import update

        require_list("papers", papers)
        with engine_of(where) as engine:
            return update(
                self._settings,
                papers,
                engine,
                check=check,
                blacklist=_path(blacklist),
                display=lambda _: nullcontext(_of_papers(progress)),
            )

    def import_(self, *places: Folder, own: bool = False, progress: Progressed | None = None) -> "ImportResult":
        """Publishes graph files (JSON in the peer format, or bundles) and folders of them in one step. Levels in
        imported bundles become claims. Set `own` to keep the levels of bundles that you exported yourself. The result's
        `problems` lists skipped files, with reasons. Raises `InputError` if a location contains no graph files."""
        from xkg.commands.graph.contents import import_graphs

        shown = progress or ignore
        return import_graphs(self._settings, *map(Path, places), own=own, notify=lambda *step: shown(Step(*step)))

    def export(
        self,
        to: Folder,
        papers: Sequence[str] = (),
        *,
        format: "Literal['peer', 'bundle', 'html', 'bibtex', 'csl', 'graphml']" = "peer",
    ) -> "ExportResult":
        """Writes the given papers (default: all) into the folder `to`, one file per paper; BibTeX, CSL-JSON and GraphML
        produce a single file. Raises `UnknownIdError`, and `InputError` if the folder is not writable."""
        from xkg.commands.graph.contents import export_graphs

        require_list("papers", papers)
        return export_graphs(self._settings, papers, Path(to), format)

    def push(
        self,
        place: Folder,
        papers: Sequence[str] = (),
        *,
        claims_only: bool = False,
        allow_unlicensed: bool = False,
        blacklist: Folder | None = None,
        progress: Progressed | None = None,
    ) -> "PushedPapers":
        """Adds the given papers (default: all) to the library at `place`: a folder, or an https, s3, git or other
        fsspec address. The result's `left_out` lists papers that were not pushed; unless `allow_unlicensed` is set,
        this includes papers whose code has an unknown licence. With `claims_only`, pushes definitions and code
        locations, but not the code. Raises `UnknownIdError`, `InputError` and `UnreachableError`.

        >>> import xkg
        >>> with xkg.open("storage/default") as kg:
        ...     kg.push("library", ["arxiv:1608.04471"], allow_unlicensed=True).papers
        ('arxiv:1608.04471',)
        """
        from xkg.commands.library.push import push

        require_list("papers", papers)
        return push(
            self._settings,
            str(place),
            papers,
            claims_only=claims_only,
            allow_unlicensed=allow_unlicensed,
            blacklist=_path(blacklist),
            notify=lambda *step: (progress or ignore)(Step(*step)),
        )

    def pull(
        self,
        place: Folder,
        papers: Sequence[str] = (),
        *,
        topic: str = "",
        level: str | None = None,
        verify: int = 0,
        blacklist: Folder | None = None,
        progress: Progressed | None = None,
    ) -> "PulledPapers":
        """Pulls new papers from the library at `place`. If `papers` is given, pulls only these papers. If `topic` is
        given, pulls only papers whose title or technique names contain every word of the topic. If `level` is given,
        pulls only papers whose code has at least this claimed level. `verify` is the number of new code nodes to run
        first; if any of them fails, nothing is pulled. In the result, `problems` lists papers that were not pulled, and
        `kept` lists papers whose existing version remains in the graph. Raises `UnknownIdError`, `InputError` and
        `UnreachableError`.

        >>> import xkg
        >>> with xkg.open("storage/mine") as kg:
        ...     kg.pull("library", ["arxiv:1608.04471"]).papers
        ('arxiv:1608.04471',)
        """
        from xkg.commands.library.pull import pull
        from xkg.model import Level

        require_list("papers", papers)
        return pull(
            self._settings,
            str(place),
            papers,
            topic=topic,
            level=None if level is None else Level(level),
            verify=verify,
            blacklist=_path(blacklist),
            notify=lambda *step: (progress or ignore)(Step(*step)),
        )

    def remove(self, paper: str) -> "RemoveResult":
        """Removes a paper from the graph; `xkg store rollback` restores it. Raises `UnknownIdError`."""
        from xkg.commands.graph.contents import remove

        return remove(self._settings, paper)

    def verify(
        self,
        papers: Sequence[str] = (),
        *,
        jobs: int = 2,
        stale: "timedelta | None" = None,
        attest: bool = False,
        key: Folder | None = None,
        progress: Progressed | None = None,
    ) -> "VerifyResult":
        """Reruns the code and tests for the given papers (default: all), `jobs` at a time, and updates the levels. If
        `stale` is given, only code whose last run is older than `stale` is rerun. `attest` signs the levels with `key`:
        a private key, or a public key whose private key is in ssh-agent. The default is your own key (`xkg key`).
        Raises `InputError` if there is no key; may also raise `SandboxUnavailableError` or `UnknownIdError`."""
        from xkg.commands.verify import verify

        require_list("papers", papers)
        path = None if key is None else Path(key)
        return verify(self._settings, papers, number(jobs), progress or ignore, stale, attest=attest, key=path)

    def trust(self, key: str, name: str = "", *, again: bool = False) -> "TrustedKey":
        """Trusts attestations signed with a key (the contents of a `.pub` file, or its path) in all of the current
        user's graphs. `name` defaults to the name in the key. A revoked key is trusted again only if `again` is set.
        Raises `InputError`."""
        from xkg.attestations.keys import read_public_key
        from xkg.attestations.trust import add

        return add(read_public_key(key), name, again=again)

    def trusted(self) -> "tuple[TrustedKey, ...]":
        """Lists the trusted keys, oldest first, including revoked keys."""
        from xkg.attestations.trust import trusted

        return trusted().keys

    def revoke(self, name: str) -> "TrustedKey":
        """Stops trusting the key with this name or fingerprint. Raises `InputError`."""
        from xkg.attestations.trust import revoke

        return revoke(name)

    def link(self) -> "LinkResult":
        """Finds techniques from different papers that are the same concept. The language model decides unclear pairs;
        without a model, unclear pairs remain undecided. Raises `UnknownIdError` if the graph is empty; may also raise
        `BudgetError`."""
        from xkg.commands.graph.link import link

        return link(self._settings)

    def costs(self, papers: Sequence[str] = (), *, by: "Literal['paper', 'stage', 'model']" = "paper") -> "Costs":
        """Reports language model costs for all builds in this graph. Each row gives the calls, tokens, seconds and
        dollars for one paper, stage or model. Raises `UnknownIdError` if a paper has no calls."""
        from xkg.commands.graph.open import ids_where_known
        from xkg.llm.costs import costs

        require_list("papers", papers)
        return costs(self._settings.kg, self._settings.llm, ids_where_known(self._settings, papers), by)

    def diff(
        self, first: int | str | None = None, second: int | str | None = None, *, library: Folder | None = None
    ) -> "DiffResult":
        """Compares two generations, two papers, or two folders of exported bundles. Without arguments, compares the
        current generation with the previous one; with `library`, compares the library's version of a paper with yours.
        Raises `InputError`, `StoreError` and `UnknownIdError`."""
        from xkg.commands.graph.diff import diff

        one, other, place = (None if each is None else str(each) for each in (first, second, library))
        return diff(self._settings, one, other, library=place)

    def ablate(
        self,
        repo: Folder | None = None,
        *,
        task: Folder | None = None,
        out: Folder | None = None,
        jobs: int | None = None,
        progress: Progressed | None = None,
        **more: "Unpack[AblationFields]",
    ) -> "AblateResult":
        """Reproduces an experiment from a repository, and measures how much each component matters. The repository is
        never changed; every run happens in the sandbox. Repeating the call resumes an interrupted run.

        `task` is a task file, which the other arguments override; `out` is the folder for the run, by default inside
        the graph's folder. Without a language model (`llm.model`), `run` and `metrics` are required. Raises
        `BaselineError` if the experiment does not run; may also raise `InputError` or `SandboxUnavailableError`."""
        from xkg.agents.ablation.task import read_task
        from xkg.commands.ablate import ablate, has_model

        flags = {"repo": None if repo is None else str(repo), **more}
        wanted = read_task(_path(task), flags, planned=has_model(self._settings))
        return ablate(self._settings, wanted, _path(out), number(jobs or 1), progress or ignore)

    def implement(
        self,
        method: str,
        starter: Folder,
        *,
        run: str,
        metric: str,
        progress: Progressed | None = None,
        **more: "Unpack[TaskFields]",
    ) -> "CodificationResult":
        """Lets an agent implement a method in a private copy of starter code, as `xkg implement` does. Repeating the
        call resumes an interrupted run.

        `method` is a file, a section of a file (`paper.tex#sec:method`), a paper or technique in the graph, or a
        description. `run` is the command whose output contains `metric`, such as `"test acc: ([0-9.]+):max"`. Raises
        `InputError` if the starter code does not run, and `ModelUnavailableError` if the model needs a key that is not
        set; may also raise `SandboxUnavailableError`."""
        from xkg.agents.codification.task import read_task
        from xkg.commands.implement import implement

        fields = {"method": method, "starter": str(starter), "run": run, "metric": metric}
        return implement(self._settings, read_task(None, {**fields, **more}), progress or ignore)

    def start_build(self, paper: str, repository: str | None = None, *, llm: "BuildModel | None" = None) -> "JobAnswer":
        """Starts building a paper (a file, or an arXiv id or address) and its repository (a folder or address) in a
        separate process, and returns the job immediately. With `llm="caller"`, or without a configured model, the
        caller answers the build's questions, using `questions` and `answer`. Repeating the request returns the running
        job, or resumes a job that ended. Closing the graph ends the job.

        Raises `InputError` if the paper or repository is missing, and `ConfigError` if a model is configured without
        `llm.max_cost`."""
        from xkg.serve.jobs.answers import job_answer
        from xkg.serve.jobs.authority import OPERATOR

        named = [str(path.absolute()) if (path := Path(name)).exists() else name for name in (paper, repository or "")]
        row, _ = self._jobs.ask(named[0], named[1] or None, OPERATOR, llm)
        return job_answer(self._jobs, row)

    def start_curation(self, paper: str, *, llm: "BuildModel | None" = None) -> "JobAnswer":
        """Starts a search, in a separate process, for papers with code to build alongside a paper (a file, or an arXiv
        id or address). Returns the job immediately. Accepts the same `llm` values and raises the same errors as
        `start_build`. With `llm="caller"`, one question asks for a web search."""
        from xkg.serve.jobs.answers import job_answer
        from xkg.serve.jobs.authority import OPERATOR

        named = str(path.absolute()) if (path := Path(paper)).exists() else paper
        row, _ = self._jobs.ask(named, None, OPERATOR, llm, kind="curate")
        return job_answer(self._jobs, row)

    def job(self, job: int) -> "JobAnswer":
        """Returns the state of a job started by `start_build` or `start_curation`, with its result once it has
        finished. Raises `UnknownIdError`."""
        from xkg.serve.jobs.answers import job_answer
        from xkg.serve.jobs.authority import OPERATOR

        return job_answer(self._jobs, self._jobs.get(job, OPERATOR))

    def questions(
        self, job: int, k: int = 4, *, known: Collection[str] = (), wait_seconds: float = 20
    ) -> "QuestionsAnswer":
        """Returns at most `k` open questions from a job, each with the JSON schema of its answer; waits up to
        `wait_seconds` for a question. `known` lists the marks of data that you still have; this data is not sent again.
        Raises `UnknownIdError`, and `InputError` if the server's model answers the job's questions."""
        from xkg.serve.jobs.authority import OPERATOR
        from xkg.serve.jobs.open_questions import offered

        return offered(self._jobs, job, OPERATOR, number(k), known, wait_seconds)

    def answer(self, job: int, question: str, answer: Mapping[str, Any]) -> "TakenAnswer":
        """Answers a question from a job. Raises `UnknownIdError`, and `InputError` if the answer does not match the
        question's schema or the question has already been answered."""
        from xkg.serve.jobs.authority import OPERATOR
        from xkg.serve.jobs.open_questions import taken

        return taken(self._jobs, job, question, answer, OPERATOR)

    @functools.cached_property
    def _jobs(self) -> "Jobs":
        from xkg.serve.jobs.jobs import Jobs

        serve = self._settings.serve
        build = serve.build.model_copy(update={"allowed": True})
        settings = self._settings.model_copy(update={"serve": serve.model_copy(update={"build": build})})
        return Jobs(settings, roots=[Path(Path.cwd().anchor)])

    def _close_jobs(self) -> None:
        if "_jobs" in self.__dict__:
            self._jobs.close()


def number(k: int) -> int:
    """Returns `k`. Raises `InputError` if `k` is less than 1."""
    from xkg.errors import InputError

    if k < 1:
        raise InputError(f"cannot return {k} rows; ask for 1 or more")
    return k


def require_list(name: str, value: object) -> None:
    """Raises `InputError` for a string, which Python would treat as a list of characters."""
    from xkg.errors import InputError

    if isinstance(value, str):
        raise InputError(f"{name} must be a list; write {name}=[{value[:80]!r}]")


def _of_papers(progress: Progressed | None) -> "Callable[[Event], None]":
    shown = progress or ignore
    return lambda event: shown(PaperEvent(event[0].paper, event[1]))


def _inputs(paper: Folder, repository: Folder | None = None) -> tuple[str, str | None]:
    return str(paper), None if repository is None else str(repository)


def _path(place: Folder | None) -> Path | None:
    return None if place is None else Path(place)
