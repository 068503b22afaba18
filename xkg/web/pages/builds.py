"""Shows jobs with live progress, model costs, and the reasons why code has not reached higher levels."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from heapq import nlargest
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from xkg.errors import EmptyGraphError, InputError, UnknownIdError, XkgError
from xkg.llm.costs import By, Costs, costs
from xkg.serve.jobs.answers import JobAnswer, job_answer, jobs_answer
from xkg.serve.jobs.authority import Caller, NotAllowedError, may, require, sees_all
from xkg.serve.jobs.jobs import Jobs, by_caller
from xkg.serve.jobs.sources import paper_named, repository_named
from xkg.store.graph_store import Snapshot
from xkg.web.access.guard import page_caller
from xkg.web.site import SECURITY, Site

JOBS = 50
EVENTS = 300
NEWEST = 20
"""Number of recently built papers to examine for reasons why code did not reach the next level."""
_BILLS: tuple[By, ...] = ("paper", "stage", "model")
_LONGEST_REASON = 60
_LARGEST_NUMBER = 2**62
"""Maximum job number. SQLite's integers are limited to 2**63."""


class Cause(NamedTuple):
    """A reason why code did not reach the next level, with the number of affected code nodes and an example
    technique."""

    level: str
    reason: str
    nodes: int
    technique: str


class Form(NamedTuple):
    """A submitted form's values, and the reason why it was rejected."""

    paper: str = ""
    repository: str = ""
    error: str = ""


def show(site: Site, request: Request) -> Response:
    return _page(site, request, Form())


def ask(site: Site, request: Request) -> Response:
    """Starts a build and redirects to its job. If the input is invalid, shows the page with the error."""
    fields = request.state.fields
    paper, repository = (fields.get(name, [""])[0].strip() for name in ("paper", "repository"))
    caller = page_caller(request)
    jobs = _taking(site)
    require(caller, "ask", ["build"])
    if not _may_build(site, caller):
        raise NotAllowedError(
            "this server does not accept builds from web pages; ask an agent to start one with the build tool"
        )
    try:
        named = paper_named(paper, ())
        source = repository_named(repository, (), jobs.hosts) if repository else None
        row, _ = jobs.ask(named, source, caller)
    except InputError as error:
        return _page(site, request, Form(paper, repository, str(error)), 400)
    return RedirectResponse(f"/builds/{row.id}", 303, SECURITY)


def cancel(site: Site, request: Request) -> Response:
    """Cancels a job. Raises `UnknownIdError` if the job is unknown, and `NotAllowedError` if the caller may not cancel
    jobs."""
    row = _taking(site).cancel(min(request.path_params["job"], _LARGEST_NUMBER), page_caller(request))
    return RedirectResponse(f"/builds/{row.id}", 303, SECURITY)


def _may_build(site: Site, caller: Caller) -> bool:
    """Returns whether the caller may add papers on the page. Always False if callers must answer the build's
    questions."""
    offered = site.jobs is not None and "build" in site.jobs.kinds and not by_caller(site.settings)
    return offered and may(caller, "ask", "build", caller.name)


def _taking(site: Site) -> Jobs:
    if site.jobs is None:
        raise UnknownIdError("this server does not accept builds; start the server with --allow-build")
    return site.jobs


def _page(site: Site, request: Request, form: Form, status: int = 200) -> Response:
    by = request.query_params.get("by", "paper")
    if by not in _BILLS:
        raise InputError(f"by must be one of {', '.join(_BILLS)}, not {by[:40]!r}")
    causes: Sequence[Cause] = ()
    newest: Sequence[Any] = ()
    caller = page_caller(request)
    jobs, refused = _jobs(site, caller)
    bill = _bill(site, by) if sees_all(caller) else None
    titles = {}
    # The graph may be empty because its first build is still in progress.
    with suppress(EmptyGraphError), site.service.snapshot() as snapshot:
        papers = site.service.paper_list(snapshot)
        lines = papers.lines
        if bill is not None and by == "paper":
            titles = {row.name: papers.by_id[row.name].title for row in bill.rows if row.name in papers.by_id}
        newest = nlargest(NEWEST, (x for x in lines if x.built_at), key=lambda x: x.built_at or "")
        causes = _causes(snapshot, [line.id for line in newest])
    return site.render(
        request,
        "builds.html",
        status,
        form=form,
        may_build=_may_build(site, caller),
        jobs=jobs,
        refused=refused,
        bill=bill,
        bill_is_shown=sees_all(caller),
        titles=titles,
        by=by,
        bills=_BILLS,
        causes=causes,
        newest=newest,
    )


def show_job(site: Site, request: Request) -> Response:
    """Shows a job. Raises `UnknownIdError` if the job is unknown or the caller may not see it, and `NotAllowedError` if
    the caller may not see any jobs."""
    jobs, caller = _taking(site), page_caller(request)
    row = jobs.get(min(request.path_params["job"], _LARGEST_NUMBER), caller)
    return site.render(
        request, "job.html", job=job_answer(jobs, row), events=jobs.events(row)[-EVENTS:],
        may_end=may(caller, "end", row.kind, row.caller),
    )  # fmt: skip


def _jobs(site: Site, caller: Caller) -> tuple[Sequence[JobAnswer] | None, str]:
    """Returns the jobs that the caller may see, and the reason if access was denied. The jobs are None if this server
    does not accept jobs."""
    if site.jobs is None:
        return None, ""
    try:
        return jobs_answer(site.jobs, JOBS, caller).jobs, ""
    except NotAllowedError as error:
        return (), str(error)


def _bill(site: Site, by: By) -> Costs | None:
    """Returns the costs, or None if the ledger cannot be read. Costs by paper are also None if `serve.exclude` is
    set."""
    if by == "paper" and site.settings.serve.exclude is not None:
        return None
    try:
        return costs(site.service.folder, site.settings.llm, by=by)
    except XkgError:
        return None


def _causes(snapshot: Snapshot, papers: Sequence[str]) -> list[Cause]:
    counts: Counter[tuple[str, str]] = Counter()
    example: dict[tuple[str, str], str] = {}
    for paper in papers:
        for code in snapshot.bundle(paper).code:
            last = code.evidence[-1] if code.evidence else None
            if last is None or not last.reason:
                continue
            key = (code.level.value, last.reason.partition(":")[0][:_LONGEST_REASON])
            counts[key] += 1
            example.setdefault(key, code.technique)
    return [Cause(*key, count, example[key]) for key, count in counts.most_common(20)]
