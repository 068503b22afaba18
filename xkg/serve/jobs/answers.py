"""Renders answers about requested jobs."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from xkg.errors import InputError
from xkg.files import read_regular
from xkg.serve.answers.quoting import one_line
from xkg.serve.jobs.authority import Caller
from xkg.serve.jobs.table import Kind, Row, State
from xkg.text.plural import plural
from xkg.value import Value

if TYPE_CHECKING:
    from xkg.serve.jobs.jobs import Jobs


RUNS = "runs"
"""The subfolder of a graph's folder that contains agents' runs (`xkg.agents.codification.start`)."""
LONGEST_PATCH = 20_000
LARGEST_PATCH = 50 << 20
LONGEST_ERROR = 500
BRIEF_ERROR = 120
MOST_DROPPED = 12


class Printed(BaseModel):
    """The part of a command's JSON output that clients receive."""

    model_config = ConfigDict(frozen=True, extra="ignore")


R = TypeVar("R", bound=Printed)


class StageDone(Value):
    """A finished stage, with its wall-clock time, a summary, and whether its output was reused from an earlier
    build."""

    head: ClassVar[str] = "{name}: {summary}, {seconds:.1f} s"

    name: str
    seconds: float
    reused: bool
    summary: str


class BuiltPaper(Printed):
    """The part of `xkg build --json` that clients receive, with the paper's id and the current contents of the
    graph."""

    paper: str
    state: str
    published: bool
    generation: int
    techniques: int
    hidden: dict[str, int]
    levels: dict[str, int]
    cost_usd: float


class FoundRepository(Printed):
    """A repository for a paper. To build it, pass `url@commit` to `build`."""

    url: str
    commit: str | None
    license: str | None
    stars: int | None


class FoundPaper(Printed):
    """A paper that is worth building, with its own repository. `origin` is `reference` if the target cites the paper,
    `search` if it was found in an index, or `model` if it was found by a model's web search."""

    head: ClassVar[str] = "arxiv:{arxiv_id} {title}"

    title: str
    arxiv_id: str | None
    origin: str
    technique: str
    why: str
    repositories: Annotated[tuple[FoundRepository, ...], AfterValidator(lambda found: found[:1])]


class LeftOutPaper(Printed):
    """A paper that is not worth building or cannot be built, with the reason."""

    head: ClassVar[str] = "{title}: {dropped}"

    title: str
    dropped: str


class CuratedPapers(Printed):
    """The part of `xkg curate --json` that clients receive: papers, most useful first, and some of the papers that were
    rejected."""

    target: str
    papers: tuple[FoundPaper, ...]
    dropped: Annotated[tuple[LeftOutPaper, ...], AfterValidator(lambda dropped: dropped[:MOST_DROPPED])]
    notes: tuple[str, ...]


class ImplementedMethod(Printed):
    """The part of `xkg implement --json` that clients receive.

    - `result`: the result's class. A is error-free and better than the starter code, B is error-free, C has errors, and
      D means that nothing was implemented
    - `faults`: the reasons for class C
    - `doubts`: the reasons why class A or B is unproven
    - `patch`: all changes to the starter code, for `git apply`. A long patch is cut off at the end"""

    head: ClassVar[str] = "run {run}: class {result}"

    run: str
    result: Literal["A", "B", "C", "D"]
    metric_before: float | None
    metric_after: float | None
    steps: int
    changed_files: tuple[str, ...]
    faults: tuple[str, ...]
    doubts: tuple[str, ...] = ()
    stopped: str | None
    notes: tuple[str, ...]
    patch: str = ""


class JobAnswer(Value):
    """A requested job.

    - `kind`: a build, a curation, or the implementation of a method
    - `paper`: the paper or, if a method is implemented, the method's short text or id
    - `repository`: the repository or, if a method is implemented, the starter code
    - `at`: the progress, such as `modularize 3/10` or `step 4 edit_script`
    - `dollars`: the amount spent on the language model so far, or None if a price is unknown
    - `result`: set once something has been built
    - `curated`: set once papers have been found
    - `implementation`: set once an agent has finished
    - `error`: if the job failed, one line that says what to do"""

    head: ClassVar[str] = "job {job}: {state}, {kind}: {paper}"

    job: int
    kind: Kind
    state: State
    paper: str
    repository: str
    asked_by: str
    asked_at: str
    started_at: str | None
    ended_at: str | None
    stages: tuple[StageDone, ...]
    at: str
    calls: int
    dollars: float | None
    result: BuiltPaper | None
    curated: CuratedPapers | None
    implementation: ImplementedMethod | None
    error: str
    note: str


class JobsAnswer(Value):
    """Unfinished jobs, followed by finished jobs, newest first. Stages and results are omitted. `cut` describes
    everything that was omitted."""

    nothing: ClassVar[tuple[str, str]] = ("jobs", "There are no jobs.")

    jobs: tuple[JobAnswer, ...]
    cut: str


def job_answer(jobs: "Jobs", row: Row, note: str = "") -> JobAnswer:
    stages: list[StageDone] = []
    at, calls, dollars = "", 0, 0.0
    for event in jobs.events(row):
        match event:
            case {"event": "stage"}:
                done = {name: event[name] for name in StageDone.model_fields}
                stages.append(StageDone(**{**done, "seconds": round(event["seconds"], 3)}))
                at = ""
            case {"event": "begin", "about": ""}:
                at = str(event["stage"])
            case {"event": "progress"}:
                at = f"{event['stage']} {event['done']}/{event['total']}"
            case {"event": "step"}:
                at = f"step {event['number']} {event['action']}"
        calls, dollars = event["calls"], event["dollars"]
    return JobAnswer(
        job=row.id,
        kind=row.kind,
        state=row.state,
        paper=row.paper,
        repository=row.repository,
        asked_by=one_line(row.caller)[:200],
        asked_at=row.requested_at,
        started_at=row.started,
        ended_at=row.ended,
        stages=tuple(stages),
        at=at if row.state == "running" else "",
        calls=calls,
        dollars=dollars,
        result=_read(BuiltPaper, row.result) if row.kind == "build" else None,
        curated=_read(CuratedPapers, row.result) if row.kind == "curate" else None,
        implementation=_implemented(row.result, jobs.graph) if row.kind == "implement" else None,
        error=one_line(row.error)[:LONGEST_ERROR],
        note=note,
    )


def jobs_answer(jobs: "Jobs", most: int, caller: Caller) -> JobsAnswer:
    """Returns up to `most` jobs that the caller may see. Raises the same errors as `Jobs.newest`."""
    rows, count = jobs.newest(most, caller)
    older = f"{plural(left, 'older job')}, " if (left := count - len(rows)) > 0 else ""
    return JobsAnswer(
        jobs=tuple(_brief(job_answer(jobs, row)) for row in rows),
        cut=f"{older}stages and results: call job_status with a job number" if rows else "",
    )


def _brief(answer: JobAnswer) -> JobAnswer:
    results = dict.fromkeys(("result", "curated", "implementation"))
    return answer.model_copy(update={**results, "stages": (), "error": answer.error[:BRIEF_ERROR]})


def _implemented(result: str, graph: Path) -> ImplementedMethod | None:
    done = _read(ImplementedMethod, result)
    if done is None:
        return None
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,100}", done.run):
        return done
    try:
        patch = read_regular(graph / RUNS / done.run / "changes.patch", LARGEST_PATCH).decode("utf-8", "replace")
    except (OSError, InputError):
        return done
    if len(patch) > LONGEST_PATCH:
        patch = (
            f"{patch[:LONGEST_PATCH]}\n[… {len(patch) - LONGEST_PATCH:,} characters left out: `xkg implement apply`]"
        )
    return done.model_copy(update={"patch": patch})


def _read(kind: type[R], result: str) -> R | None:
    try:
        return kind.model_validate_json(result)
    except ValidationError:
        return None
