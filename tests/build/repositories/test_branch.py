import errno
import os
from pathlib import Path
from typing import Any

import pytest

from tests.build.repositories.test_checkout import committed, git
from xkg.build.repositories import git as git_program
from xkg.build.repositories import git_directory
from xkg.build.repositories.branch import NewCommit, TreeFile, add_branch
from xkg.errors import InputError
from xkg.sandbox.isolation.programs import ProgramResult


@pytest.fixture
def users(tmp_path: Path) -> Path:
    folder = committed(tmp_path / "users", {"a.py": "x = 1\n", "big.bin": b"\0" * 3_000_000})
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
        [
            NewCommit({"a.py": TreeFile(b"x = 2\n"), 'b "ü".sh': TreeFile(b"\0\xff", executable=True)}, "first", 1),
            NewCommit({"new/b.py": TreeFile(b""), 'b "ü".sh': None}, "second", 2),
        ],
    )
    assert git(users, "rev-parse", "xkg/one") == added
    assert git(users, "log", "--format=%s", f"{head}..xkg/one").split() == ["second", "first"]
    assert git(users, "show", "xkg/one:a.py") == "x = 2"
    assert git(users, "diff", "--name-only", head, "xkg/one").split() == ["a.py", "new/b.py"]
    mode, _, oid, name = git(users, "ls-tree", "-z", "xkg/one~1").split("\0")[1].split(maxsplit=3)
    assert (mode, name) == ("100755", 'b "ü".sh')
    assert git(users, "cat-file", "-s", oid) == "2"
    git(users, "fsck", "--strict")
    assert git(users, "rev-parse", "HEAD") == head
    assert (users / "a.py").read_text() == "x = 100\n"
    assert not (tmp_path / "hooked").exists()


def test_a_branch_with_other_commits_is_not_replaced(users: Path) -> None:
    head = git(users, "rev-parse", "HEAD")
    commits = [NewCommit({"a.py": TreeFile(b"x = 2\n")}, "first", 1)]
    assert add_branch(users, "xkg/one", head, commits) == add_branch(users, "xkg/one", head, commits)
    with pytest.raises(InputError, match="already has a branch xkg/one"):
        add_branch(users, "xkg/one", head, [NewCommit({"a.py": TreeFile(b"x = 3\n")}, "other", 1)])
    with pytest.raises(InputError, match="no longer contains commit"):
        add_branch(users, "xkg/two", "1" * 40, commits)
    with pytest.raises(InputError, match="not a git repository"):
        add_branch(users.parent, "xkg/two", head, commits)


def test_git_waits_for_room_where_the_machine_has_no_process_left(users: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = git(users, "rev-parse", "HEAD")
    directory = git_directory.find(users)
    assert directory is not None
    real, busy, waits = git_program.run, [2], []

    def run(*given: Any) -> ProgramResult:
        if busy[0]:
            busy[0] -= 1
            words = f"setpriv: failed to execute /usr/bin/git: {os.strerror(errno.EAGAIN)}\n"
            return ProgramResult("exited", 127, b"", words)
        return real(*given)

    monkeypatch.setattr(git_program, "run", run)
    monkeypatch.setattr(git_program.time, "sleep", waits.append)
    found = git_program.find_commit(directory, head)
    assert found is not None
    assert found.oid == head
    assert len(waits) == 2
    busy[0] = 9
    with pytest.raises(InputError, match="failed to execute"):
        git_program.list_tree(directory, head)
    assert len(waits) == 5
