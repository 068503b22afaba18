"""Builds batches of small papers in real processes, without a model."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import neo4j
import pytest

from tests.clock import TurnedClock
from tests.command import run as xkg
from tests.commands.batch.engine_here import EngineHere
from tests.commands.test_claims import store_of
from tests.neo4j_server import Neo4jServer
from tests.timeless import timeless
from xkg.build.stage_cache import StageReport
from xkg.commands.batch.paper_list import read_list
from xkg.commands.batch.records import FILE, Row
from xkg.commands.batch.run import BatchReport, run
from xkg.commands.batch.side_by_side import Event
from xkg.commands.build import build
from xkg.commands.graph.open import open_store
from xkg.config import EnvironmentSettings, LlmSettings, PruneSettings, Settings
from xkg.engine.engine import BegunAgain, NoWorkerError
from xkg.engine.local import LocalEngine
from xkg.model import Level
from xkg.store.graph_store import Link

PAPER = """\\documentclass{{article}}\\title{{The {name} filter}}\\begin{{document}}\\maketitle
\\section{{Method}}\\subsection{{{name} smoothing}}
We propose {name} smoothing, which averages each window of a signal after it was sorted, so that spikes are lost.
\\begin{{equation}} y_t = \\frac{{1}}{{w}} \\sum_i x_{{t-i}} \\end{{equation}}
\\end{{document}}
"""


def settings(kg: Path, **changes: object) -> Settings:
    return Settings(
        kg=kg,
        llm=LlmSettings(model="none"),
        environment=EnvironmentSettings(max_mb=0),
        prune=PruneSettings(min_level=Level.PARSED),
        **changes,  # type: ignore[arg-type]
    )


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Creates a list of three papers, and a fourth that is missing."""
    names = ("Sorted", "Folded", "Braided")
    for name in names:
        (tmp_path / f"{name}.tex").write_text(PAPER.format(name=name))
    path = tmp_path / "list.txt"
    path.write_text("".join(f"{name}.tex\t\ttitle:{name}\n" for name in names) + "missing.tex\nx\ty\tz\tbroken\n")
    return path


def states(report: BatchReport) -> dict[int, str]:
    return {row.line: row.state for row in report.rows}


def test_a_second_batch_builds_what_is_missing_or_changed(tmp_path: Path, corpus: Path) -> None:
    chosen = settings(tmp_path / "kg")
    first = run(chosen, read_list(corpus), EngineHere())
    assert states(first) == {1: "built", 2: "built", 3: "built", 4: "failed", 5: "failed"}
    assert first.failed == 2
    assert "does not exist" in first.rows[3].reason
    assert first.rows[0].techniques > 0
    again = run(chosen, read_list(corpus), EngineHere())
    assert states(again) == {1: "unchanged", 2: "unchanged", 3: "unchanged", 4: "failed", 5: "failed"}
    assert "--retry-failed" in again.rows[3].reason
    (corpus.parent / "Folded.tex").write_text(PAPER.format(name="Doubly folded"))
    with open_store(chosen) as store:
        store.remove(["title:Braided"])
    (corpus.parent / "missing.tex").write_text(PAPER.format(name="Missing"))
    third = run(chosen, read_list(corpus), EngineHere())
    assert states(third) == {1: "unchanged", 2: "built", 3: "built", 4: "built", 5: "failed"}


def test_the_report_has_every_line_of_the_list(
    tmp_path: Path, corpus: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checks that the report covers every line of the list, even if one paper's page cannot be written."""
    monkeypatch.setenv("XKG_ENVIRONMENT__MAX_MB", "0")
    with corpus.open("a") as listed:
        listed.write("\t../repository\nSorted.tex\t\ttitle:Sorted\n")
    command = ["--kg", str(tmp_path / "kg"), "build", "--papers", str(corpus), "--llm", "none", "--json", "--html"]
    assert xkg(*command, tmp_path / "nowhere" / "report.html") == 1
    assert not (tmp_path / "kg").exists()  # nothing has been built yet
    place = tmp_path / "report.html"

    monkeypatch.setattr("xkg.cli.display.progress._Papers.take", lambda *_: place.mkdir(exist_ok=True))
    capsys.readouterr()
    assert xkg(*command, place) == 3
    printed = capsys.readouterr()
    report = BatchReport.model_validate_json(printed.out)
    assert "report.html cannot be written" in printed.err
    assert states(report) == {1: "built", 2: "built", 3: "built", 4: "failed", 5: "failed", 6: "failed"}
    assert report.rows[5].reason == "the paper is missing"
    assert report.notes == ("line 7 repeats line 1",)


def test_a_failure_is_tried_again_on_request_alone(tmp_path: Path) -> None:
    (tmp_path / "empty.tex").write_text("\\documentclass{article}\\title{A}\\begin{document}\\end{document}")
    (tmp_path / "list").write_text("empty.tex\n")
    tried: list[object] = []

    def notify(event: Event) -> None:
        tried.append(event[1])

    for retry, stages in ((False, True), (False, False), (True, True)):
        tried.clear()
        report = run(
            settings(tmp_path / "kg"), read_list(tmp_path / "list"), EngineHere(), retry_failed=retry, notify=notify
        )
        assert states(report) == {1: "failed"}
        assert any(isinstance(event, StageReport) for event in tried) is stages
        assert isinstance(tried[-1], Row)


def _children(parent: int) -> list[int]:
    return [int(pid) for file in Path(f"/proc/{parent}/task").glob("*/children") for pid in file.read_text().split()]


def _is_fork_server(pid: int) -> bool:
    return b"multiprocessing.forkserver" in Path(f"/proc/{pid}/cmdline").read_bytes()


def test_a_process_that_is_killed_takes_only_its_paper(tmp_path: Path, corpus: Path) -> None:
    killed = threading.Event()

    def kill_once(event: Event) -> None:
        if isinstance(event[1], StageReport) and event[0].line == 1 and not killed.is_set():
            killed.set()
            [server] = [pid for pid in _children(os.getpid()) if _is_fork_server(pid)]
            for pid in _children(server):
                os.kill(pid, signal.SIGKILL)

    report = run(settings(tmp_path / "kg"), read_list(corpus), LocalEngine(1), notify=kill_once)
    assert states(report) == {1: "failed", 2: "built", 3: "built", 4: "failed", 5: "failed"}
    assert "signal 9" in report.rows[0].reason
    again = run(settings(tmp_path / "kg"), read_list(corpus), EngineHere())
    assert states(again)[1] == "built"


def test_a_server_that_failed_is_asked_again(tmp_path: Path) -> None:
    (tmp_path / "Sorted.tex").write_text(PAPER.format(name="Sorted"))
    (tmp_path / "list").write_text("Sorted.tex\thttps://127.0.0.1:1/no/server\n")
    tried: list[object] = []
    for _ in range(2):
        tried.clear()
        report = run(
            settings(tmp_path / "kg"),
            read_list(tmp_path / "list"),
            EngineHere(),
            notify=lambda event: tried.append(event[1]),
        )
        assert states(report) == {1: "failed"}
        assert any(isinstance(event, StageReport) for event in tried)
        assert "failed before" not in report.rows[0].reason


def test_what_keeps_every_paper_ends_the_batch_at_once(tmp_path: Path, corpus: Path) -> None:
    chosen = settings(tmp_path / "kg").model_copy(update={"llm": LlmSettings(model="o4-mini")})
    ended: list[object] = []
    with pytest.raises(NoWorkerError, match="OPENAI_API_KEY"):
        run(chosen, read_list(corpus), LocalEngine(2), notify=lambda event: ended.append(event[1]))
    assert [event.name for event in ended if isinstance(event, Row)] == ["missing.tex"]  # these results need no build


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        (["--papers", "list", "--paper", "x.tex"], "--paper"),
        (["--paper", "x.tex", "--retry-failed"], "--retry-failed"),
        (["--paper", "x.tex", "--paper", "y.tex", "--within", "."], "--within"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(
    options: list[str], refused: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert xkg("--kg", tmp_path / "kg", "build", *options) == 2
    assert refused in capsys.readouterr().err


@pytest.mark.product("each event × each kill", every=True)
@pytest.mark.parametrize(
    "ending", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.product("each event × each kill"))]
)
def test_a_batch_that_was_ended_goes_on_from_there(tmp_path: Path, corpus: Path, ending: signal.Signals) -> None:
    kg = tmp_path / "kg"
    start = [sys.executable, "-c", "from xkg.cli.main import main; main()", "--kg", str(kg)]
    command = [*start, "build", "--papers", str(corpus), "--llm", "none"]
    environment = {**os.environ, "XKG_ENVIRONMENT__MAX_MB": "0", "XKG_PRUNE__MIN_LEVEL": "parsed"}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    until = time.monotonic() + 120
    while not ((kg / FILE).exists() and (kg / FILE).read_text().count("built")):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.05)
    process.send_signal(ending)
    _, errors = process.communicate(timeout=60)
    assert process.returncode in (130, 3, -signal.SIGKILL), errors
    assert "Traceback" not in errors
    ended = subprocess.run(
        [*command, "--json"], capture_output=True, text=True, env=environment, timeout=240, check=False
    )
    assert ended.returncode == 3
    rows = json.loads(ended.stdout)["rows"]
    assert [row["state"] for row in rows[:3]].count("unchanged") >= 1
    assert {row["state"] for row in rows[:3]} <= {"unchanged", "built"}
    with open_store(settings(kg)) as store:
        assert store.check() == []
        assert [bundle.paper.id for bundle in store.bundles()] == ["title:Braided", "title:Folded", "title:Sorted"]


@pytest.mark.product("each paper built twice", every=True)
def test_a_batch_gives_the_graph_that_single_builds_give(tmp_path: Path, corpus: Path) -> None:
    chosen, alone = settings(tmp_path / "kg"), settings(tmp_path / "alone")
    run(chosen, read_list(corpus), LocalEngine(2))
    for listed in read_list(corpus).papers[:3]:
        build(alone, listed.paper, None, paper_id=listed.paper_id)
    assert graph(chosen) == graph(alone)


def test_a_batch_into_a_neo4j_draws_what_connects_its_papers(
    neo4j_database: Neo4jServer, tmp_path: Path, corpus: Path
) -> None:
    for name in ("Folded", "Braided"):
        (tmp_path / f"{name}.tex").write_text(PAPER.format(name=name).replace(f"{name} smoothing", "Sorted smoothing"))
    chosen = settings(tmp_path / "kg", store=store_of(neo4j_database, tmp_path))
    report = run(chosen, read_list(corpus), EngineHere())
    assert states(report) == {1: "built", 2: "built", 3: "built", 4: "failed", 5: "failed"}
    assert report.notes == ()
    drawn = "MATCH (:Technique)-[e:SAME_CONCEPT]->(:Technique) RETURN count(e) AS edges"
    with open_store(chosen) as store:
        assert store.query(drawn).rows[0][0] >= 3
        assert store.check() == []
    assert states(run(chosen, read_list(corpus), EngineHere()))[1] == "unchanged"


def graph(settings: Settings) -> tuple[list[str], list[Link]]:
    """Returns the papers without their build times, and the links between the papers."""
    with open_store(settings) as store, store.snapshot() as snapshot:
        texts = [timeless(bundle).model_dump_json() for bundle in store.bundles()]
        return texts, sorted(snapshot.links(), key=str)


@pytest.mark.parametrize(("patience", "state"), [(60.0, "built"), (10.0, "failed")])
def test_a_paper_that_another_machine_has_waits_for_it(
    neo4j_database: Neo4jServer,
    tmp_path: Path,
    corpus: Path,
    monkeypatch: pytest.MonkeyPatch,
    patience: float,
    state: str,
) -> None:
    """A killed builder keeps its lease until the lease expires. The same command then resumes."""
    chosen = settings(tmp_path / "kg", store=store_of(neo4j_database, tmp_path))
    monkeypatch.setattr("xkg.commands.batch.side_by_side._LONGEST_WAIT", patience)
    lease = "CREATE (:XkgLease {id: 'title:Sorted', fence: 1, holder: 'one that died', expires: timestamp() + 900000})"
    waited: list[str] = []
    with neo4j.GraphDatabase.driver(neo4j_database.url, auth=neo4j_database.auth) as driver:
        driver.execute_query(lease)

        def expire(event: Event) -> None:
            if isinstance(event[1], BegunAgain):
                waited.append(event[1].reason)
                if state == "built":
                    driver.execute_query("MATCH (l:XkgLease {id: 'title:Sorted'}) SET l.expires = 0")

        report = run(chosen, read_list(corpus), EngineHere(), notify=expire, clock=TurnedClock())
    assert states(report) == {1: state, 2: "built", 3: "built", 4: "failed", 5: "failed"}
    assert waited
    assert "is being built by one that died" in waited[0]
    assert ("is being built by one that died" in report.rows[0].reason) is (state == "failed")
