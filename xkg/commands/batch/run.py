"""`xkg build --papers`: builds the papers of a list side by side; what fails for one does not keep the others."""

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import get_args

from xkg.commands.batch.build_papers import BuildPapers
from xkg.commands.batch.paper_list import ListedPaper, PaperList
from xkg.commands.batch.records import Record, Records, Row, State, deciding_settings, inputs, key
from xkg.commands.graph.open import open_store, require_folder
from xkg.commands.published import BuildResult
from xkg.config import Settings
from xkg.engine.engine import Engine, Worker, WorkFailed
from xkg.text.plural import plural
from xkg.value import Value

Event = tuple[ListedPaper, object]


class Report(Value):
    """The outcome of a batch, a row a line of its list."""

    rows: tuple[Row, ...]
    seconds: float
    jobs: int

    def count(self, state: State) -> int:
        return sum(row.state == state for row in self.rows)

    @property
    def failed(self) -> int:
        """Papers that are missing or not whole."""
        return self.count("failed") + self.count("partial")

    def __str__(self) -> str:
        counts = ", ".join(f"{self.count(state)} {state}" for state in get_args(State))
        cost = sum(row.cost_usd for row in self.rows)
        return f"{plural(len(self.rows), 'paper')}: {counts}; ${cost:.2f}, {self.seconds:.0f} s"


def run(
    settings: Settings,
    papers: PaperList,
    engine: Engine,
    *,
    retry_failed: bool = False,
    blacklist: Path | None = None,
    first: bool = False,
    notify: Callable[[Event], None] = lambda _: None,
) -> Report:
    """Builds what is missing or changed, and publishes each paper as it is done, `engine.jobs` at a time. Papers whose
    inputs failed before are not built again unless `retry_failed` (a server or a process that failed is no such input);
    what `blacklist` names is refused; `first` as in `Builder`. `notify` receives, from several threads, a listed paper
    with each of its events, and with its row at the end. Raises `StoreError` where the graph's folder cannot be
    written, and `NoWorkerError` where no paper can be built; an interrupt ends all builds, and the next run goes on
    from there."""
    started = time.monotonic()
    require_folder(settings.kg)
    records = Records(settings.kg)
    records.compact()
    decided = deciding_settings(settings, blacklist, first=first)
    present = _stored(settings, [record for listed in papers.papers if (record := records.of(listed))])
    rows: dict[int, Row] = {
        line.line: Row(line=line.line, name=line.text, state="failed", reason=line.reason) for line in papers.broken
    }
    waiting: queue.SimpleQueue[tuple[ListedPaper, str]] = queue.SimpleQueue()
    for listed in papers.papers:
        digest = inputs(listed, decided)
        row = _known(records.of(listed), digest, present, retry_failed=retry_failed)
        if row is None:
            waiting.put((listed, digest))
        else:
            rows[listed.line] = row.model_copy(update={"line": listed.line})
            notify((listed, rows[listed.line]))
    lock = threading.Lock()
    stopped = threading.Event()
    errors: list[BaseException] = []

    def work(worker: Worker[ListedPaper, BuildResult]) -> None:
        with closing(worker), _collected(errors, stopped):
            while not stopped.is_set():
                try:
                    listed, digest = waiting.get_nowait()
                except queue.Empty:
                    return
                row, lasting = _built(worker, listed, notify)
                if stopped.is_set() and row.state == "failed":
                    return
                with lock:
                    rows[listed.line] = row
                    records.enter([Record(key=key(listed), inputs=digest, row=row, lasting=lasting)])
                notify((listed, row))

    builds = BuildPapers.of(settings, papers.papers, blacklist, first=first)
    workers = engine.workers(builds, min(engine.jobs, waiting.qsize()))
    threads = [threading.Thread(target=work, args=(worker,)) for worker in workers]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:  # an interrupt comes here while threads work
        stopped.set()
        for worker in workers:
            worker.stop()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]
    ordered = tuple(rows[line] for line in sorted(rows))
    return Report(rows=ordered, seconds=round(time.monotonic() - started, 3), jobs=engine.jobs)


@contextmanager
def _collected(errors: list[BaseException], stopped: threading.Event) -> Iterator[None]:
    """Keeps an error of one thread for the caller, and stops the others."""
    try:
        yield
    except BaseException as error:
        errors.append(error)
        stopped.set()


def _stored(settings: Settings, records: Sequence[Record]) -> frozenset[str]:
    """The ids of those recorded papers that the graph holds."""
    with open_store(settings) as store, store.snapshot() as snapshot:
        return frozenset(snapshot.headings([record.row.paper for record in records if record.row.paper]))


def _known(record: Record | None, digest: str, present: frozenset[str], *, retry_failed: bool) -> Row | None:
    """The row of a paper that need not be built."""
    if record is None or record.inputs != digest:
        return None
    if record.row.state == "failed":
        reason = record.row.reason.removesuffix(_AGAIN) + _AGAIN
        return (
            None
            if retry_failed or not record.lasting
            else record.row.model_copy(update={"reason": reason, "seconds": 0.0})
        )
    if record.row.state == "partial" or record.row.paper not in present:
        return None
    return record.row.model_copy(update={"state": "unchanged", "seconds": 0.0})


_AGAIN = " (failed before; --retry-failed tries it again)"


def _built(
    worker: Worker[ListedPaper, BuildResult], listed: ListedPaper, notify: Callable[[Event], None]
) -> tuple[Row, bool]:
    """The row of a paper that is built now, and whether it is a failure that the same inputs bring about again."""
    started = time.monotonic()
    row = Row(line=listed.line, name=listed.paper, repository=listed.repository, state="failed")
    try:
        outcome = worker.run(listed, lambda event: notify((listed, event)))
    except WorkFailed as error:
        seconds = round(time.monotonic() - started, 3)
        return row.model_copy(update={"seconds": seconds, "reason": str(error)}), error.lasting
    state = "partial" if outcome.unfinished else "built" if outcome.published else "unchanged"
    built = row.model_copy(
        update={
            "state": state,
            "paper": outcome.paper,
            "title": outcome.title,
            "techniques": outcome.techniques,
            "levels": outcome.levels,
            "generation": outcome.generation,
            "cost_usd": outcome.cost_usd,
            "seconds": round(time.monotonic() - started, 3),
            "reason": outcome.unfinished,
        }
    )
    return built, False
