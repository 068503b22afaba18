import os
from pathlib import Path

import pytest

from tests.build.repositories.test_checkout import committed, git
from xkg.build.code.codebase import Codebase
from xkg.build.grounding.working_copy import WorkingCopies
from xkg.build.parsing.parsers import Parsers
from xkg.build.repositories.checkout import Checkout
from xkg.errors import InputError


def names(codebase: Codebase) -> set[str]:
    return {f"{s.symbol.path}:{s.symbol.qualified_name}" for s in codebase.symbols().values()}


def test_a_work_tree_is_read_with_its_changes_and_without_what_is_ignored(tmp_path: Path, parsers: Parsers) -> None:
    committed(tmp_path, {"a.py": "def committed():\n    pass\n", ".gitignore": "out/\n"})
    clean = WorkingCopies(parsers).read(tmp_path).codebase
    assert clean.repository.commit is None
    (tmp_path / "a.py").write_text("def changed():\n    pass\n")
    (tmp_path / "b.py").write_text("def added():\n    pass\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "c.py").write_text("def ignored():\n    pass\n")
    found = names(WorkingCopies(parsers).read(tmp_path).codebase)
    assert {"a.py:changed", "b.py:added"} <= found
    assert not {"a.py:committed", "out/c.py:ignored"} & found


def test_a_git_directory_is_read_at_its_commit(tmp_path: Path, parsers: Parsers) -> None:
    committed(tmp_path / "work", {"a.py": "def f():\n    pass\n"})
    git(tmp_path, "clone", "-q", "--bare", "work", "bare.git")
    codebase = WorkingCopies(parsers).read(tmp_path / "bare.git").codebase
    assert len(codebase.repository.commit or "") == 40
    assert "a.py:f" in names(codebase)


class Counting(Parsers):
    def __init__(self, inner: Parsers) -> None:
        super().__init__()
        self.inner, self.parsed = inner, list[str]()

    def repository(self, checkout: Checkout) -> Codebase:
        self.parsed.append(checkout.repository.id)
        return self.inner.repository(checkout)


def test_only_a_change_of_a_source_is_parsed_again(tmp_path: Path, parsers: Parsers) -> None:
    counting = Counting(parsers)
    copies, parsed = WorkingCopies(counting), counting.parsed
    file = tmp_path / "a.py"
    file.write_text("def one():\n    pass\n")
    times = file.stat()
    first = copies.read(tmp_path)
    assert copies.read(tmp_path) is first
    (tmp_path / "log.txt").write_text("nothing to do with it")
    assert copies.read(tmp_path) is first
    assert len(parsed) == 1
    file.write_text("def two():\n    pass\n")  # the file has the same size and time as before
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert "a.py:two" in names(copies.read(tmp_path).codebase)
    file.rename(tmp_path / "b.py")
    assert "b.py:two" in names(copies.read(tmp_path).codebase)
    assert len(parsed) == 3


def test_nothing_is_read_through_links(tmp_path: Path, parsers: Parsers) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text("def secret():\n    pass\n")
    inside = tmp_path / "inside"
    (inside / "pkg").mkdir(parents=True)
    (inside / "pkg" / "secret.py").write_text("def mine():\n    pass\n")
    (inside / "a.py").write_text("def a():\n    pass\n")
    git(inside, "init", "-q")
    git(inside, "add", ".")
    (inside / "pkg" / "secret.py").unlink()
    (inside / "pkg").rmdir()
    (inside / "pkg").symlink_to(outside)  # git still lists pkg/secret.py
    (inside / "b.py").symlink_to(outside / "secret.py")
    assert names(WorkingCopies(parsers).read(inside).codebase) == {"a.py:", "a.py:a"}


@pytest.mark.parametrize("what", ["missing", "file", "broken"])
def test_a_folder_without_source_gives_a_one_line_error(tmp_path: Path, parsers: Parsers, what: str) -> None:
    folder = tmp_path / "x"
    if what == "file":
        folder.write_text("x")
    elif what != "missing":
        folder.mkdir()
    if what == "broken":
        (folder / ".git").mkdir()
        (folder / "notes.md").write_text("# Notes")
    with pytest.raises(InputError) as error:
        WorkingCopies(parsers).read(folder)
    assert "\n" not in str(error.value)
