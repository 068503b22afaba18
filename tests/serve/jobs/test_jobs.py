"""Tests builds in separate processes, including the state that remains after a server ends."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from xkg.config import LlmSettings, SandboxSettings, ServeBuildSettings, ServeSettings, Settings
from xkg.errors import ConfigError, StoreError
from xkg.serve.answer_text import text
from xkg.serve.answers import budget
from xkg.serve.jobs import jobs as jobs_module
from xkg.serve.jobs.answers import JobAnswer, job_answer, jobs_answer
from xkg.serve.jobs.authority import OPERATOR
from xkg.serve.jobs.jobs import Jobs
from xkg.serve.jobs.table import JobTable, Row
from xkg.serve.tools.build import LISTED

STAND_IN = (sys.executable, "-I", str(Path(__file__).with_name("build_stand_in.py")))
SECONDS = 60.0


def settings_in(folder: Path) -> Settings:
    serve = ServeSettings(build=ServeBuildSettings(allowed=True))
    return Settings(kg=folder / "kg", llm=LlmSettings(model="none"), serve=serve)


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "_TICK_SECONDS", 0.02)


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    jobs = Jobs(settings_in(tmp_path), STAND_IN)
    yield jobs
    jobs.close()


def until(jobs: Jobs, job: int, *states: str) -> Row:
    end = time.monotonic() + SECONDS
    while (row := jobs.get(job, OPERATOR)).state not in states:
        assert time.monotonic() < end, row
        time.sleep(0.02)
    return row


def ended(jobs: Jobs, job: int) -> Row:
    return until(jobs, job, "done", "partial", "failed", "cancelled")


def under_way(jobs: Jobs, job: int) -> JobAnswer:
    """Waits until the build has reported its stage."""
    end = time.monotonic() + SECONDS
    while not (answer := job_answer(jobs, until(jobs, job, "running"))).at:
        assert time.monotonic() < end, answer
        time.sleep(0.02)
    return answer


def alive(pid: int | None) -> bool:
    """Returns whether a process runs. A dead process whose parent also died may remain forever."""
    assert pid is not None
    try:
        os.killpg(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_a_build_tells_its_stages_and_what_came_of_it(jobs: Jobs, tmp_path: Path) -> None:
    row, new = jobs.ask("fine", "code", OPERATOR)
    assert new
    answer = job_answer(jobs, ended(jobs, row.id))
    assert (answer.state, answer.error, answer.calls, answer.dollars) == ("done", "", 2, 0.25)
    assert [(stage.name, stage.seconds, stage.summary) for stage in answer.stages] == [("parse", 0.123, "3 sections")]
    assert answer.result is not None
    assert (answer.result.paper, answer.result.levels) == ("title:x", {"parsed": 2})
    said = text(answer)
    assert all(
        fact in said
        for fact in (
            "job 1: done, build: fine",
            "repository: code",
            "title:x",
            '"parsed": 2',
            "dollars: 0.25",
            "3 sections",
        )
    )
    kept = tmp_path / "kg" / "jobs"
    assert (kept.stat().st_mode & 0o777, (kept / "jobs.sqlite").stat().st_mode & 0o777) == (0o700, 0o600)


@pytest.mark.parametrize(
    ("paper", "state", "said"),
    [
        ("refused", "failed", "there is no such paper; give another"),
        ("crash", "failed", "signal 9"),
        ("garbage", "failed", "start the job again"),
        ("partial", "partial", "0.25 dollars are spent; run again"),
    ],
)
def test_what_goes_wrong_is_told_in_one_line(jobs: Jobs, paper: str, state: str, said: str) -> None:
    row = ended(jobs, jobs.ask(paper, None, OPERATOR)[0].id)
    answer = job_answer(jobs, row)
    assert (answer.state, "\n" in answer.error) == (state, False)
    assert said in answer.error
    assert (answer.result is not None) == (state == "partial")
    assert jobs.ask(paper, None, OPERATOR)[1], "it can be asked for again"


def test_a_list_of_jobs_stays_within_the_budget_of_an_answer(
    jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Jobs, "_ensure", lambda _: None)
    table = JobTable(tmp_path / "kg" / "jobs")
    for number in range(LISTED + 2):
        row, _ = jobs.ask(f"https://arxiv.org/abs/1608.{number:05}", f"https://github.com/someone/{'n' * 60}", OPERATOR)
        table.started(row.id, 1)
        table.ended(row.id, "failed", "", "the reason why it failed " * 40)
    listed = jobs_answer(jobs, LISTED, OPERATOR)
    assert [job.job for job in listed.jobs] == [7, 6, 5, 4, 3]
    assert "2 older jobs" in listed.cut
    assert jobs_answer(jobs, LISTED + 2, OPERATOR).cut == "stages and results: call job_status with a job number"
    assert budget.size(listed) <= budget.TOKENS["concise"]
    assert "job 7: failed" in text(listed)


def test_progress_is_told_without_the_words_of_the_paper(jobs: Jobs) -> None:
    answer = under_way(jobs, jobs.ask("long", None, OPERATOR)[0].id)
    assert (answer.state, answer.at) == ("running", "enrich 1/3")
    assert "ignore" not in answer.model_dump_json()


@pytest.mark.parametrize("paper", ["long", "stubborn"])
def test_a_running_build_is_cancelled_politely_and_else_not(
    jobs: Jobs, paper: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xkg.serve.jobs.jobs.GRACE_SECONDS", 0.2)
    row, _ = jobs.ask(paper, None, OPERATOR)
    under_way(jobs, row.id)
    assert jobs.cancel(row.id, OPERATOR).cancel
    row = ended(jobs, row.id)
    assert (row.state, alive(row.pid)) == ("cancelled", False)
    assert jobs.cancel(row.id, OPERATOR) == row


def test_one_runs_at_a_time_also_of_two_servers(jobs: Jobs, tmp_path: Path) -> None:
    other = Jobs(settings_in(tmp_path), STAND_IN)
    try:
        rows = [(jobs, other)[n % 2].ask(f"short {n}", None, OPERATOR)[0] for n in range(3)]
        found = [ended(other, row.id) for row in rows]
        assert [row.state for row in found] == ["done"] * 3
        times = sorted((row.started or "", row.ended or "") for row in found)
        assert all(first[1] <= second[0] for first, second in pairwise(times))
    finally:
        other.close()


def test_the_end_of_the_server_ends_its_build_and_leaves_the_rest_waiting(tmp_path: Path) -> None:
    first = Jobs(settings_in(tmp_path), STAND_IN)
    running, waiting = first.ask("long", None, OPERATOR)[0], first.ask("fine", None, OPERATOR)[0]
    under_way(first, running.id)
    first.close()
    row = first.get(running.id, OPERATOR)
    assert (row.state, alive(row.pid)) == ("failed", False)
    assert "the server stopped" in row.error
    assert first.get(waiting.id, OPERATOR).state == "queued"
    with pytest.raises(StoreError, match="shutting down"):
        first.ask("fine", None, OPERATOR)
    second = Jobs(settings_in(tmp_path), STAND_IN)
    try:
        second.start()
        assert ended(second, waiting.id).state == "done"
    finally:
        second.close()


ENDING = """
import os, signal, sys, threading
from xkg.commands.serve import end_with_process
from xkg.config import Settings
from xkg.serve.jobs import jobs
jobs.check_bounds = lambda _: None
running = jobs.Jobs(Settings.model_validate_json(sys.argv[1]))
end_with_process(running)
with running._turn:  # as when the signal comes while a build is asked for
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(0.5)
threading.Event().wait(100)
"""


def test_a_signal_that_comes_while_a_lock_is_held_ends_the_server(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ENDING, settings_in(tmp_path).model_dump_json()]
    done = subprocess.run(command, timeout=SECONDS, check=False)
    assert done.returncode == -signal.SIGTERM


SERVER = """
import sys, time
from xkg.config import Settings
from xkg.serve.jobs.authority import OPERATOR
from xkg.serve.jobs.jobs import Jobs
settings, paper, *stand_in = sys.argv[1:]
jobs = Jobs(Settings.model_validate_json(settings), stand_in)
row, _ = jobs.ask(paper, None, OPERATOR)
while jobs.get(row.id, OPERATOR).pid is None:
    time.sleep(0.01)
print(row.id, flush=True)
time.sleep(100)
"""


def killed_server(folder: Path, paper: str) -> int:
    """Returns the job of a server that was killed during its build."""
    command = [sys.executable, "-c", SERVER, settings_in(folder).model_dump_json(), paper, *STAND_IN]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        job = int(server.stdout.readline())
        server.kill()
    return job


def test_a_build_that_outlives_its_server_is_watched_by_the_next(tmp_path: Path) -> None:
    job = killed_server(tmp_path, "short and well")
    jobs = Jobs(settings_in(tmp_path), STAND_IN)
    try:
        assert jobs.get(job, OPERATOR).state == "running"
        jobs.start()
        assert ended(jobs, job).state == "done"
    finally:
        jobs.close()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"llm": LlmSettings(model="o4-mini")}, r"llm\.max_cost"),
        ({"llm": LlmSettings(model="none"), "sandbox": SandboxSettings(runner="unsafe-subprocess")}, "unsafe"),
    ],
)
def test_what_has_no_bound_is_not_offered(
    tmp_path: Path, changed: dict[str, object], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with pytest.raises(ConfigError, match=said):
        Jobs(Settings(kg=tmp_path, **changed))  # type: ignore[arg-type]
    Jobs(Settings(kg=tmp_path, llm=LlmSettings(model="o4-mini", max_cost=1)))


def test_nothing_is_imported_from_the_folder_that_a_server_runs_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "repository").mkdir()
    for name in ("xkg.py", "typer.py", "json.py"):
        (tmp_path / "repository" / name).write_text("open('trap', 'w')\n")
    monkeypatch.chdir(tmp_path / "repository")
    jobs = Jobs(settings_in(tmp_path))
    try:
        row = ended(jobs, jobs.ask("nowhere.tex", None, OPERATOR)[0].id)
    finally:
        jobs.close()
    assert "nowhere.tex does not exist" in row.error
    assert not Path("trap").exists()


def test_a_build_is_held_to_the_roots_and_has_no_key_that_it_does_not_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "seen"
    monkeypatch.setenv("XKG_SEEN", str(seen))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    tell = "import json, os, sys; open(os.environ['XKG_SEEN'], 'w').write(json.dumps([sys.argv, dict(os.environ)]))"
    for roots, given in (
        ((), ["--within="]),
        ((tmp_path, tmp_path / "x"), [f"--within={tmp_path}", f"--within={tmp_path}/x"]),
    ):
        settings = settings_in(tmp_path).model_copy(update={"llm": LlmSettings(model="none", max_total_cost=9)})
        jobs = Jobs(settings, (sys.executable, "-c", tell), roots)
        try:
            ended(jobs, jobs.ask(f"paper {len(roots)}", str(tmp_path), OPERATOR)[0].id)
        finally:
            jobs.close()
        arguments, environment = json.loads(seen.read_text())
        assert [a for a in arguments if a.startswith("--within")] == given
        assert "sk-secret" not in environment.values()
        assert environment["XKG_LLM__MAX_TOTAL_COST"] == "9.0"
