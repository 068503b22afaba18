import errno
import os
from pathlib import Path
from typing import Any

import pytest

from tests.build.repositories.test_checkout import git
from xkg.build.repositories import git as git_program
from xkg.build.repositories.history import History, NewCommit, TreeFile, add_branch
from xkg.errors import InputError
from xkg.sandbox.isolation.programs import ProgramResult


def test_a_history_gives_back_what_was_committed(tmp_path: Path) -> None:
    history = History(tmp_path / "history.git")
    first = history.commit(
        NewCommit({"a.py": TreeFile(b"x = 1\ny = 2\n"), 'b "ü".sh': TreeFile(b"\0\xff", True)}, "first", 1), None
    )
    second = history.commit(NewCommit({"a.py": TreeFile(b"x = 1\nz = 3\n"), 'b "ü".sh': None}, "second", 2), first)
    again = History(tmp_path / "history.git")
    assert again.files(first) == {"a.py": TreeFile(b"x = 1\ny = 2\n"), 'b "ü".sh': TreeFile(b"\0\xff", True)}
    assert again.files(second) == {"a.py": TreeFile(b"x = 1\nz = 3\n")}
    assert again.changed(first, second) == ["a.py", 'b "ü".sh']
    assert again.changed_lines(first, second, "a.py") == {2}
    assert "-y = 2\n+z = 3\n" in again.diff(first, second, ["a.py"])


def test_attributes_of_the_tree_run_no_filter_and_hide_no_change(tmp_path: Path) -> None:
    history = History(tmp_path / "history.git")
    attributes = {".gitattributes": TreeFile(b"* filter=lfs diff=astextplain text\n*.py -diff\n")}
    first = history.commit(NewCommit({**attributes, "a.py": TreeFile(b"x = 1\r\n")}, "first", 1), None)
    second = history.commit(NewCommit({"a.py": TreeFile(b"x = 2\r\n")}, "second", 2), first)
    assert history.files(second)["a.py"].content == b"x = 2\r\n"
    assert "+x = 2" in history.diff(first, second)


def test_git_waits_for_room_where_the_machine_has_no_process_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History(tmp_path / "history.git")
    real, busy, waits = git_program.run, [2], []

    def run(*given: Any) -> ProgramResult:
        if busy[0]:
            busy[0] -= 1
            words = f"setpriv: failed to execute /usr/bin/git: {os.strerror(errno.EAGAIN)}\n"
            return ProgramResult("exited", 127, b"", words)
        return real(*given)

    monkeypatch.setattr(git_program, "run", run)
    monkeypatch.setattr(git_program.time, "sleep", waits.append)
    commit = history.commit(NewCommit({"a.py": TreeFile(b"x = 1\n")}, "first", 1), None)
    assert len(waits) == 2
    assert history.files(commit) == {"a.py": TreeFile(b"x = 1\n")}
    busy[0] = 9
    with pytest.raises(InputError, match="failed to execute"):
        history.files(commit)
    assert len(waits) == 5


@pytest.fixture
def users(tmp_path: Path) -> Path:
    folder = tmp_path / "users"
    git(tmp_path, "init", "-q", "-b", "trunk", str(folder))
    (folder / "a.py").write_text("x = 1\n")
    (folder / "big.bin").write_bytes(b"\0" * 3_000_000)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    hook = folder / ".git/hooks/reference-transaction"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\n")
    hook.chmod(0o755)
    return folder


def test_a_branch_is_added_to_the_users_repository_and_nothing_else(users: Path, tmp_path: Path) -> None:
    head = git(users, "rev-parse", "HEAD")
    (users / "a.py").write_text("x = 100\n")
    added = add_branch(
        users,
        "xkg/one",
        head,
        [NewCommit({"a.py": TreeFile(b"x = 2\n")}, "first", 1), NewCommit({"new/b.py": TreeFile(b"")}, "second", 2)],
    )
    assert git(users, "rev-parse", "xkg/one") == added
    assert git(users, "log", "--format=%s", f"{head}..xkg/one").split() == ["second", "first"]
    assert git(users, "show", "xkg/one:a.py") == "x = 2"
    assert git(users, "diff", "--name-only", head, "xkg/one").split() == ["a.py", "new/b.py"]
    git(users, "fsck", "--strict")
    assert git(users, "rev-parse", "HEAD") == head
    assert (users / "a.py").read_text() == "x = 100\n"
    assert not (tmp_path / "hooked").exists()


def test_a_branch_with_other_commits_is_not_replaced(users: Path) -> None:
    head = git(users, "rev-parse", "HEAD")
    commits = [NewCommit({"a.py": TreeFile(b"x = 2\n")}, "first", 1)]
    assert add_branch(users, "xkg/one", head, commits) == add_branch(users, "xkg/one", head, commits)
    with pytest.raises(InputError, match="has a branch xkg/one already"):
        add_branch(users, "xkg/one", head, [NewCommit({"a.py": TreeFile(b"x = 3\n")}, "other", 1)])
    with pytest.raises(InputError, match="no commit"):
        add_branch(users, "xkg/two", "1" * 40, commits)
    with pytest.raises(InputError, match="no git repository"):
        add_branch(users.parent, "xkg/two", head, commits)
