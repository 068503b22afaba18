"""Questions that wait for the caller of a job, and the answers to them: one SQLite file of a graph.

A build in a process of its own posts questions; whoever asked for the job takes them and answers, in any process. The
first answer counts. Both stay on disk, so that a build or a caller that is killed goes on where it was.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from xkg.clock import CLOCK, Clock
from xkg.errors import InputError, StoreError, UnknownIdError
from xkg.files import private_folder
from xkg.llm.endpoint import Request
from xkg.llm.request import Message
from xkg.sqlite_files import open_wal, transaction

FILE = "questions.sqlite"
_ID_DIGITS = 12

# `taken`: 1 for an answer that the build has used. Times are seconds since 1970.
_SCHEMA = {
    "questions": """CREATE TABLE IF NOT EXISTS questions (
        id TEXT PRIMARY KEY, job INTEGER NOT NULL, stage TEXT NOT NULL, prompt TEXT NOT NULL, about TEXT NOT NULL,
        messages TEXT NOT NULL, schema TEXT NOT NULL, posted REAL NOT NULL, given REAL NOT NULL DEFAULT 0,
        answer TEXT, taken INTEGER NOT NULL DEFAULT 0)""",
    "visits": "CREATE TABLE IF NOT EXISTS visits (job INTEGER PRIMARY KEY, at REAL NOT NULL)",
}


@dataclass(frozen=True)
class OpenQuestion:
    """A question that waits. `given_ago`: seconds since it was last given to a caller, None for never."""

    id: str
    job: int
    stage: str
    prompt: str
    about: str
    messages: Sequence[Message]
    schema: Mapping[str, Any]
    given_ago: float | None


class OpenQuestions:
    """The file `questions.sqlite` in the folder of a graph. Every method has written to disk when it returns, and
    raises `StoreError` if it cannot. Safe to use from several threads and processes."""

    def __init__(self, folder: Path, clock: Clock = CLOCK) -> None:
        self._folder, self._clock = folder, clock

    def post(self, job: int, request: Request) -> str:
        """The id of the question, which waits from now on. An answer that was used before does not count again."""
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
        """The answer, None while there is none; its question is forgotten."""
        with self._reading() as db:
            row = db.execute("SELECT answer FROM questions WHERE id = ?", (id,)).fetchone()
        if row is None or row[0] is None:
            return None
        with self._changing() as db:
            db.execute("UPDATE questions SET taken = 1, messages = '', schema = '' WHERE id = ?", (id,))
        return str(row[0])

    def waiting(self, job: int) -> list[OpenQuestion]:
        """The questions of a job that wait: those first that were given to nobody, then those given longest ago, so
        that several callers get different ones."""
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
        """Enters that a caller looked for questions of a job, and was given these."""
        now = self._clock.now()
        with self._changing() as db:
            _visit(db, job, now)
            db.executemany("UPDATE questions SET given = ? WHERE id = ?", [(now, id) for id in ids])

    def schema(self, job: int, id: str) -> Mapping[str, Any]:
        """The schema of the answer to a question that waits. Raises `UnknownIdError` for any other, and `InputError`
        for one that is answered."""
        with self._reading() as db:
            row = db.execute("SELECT job, schema, answer IS NOT NULL FROM questions WHERE id = ?", (id,)).fetchone()
        if row is None or row[0] != job:
            raise UnknownIdError(f"job {job} has no question {id[:40]!a}: `questions` lists those that wait")
        if row[2]:
            raise InputError(f"question {id} is answered already: `questions` lists those that wait")
        return cast(Mapping[str, Any], json.loads(row[1]))

    def answer(self, job: int, id: str, answer: str) -> bool:
        """Stores the first answer to a question; False if another came first."""
        with self._changing() as db:
            _visit(db, job, self._clock.now())
            update = "UPDATE questions SET answer = ? WHERE id = ? AND job = ? AND answer IS NULL"
            return db.execute(update, (answer, id, job)).rowcount == 1

    def last_visit(self, job: int) -> float:
        """When a caller last asked for questions of a job or answered one; 0 for never."""
        with self._reading() as db:
            row = db.execute("SELECT at FROM visits WHERE job = ?", (job,)).fetchone()
        return float(row[0]) if row else 0.0

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        with self._reading() as db, transaction(db):
            yield db

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        path = self._folder / FILE
        try:
            private_folder(self._folder)
            with closing(open_wal(path, _SCHEMA)) as db:
                yield db
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{path} cannot be used ({error}): see to its rights and to free space") from error


def _visit(db: sqlite3.Connection, job: int, now: float) -> None:
    db.execute("INSERT INTO visits VALUES (?, ?) ON CONFLICT (job) DO UPDATE SET at = excluded.at", (job, now))
