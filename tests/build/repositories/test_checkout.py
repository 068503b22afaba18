import os
import subprocess
from collections.abc import Iterator
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
        **{f"GIT_{who}_{what}": "someone@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    command = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits, a tag on the first, a branch, a link and a file too large to read."""
    folder = tmp_path / "Some Project"
    (folder / "pkg").mkdir(parents=True)
    git(folder.parent, "init", "-q", "-b", "trunk", str(folder))
    (folder / "pkg" / "é.py").write_text("x = 1\n")
    (folder / "LICENSE").write_text("Permission is hereby granted, free of charge, to any person obtaining a copy of")
    (folder / "link.py").symlink_to("/etc/hostname")
    (folder / "big.bin").write_bytes(b"\0" * 2_500_000)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    git(folder, "tag", "-a", "v1", "-m", "v1")
    git(folder, "branch", "feature/x")
    (folder / "pkg" / "é.py").write_text("x = 2\n")
    git(folder, "commit", "-qam", "two")
    return folder


def content(checkout: sources.Checkout, path: str = "pkg/é.py") -> bytes | None:
    return dict(checkout.read([path]))[path]


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


@pytest.mark.parametrize("reference", ["v1", "feature/x", "short", "full"])
def test_commits_by_any_name(repository: Path, tmp_path: Path, reference: str) -> None:
    full = git(repository, "rev-parse", "v1^{commit}")
    reference = {"short": full[:8], "full": full}.get(reference, reference)
    for spec in (
        f"{repository}@{reference}",
        f"file://{str(repository).replace(' ', '%20')}@{reference}",
        f"{repository}/.git@{reference}",
    ):
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


def test_absent_objects_are_none_and_no_error(repository: Path, tmp_path: Path) -> None:
    blob = git(repository, "rev-parse", "HEAD:pkg/é.py")
    (repository / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    checkout = fetch_repository(f"{repository}@HEAD", tmp_path)
    assert content(checkout) is None
    assert {f.path: f.size for f in checkout.files}["pkg/é.py"] is None
    assert content(checkout, "LICENSE")


def test_damaged_objects_are_none_and_no_error(repository: Path, tmp_path: Path) -> None:
    blob = git(repository, "rev-parse", "HEAD:pkg/é.py")
    path = repository / ".git" / "objects" / blob[:2] / blob[2:]
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-6] + b"broken")
    checkout = fetch_repository(f"{repository}@HEAD", tmp_path)
    assert dict(checkout.read(["LICENSE", "pkg/é.py"]))["LICENSE"]


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
def test_a_commit_that_a_remote_does_not_have(
    repository: Path, tmp_path: Path, server: GitServer, reference: str
) -> None:
    with pytest.raises(InputError, match="has no commit, branch or tag"):
        clone(server.add(repository), reference, tmp_path / "cache")
    assert list((tmp_path / "cache").glob("*")) == []


def test_an_empty_remote(tmp_path: Path, server: GitServer) -> None:
    git(tmp_path, "init", "-q", "void")
    with pytest.raises(InputError, match="empty"):
        clone(server.add(tmp_path / "void"), None, tmp_path / "cache")


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("", "not a repository"),
        ("-upload-pack=x", "not a repository"),
        ("{}/missing", "does not exist"),
        ("{}@missing", "has no commit, branch or tag 'missing'"),
        ("{}@--all", "not the name of a commit"),
        ("{}@HEAD~1:pkg", "not the name of a commit"),
        ("{}/pkg@v1", "not a git repository"),
        ("{}/LICENSE", "is a file"),
        ("ssh://host/a/b", "only https"),
        ("git@github.com:a/b", "only https"),
        ("ext::sh -c true", "only https"),
        ("http://github.com/a/b", "only https"),
        ("file://elsewhere/a", "path of this machine"),
        ("https://user:secret@github.com/a/b", "contain a user"),
        ("https://github.com/a", "not the URL of a repository"),
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


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "ab" * 32 + "\nsize 500000000\n"


def test_pointers_submodules_and_bulk_are_listed_and_not_fetched(
    tmp_path: Path, parsers: Parsers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repository as they are: weights in LFS, a notebook and a module too, a submodule that is nowhere, and 24 MB."""
    part, folder = tmp_path / "part", tmp_path / "whole"
    for each in (part, folder):
        git(tmp_path, "init", "-q", str(each))
    (part / "inner.py").write_text("inner = 1\n")
    git(part, "add", "-A")
    git(part, "commit", "-qm", "part")
    git(folder, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "vendor")
    for name in ("weights.bin", "demo.ipynb", "pointed.py"):
        (folder / name).write_text(POINTER)
    (folder / "data.bin").write_bytes(os.urandom(24_000_000))
    (folder / "model.py").write_text("def step(x):\n    return x + 1\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "whole")
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


@pytest.mark.parametrize("filters", [True, False])
def test_a_repository_that_is_larger_than_the_limit_says_so(
    filters: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that are never read are not fetched, where the server can leave them out; all else counts."""
    folder = tmp_path / "large"
    git(tmp_path, "init", "-q", str(folder))
    (folder / "model.py").write_text("def step(x):\n    return x + 1\n")
    (folder / "data.bin").write_bytes(os.urandom(6_000_000))
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "large")
    monkeypatch.setattr(git_program, "_NETWORK", git_program._NETWORK.model_copy(update={"disk_mb": 3}))
    with serving(monkeypatch) as server:
        server.filters = filters
        url = server.add(folder)
        if filters:
            assert content(fetch_repository(url, tmp_path / "cache"), "model.py") is not None
            return
        with pytest.raises(InputError) as caught:
            fetch_repository(url, tmp_path / "cache")
    assert "is larger than the" in str(caught.value)
    assert len(server.asked) < 6, "it is not fetched again in another way"
    assert not list((tmp_path / "cache").glob("*")), "nothing is left of it"


@pytest.mark.parametrize("packed", [True, False])
def test_a_server_that_leaves_out_nothing_and_has_packed_nothing(
    packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "unpacked"
    git(tmp_path, "init", "-q", str(folder))
    (folder / "model.py").write_text("def step(x):\n    return x + 1\n")
    (folder / "data.bin").write_bytes(os.urandom(3_000_000))
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "One")
    if packed:
        git(folder, "gc", "-q")
    with serving(monkeypatch) as server:
        server.filters = False
        checkout = fetch_repository(server.add(folder), tmp_path / "cache")
    assert content(checkout, "model.py") is not None


def test_an_empty_and_a_missing_repository_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init", "-q", str(tmp_path / "empty"))
    with serving(monkeypatch) as server:
        with pytest.raises(InputError, match="is empty"):
            fetch_repository(server.add(tmp_path / "empty"), tmp_path / "cache")
        for server.secretive, why in ((False, "not found"), (True, "private, renamed or deleted")):
            with pytest.raises(InputError, match=f"cannot be reached: .*{why}") as refused:
                fetch_repository(f"{server.url}/nobody/nothing", tmp_path / "cache")
            assert "Username" not in str(refused.value)
