"""A repository of our own with a history of trees, and commits put into one of the user's.

Git itself never works in the user's repository: it makes a pack in a directory of our own, without hooks, filters or
configuration of anybody, and that pack and one reference are files added to the user's repository.
"""

import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from xkg.build.repositories import git, git_directory
from xkg.build.repositories.git_directory import GitDirectory
from xkg.errors import InputError
from xkg.sandbox.isolation import programs

_AUTHOR = b"xkg <xkg@localhost>"
_HUNK = re.compile(rb"@@ -\d++(?:,\d++)? \+(\d++)(?:,(\d++))? @@")


class TreeFile(NamedTuple):
    content: bytes
    executable: bool = False


class NewCommit(NamedTuple):
    """`changes` by path, None for a file that goes; `when` in seconds since 1970."""

    changes: Mapping[str, TreeFile | None]
    message: str
    when: int


class History:
    """A bare repository of ours in `folder`. Raises `GitError` (an `InputError`) where git fails."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        if not (folder / "HEAD").exists():
            git.lay_out(folder, sha256=False)
        self._directory = git_directory.ours(folder)

    def commit(self, commit: NewCommit, parent: str | None) -> str:
        """The id of a new commit, whose files are those of `parent` with its changes."""
        with commits(self._directory, [commit], parent) as (own, ids):
            git.take_packs(own, self._folder / "objects" / "pack")
            return ids[-1]

    def files(self, commit: str) -> dict[str, TreeFile]:
        """All files of a commit."""
        entries = git.list_tree(self._directory, commit)
        contents = git.read_objects(self._directory, entries)
        return {
            entry.path: TreeFile(content, entry.mode == "100755")
            for entry, content in zip(entries, contents, strict=True)
            if content is not None
        }

    def diff(self, old: str, new: str, paths: Sequence[str] = ()) -> str:
        """A unified diff that `git apply` takes, binary files included."""
        return self._diff(["--binary", "--no-renames"], old, new, paths).decode("utf-8", "replace")

    def changed(self, old: str, new: str) -> list[str]:
        """The paths that differ, in order."""
        listing = self._diff(["--name-only", "--no-renames", "-z"], old, new, ())
        return [os.fsdecode(name) for name in listing.split(b"\0") if name]

    def changed_lines(self, old: str, new: str, path: str) -> frozenset[int]:
        """The lines of a file of `new` that are not in `old`."""
        lines: set[int] = set()
        for line in self._diff(["-U0", "--no-renames"], old, new, [path]).splitlines():
            if hunk := _HUNK.match(line):
                start, count = int(hunk[1]), 1 if hunk[2] is None else int(hunk[2])
                lines.update(range(start, start + count))
        return frozenset(lines)

    def _diff(self, options: Sequence[str], old: str, new: str, paths: Sequence[str]) -> bytes:
        arguments = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", *options, old, new, "--", *paths]
        return git.succeeded(git.read_from(self._directory, arguments))


@contextlib.contextmanager
def commits(
    directory: GitDirectory, new: Sequence[NewCommit], parent: str | None
) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """New commits, each on the one before and the first on `parent`, in a git directory of ours that is removed at the
    end, and their ids. Their packs lack what `directory` has. Raises `GitError`."""
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
    """Adds a branch with these commits on the commit `base` to the user's repository in `folder`, and returns its last
    commit. Working copy, index and other references stay as they are.

    Raises `InputError`: no git repository, no such commit, a branch of that name with other commits, references in a
    format that only git can write."""
    directory = git_directory.find(folder.resolve())
    if directory is None:
        raise InputError(f"{folder} is no git repository: take the result as a patch")
    if directory.settings.get("extensions.refstorage", "files") != "files":
        raise InputError(f"{folder} stores its branches in a format that only git writes: take the result as a patch")
    known = git.find_commit(directory, base)
    if known is None:
        raise InputError(f"{folder} has no commit {base[:12]} any more: take the result as a patch")
    present = directory.commit(f"refs/heads/{name}")
    with commits(directory, new, known.oid) as (own, ids):
        if present is not None:
            if present == ids[-1]:
                return present
            raise InputError(f"{folder} has a branch {name} already, with other commits: give another name")
        git.take_packs(own, directory.common / "objects" / "pack")
    place = directory.common / "refs" / "heads" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    lock = place.with_name(f"{place.name}.lock")
    try:
        with lock.open("x") as file:
            file.write(f"{ids[-1]}\n")
        lock.rename(place)
    except FileExistsError:
        raise InputError(f"{lock} is there: another git process is at work; try again when it has ended") from None
    return ids[-1]


def _quoted(path: str) -> bytes:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return b'"' + os.fsencode(escaped) + b'"'
