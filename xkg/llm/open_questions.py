"""Stores questions for a job's caller, and the answers, in one SQLite file per graph.

A build posts questions, and the caller fetches and answers them from any process. Only the first answer counts.
Everything is on disk, so a build or caller can resume after being killed."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from xkg.clock import CLOCK, Clock
from xkg.errors import InputError, UnknownIdError
from xkg.llm.endpoint import Request
from xkg.llm.request import Message
from xkg.sqlite_files import opened, transaction

FILE = "questions.sqlite"
_ID_DIGITS = 12

# `taken` is 1 if the build has used the answer. Times are Unix timestamps.
_SCHEMA = {
    "questions": """CREATE TABLE IF NOT EXISTS questions (
        id TEXT PRIMARY KEY, job INTEGER NOT NULL, stage TEXT NOT NULL, prompt TEXT NOT NULL, about TEXT NOT NULL,
        messages TEXT NOT NULL, schema TEXT NOT NULL, posted REAL NOT NULL, given REAL NOT NULL DEFAULT 0,
        answer TEXT, taken INTEGER NOT NULL DEFAULT 0)""",
    "visits": "CREATE TABLE IF NOT EXISTS visits (job INTEGER PRIMARY KEY, at REAL NOT NULL)",
}


@dataclass(frozen=True)
class OpenQuestion:
    """A question that waits for an answer. `given_ago` is the number of seconds since a caller last received the
    question, or None if no caller has received it."""

    id: str
    job: int
    stage: str
    prompt: str
    about: str
    messages: Sequence[Message]
    schema: Mapping[str, Any]
    given_ago: float | None


class OpenQuestions:
    """Reads and writes a graph's `questions.sqlite` file. Changes are on disk when a method returns. Every method
    raises `StoreError` if the file cannot be used. Safe to use from several threads and processes."""

    def __init__(self, folder: Path, clock: Clock = CLOCK) -> None:
        self._folder, self._clock = folder, clock

    def post(self, job: int, request: Request) -> str:
        """Posts a question and returns its id. If the question already has an answer that was used, it must be answered
        again."""
        id = request.key.hex()[:_ID_DIGITS]
        row = (id, job, request.stage, request.prompt, request.about)
        texts = (json.dumps(request.messages), json.dumps(request.schema), self._clock.now())
        with self._changing() as db:
            db.execute("DELETE FROM questions WHERE id = ? AND taken", (id,))
            db.execute(
                "INSERT INTO questions (id, job, stage, prompt, about, messages, schema, posted) VALUES "
                "(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET job = excluded.job, posted = excluded.posted",
                (*row, *texts),
            )
        return id

    def take(self, id: str) -> str | None:
        """Returns the answer and marks it as used, or returns None if there is no answer yet."""
        with self._reading() as db:
            row = db.execute("SELECT answer FROM questions WHERE id = ?", (id,)).fetchone()
        if row is None or row[0] is None:
            return None
        with self._changing() as db:
            db.execute("UPDATE questions SET taken = 1, messages = '', schema = '' WHERE id = ?", (id,))
        return str(row[0])

    def waiting(self, job: int) -> list[OpenQuestion]:
        """Returns a job's open questions. Questions that no caller has received come first, then the questions received
        longest ago, so that several callers get different questions."""
        now = self._clock.now()
        with self._reading() as db:
            rows = db.execute(
                "SELECT id, job, stage, prompt, about, messages, schema, given FROM questions WHERE job = ? AND "
                "answer IS NULL ORDER BY given, posted",
                (job,),
            ).fetchall()
        return [
            OpenQuestion(
                id, job, stage, prompt, about, json.loads(messages), json.loads(schema), now - given if given else None
            )
            for id, job, stage, prompt, about, messages, schema, given in rows
        ]

    def give(self, job: int, ids: Sequence[str]) -> None:
        """Records that a caller received these questions."""
        now = self._clock.now()
        with self._changing() as db:
            _visit(db, job, now)
            db.executemany("UPDATE questions SET given = ? WHERE id = ?", [(now, id) for id in ids])

    def schema(self, job: int, id: str) -> Mapping[str, Any]:
        """Returns the answer schema for an open question. Raises `UnknownIdError` if the job has no such question, and
        `InputError` if it has already been answered."""
        with self._reading() as db:
            row = db.execute("SELECT job, schema, answer IS NOT NULL FROM questions WHERE id = ?", (id,)).fetchone()
        if row is None or row[0] != job:
            raise UnknownIdError(f"job {job} has no question {id[:40]!a}; call `questions` for the open questions")
        if row[2]:
            raise InputError(f"question {id} has already been answered; call `questions` for the open questions")
        return cast(Mapping[str, Any], json.loads(row[1]))

    def answer(self, job: int, id: str, answer: str) -> bool:
        """Stores an answer to a question. Returns False if the question already has an answer."""
        with self._changing() as db:
            _visit(db, job, self._clock.now())
            update = "UPDATE questions SET answer = ? WHERE id = ? AND job = ? AND answer IS NULL"
            return db.execute(update, (answer, id, job)).rowcount == 1

    def last_visit(self, job: int) -> float:
        """Returns when a caller last fetched or answered a job's questions, or 0 if never."""
        with self._reading() as db:
            row = db.execute("SELECT at FROM visits WHERE job = ?", (job,)).fetchone()
        return float(row[0]) if row else 0.0

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        with self._reading() as db, transaction(db):
            yield db

    def _reading(self) -> AbstractContextManager[sqlite3.Connection]:
        return opened(self._folder / FILE, _SCHEMA, "delete it, and start the job again")


def _visit(db: sqlite3.Connection, job: int, now: float) -> None:
    db.execute("INSERT INTO visits VALUES (?, ?) ON CONFLICT (job) DO UPDATE SET at = excluded.at", (job, now))
