"""Stores paid answers and the cost of every call in one SQLite file. Each answer is written to disk before it is
used."""

from __future__ import annotations

import hashlib
import json
import logging
import random
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

from xkg.errors import BudgetError, ConfigError, StoreError
from xkg.files import private_folder
from xkg.llm.endpoint import Ending, Reply
from xkg.llm.prices import Prices
from xkg.llm.request import Message
from xkg.sqlite_files import open_wal, set_aside, transaction
from xkg.text.unicode import encodable

log = logging.getLogger(__name__)

T = TypeVar("T")

LEDGER = "llm.sqlite"
# `open`: the call is running or was interrupted, so it may be billed. `reused`: the answer came from the cache.
Outcome = Literal["open", "ok", "invalid", "refused", "cut", "failed", "reused"]

# `dollars` is NULL if the price was unknown, and an estimate while `outcome` is open.
_SCHEMA = {
    "answers": """CREATE TABLE IF NOT EXISTS answers (
        key BLOB PRIMARY KEY, model TEXT NOT NULL, ending TEXT NOT NULL, text TEXT NOT NULL, crc32 INTEGER NOT NULL)""",
    "calls": """CREATE TABLE IF NOT EXISTS calls (
        id INTEGER PRIMARY KEY, at TEXT NOT NULL, paper TEXT NOT NULL, stage TEXT NOT NULL, prompt TEXT NOT NULL,
        about TEXT NOT NULL, model TEXT NOT NULL, role TEXT NOT NULL, attempt INTEGER NOT NULL,
        input_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
        seconds REAL NOT NULL, dollars REAL, outcome TEXT NOT NULL, answer BLOB NOT NULL)""",
    "calls_of_a_paper": "CREATE INDEX IF NOT EXISTS calls_of_a_paper ON calls (paper)",
    "calls_of_an_answer": "CREATE INDEX IF NOT EXISTS calls_of_an_answer ON calls (answer)",
    # This table contains running totals for all calls.
    # A trigger updates the totals, so every version of xkg keeps them current.
    "sums": """CREATE TABLE IF NOT EXISTS sums AS
        SELECT model, dollars IS NULL AS unpriced, TOTAL(input_tokens) AS input_tokens,
            TOTAL(cached_tokens) AS cached_tokens, TOTAL(output_tokens) AS output_tokens, TOTAL(dollars) AS dollars
        FROM calls GROUP BY 1, 2""",
    "call_entered": """CREATE TRIGGER IF NOT EXISTS call_entered BEFORE INSERT ON calls BEGIN
        INSERT INTO sums SELECT NEW.model, NEW.dollars IS NULL, 0.0, 0.0, 0.0, 0.0
            WHERE NOT EXISTS (SELECT 1 FROM sums WHERE model = NEW.model AND unpriced = (NEW.dollars IS NULL));
        UPDATE sums SET input_tokens = sums.input_tokens - earlier.input_tokens,
            cached_tokens = sums.cached_tokens - earlier.cached_tokens,
            output_tokens = sums.output_tokens - earlier.output_tokens,
            dollars = sums.dollars - coalesce(earlier.dollars, 0)
            FROM (SELECT * FROM calls WHERE id = NEW.id) AS earlier
            WHERE sums.model = earlier.model AND sums.unpriced = (earlier.dollars IS NULL);
        UPDATE sums SET input_tokens = input_tokens + NEW.input_tokens,
            cached_tokens = cached_tokens + NEW.cached_tokens, output_tokens = output_tokens + NEW.output_tokens,
            dollars = dollars + coalesce(NEW.dollars, 0)
            WHERE model = NEW.model AND unpriced = (NEW.dollars IS NULL);
        END""",
}


@dataclass(frozen=True)
class Question:
    """The ledger columns that are known before the answer."""

    paper: str
    stage: str
    prompt: str
    about: str
    model: str
    role: str
    attempt: int


_NOTHING = Reply("ok", "")
_OUTCOMES: dict[Ending, Outcome] = {
    "ok": "ok", "refused": "refused", "cut": "cut", "late": "failed", "barred": "refused"
}  # fmt: skip


def answer_key(
    model: str, messages: Sequence[Message], schema: Mapping[str, Any], draw: int, temperature: float | None = None
) -> bytes:
    """Returns a digest of everything that determines an answer, except the endpoint. Repeating a question with a
    different `draw` produces a separate answer."""
    decides = [model, [(m["role"], m["content"]) for m in messages], schema, draw]
    content = json.dumps(decides if temperature is None else [*decides, temperature], sort_keys=True)
    return hashlib.sha256(content.encode()).digest()


class Ledger:
    """Reads and writes a graph's `llm.sqlite` file. Changes are on disk when a method returns. Safe to use from several
    threads and processes.

    A corrupt file is renamed to `llm.sqlite.corrupt-<time>`, its readable rows are copied to a new file, and a warning
    is logged. Raises `StoreError` if the file is not writable, because an answer that cannot be stored must not be paid
    for."""

    def __init__(self, folder: Path, prices: Prices) -> None:
        self._path = folder / LEDGER
        self._prices = prices
        self._lock = threading.Lock()
        with _as_store_error(self._path):
            private_folder(folder)
            try:
                self._connection = open_wal(self._path, _SCHEMA)
            except sqlite3.DatabaseError as error:
                self._connection = _renewed(self._path, error)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def answer(self, key: bytes) -> Reply | None:
        """Returns the stored answer, or None."""
        return self._run(lambda db: _stored_answer(db, key))

    def begin(
        self, question: Question, dollars: float | None, limit: float | None, total_limit: float | None = None
    ) -> int:
        """Records the start of a call, at its estimated cost, and returns its number. Raises `BudgetError` if the
        estimate exceeds the remainder of the paper's `limit`, or of the `total_limit` for the whole ledger. Calls in
        progress count at their estimated cost."""
        call = random.getrandbits(62)

        def enter(db: sqlite3.Connection) -> None:
            if limit is not None:
                self._require_left(db, question, dollars or 0.0, limit, of_all=False)
            if total_limit is not None:
                self._require_left(db, question, dollars or 0.0, total_limit, of_all=True)
            _enter(db, call, question, _NOTHING, dollars, "open", b"")

        self._transaction(enter)
        return call

    def end(self, call: int, question: Question, key: bytes, reply: Reply) -> Reply:
        """Records a call's outcome and stores its answer in one transaction. Returns the stored answer. If another
        process stored an answer first, returns that answer instead."""
        counts = (reply.input_tokens, reply.cached_tokens, reply.output_tokens)
        dollars = self._prices.dollars(question.model, *counts) if reply.dollars is None else reply.dollars

        def enter(db: sqlite3.Connection) -> Reply:
            _enter(db, call, question, reply, dollars, _OUTCOMES[reply.ending], key)
            if reply.ending not in ("late", "barred"):
                db.execute(
                    "INSERT INTO answers VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING",
                    (key, encodable(question.model), reply.ending, reply.text, zlib.crc32(reply.text.encode())),
                )
            return _stored_answer(db, key) or reply

        return self._transaction(enter)

    def fail(self, call: int, question: Question, seconds: float) -> None:
        """Records that a call failed and cost nothing."""
        reply = replace(_NOTHING, seconds=seconds)
        self._transaction(lambda db: _enter(db, call, question, reply, 0.0, "failed", b""))

    def reuse(self, question: Question, key: bytes) -> None:
        """Records that a stored answer was used."""
        call = random.getrandbits(62)
        self._transaction(lambda db: _enter(db, call, question, _NOTHING, 0.0, "reused", key))

    def reject(self, key: bytes) -> None:
        """Records that an answer was unusable."""
        update = "UPDATE calls SET outcome = 'invalid' WHERE answer = ? AND outcome = 'ok'"
        self._transaction(lambda db: db.execute(update, (key,)))

    def forget(self, keys: Iterable[bytes]) -> None:
        """Deletes answers, so that the questions are asked again. The costs remain in the ledger."""
        rows = [(key,) for key in keys]
        self._transaction(lambda db: db.executemany("DELETE FROM answers WHERE key = ?", rows))

    def spent(self, paper: str) -> float | None:
        """Returns the dollars spent on all builds of a paper, or None if a price is unknown."""
        return self._run(lambda db: self._sum(db, "paper = ? AND outcome != 'open'", encodable(paper)))

    def _sum(self, db: sqlite3.Connection, condition: str, *values: str) -> float | None:
        return self._priced(
            db.execute(
                "SELECT model, dollars IS NULL, SUM(input_tokens), SUM(cached_tokens), SUM(output_tokens), "
                f"SUM(dollars) FROM calls WHERE {condition} GROUP BY 1, 2",
                values,
            )
        )

    def _sum_of_all(self, db: sqlite3.Connection) -> float | None:
        return self._priced(db.execute("SELECT * FROM sums"))

    def _priced(self, sums: Iterable[tuple[Any, ...]]) -> float | None:
        total = 0.0
        for model, unpriced, *counts, dollars in sums:
            used = unpriced and any(counts)
            cost = self._prices.dollars(model, *counts) if used else 0.0 if unpriced else dollars
            if cost is None:
                return None
            total += cost
        return total

    def _require_left(
        self, db: sqlite3.Connection, question: Question, dollars: float, limit: float, *, of_all: bool
    ) -> None:
        spent = self._sum_of_all(db) if of_all else self._sum(db, "paper = ?", encodable(question.paper))
        setting, spender = ("max_total_cost", "all papers") if of_all else ("max_cost", question.paper)
        if spent is None:
            raise ConfigError(
                f"llm.{setting} cannot be enforced for {spender}, since earlier calls have no price: `xkg costs --by "
                f"model` lists the models; set their prices in llm.prices, or omit the limit"
            )
        if spent + dollars > limit:
            raise BudgetError(
                f"{question.stage}: ${spent:.2f} of the ${limit:.2f} allowed for {spender} has been spent, and the "
                f"next call may cost ${dollars:.3f}; finished work is kept; run again with a higher "
                f"--{setting.replace('_', '-')} to continue"
            )

    def _transaction(self, step: Callable[[sqlite3.Connection], T]) -> T:
        def whole(db: sqlite3.Connection) -> T:
            with transaction(db):
                return step(db)

        return self._run(whole)

    def _run(self, step: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock, _as_store_error(self._path):
            try:
                return step(self._connection)
            except sqlite3.DatabaseError as error:
                self._connection = _renewed(self._path, error, self._connection)
            return step(self._connection)


def _stored_answer(db: sqlite3.Connection, key: bytes) -> Reply | None:
    row = db.execute("SELECT ending, text, crc32 FROM answers WHERE key = ?", (key,)).fetchone()
    return Reply(row[0], row[1]) if row is not None and zlib.crc32(row[1].encode()) == row[2] else None


def _enter(
    db: sqlite3.Connection,
    call: int,
    question: Question,
    reply: Reply,
    dollars: float | None,
    outcome: Outcome,
    key: bytes,
) -> None:
    words = (question.paper, question.stage, question.prompt, question.about, question.model, question.role)
    counts = (reply.input_tokens, reply.cached_tokens, reply.output_tokens, reply.seconds)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    db.execute(
        "INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (call, now, *map(encodable, words), question.attempt, *counts, dollars, outcome, key),
    )


def _renewed(path: Path, error: sqlite3.DatabaseError, old: sqlite3.Connection | None = None) -> sqlite3.Connection:
    """Replaces a corrupt file with a new file that contains its readable rows. Re-raises any other error."""
    if type(error) is not sqlite3.DatabaseError:  # subclasses indicate a full disk, a lock or a missing permission
        raise error
    if old is not None:
        old.close()
    with set_aside(path, _SCHEMA) as (db, aside):
        if aside is None:
            return db
        answers, calls = _salvage(aside, db, "answers", 5), _salvage(aside, db, "calls", 16)
    log.warning(
        "%s was corrupt (%s) and was set aside as %s: %d answers and %d calls were recovered; questions with missing "
        "answers are asked again, and missing calls do not count towards `xkg costs` or --max-cost",
        path, error, aside.name, answers, calls,
    )  # fmt: skip
    return db


def _salvage(aside: Path, db: sqlite3.Connection, table: str, columns: int) -> int:
    """Copies the rows before the damaged part, and returns the number of rows copied."""
    count = 0
    with transaction(db), suppress(sqlite3.Error), closing(sqlite3.connect(aside)) as old:
        for row in old.execute(f"SELECT * FROM {table}"):
            db.execute(f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * columns)})", row)
            count += 1
    return count


@contextmanager
def _as_store_error(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            f"{path} cannot be written ({error}), so no model is asked, since paid answers would be "
            "lost; free up disk space, or choose a different folder with --kg"
        ) from error
