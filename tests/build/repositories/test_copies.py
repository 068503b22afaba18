import os
import subprocess
from pathlib import Path

import pytest

from tests.build.repositories import git_server
from xkg.build.repositories.checkout import fetch_repository
from xkg.build.repositories.copies import RepositoryFingerprint, copied, fingerprint, first_commits


def git(folder: Path, *arguments: str) -> None:
    identity = {"GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x@example.org", "GIT_CONFIG_GLOBAL": os.devnull}
    identity |= {"GIT_COMMITTER_NAME": "x", "GIT_COMMITTER_EMAIL": "x@example.org", "PATH": os.environ["PATH"]}
    subprocess.run(["git", *arguments], cwd=folder, check=True, env=identity, capture_output=True)


def written(folder: Path, word: str, count: int = 5) -> Path:
    folder.mkdir(exist_ok=True)
    for number in range(count):
        (folder / f"part{number}.py").write_text(f"def {word}{number}(x):\n    return x + {number}  # {word * 40}\n")
    (folder / "README.md").write_text("The same words in every repository. " * 20)
    (folder / "LICENSE").write_text("Permission is hereby granted. " * 20)
    return folder


def committed(folder: Path, subject: str = "Add code") -> Path:
    if not (folder / ".git").exists():
        git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", subject)
    return folder


def of_folder(folder: Path, tmp_path: Path) -> RepositoryFingerprint:
    return fingerprint(fetch_repository(str(folder), tmp_path / "cache"))


def test_the_same_files_under_another_name_are_a_copy(tmp_path: Path) -> None:
    first = of_folder(written(tmp_path / "a", "tide"), tmp_path)
    second = written(tmp_path / "b", "tide")
    (second / "part0.py").write_text("changed = 1\n" * 20)
    (second / "part1.py").rename(second / "moved.py")
    assert copied(first, of_folder(second, tmp_path)) == "4 of 5 files are the same"


def test_line_ends_do_not_hide_a_copy(tmp_path: Path) -> None:
    first = of_folder(written(tmp_path / "a", "tide"), tmp_path)
    second = written(tmp_path / "b", "tide")
    for path in second.glob("*.py"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert copied(first, of_folder(second, tmp_path)) is not None


def test_others_share_a_licence_and_a_readme(tmp_path: Path) -> None:
    first, second = written(tmp_path / "a", "tide"), written(tmp_path / "b", "moon")
    assert copied(of_folder(first, tmp_path), of_folder(second, tmp_path)) is None


def test_a_fork_that_changed_every_file_has_the_same_first_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = committed(written(tmp_path / "a", "tide"))
    subprocess.run(["git", "clone", "-q", str(origin), str(tmp_path / "b")], check=True, capture_output=True)
    fork = committed(written(tmp_path / "b", "moon"), "Change it all")
    apart = committed(written(tmp_path / "c", "reef"), "Begin apart")
    with git_server.serving(monkeypatch) as server:
        urls = [server.add(folder, f"lab/{folder.name}") for folder in (origin, fork, apart)]
        prints = [fingerprint(fetch_repository(url, tmp_path / "cache"), first_commits(url)) for url in urls]
        assert [len(each.roots) for each in prints] == [1, 1, 1]
        assert "begin with the commit" in (copied(prints[0], prints[1]) or "")
        assert copied(prints[0], prints[2]) is None
        assert first_commits(f"{server.url}/lab/gone") == frozenset()
    assert first_commits("http://github.com/a/b") == frozenset()
