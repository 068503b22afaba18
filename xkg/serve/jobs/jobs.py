"""Runs requested jobs one at a time. A job is an `xkg build`, `xkg curate` or `xkg implement` process with the server's
settings, which is separate from the server and can outlive it. Crashes, hanging libraries and excessive memory use in a
job do not affect the server. The process leads a process group and locks its output file while it runs. If a server
dies, the next server uses this lock to find out whether the job is still running, and resumes watching it. If several
servers share a graph, a lock in the graph's folder ensures that only one server runs jobs."""

import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, get_args

from xkg.config import LlmSettings, Settings
from xkg.errors import ConfigError, InputError, MissingKeyError, StoreError, UnknownIdError, XkgError
from xkg.files import file_lock, private_file, private_folder, try_lock, write_whole
from xkg.llm.caller import CALLER, JOB_VARIABLE
from xkg.llm.credentials import access
from xkg.llm.endpoints import uses_server
from xkg.llm.open_questions import OpenQuestion, OpenQuestions
from xkg.llm.parse_answer import objection
from xkg.llm.prices import models_of
from xkg.llm.programs.known import PLAIN_VARIABLES, program_of
from xkg.llm.prompt import Role
from xkg.operating_system import KILL, signal_group, yield_processor
from xkg.serve.jobs.authority import Action, Caller, may, require
from xkg.serve.jobs.table import JobTable, Kind, Row, State

log = logging.getLogger(__name__)

FOLDER = "jobs"
MOST_WAITING = 10
LONGEST_SECONDS = 12 * 3600.0
GRACE_SECONDS = 5.0
LAST_GRACE_SECONDS = 0.5
"""Grace period during shutdown, which is short because the server itself must shut down quickly
(`xkg.serve.http.run`)."""

_TICK_SECONDS = 0.25
_PAUSE_SECONDS = 10.0
_LARGEST_LOG = 4_000_000
_NICE = 10
_FIRST_TO_GO = "500"
"""Makes the kernel kill a build rather than the server if the machine runs out of memory (`oom_score_adj`, proc(5))."""

BuildModel = Literal["server", "caller"]
"""Selects whether the server's model or the caller answers a job's questions."""

# -P prevents imports from the server's working folder, which may be an untrusted repository.
_START = "import sys; sys.path.append(sys.argv.pop(1)); from xkg.cli.main import main; main()"
XKG = (sys.executable, "-P", "-c", _START, str(Path(__file__).resolve().parents[3]))


def by_caller(settings: Settings) -> bool:
    """Returns whether callers answer their jobs' questions by default. Callers answer by default if the configured
    model is `caller`, or if its API key is missing and no cost limit is set."""
    llm = settings.llm
    if llm.model in ("none", CALLER) or llm.max_cost is not None or not uses_server(llm):
        return llm.model == CALLER
    try:
        access(llm)
    except MissingKeyError:
        return True
    return False


def check_bounds(settings: Settings) -> None:
    """Raises `ConfigError` if callers could spend without limit or run code without a sandbox."""
    if settings.llm.model != "none" and settings.llm.max_cost is None and not by_caller(settings):
        raise ConfigError(
            "builds for clients need a cost limit; set llm.max_cost (dollars per paper), or llm.model to none"
        )
    if settings.sandbox.runner == "unsafe-subprocess":
        raise ConfigError("builds for clients run untrusted code: sandbox.runner must not be unsafe-subprocess")


class Jobs:
    """Manages the jobs for the graph in `settings`. Methods that take a caller raise `NotAllowedError` if the caller
    lacks permission (`xkg.serve.jobs.authority`). All methods raise the same errors as `JobTable`. Thread-safe, and
    safe to use in several servers for the same graph."""

    def __init__(self, settings: Settings, command: Sequence[str] = XKG, roots: Sequence[Path] = ()) -> None:
        """`command` runs `xkg`. Jobs may only read folders under `roots`. Raises the same errors as `check_bounds`."""
        check_bounds(settings)
        self._settings = settings
        self._command = tuple(command)
        self._roots = tuple(roots)
        self._folder = settings.kg.absolute() / FOLDER
        self._table = JobTable(self._folder)
        self._questions = OpenQuestions(settings.kg)
        # At most half of the concurrent calls may wait for questions.
        self._waits = threading.BoundedSemaphore(max(1, settings.serve.http.concurrency // 2))
        self._turn = threading.Lock()
        self._closing = threading.Event()
        self._requested = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of jobs that callers may request."""
        serve = self._settings.serve
        builds: tuple[Kind, ...] = ("build", "curate") if serve.build.allowed else ()
        return (*builds, "implement") if serve.agents.allowed else builds

    @property
    def graph(self) -> Path:
        """The path of the graph's folder."""
        return self._settings.kg

    @property
    def hosts(self) -> Sequence[str]:
        """The hosts from which repositories may be fetched."""
        return self._settings.serve.build.hosts

    def start(self) -> None:
        """Resumes an earlier server's unfinished jobs in the background."""
        if (self._folder / "jobs.sqlite").is_file():
            self._ensure()

    def ask(
        self,
        paper: str,
        repository: str | None,
        caller: Caller,
        model: BuildModel | None = None,
        *,
        kind: Kind = "build",
        task: Mapping[str, object] | None = None,
    ) -> tuple[Row, bool]:
        """Requests a job of this kind for sources from `xkg.serve.jobs.sources`. Returns the job and whether it is new.

        To implement a method, `task` contains the fields for `xkg implement --task`, `paper` is a short name for the
        method, and `repository` is the starter code. `model` selects who answers the job's questions. The default is
        determined by `by_caller`.

        Raises `InputError` if the caller has requested too many jobs or a model that the server does not have, and
        `StoreError` if the server is shutting down."""
        require(caller, "ask", [kind])
        serve = self._settings.serve
        callers = by_caller(self._settings) or (kind == "implement" and self._settings.llm.model == "none")
        if model == "server" and callers:
            raise InputError('this server has no language model; omit llm, or pass llm="caller"')
        if self._closing.is_set():
            raise StoreError("the server is shutting down; try again when it is back")
        job = self._table.add(
            paper,
            repository or "",
            caller.name,
            waiting=MOST_WAITING,
            per_day=(serve.agents if kind == "implement" else serve.build).per_day,
            kind=kind,
            task=json.dumps(task, ensure_ascii=False, sort_keys=True) if task else "",
            llm=CALLER if model == CALLER or (model is None and callers) else "",
        )
        self._ensure()
        return job

    def get(self, job: int, caller: Caller, action: Action = "see") -> Row:
        """Returns a job. Raises `UnknownIdError` if the job does not exist or the caller may not access the job. The
        error message is the same in both cases."""
        require(caller, action, self.kinds)
        row = self._table.get(job)
        if row is None or not may(caller, action, row.kind, row.caller):
            raise UnknownIdError(f"there is no job {job}; call job_status without a job to list your jobs")
        return row

    def newest(self, most: int, caller: Caller) -> tuple[list[Row], int]:
        """Returns up to `most` of the jobs that the caller may see, unfinished ones first, and the total number of such
        jobs."""
        require(caller, "see", self.kinds)
        return self._table.newest(most, lambda kind, owner: may(caller, "see", kind, owner))

    def cancel(self, job: int, caller: Caller) -> Row:
        """Cancels a job, even one that is running on a different server. Finished jobs are left unchanged. Raises the
        same errors as `get`."""
        row = self.get(job, caller, "end")
        row = self._table.cancel(job) or row
        self._ensure()
        return row

    def questions(self, job: int, caller: Caller, wait_seconds: float = 0.0) -> tuple[Row, list[OpenQuestion]]:
        """Returns the job and its open questions. Questions that have not been given to any caller come first. If no
        question is open and the job is unfinished, waits up to `wait_seconds` for a question. Raises the same errors as
        `get`, and `InputError` if the server's model answers the job's questions."""
        patient = self._waits.acquire(blocking=False)
        try:
            until = time.monotonic() + (wait_seconds if patient else 0.0)
            while True:
                row = self._asks(job, caller)
                waiting = self._questions.waiting(job) if row.state in ("queued", "running") else []
                if waiting or row.state not in ("queued", "running") or time.monotonic() >= until:
                    return row, waiting
                if self._closing.wait(_TICK_SECONDS):
                    return row, waiting
        finally:
            if patient:
                self._waits.release()

    def give(self, job: int, questions: Sequence[OpenQuestion]) -> None:
        """Records that these questions have been given to a caller."""
        self._questions.give(job, [question.id for question in questions])

    def answer(self, job: int, question: str, answer: Mapping[str, Any], caller: Caller) -> tuple[Row, int]:
        """Stores the answer to a question. Returns the job and its number of open questions. Raises the same errors as
        `questions`, and `InputError` if the answer does not match the schema or the question has already been
        answered."""
        row = self._asks(job, caller)
        problem = objection(answer, self._questions.schema(job, question))
        if problem is not None:
            raise InputError(f"question {question} is not answered: {problem}; answer it again")
        if not self._questions.answer(job, question, json.dumps(answer, ensure_ascii=False)):
            raise InputError(f"question {question} has already been answered; call `questions` for the open questions")
        return row, len(self._questions.waiting(job))

    def _asks(self, job: int, caller: Caller) -> Row:
        row = self.get(job, caller, "answer")
        if row.llm != CALLER:
            raise InputError(f"job {job} uses the server's language model; call job_status for its progress")
        return row

    def events(self, job: Row) -> list[dict[str, Any]]:
        """Returns the events logged by a job so far, oldest first (`xkg.cli.display.progress.json_lines`)."""
        lines = _read(self._log(job.id)).splitlines()
        events = [_object(line) for line in lines if line.startswith('{"event": ')]  # the last line may be incomplete
        return [event for event in events if event is not None]

    def close(self, grace: float = LAST_GRACE_SECONDS) -> None:
        """Stops the running job, first gracefully and then forcibly. No more jobs are started. Waiting jobs remain in
        the table for the next server."""
        self._closing.set()
        self._requested.set()
        with self._turn:
            thread = self._thread
        if thread is not None:
            thread.join(3 * grace + 1)

    def _ensure(self) -> None:
        with self._turn:
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(target=self._work, name="jobs", daemon=True)
                self._thread.start()
        self._requested.set()

    def _work(self) -> None:
        """Waits for requests and runs jobs one after another. Logs errors, and retries later."""
        while not self._closing.is_set():
            self._requested.clear()
            try:
                with self._only_server() as is_only:
                    while is_only and not self._closing.is_set() and (row := self._table.next()) is not None:
                        self._attend(row)
            except XkgError as error:
                log.error("jobs cannot be run, and will be retried: %s", error)
                self._closing.wait(_PAUSE_SECONDS)
            else:
                self._requested.wait()

    @contextmanager
    def _only_server(self) -> Iterator[bool]:
        """Waits until no other server runs this graph's jobs. Yields False if this server shuts down first."""
        lock = self._folder / "turn.lock"
        try:
            private_folder(self._folder)
            private_file(lock)
        except OSError as error:
            raise StoreError(f"{self._folder} cannot be written ({error.strerror}); check its permissions") from error
        while not self._closing.is_set():
            with file_lock(lock, wait=False) as free:
                if free:
                    yield True
                    return
            self._closing.wait(_TICK_SECONDS)
        yield False

    def _attend(self, row: Row) -> None:
        """Starts a job, or resumes watching a job started by an earlier server, and stores its outcome."""
        if row.state == "queued":
            try:
                build: _Build = self._started(row)
            except OSError as error:
                self._settle(row, "failed", f"the job cannot be started ({error.strerror}); check the server")
                return
        else:
            build = _Build(self._output(row.id), row.pid, None)
        start = time.monotonic()
        state: State | None = None
        why = ""
        while build.runs():
            current = self._table.get(row.id)
            if current is None or current.cancel:
                state, why = "cancelled", ""
            elif self._closing.is_set():
                state, why = "failed", "the server stopped while the job was running; start the job again to continue"
            elif time.monotonic() - start > LONGEST_SECONDS:
                state, why = "failed", f"stopped after {LONGEST_SECONDS / 3600:.0f} hours; start the job again"
            if state is not None:
                build.end(LAST_GRACE_SECONDS if self._closing.is_set() else GRACE_SECONDS)
                break
            self._closing.wait(_TICK_SECONDS)
        self._settle(row, state, why, build.code)

    def _started(self, row: Row) -> "_Build":
        settings, excluded = self._settings, self._settings.serve.exclude
        if row.llm == CALLER:
            settings = settings.model_copy(update={"llm": LlmSettings(model=CALLER)})
        llm = settings.llm
        variables = dict(job_environment(settings))
        blacklist = [] if excluded is None else [f"--blacklist={excluded.absolute()}"]
        within = [f"--within={root}" for root in self._roots] or ["--within="]
        match row.kind:
            case "build":
                repository = [f"--repo={row.repository}"] if row.repository else []
                command = ["build", f"--paper={row.paper}", *repository, *blacklist, *within]
            case "curate":
                command = ["curate", row.paper, *blacklist]
            case "implement":
                write_whole(self._task(row.id), row.task.encode("utf-8", "replace"))
                command = ["implement", f"--task={self._task(row.id)}", *within]
                if excluded is not None:  # the agent must see the same papers as clients
                    variables["XKG_SERVE__EXCLUDE"] = str(excluded.absolute())
        # Pass the limits explicitly, because xkg.yaml may have changed since this server was started.
        command += ["--json", "--progress=json", f"--llm={llm.model}"]
        command += [f"--max-cost={llm.max_cost}"] if llm.max_cost is not None else []
        if llm.max_total_cost is not None:
            variables["XKG_LLM__MAX_TOTAL_COST"] = str(llm.max_total_cost)
        if row.llm == CALLER:
            variables[JOB_VARIABLE] = str(row.id)
            # Also override the models configured for individual roles.
            variables |= {f"XKG_LLM__{role.upper()}": CALLER for role in get_args(Role)}
        with self._output(row.id).open("ab") as output, self._log(row.id).open("ab") as log:
            if not try_lock(output.fileno()):  # a server started the job but died before recording the start
                return _Build(self._output(row.id), None, None)
            output.truncate(0)
            log.truncate(0)
            process = subprocess.Popen(
                [*self._command, f"--kg={settings.kg.absolute()}", *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=log,
                env=variables,
                start_new_session=True,
            )
        yield_processor(process.pid, _NICE)
        with contextlib.suppress(OSError):
            Path(f"/proc/{process.pid}/oom_score_adj").write_text(_FIRST_TO_GO)
        self._table.started(row.id, process.pid)
        return _Build(self._output(row.id), process.pid, process)

    def _settle(self, row: Row, state: State | None, error: str, code: int | None = None) -> None:
        result = _read(self._output(row.id))
        outcome = _object(result)
        errors = [line for line in _read(self._log(row.id)).splitlines() if line.startswith("xkg: ")]
        last_error = errors[-1].removeprefix("xkg: ") if errors else ""
        if state is None and outcome is not None:
            whole, why = _verdict(row.kind, outcome)
            why = why or last_error or "parts of the job failed; start the job again to retry"
            state, error = ("done", "") if whole else ("partial", why)
        elif state is None:
            signalled = f" (signal {-code}, perhaps out of memory)" if code is not None and code < 0 else ""
            ended = f"its process ended without an error message{signalled}; start the job again to continue"
            state, error = "failed", last_error or ended
        for forgotten in self._table.ended(row.id, state, result if outcome is not None else "", error):
            for path in (self._log(forgotten), self._output(forgotten), self._task(forgotten)):
                path.unlink(missing_ok=True)

    def _log(self, job: int) -> Path:
        return self._folder / f"{job}.log"

    def _task(self, job: int) -> Path:
        return self._folder / f"{job}.task.json"

    def _output(self, job: int) -> Path:
        return self._folder / f"{job}.json"


def _verdict(kind: Kind, outcome: Mapping[str, Any]) -> tuple[bool, str]:
    """Returns whether a job has done all of its work and, if not, the reason from its output ('' if there is none)."""
    notes = "; ".join(map(str, outcome.get("faults" if kind == "implement" else "notes") or ()))
    match kind:
        case "implement":
            return outcome.get("result") in ("A", "B"), str(outcome.get("stopped") or notes)
        case "curate":
            return bool(outcome.get("papers") or not notes), notes
        case "build":
            return outcome.get("state") == "complete" and not outcome.get("stopped"), ""


class _Build:
    """A process group that runs a job. `process` is None if a different server started the job. `code` is the exit
    code, or None if it is unknown."""

    def __init__(self, output: Path, pid: int | None, process: "subprocess.Popen[bytes] | None") -> None:
        self._output = output
        self._pid = pid
        self._process = process
        self.code: int | None = None

    def runs(self) -> bool:
        if self._process is not None:
            self.code = self._process.poll()
            return self.code is None
        try:
            with self._output.open("rb") as file:
                return not try_lock(file.fileno())
        except OSError:
            return False

    def end(self, grace: float) -> None:
        """Sends SIGINT, SIGTERM and finally SIGKILL to the process group."""
        for number in (signal.SIGINT, signal.SIGTERM):
            if self._ends_within(grace, number):
                break
        self._ends_within(grace, KILL)

    def _ends_within(self, grace: float, number: int) -> bool:
        if self._pid is not None:
            signal_group(self._pid, number)
        until = time.monotonic() + grace
        while self.runs():
            if time.monotonic() > until:
                return False
            time.sleep(0.02)
        return True


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST_LOG).decode("utf-8", "replace")
    except OSError:
        return ""


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


# UV_ and PIP_ variables configure the package index and its credentials.
_PREFIXES = ("LC_", "XDG_", "XKG_", "UV_", "PIP_", "HF_", "PYTHON", "OMP_", "MKL_", "OPENBLAS_", "CUDA_", "NVIDIA_")
_LLM = frozenset(("XKG_LLM_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"))
_EMBEDDING = frozenset(("XKG_EMBEDDING_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"))
_STORE = frozenset(("NEO4J_USERNAME", "NEO4J_PASSWORD"))


def job_environment(settings: Settings) -> Mapping[str, str]:
    """Returns the environment variables that a build with these settings needs."""
    services = frozenset[str]()
    services |= _LLM if settings.llm.model != "none" and uses_server(settings.llm) else frozenset()
    services |= _EMBEDDING if settings.embedding.provider == "openai" else frozenset()
    services |= _STORE if settings.store.url is not None else frozenset()
    keys = _LLM | _EMBEDDING | _STORE

    def needed(name: str) -> bool:
        if name in keys:
            return name in services
        beginnings = (*_PREFIXES, *_programs(settings.llm))
        return name in PLAIN_VARIABLES or (name.startswith(beginnings) and not name.startswith("XKG_SERVE__"))

    return {name: value for name, value in os.environ.items() if needed(name.upper())}


def _programs(settings: LlmSettings) -> tuple[str, ...]:
    known = filter(None, map(program_of, sorted(models_of(settings))))
    return tuple(beginning for program, _ in known for beginning in program.inherits)
