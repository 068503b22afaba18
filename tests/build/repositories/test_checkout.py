import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.build.repositories.git_server import GitServer, serving
from xkg.build.parsing.parsers import Parsers
from xkg.build.repositories import checkout as sources
from xkg.build.repositories import git as git_program
from xkg.build.repositories.checkout import fetch_repository
from xkg.build.repositories.clone import clone
from xkg.build.repositories.licenses import spdx
from xkg.errors import InputError


def git(folder: Path, *arguments: str) -> str:
    environment = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_COMMITTER_DATE": os.environ.get("GIT_COMMITTER_DATE", ""),
        **{f"GIT_{who}_{what}": "someone@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    command = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return done.stdout.strip()


def committed(folder: Path, files: Mapping[str, str | bytes], *options: str) -> Path:
    """Commits these files in the folder. `options` are for `git init`."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / ".git").exists():
        git(folder, "init", "-q", "-b", "main", *options)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "files", "--allow-empty")
    return folder


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Creates a repository with two commits, a tag on the first, a branch, a link, and a file that is too large to
    read."""
    folder = tmp_path / "Some Project"
    folder.mkdir()
    (folder / "link.py").symlink_to("/etc/hostname")
    licence = "Permission is hereby granted, free of charge, to any person obtaining a copy of"
    committed(folder, {"pkg/é.py": "x = 1\n", "LICENSE": licence, "big.bin": b"\0" * 2_500_000})
    git(folder, "tag", "-a", "v1", "-m", "v1")
    git(folder, "branch", "feature/x")
    return committed(folder, {"pkg/é.py": "x = 2\n"})


def content(checkout: sources.Checkout, path: str = "pkg/é.py") -> bytes | None:
    return dict(checkout.read([path]))[path]


def test_code_is_as_old_as_the_last_change_of_its_python_files(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day, files in (("2019-03-01", {"pkg/é.py": "x = 3\n"}), ("2024-05-02", {"README.md": "later\n"})):
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"{day}T12:00:00Z")
        committed(repository, files)
    checkout = sources.fetch_repository(str(repository), tmp_path)
    assert (checkout.committed, checkout.written) == ("2024-05-02", "2019-03-01")
    (repository / "pkg" / "é.py").write_text("x = 4\n")
    changed = sources.fetch_repository(str(repository), tmp_path)
    assert (changed.committed, changed.written) == (None, "2024-05-02")


def test_a_clean_work_tree_is_its_head_commit(repository: Path, tmp_path: Path) -> None:
    checkout = fetch_repository(str(repository), tmp_path / "cache")
    head = git(repository, "rev-parse", "HEAD")
    assert checkout.repository.id == f"local:some-project@{head}"
    assert checkout.repository.commit == head
    assert checkout.repository.license == "MIT"
    assert content(checkout) == b"x = 2\n"
    assert {f.path: f.kind for f in checkout.files}["link.py"] == "link"
    assert content(checkout, "link.py") is None
    assert content(checkout, "big.bin") is None
    assert content(checkout, "absent") is None
    assert not (tmp_path / "cache").exists()


def test_a_changed_work_tree_is_read_as_it_lies_there(repository: Path, tmp_path: Path) -> None:
    (repository / "pkg" / "é.py").write_text("x = 3\n")
    (repository / ".gitignore").write_text("*.log\n")
    (repository / "noise.log").write_text("…")
    changed = fetch_repository(str(repository), tmp_path)
    assert content(changed) == b"x = 3\n"
    assert changed.repository.commit is None
    assert changed.notes
    assert "noise.log" not in {f.path for f in changed.files}
    (tmp_path / "deeper").mkdir()
    moved = repository.rename(tmp_path / "deeper" / repository.name)
    assert fetch_repository(str(moved), tmp_path).repository.id == changed.repository.id
    (moved / "pkg" / "é.py").write_text("x = 4\n")
    assert fetch_repository(str(moved), tmp_path).repository.id != changed.repository.id


def test_commits_by_any_name(repository: Path, tmp_path: Path) -> None:
    full = git(repository, "rev-parse", "v1^{commit}")
    for spec in (f"file://{str(repository).replace(' ', '%20')}@v1", f"{repository}/.git@feature/x"):
        checkout = fetch_repository(spec, tmp_path)
        assert checkout.repository.commit == full
        assert content(checkout) == b"x = 1\n"


def test_bare_directories_and_clones_without_checkout(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(tmp_path / "mirror.git"))
    git(tmp_path, "clone", "-q", "--no-checkout", str(repository), str(tmp_path / "empty"))
    head = git(repository, "rev-parse", "HEAD")
    assert fetch_repository(str(tmp_path / "mirror.git"), tmp_path).repository.id == f"local:mirror@{head}"
    assert content(fetch_repository(str(tmp_path / "empty"), tmp_path)) == b"x = 2\n"


def test_a_plain_folder_is_named_by_its_content(tmp_path: Path) -> None:
    ids = []
    for name in ("a", "b"):
        folder = tmp_path / name / "code"
        folder.mkdir(parents=True)
        (folder / "m.py").write_text("x = 1\n")
        ids.append(fetch_repository(str(folder), tmp_path).repository.id)
    assert ids[0] == ids[1]
    assert ids[0].startswith("local:code@")
    os.mkfifo(tmp_path / "a" / "code" / "pipe.py")
    checkout = fetch_repository(str(tmp_path / "a" / "code"), tmp_path)
    assert {f.path: f.size for f in checkout.files} == {"m.py": 6, "pipe.py": None}


@pytest.mark.parametrize("damaged", [False, True])
def test_absent_and_damaged_objects_are_no_error(repository: Path, tmp_path: Path, damaged: bool) -> None:
    blob = git(repository, "rev-parse", "HEAD:pkg/é.py")
    path = repository / ".git" / "objects" / blob[:2] / blob[2:]
    broken = path.read_bytes()[:-6] + b"broken"
    path.unlink()
    if damaged:
        path.write_bytes(broken)
    checkout = fetch_repository(f"{repository}@HEAD", tmp_path)
    assert dict(checkout.read(["LICENSE", "pkg/é.py"]))["LICENSE"]
    if not damaged:
        assert content(checkout) is None
        assert {f.path: f.size for f in checkout.files}["pkg/é.py"] is None


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[GitServer]:
    with serving(monkeypatch) as served:
        yield served


def test_a_clone_is_shallow_and_used_again(repository: Path, tmp_path: Path, server: GitServer) -> None:
    url = server.add(repository)
    full = git(repository, "rev-parse", "v1^{commit}")
    head = git(repository, "rev-parse", "HEAD")
    cache = tmp_path / "cache"
    assert clone(url, None, cache)[1] == head
    folder, commit = clone(url, "v1", cache)
    assert commit == full
    assert clone(url, full[:9], cache) == (folder, full)
    assert git(folder, "rev-list", "--count", "HEAD") == "1"
    assert len(list(cache.iterdir())) == 2
    server.repositories.clear()
    assert clone(url, full, cache) == (folder, full)
    with pytest.raises(InputError, match="cannot be reached"):
        clone(url, None, cache)
    assert len(list(cache.iterdir())) == 2


@pytest.mark.parametrize("reference", ["nope", "abcdef12", "0" * 40])
def test_a_commit_that_a_remote_lacks(repository: Path, tmp_path: Path, server: GitServer, reference: str) -> None:
    with pytest.raises(InputError, match="has no commit, branch or tag"):
        clone(server.add(repository), reference, tmp_path / "cache")
    assert list((tmp_path / "cache").glob("*")) == []


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("", "not a repository"),
        ("-upload-pack=x", "not a repository"),
        ("{}/missing", "does not exist"),
        ("{}@missing", "has no commit, branch or tag 'missing'"),
        ("{}@--all", "not a valid commit"),
        ("{}@HEAD~1:pkg", "not a valid commit"),
        ("{}/pkg@v1", "not a git repository"),
        ("{}/LICENSE", "is a file"),
        ("ssh://host/a/b", "only https"),
        ("git@github.com:a/b", "only https"),
        ("ext::sh -c true", "only https"),
        ("http://github.com/a/b", "only https"),
        ("file://elsewhere/a", "path on this machine"),
        ("https://user:secret@github.com/a/b", "contain a user"),
        ("https://github.com/a", "not a repository URL"),
        ("https://localhost:1/a/b", "cannot be reached"),
        ("https://localhost:1/a/b@" + "1" * 40, "cannot be fetched"),
    ],
)
def test_bad_input_is_one_line(repository: Path, tmp_path: Path, spec: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        fetch_repository(spec.format(repository), tmp_path / "cache")
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_empty_folders_and_repositories(tmp_path: Path) -> None:
    (tmp_path / "void").mkdir()
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    for name in ("void", "bare.git"):
        with pytest.raises(InputError, match="is empty"):
            fetch_repository(str(tmp_path / name), tmp_path)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("SPDX-License-Identifier: EUPL-1.2", "EUPL-1.2"),
        ("   Apache License\n   Version 2.0, January 2004", "Apache-2.0"),
        ("Apache License 2.0\nhttp://www.apache.org/licenses/LICENSE-2.0", "Apache-2.0"),
        (
            "GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007 … GNU Affero General Public License version 3",
            "GPL-3.0",
        ),
        ("Attribution-NonCommercial 4.0 International", "CC-BY-NC-4.0"),
        ("Redistributions of source code must retain the above copyright notice, …", "BSD-2-Clause"),
        ("All rights reserved.", "NOASSERTION"),
    ],
)
def test_licences_that_are_evident(text: str, name: str) -> None:
    assert spdx(text) == name


MODEL = "def step(x):\n    return x + 1\n"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "ab" * 32 + "\nsize 500000000\n"


def test_pointers_and_bulk_are_not_fetched(tmp_path: Path, parsers: Parsers, monkeypatch: pytest.MonkeyPatch) -> None:
    """The repository contains LFS weights, an LFS notebook and module, a submodule that does not exist, and 24 MB of
    data."""
    part = committed(tmp_path / "part", {"inner.py": "inner = 1\n"})
    folder = committed(tmp_path / "whole", {"model.py": MODEL})
    git(folder, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "vendor")
    pointers = dict.fromkeys(("weights.bin", "demo.ipynb", "pointed.py"), POINTER)
    committed(folder, {**pointers, "data.bin": os.urandom(24_000_000)})
    with serving(monkeypatch) as server:
        checkout = fetch_repository(server.add(folder), tmp_path / "cache")
    kinds = {file.path: (file.kind, file.size) for file in checkout.files}
    assert kinds["vendor"][0] == "submodule"
    assert content(checkout, "data.bin") is None
    fetched = sum(path.stat().st_size for path in (tmp_path / "cache").rglob("*") if path.is_file())
    assert fetched < 2_000_000
    codebase = parsers.repository(checkout)
    assert [symbol.symbol.qualified_name for symbol in codebase.symbols().values() if symbol.symbol.qualified_name] == [
        "step"
    ]


def test_a_repository_over_the_limit_says_so(
    server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = committed(tmp_path / "large", {"model.py": MODEL, "data.bin": os.urandom(6_000_000)})
    monkeypatch.setattr(git_program, "_NETWORK", git_program._NETWORK.model_copy(update={"disk_mb": 3}))
    server.filters = False
    url = server.add(folder)
    with pytest.raises(InputError) as caught:
        fetch_repository(url, tmp_path / "cache")
    assert "is larger than the" in str(caught.value)
    assert len(server.asked) < 6, "it is not fetched again in another way"
    assert not list((tmp_path / "cache").glob("*")), "nothing is left of it"


def test_a_server_without_filters_and_packs(tmp_path: Path, server: GitServer) -> None:
    folder = committed(tmp_path / "unpacked", {"model.py": MODEL, "data.bin": os.urandom(3_000_000)})
    server.filters = False
    checkout = fetch_repository(server.add(folder), tmp_path / "cache")
    assert content(checkout, "model.py") is not None


def test_an_empty_and_a_missing_repository_say_so(tmp_path: Path, server: GitServer) -> None:
    git(tmp_path, "init", "-q", str(tmp_path / "empty"))
    with pytest.raises(InputError, match="is empty"):
        fetch_repository(server.add(tmp_path / "empty"), tmp_path / "cache")
    for server.secretive, why in ((False, "not found"), (True, "private, renamed or deleted")):
        with pytest.raises(InputError, match=f"cannot be reached: .*{why}") as refused:
            fetch_repository(f"{server.url}/nobody/nothing", tmp_path / "cache")
        assert "Username" not in str(refused.value)
