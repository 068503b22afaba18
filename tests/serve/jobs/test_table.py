"""Tests the list of builds, including its limits and access by two servers at once."""

from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest

from xkg.errors import CorruptStoreError, InputError, StoreError
from xkg.serve.jobs import table as job_table
from xkg.serve.jobs.table import JobTable, Kind, Row


def add(table: JobTable, paper: str, repository: str = "", *, waiting: int = 10, per_day: int = 100) -> Row:
    return table.add(paper, repository, "me", waiting=waiting, per_day=per_day)[0]


def all_jobs(_kind: Kind, _caller: str) -> bool:
    return True


def test_what_is_under_way_is_not_asked_for_twice(tmp_path: Path) -> None:
    table = JobTable(tmp_path / "jobs")
    first, new = table.add("a", "", "me", waiting=10, per_day=100)
    assert (first.state, new) == ("queued", True)
    assert table.add("a", "", "me", waiting=10, per_day=100) == (first, False)
    other, new = table.add("a", "", "you", waiting=10, per_day=100)
    assert (other.id != first.id, new) == (True, True), "nobody is given the job of another caller"
    assert add(table, "a", "code").id != first.id
    table.started(first.id, 1)
    assert add(table, "a").id == first.id
    table.ended(first.id, "failed", "", "no")
    assert add(table, "a").id != first.id


def test_jobs_come_in_the_order_in_which_they_were_asked_for(tmp_path: Path) -> None:
    table = JobTable(tmp_path)
    assert (table.next(), table.newest(5, all_jobs)) == (None, ([], 0))
    a, b, c = (add(table, name) for name in "abc")
    assert table.next() == a
    table.started(b.id, 7)
    running = table.next()
    assert running is not None
    assert (running.id, running.pid, running.state) == (b.id, 7, "running")
    table.ended(a.id, "done", "{}", "")
    assert [row.id for row in table.newest(5, all_jobs)[0]] == [b.id, c.id, a.id]
    rows, total = table.newest(1, all_jobs)
    assert ([row.id for row in rows], total) == ([b.id], 3)


def test_callers_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = count(1)
    monkeypatch.setattr(job_table, "_iso", lambda _: f"{next(moments):09}")  # makes all starts differ
    table = JobTable(tmp_path)
    for caller, paper in (("a", "1"), ("a", "2"), ("a", "3"), ("b", "4"), ("c", "5")):
        table.add(paper, "", caller, waiting=9, per_day=9)
    order = []
    for _ in range(5):
        row = table.next()
        assert row is not None
        order.append(row.paper)
        table.started(row.id, 1)
        table.ended(row.id, "done", "{}", "")
    assert order == ["1", "4", "5", "2", "3"]


def test_a_waiting_job_ends_at_once_and_a_running_one_is_marked(tmp_path: Path) -> None:
    table = JobTable(tmp_path)
    waiting, running, over = (add(table, name) for name in "abc")
    table.started(running.id, 7)
    table.ended(over.id, "done", "{}", "")
    ended, marked, kept = (table.cancel(row.id) for row in (waiting, running, over))
    assert ended is not None
    assert (ended.state, ended.ended is None) == ("cancelled", False)
    assert marked is not None
    assert (marked.state, marked.cancel) == ("running", True)
    assert kept is not None
    assert (kept.state, kept.cancel) == ("done", False)
    assert table.cancel(99) is None
    assert add(table, "b").id != running.id, "what is about to end is not given out again"


def test_too_many_are_refused(tmp_path: Path) -> None:
    table = JobTable(tmp_path)
    add(table, "a", waiting=1)
    with pytest.raises(InputError, match="already waiting"):
        add(table, "b", waiting=1)
    with pytest.raises(InputError, match="tomorrow"):
        add(table, "b", per_day=1)
    assert add(table, "a", waiting=1, per_day=1).id == 1
    assert table.add("b", "", "you", waiting=1, per_day=1)[1], "one caller's limits are not those of another"
    assert table.newest(0, all_jobs)[1] == 2


def test_old_jobs_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_table, "RETAINED_JOBS", 2)
    table = JobTable(tmp_path)
    forgotten = []
    for name in "abcd":
        forgotten += table.ended(add(table, name).id, "done", "{}", "")
    assert (forgotten, table.newest(0, all_jobs)[1]) == ([1, 2], 2)
    assert add(table, "e").id == 5, "a number is given out once"


def test_many_at_once_lose_nothing(tmp_path: Path) -> None:
    def ask(number: int) -> int:
        return add(JobTable(tmp_path), f"paper {number % 20}", waiting=20).id

    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(ask, range(60)))
    assert sorted(set(ids)) == list(range(1, 21))


def test_a_file_that_is_none_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "jobs.sqlite").write_bytes(b"SQLite format 3\0" + b"rubbish" * 500)
    with pytest.raises(CorruptStoreError, match="remove it"):
        JobTable(tmp_path).next()
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StoreError, match="permissions"):
        JobTable(tmp_path / "file" / "jobs").next()
