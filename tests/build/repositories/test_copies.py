import subprocess
from pathlib import Path

import pytest

from tests.build.repositories import git_server
from tests.build.repositories.test_checkout import committed
from xkg.build.repositories.checkout import fetch_repository
from xkg.build.repositories.copies import RepositoryFingerprint, copied, fingerprint, first_commits


def written(folder: Path, word: str, count: int = 5) -> Path:
    parts = {
        f"part{number}.py": f"def {word}{number}(x):\n    return x + {number}  # {word * 40}\n"
        for number in range(count)
    }
    same = {"README.md": "The same words in every repository. ", "LICENSE": "Permission is hereby granted. "}
    return committed(folder, {**parts, **{name: 20 * text for name, text in same.items()}})


def of_folder(folder: Path, tmp_path: Path) -> RepositoryFingerprint:
    return fingerprint(fetch_repository(str(folder), tmp_path / "cache"))


def test_the_same_files_under_another_name_are_a_copy(tmp_path: Path) -> None:
    first = of_folder(written(tmp_path / "a", "tide"), tmp_path)
    second = written(tmp_path / "b", "tide")
    (second / "part0.py").write_text("changed = 1\n" * 20)
    (second / "part1.py").rename(second / "moved.py")
    assert copied(first, of_folder(second, tmp_path)) == "4 of 5 files are identical"


def test_line_ends_do_not_hide_a_copy(tmp_path: Path) -> None:
    first = of_folder(written(tmp_path / "a", "tide"), tmp_path)
    second = written(tmp_path / "b", "tide")
    for path in second.glob("*.py"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert copied(first, of_folder(second, tmp_path)) is not None


def test_a_fork_with_other_files_has_the_same_first_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    origin = written(tmp_path / "a", "tide")
    subprocess.run(["git", "clone", "-q", str(origin), str(tmp_path / "b")], check=True, capture_output=True)
    fork, apart = written(tmp_path / "b", "moon"), written(tmp_path / "c", "reef")
    with git_server.serving(monkeypatch) as server:
        urls = [server.add(folder, f"lab/{folder.name}") for folder in (origin, fork, apart)]
        prints = [fingerprint(fetch_repository(url, tmp_path / "cache"), first_commits(url)) for url in urls]
        assert [len(each.roots) for each in prints] == [1, 1, 1]
        assert "start with commit" in (copied(prints[0], prints[1]) or "")
        assert copied(prints[0], prints[2]) is None
        assert first_commits(f"{server.url}/lab/gone") == frozenset()
    assert first_commits("http://github.com/a/b") == frozenset()
