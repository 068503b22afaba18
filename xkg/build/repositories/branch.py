"""Adds a branch with new commits to the user's repository.

Git itself never runs in the user's repository, so the user's hooks, filters and configuration have no effect. Instead,
git creates a pack in a separate directory, and the pack and a reference are then copied into the repository as files.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from xkg.build.repositories import git, git_directory
from xkg.build.repositories.git_directory import GitDirectory
from xkg.errors import InputError
from xkg.sandbox.isolation import programs

_AUTHOR = b"xkg <xkg@localhost>"


class TreeFile(NamedTuple):
    content: bytes
    executable: bool = False


class NewCommit(NamedTuple):
    """A commit to add. `changes` maps paths to contents, or to None for a deleted file. `when` is in seconds since
    1970."""

    changes: Mapping[str, TreeFile | None]
    message: str
    when: int


@contextlib.contextmanager
def _commits(
    directory: GitDirectory, new: Sequence[NewCommit], parent: str | None
) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Creates a chain of commits on top of `parent` in a temporary git directory. Yields this directory and the commit
    ids, and removes the directory afterwards. The packs omit objects that `directory` already contains. Raises
    `GitError`."""
    stream = bytearray()
    for number, commit in enumerate(new, 1):
        message = commit.message.encode("utf-8", "replace")
        stream += b"commit refs/heads/run\nmark :%d\ncommitter %b %d +0000\n" % (number, _AUTHOR, commit.when)
        stream += b"data %d\n%b\n" % (len(message), message)
        if number == 1 and parent is not None:
            stream += b"from %b\n" % parent.encode("ascii")
        for path, file in sorted(commit.changes.items()):
            if file is None:
                stream += b"D %b\n" % _quoted(path)
                continue
            mode = b"100755" if file.executable else b"100644"
            stream += b"M %b inline %b\ndata %d\n%b\n" % (mode, _quoted(path), len(file.content), file.content)
        stream += b"get-mark :%d\n" % number
    stream += b"done\n"
    with git.own_directory(directory) as own:
        programs.lend(own)
        ran = git.run_git(
            ["fast-import", "--quiet", "--done"],
            own,
            folder=own,
            stdin=bytes(stream),
            objects=directory.objects,
            writes=True,
        )
        yield own, tuple(git.succeeded(ran).decode().split())


def add_branch(folder: Path, name: str, base: str, new: Sequence[NewCommit]) -> str:
    """Adds a branch with these commits to the user's repository in `folder`, and returns the last new commit. The
    branch starts at the commit `base`. Leaves the working copy, the index and other references unchanged.

    Raises `InputError` if the folder is not a git repository, if the commit does not exist, if a branch of this name
    has different commits, or if only git can write the reference format."""
    directory = git_directory.find(folder.resolve())
    if directory is None:
        raise InputError(f"{folder} is not a git repository; use the patch instead")
    if directory.settings.get("extensions.refstorage", "files") != "files":
        raise InputError(f"{folder} stores its branches in a format that only git can write; use the patch instead")
    known = git.find_commit(directory, base)
    if known is None:
        raise InputError(f"{folder} no longer contains commit {base[:12]}; use the patch instead")
    present = directory.commit(f"refs/heads/{name}")
    with _commits(directory, new, known.oid) as (own, ids):
        if present is not None:
            if present == ids[-1]:
                return present
            raise InputError(f"{folder} already has a branch {name} with different commits; choose another name")
        git.take_packs(own, directory.common / "objects" / "pack")
    place = directory.common / "refs" / "heads" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    lock = place.with_name(f"{place.name}.lock")
    try:
        with lock.open("x") as file:
            file.write(f"{ids[-1]}\n")
        lock.rename(place)
    except FileExistsError:
        raise InputError(f"{lock} exists: another git process is running; try again when it has finished") from None
    return ids[-1]


def _quoted(path: str) -> bytes:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return b'"' + os.fsencode(escaped) + b'"'
