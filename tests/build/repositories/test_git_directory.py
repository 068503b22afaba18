"""Tests which folders a `.git` may lead to. The `.git` and the folder must refer to each other, the folders must be
under the roots, and reading must never block."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.build.repositories.test_checkout import committed, git
from xkg.build.repositories.checkout import Checkout, fetch_repository, read_folder
from xkg.build.repositories.git_directory import find
from xkg.errors import InputError

SECRET = b"def secret():\n    return 'theirs'\n"


def repository(folder: Path, name: str, content: bytes, *options: str) -> Path:
    return committed(folder, {name: content}, *options)


@pytest.fixture
def private(tmp_path: Path) -> Path:
    return repository(tmp_path / "private", "secret.py", SECRET)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "copy").mkdir(parents=True)
    (folder / "copy" / "mine.py").write_text("def mine():\n    pass\n")
    return folder


def pointer(copy: Path, private: Path) -> None:
    (copy / ".git").write_text(f"gitdir: {private}/.git\n")


def link(copy: Path, private: Path) -> None:
    (copy / ".git").symlink_to(private / ".git")


def pointer_through_a_link(copy: Path, private: Path) -> None:
    (copy / "way").symlink_to(private)
    (copy / ".git").write_text("gitdir: way/.git\n")


def another_work_tree(copy: Path, private: Path) -> None:
    git(private, "worktree", "add", "-q", "--detach", str(private.parent / "linked"))
    (copy / ".git").write_text(f"gitdir: {private}/.git/worktrees/linked\n")


def common_directory(copy: Path, private: Path) -> None:
    git(copy, "init", "-q")
    (copy / ".git" / "commondir").write_text(f"{private}/.git\n")


def common_of_a_made_up_work_tree(copy: Path, private: Path) -> None:
    made = copy / "x" / "worktrees" / "y"
    made.mkdir(parents=True)
    (made / "commondir").write_text(f"{private}/.git\n")
    (made / "gitdir").write_text(f"{copy}/.git\n")
    shutil.copy(private / ".git" / "HEAD", made)
    shutil.copy(private / ".git" / "index", made)
    (copy / ".git").write_text("gitdir: x/worktrees/y\n")


def linked_parts(copy: Path, private: Path) -> None:
    git(copy, "init", "-q", "-b", "main")
    for name in ("objects", "refs"):
        shutil.rmtree(copy / ".git" / name)
        (copy / ".git" / name).symlink_to(private / ".git" / name)


def its_own_at_the_private_commit(copy: Path, private: Path) -> Path:
    """Creates a repository whose branch points to a commit that it lacks. Returns its folder of objects."""
    git(copy, "init", "-q", "-b", "main")
    (copy / ".git" / "refs" / "heads" / "main").write_text(git(private, "rev-parse", "HEAD") + "\n")
    return copy / ".git" / "objects"


def linked_packs_and_index(copy: Path, private: Path) -> None:
    objects = its_own_at_the_private_commit(copy, private)
    git(private, "gc", "-q")
    shutil.rmtree(objects / "pack")
    (objects / "pack").symlink_to(private / ".git" / "objects" / "pack")
    for name in ("index", "packed-refs"):
        (copy / ".git" / name).symlink_to(private / ".git" / name)


def linked_loose_objects(copy: Path, private: Path) -> None:
    objects = its_own_at_the_private_commit(copy, private)
    for folder in (private / ".git" / "objects").iterdir():
        if len(folder.name) == 2:
            (objects / folder.name).mkdir()
            for file in folder.iterdir():
                (objects / folder.name / file.name).symlink_to(file)


def alternates(copy: Path, private: Path) -> None:
    objects = its_own_at_the_private_commit(copy, private)
    (objects / "info" / "alternates").write_text(f"{private}/.git/objects\n")


def alternates_of_alternates(copy: Path, private: Path) -> None:
    objects = its_own_at_the_private_commit(copy, private)
    (copy / "more" / "info").mkdir(parents=True)
    (copy / "more" / "info" / "alternates").write_text(f"{private}/.git/objects\n")
    (objects / "info" / "alternates").write_text("../../more\n")


def http_alternates(copy: Path, private: Path) -> None:
    objects = its_own_at_the_private_commit(copy, private)
    (objects / "info" / "http-alternates").write_text(f"file://{private}/.git/objects\n")


def linked_alternates(copy: Path, private: Path) -> None:
    theirs = private / ".git" / "objects" / "info"
    theirs.mkdir(exist_ok=True)
    (theirs / "alternates").write_text(f"{private}/.git/objects\n")
    objects = its_own_at_the_private_commit(copy, private)
    shutil.rmtree(objects / "info")
    (objects / "info").symlink_to(theirs)


def work_tree_setting(copy: Path, private: Path) -> None:
    git(copy, "init", "-q")
    git(copy, "config", "core.worktree", str(private))


def excludes_and_ignores(copy: Path, private: Path) -> None:
    git(copy, "init", "-q")
    (copy / ".git" / "info" / "exclude").unlink()
    (copy / ".git" / "info" / "exclude").symlink_to(private / "secret.py")
    (copy / ".gitignore").symlink_to(private / "secret.py")


# Only `roots` forbid these. In a person's own clone, alternates may be anywhere (`git clone --shared`).
BY_ROOTS = [alternates, alternates_of_alternates]
WAYS = [
    pointer,
    link,
    pointer_through_a_link,
    another_work_tree,
    common_directory,
    common_of_a_made_up_work_tree,
    linked_parts,
    linked_packs_and_index,
    linked_loose_objects,
    http_alternates,
    linked_alternates,
    work_tree_setting,
    excludes_and_ignores,
]


def read_in_every_way(copy: Path, roots: list[Path] | None, cache: Path) -> tuple[set[str], list[bytes]]:
    names: set[str] = set()
    contents: list[bytes] = []
    ways: list[Callable[[], Checkout]] = [
        lambda: read_folder(copy, roots),
        *(lambda spec=f"{copy}{at}": fetch_repository(spec, cache, roots) for at in ("", "@HEAD", "@main", "@linked")),
    ]
    for way in ways:
        try:
            checkout = way()
        except InputError as error:
            names |= {str(error)}
            continue
        names |= {f.path for f in checkout.files}
        contents += [content for _, content in checkout.read([f.path for f in checkout.files]) if content]
    return names, contents


@pytest.mark.parametrize("way", [*WAYS, *BY_ROOTS], ids=lambda way: way.__name__)
def test_nothing_outside_is_read(way: Callable[[Path, Path], None], root: Path, private: Path, tmp_path: Path) -> None:
    way(root / "copy", private)
    names, contents = read_in_every_way(root / "copy", [root], tmp_path / "cache")
    assert not any("secret.py" in name or "private" in name for name in names)
    assert SECRET not in contents
    assert "mine.py" in names


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_nor_what_nobody_named(way: Callable[[Path, Path], None], root: Path, private: Path, tmp_path: Path) -> None:
    way(root / "copy", private)
    names, contents = read_in_every_way(root / "copy", None, tmp_path / "cache")
    assert "secret.py" not in names
    assert SECRET not in contents


def test_what_lies_outside_is_not_told_from_what_does_not_exist(root: Path, private: Path, tmp_path: Path) -> None:
    said = []
    for target in (f"{private}/.git", f"{tmp_path}/not-there/.git"):
        (root / "copy" / ".git").write_text(f"gitdir: {target}\n")
        said.append(fetch_repository(str(root / "copy"), tmp_path, [root]))
    assert [(c.repository, c.files, c.notes) for c in said[:1]] == [(c.repository, c.files, c.notes) for c in said[1:]]
    assert "it is not a git directory" in said[0].notes[0]


def linked_work_tree(base: Path) -> Path:
    git(repository(base / "main", "a.py", b"x = 1\n"), "worktree", "add", "-q", "-b", "side", str(base / "linked"))
    return base / "linked"


def submodule(base: Path) -> Path:
    repository(base / "part", "a.py", b"x = 1\n")
    whole = repository(base / "whole", "b.py", b"y = 1\n")
    git(whole, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(base / "part"), "part")
    return whole / "part"


def separate_git_directory(base: Path) -> Path:
    folder = repository(base / "tree", "a.py", b"x = 1\n", "--separate-git-dir", str(base / "directory"))
    assert find(folder) is None  # git does not record the work tree in the directory
    git(folder, "config", "core.worktree", str(folder))
    return folder


def shared_clone(base: Path) -> Path:
    repository(base / "main", "a.py", b"x = 1\n")
    git(base, "clone", "-q", "--shared", "main", "shared")
    return base / "shared"


@pytest.mark.parametrize("place", [linked_work_tree, submodule, separate_git_directory, shared_clone])
def test_what_git_itself_puts_elsewhere_is_read(place: Callable[[Path], Path], root: Path, tmp_path: Path) -> None:
    folder = place(root)
    head = git(folder, "rev-parse", "HEAD")
    for roots in (None, [root]):
        checkout = fetch_repository(str(folder), tmp_path, roots)
        assert checkout.repository.commit == head
        assert dict(checkout.read(["a.py"])) == {"a.py": b"x = 1\n"}
        assert [f.path for f in read_folder(folder, roots).files if f.path.endswith(".py")] == ["a.py"]
    # If only the folder is a root, its files are found, but not a repository outside it.
    narrow = fetch_repository(str(folder), tmp_path, [folder]) if place is not shared_clone else None
    assert narrow is None or (narrow.repository.commit is None and narrow.notes)


def test_a_bare_repository_inside_a_work_tree_is_data(tmp_path: Path, private: Path) -> None:
    outer = repository(tmp_path / "outer", "a.py", b"x = 1\n")
    git(tmp_path, "clone", "-q", "--bare", "private", "outer/data")
    for roots in (None, [outer]):
        for checkout in (fetch_repository(str(outer / "data"), tmp_path, roots), read_folder(outer / "data", roots)):
            assert checkout.repository.commit is None
            assert "HEAD" in {f.path for f in checkout.files}
            assert "is treated as data" in checkout.notes[0]
        with pytest.raises(InputError, match="not a git repository"):
            fetch_repository(f"{outer / 'data'}@main", tmp_path, roots)
    (outer / "data").rename(tmp_path / "alone.git")
    assert fetch_repository(str(tmp_path / "alone.git"), tmp_path).repository.commit == git(
        private, "rev-parse", "HEAD"
    )
    assert find(outer / ".git") is not None


def test_nothing_in_a_git_directory_is_waited_for(root: Path, tmp_path: Path) -> None:
    """A pipe, an endless device and a terabyte-sized file take the place of each file in turn."""
    copy = committed(root / "copy", {})
    directory = copy / ".git"
    places = [
        path
        for path in (*directory.rglob("*"), *(directory / name for name in ("commondir", "packed-refs", "gitdir")))
        if not path.is_dir()
    ]
    places += [directory / "objects" / "info" / "alternates", directory / "objects" / "pack" / "pack-1.idx"]
    for kind in ("pipe", "endless", "huge"):
        for place in places:
            place.unlink(missing_ok=True)
            if kind == "pipe":
                os.mkfifo(place)
            elif kind == "endless":
                place.symlink_to("/dev/zero")
            else:
                place.touch()
                os.truncate(place, 1 << 40)
        for roots in (None, [root]):
            assert "mine.py" in {f.path for f in read_folder(copy, roots).files}
            with pytest.raises(InputError):
                fetch_repository(f"{copy}@main", tmp_path, roots)
    shutil.rmtree(directory)
    for make in (os.mkfifo, lambda path: Path(path).symlink_to("/dev/zero")):
        make(directory)
        assert [f.path for f in fetch_repository(str(copy), tmp_path).files] == ["mine.py"]
        directory.unlink()


def test_repositories_of_sha256_are_read(tmp_path: Path) -> None:
    folder = repository(tmp_path / "wide", "a.py", b"x = 1\n", "--object-format=sha256")
    head = git(folder, "rev-parse", "HEAD")
    for spec in (str(folder), f"{folder}@{head[:10]}", f"{folder}@main"):
        checkout = fetch_repository(spec, tmp_path)
        assert checkout.repository.commit == head
        assert dict(checkout.read(["a.py"])) == {"a.py": b"x = 1\n"}


def test_references_are_found_as_git_finds_them(tmp_path: Path) -> None:
    folder = repository(tmp_path / "x", "a.py", b"x = 1\n")
    first = git(folder, "rev-parse", "HEAD")
    git(folder, "tag", "-a", "twice", "-m", "tag")
    git(folder, "pack-refs", "--all")
    git(folder, "commit", "-qm", "two", "--allow-empty")
    second = git(folder, "rev-parse", "HEAD")
    git(folder, "branch", "twice")
    git(folder, "branch", "more/names")
    git(folder, "update-ref", "refs/remotes/origin/main", first)
    git(folder, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    wanted = {
        "HEAD": second,
        "main": second,
        "twice": first,
        "heads/twice": second,
        "more/names": second,
        "origin": first,
        "origin/main": first,
        "refs/tags/twice": first,
        first[:7]: first,
    }
    assert {name: fetch_repository(f"{folder}@{name}", tmp_path).repository.commit for name in wanted} == wanted
    for name in ("nothing", "config", "HEAD/x", "refs/heads"):
        with pytest.raises(InputError, match="has no commit"):
            fetch_repository(f"{folder}@{name}", tmp_path)


def test_an_index_in_two_files_or_without_some_folders_is_listed(tmp_path: Path) -> None:
    folder = repository(tmp_path / "x", "a.py", b"x = 1\n")
    committed(folder, {"kept/b.py": "y = 1\n", "left/c.py": "z = 1\n"})
    git(folder, "update-index", "--split-index")
    assert [f.path for f in read_folder(folder).files] == ["a.py", "kept/b.py", "left/c.py"]
    git(folder, "update-index", "--no-split-index")
    git(folder, "sparse-checkout", "set", "--cone", "--sparse-index", "kept")
    assert [f.path for f in read_folder(folder).files] == ["a.py", "kept/b.py"]


def test_ignored_is_what_git_ignores_for_this_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    (tmp_path / "settings" / "git").mkdir(parents=True)
    (tmp_path / "settings" / "git" / "ignore").write_text(".idea\n*.swp\n")
    folder = repository(tmp_path / "x", "a.py", b"x = 1\n")
    (folder / ".git" / "info" / "exclude").write_text("local.py\n!b.swp\n")
    for name in (".idea", "a.swp", "b.swp", "local.py", "other.py"):
        (folder / name).write_text("1\n")
    assert [f.path for f in read_folder(folder).files] == ["a.py", "b.swp", "other.py"]


def test_a_person_who_is_not_served_to_reads_what_is_closed_to_others(tmp_path: Path) -> None:
    """Root's git runs as nobody, and can still read the files that root asked for."""
    folder = repository(tmp_path / "x", "a.py", b"x = 1\n")
    for place in (folder, *folder.rglob("*")):
        place.chmod(0o700 if place.is_dir() else 0o600)
    assert fetch_repository(str(folder), tmp_path).repository.commit == git(folder, "rev-parse", "HEAD")
    assert [f.path for f in read_folder(folder).files] == ["a.py"]
