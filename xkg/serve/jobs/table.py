"""Stores requested jobs in an SQLite file in the graph's folder, which all server processes share."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from xkg.errors import InputError, SchemaVersionError
from xkg.sqlite_files import opened, transaction

State = Literal["queued", "running", "done", "partial", "failed", "cancelled"]
Kind = Literal["build", "curate", "implement"]

_COUNTED: dict[Kind, tuple[str, str]] = {
    "build": ("builds", "build"),
    "curate": ("curations", "build"),
    "implement": ("runs of an agent", "agents"),
}
"""Maps each kind of job to the unit that the daily limit counts, and to the settings section that contains the
limit."""

RETAINED_JOBS = 200
"""Maximum number of finished jobs to keep, including their logs."""

_VERSION = 3
_SCHEMA = {
    "jobs": """CREATE TABLE IF NOT EXISTS jobs (
        id INTEGER PRIMARY KEY AUTOINCREMENT, paper TEXT NOT NULL, repository TEXT NOT NULL, asked_by TEXT NOT NULL,
        state TEXT NOT NULL, asked TEXT NOT NULL, started TEXT, ended TEXT, pid INTEGER,
        cancel INTEGER NOT NULL DEFAULT 0, result TEXT NOT NULL DEFAULT '', error TEXT NOT NULL DEFAULT '',
        kind TEXT NOT NULL DEFAULT 'build', task TEXT NOT NULL DEFAULT '', llm TEXT NOT NULL DEFAULT '')""",
    "runs": "CREATE TABLE IF NOT EXISTS runs (asked_by TEXT NOT NULL, asked TEXT NOT NULL)",
}
_COLUMNS = "id, paper, repository, asked_by, state, asked, started, ended, pid, result, error, cancel, kind, task, llm"


@dataclass(frozen=True)
class Row:
    """A stored job. Times are in ISO 8601, in UTC.

    - `repository`: '' if there is none
    - `pid`: the leader of the job's process group, once started
    - `cancel`: 1 if cancellation was requested
    - `result`: the JSON printed by the command
    - `llm`: `caller` if the caller answers the job's questions, '' for the server's model

    For kind `implement`, `task` is the task as JSON, `paper` is a short name for the method, and `repository` is the
    starter code."""

    id: int
    paper: str
    repository: str
    caller: str
    state: State
    requested_at: str
    started: str | None
    ended: str | None
    pid: int | None
    result: str
    error: str
    cancel: int
    kind: Kind = "build"
    task: str = ""
    llm: str = ""


class JobTable:
    """Reads and writes the stored jobs. Every method raises `StoreError`, with a remedy, if the file cannot be used.
    Safe to use from several threads and processes, because each change is a transaction."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "jobs.sqlite"

    def add(
        self,
        paper: str,
        repository: str,
        caller: str,
        *,
        waiting: int,
        per_day: int,
        kind: Kind = "build",
        task: str = "",
        llm: str = "",
    ) -> tuple[Row, bool]:
        """Adds a job, unless the caller already has an unfinished job for the same request. Returns the job and whether
        it is new. Raises `InputError` if `waiting` of the caller's jobs are already queued, or if the caller has
        requested `per_day` jobs of this kind within a day."""
        now = datetime.now(UTC)
        with self._changing() as db:
            live = "asked_by = ? AND state IN ('queued', 'running') AND NOT cancel"
            same = f"{live} AND paper = ? AND repository = ? AND kind = ? AND task = ? AND llm = ? ORDER BY id"
            for row in self._rows(db, same, caller, paper, repository, kind, task, llm):
                return row, False
            if _count(db, "asked_by = ? AND state = 'queued'", caller) >= waiting:
                raise InputError(f"{waiting} of your jobs are already waiting; try again when job_status shows fewer")
            yesterday = _iso(now - timedelta(days=1))
            if _count(db, "asked_by = ? AND asked > ? AND kind = ?", caller, yesterday, kind) >= per_day:
                what, setting = _COUNTED[kind]
                raise InputError(
                    f"you requested {per_day} {what} within a day, which is this server's limit per caller "
                    f"(serve.{setting}.per_day); try again tomorrow"
                )
            inserted = db.execute(
                "INSERT INTO jobs (paper, repository, asked_by, state, asked, kind, task, llm) "
                "VALUES (?, ?, ?, 'queued', ?, ?, ?, ?)",
                (paper, repository, caller, _iso(now), kind, task, llm),
            )
            return self._row(db, int(inserted.lastrowid or 0)), True

    def count_run(self, caller: str, per_day: int) -> None:
        """Counts a script run. Raises `InputError` if the caller has already run `per_day` scripts within a day."""
        now = datetime.now(UTC)
        with self._changing() as db:
            db.execute("DELETE FROM runs WHERE asked <= ?", (_iso(now - timedelta(days=1)),))
            (count,) = db.execute("SELECT count(*) FROM runs WHERE asked_by = ?", (caller,)).fetchone()
            if count >= per_day:
                raise InputError(
                    f"you ran {count} scripts within a day, which is this server's limit per caller "
                    "(serve.run.per_day); try again tomorrow"
                )
            db.execute("INSERT INTO runs VALUES (?, ?)", (caller, _iso(now)))

    def get(self, job: int) -> Row | None:
        with self._reading() as db:
            return next(self._rows(db, "id = ?", job), None)

    def newest(self, most: int, shown: Callable[[Kind, str], bool]) -> tuple[list[Row], int]:
        """Returns up to `most` of the jobs for which `shown(kind, caller)` is true, and the total number of these jobs.
        Unfinished jobs come first, in order, followed by finished jobs, newest first."""
        live = "state IN ('queued', 'running')"
        order = f"{live} DESC, state DESC, CASE WHEN {live} THEN id ELSE -id END"
        with self._reading() as db:
            every = db.execute(f"SELECT id, kind, asked_by FROM jobs ORDER BY {order}").fetchall()
            ids = [id for id, kind, caller in every if shown(kind, caller)]
            return [self._row(db, id) for id in ids[:most]], len(ids)

    def next(self) -> Row | None:
        """Returns the running job, if any. If no job is running, returns the next waiting job. The caller whose last
        job started longest ago goes first, so that one caller's jobs do not hold up everyone else's."""
        last = "SELECT coalesce(max(started), '') FROM jobs AS earlier WHERE earlier.asked_by = jobs.asked_by"
        order = f"state IN ('queued', 'running') ORDER BY state DESC, ({last}), id LIMIT 1"
        with self._reading() as db:
            return next(self._rows(db, order), None)

    def started(self, job: int, pid: int) -> None:
        with self._changing() as db:
            query = "UPDATE jobs SET state = 'running', started = ?, pid = ? WHERE id = ?"
            db.execute(query, (_iso(datetime.now(UTC)), pid, job))

    def cancel(self, job: int) -> Row | None:
        """Cancels a waiting job, or marks a running job for cancellation by the server that runs it."""
        with self._changing() as db:
            now = _iso(datetime.now(UTC))
            db.execute("UPDATE jobs SET cancel = 1 WHERE id = ? AND state IN ('queued', 'running')", (job,))
            query = "UPDATE jobs SET state = 'cancelled', ended = ? WHERE id = ? AND state = 'queued'"
            db.execute(query, (now, job))
            return next(self._rows(db, "id = ?", job), None)

    def ended(self, job: int, state: State, result: str, error: str) -> list[int]:
        """Stores a job's outcome and deletes the oldest jobs. Returns the numbers of the deleted jobs, so that their
        logs can be deleted too."""
        with self._changing() as db:
            query = "UPDATE jobs SET state = ?, ended = ?, result = ?, error = ? WHERE id = ?"
            db.execute(query, (state, _iso(datetime.now(UTC)), result, error, job))
            old = "SELECT id FROM jobs WHERE state NOT IN ('queued', 'running') ORDER BY id DESC LIMIT -1 OFFSET ?"
            expired = [int(id) for (id,) in db.execute(old, (RETAINED_JOBS,))]
            db.executemany("DELETE FROM jobs WHERE id = ?", [(id,) for id in expired])
            return expired

    def _row(self, db: sqlite3.Connection, job: int) -> Row:
        return next(self._rows(db, "id = ?", job))

    @staticmethod
    def _rows(db: sqlite3.Connection, where: str, *values: object) -> Iterator[Row]:
        for record in db.execute(f"SELECT {_COLUMNS} FROM jobs WHERE {where}", values).fetchall():
            yield Row(*record)

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        with self._reading() as db, transaction(db):
            yield db

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with opened(self._path, _SCHEMA, "remove it; this deletes the list of builds, but not the builds") as db:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, _VERSION):
                raise SchemaVersionError(f"{self._path} is from another version of xkg; use that version, or remove it")
            if not version:
                db.execute(f"PRAGMA user_version = {_VERSION}")
            yield db


def _count(db: sqlite3.Connection, where: str, *values: object) -> int:
    return int(db.execute(f"SELECT count(*) FROM jobs WHERE {where}", values).fetchone()[0])


def _iso(time: datetime) -> str:
    return time.isoformat(timespec="seconds")
