"""Implements `xkg build --papers`, which builds the papers in a list in parallel. If one paper fails, the other builds
continue."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

from xkg.clock import CLOCK, Clock
from xkg.commands.batch.build_papers import BuildPapers
from xkg.commands.batch.paper_list import ListedPaper, PaperList
from xkg.commands.batch.records import Record, Records, Row, State, deciding_settings, inputs, key, row_of
from xkg.commands.batch.shared_records import SharedRecords
from xkg.commands.batch.side_by_side import Ended, Event, build_side_by_side
from xkg.commands.build import require_inputs
from xkg.commands.graph.open import open_store, require_folder
from xkg.config import Settings
from xkg.engine.engine import Engine, WorkFailed
from xkg.errors import InputError
from xkg.text.plural import plural
from xkg.value import Value


class BatchReport(Value):
    """The outcome of a batch, with a row for each paper in the list. `notes` mentions repeated papers."""

    rows: tuple[Row, ...]
    seconds: float
    jobs: int
    notes: tuple[str, ...] = ()

    def count(self, state: State) -> int:
        return sum(row.state == state for row in self.rows)

    @property
    def failed(self) -> int:
        """Returns the number of papers that failed or were only partly built."""
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
    again: bool = False,
    blacklist: Path | None = None,
    first: bool = False,
    notify: Callable[[Event], None] = lambda _: None,
    clock: Clock = CLOCK,
) -> BatchReport:
    """Builds missing or changed papers (see `build_side_by_side`). Skips papers that failed before with the same
    inputs, unless `retry_failed` is set or a server or process caused the failure. If `again` is set, builds all
    papers, and reuses cached stages. Rejects papers in `blacklist`. `first` has the same meaning as in `Builder`.
    `notify` receives each listed paper with its events and its final row. `notify` is called from several threads.
    Raises `StoreError` if the graph's folder cannot be written, and `NoWorkerError` if no paper can be built. An
    interrupt ends all builds, which the next run resumes."""
    started = time.monotonic()
    require_folder(settings.kg)
    records = Records(settings.kg)
    records.compact()
    decided = deciding_settings(settings, blacklist, first=first)
    present = _stored(settings, [record for listed in papers.papers if (record := records.of(listed))])
    rows: dict[int, Row] = {
        line.line: Row(line=line.line, name=line.text, state="failed", reason=line.reason) for line in papers.broken
    }
    waiting: list[ListedPaper] = []
    records_of_absent: list[Record] = []
    digests: dict[int, str] = {}
    for listed in papers.papers:
        digest = digests[listed.line] = inputs(listed, decided)
        row = None if again else _known(records.of(listed), digest, present, retry_failed=retry_failed)
        if row is None and (absent := _absent(listed)) is not None:
            row = row_of(listed, absent, 0.0)
            records_of_absent.append(Record(key=key(listed), inputs=digest, row=row, lasting=True))
        if row is None:
            waiting.append(listed)
        else:
            rows[listed.line] = row.model_copy(update={"line": listed.line})
            notify((listed, rows[listed.line]))
    records.enter(records_of_absent)

    lock = threading.Lock()

    def enter(listed: ListedPaper, row: Row, *, lasting: bool = False) -> None:
        with lock:
            rows[listed.line] = row
            records.enter([Record(key=key(listed), inputs=digests[listed.line], row=row, lasting=lasting)])
        notify((listed, row))

    builds = BuildPapers.of(settings, papers.papers, blacklist, first=first, clock=clock)
    with SharedRecords(settings, blacklist, first=first) as shared:

        def ended(listed: ListedPaper, built: Ended) -> None:
            row = row_of(listed, built.outcome, built.seconds)
            shared.enter(listed, row)
            enter(listed, row, lasting=isinstance(built.outcome, WorkFailed) and built.outcome.lasting)

        @contextmanager
        def turn(listed: ListedPaper) -> Iterator[bool]:
            with shared.turn(listed) as row:
                if row is not None and not again:
                    enter(listed, row)
                yield row is None or again

        notes = build_side_by_side(builds, engine, waiting, ended, notify, turn)
    ordered = tuple(rows[line] for line in sorted(rows))
    seconds = round(time.monotonic() - started, 3)
    repeated = (f"line {line} repeats line {earlier}" for line, earlier in papers.repeated.items())
    return BatchReport(rows=ordered, seconds=seconds, jobs=engine.jobs, notes=(*repeated, *notes))


def _absent(listed: ListedPaper) -> WorkFailed | None:
    """Returns a failure if the paper's file or its repository's folder does not exist, and None otherwise."""
    try:
        require_inputs(listed.paper, listed.repository)
    except InputError as error:
        return WorkFailed(str(error), lasting=True)
    return None


def _stored(settings: Settings, records: Sequence[Record]) -> frozenset[str]:
    with open_store(settings) as store, store.snapshot() as snapshot:
        return frozenset(snapshot.headings([record.row.paper for record in records if record.row.paper]))


def _known(record: Record | None, digest: str, present: frozenset[str], *, retry_failed: bool) -> Row | None:
    """Returns the paper's row if the paper does not need to be built, and None otherwise."""
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
    return record.row.model_copy(update={"state": "unchanged", "seconds": 0.0, "notes": ()})


_AGAIN = " (failed before; use --retry-failed to try again)"
