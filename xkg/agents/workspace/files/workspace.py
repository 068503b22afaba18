"""Manages a copy of starter code in a run's folder. Every accepted edit creates a version and can be undone.

    folder/versions/       the files that each version adds or changes (`xkg.agents.workspace.files.versions`)
    folder/workspace.json  the versions with their reasons, and the targets of undos
    folder/tree/           the files of the current version, for runs to read

Version 0 is the starter. The user's repository is read once and never changed."""

import difflib
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from xkg.agents.workspace.files import patches, versions
from xkg.agents.workspace.files.starter import Starter, is_inside
from xkg.agents.workspace.files.writable_paths import refused_path
from xkg.build.repositories.branch import TreeFile
from xkg.errors import CorruptStoreError, InputError, UnsafeInputError
from xkg.files import private_folder, write_whole
from xkg.value import Value

MAX_FILE_BYTES = 2_000_000
_MOST_LISTED = 400
_STATE, _VERSIONS = "workspace.json", "versions"


class Version(Value):
    """A version, created at `when` (seconds since 1970). `digest` identifies the added or changed files, and `removed`
    lists the removed files. `undo` is a stack of versions. An undo restores the last version on the stack."""

    number: int
    digest: str
    removed: tuple[str, ...] = ()
    reason: str
    when: int
    undo: tuple[int, ...] = ()


_Changes = dict[str, TreeFile | None]
"""Maps paths to new files, or to None for removed files."""


class _State(Value):
    spec: str
    identity: str
    base: str | None
    dirty: bool
    notes: tuple[str, ...]
    versions: tuple[Version, ...]


class Workspace:
    """Manages the versions of a run's files. `files` contains the current version. `spec`, `identity`, `base`, `dirty`
    and `notes` describe the starter, as in `xkg.agents.workspace.files.starter.Starter`. This class is not thread-safe.

    `create` creates a new workspace, and `open` opens an existing one. Methods raise `UnsafeInputError` if a path is
    outside the tree."""

    def __init__(self, folder: Path, state: _State) -> None:
        self.folder = folder
        self._state = state
        self.spec, self.identity, self.notes = state.spec, state.identity, state.notes
        self.base, self.dirty = state.base, state.dirty
        self._changes: list[_Changes] = [
            {
                **dict.fromkeys(version.removed),
                **versions.read_files(folder / _VERSIONS, version.digest),
            }
            for version in state.versions
        ]
        self.files = self.files_of(self.current.number)

    @classmethod
    def create(cls, folder: Path, starter: Starter) -> "Workspace":
        """Creates a workspace with the starter as version 0. Raises `InputError` if the folder already contains a
        workspace."""
        if (folder / _STATE).exists():
            raise InputError(f"{folder} already contains a run; continue that run, or choose another folder")
        private_folder(folder)
        private_folder(folder / _VERSIONS)
        digest = versions.write_files(folder / _VERSIONS, starter.files)
        state = _State(
            spec=starter.spec,
            identity=starter.identity,
            base=starter.base,
            dirty=starter.dirty,
            notes=starter.notes,
            versions=(Version(number=0, digest=digest, reason="starter code", when=int(time.time())),),
        )
        workspace = cls._kept(folder, state)
        workspace._lay_out_tree()
        return workspace

    @classmethod
    def open(cls, folder: Path) -> "Workspace":
        """Opens the workspace in a folder at its last version. Raises `InputError` if there is no workspace, and
        `CorruptStoreError` if it is damaged."""
        try:
            state = _State.model_validate_json((folder / _STATE).read_bytes())
        except FileNotFoundError as error:
            raise InputError(f"{folder} does not contain a run") from error
        except (OSError, ValidationError) as error:
            raise CorruptStoreError(f"{folder / _STATE} cannot be read; remove the run, and run again") from error
        workspace = cls(folder, state)
        workspace._lay_out_tree()
        return workspace

    def copied(self, folder: Path, changes: Mapping[str, str] | None = None, reason: str = "") -> "Workspace":
        """Copies this workspace's versions to a new workspace in `folder`, and adds a version with these changes."""
        private_folder(folder)
        private_folder(folder / _VERSIONS)
        for version in self.versions:
            versions.copy_files(self.folder / _VERSIONS, version.digest, folder / _VERSIONS)
        copy = self._kept(folder, self._state)
        copy._lay_out_tree()
        if changes:
            copy.edit(changes, reason)
        return copy

    @classmethod
    def _kept(cls, folder: Path, state: _State) -> "Workspace":
        write_whole(folder / _STATE, state.model_dump_json().encode())
        return cls(folder, state)

    @property
    def tree(self) -> Path:
        """Returns the folder with the files of the current version. Callers must not write to this folder."""
        return self.folder / "tree"

    @property
    def versions(self) -> tuple[Version, ...]:
        return self._state.versions

    @property
    def current(self) -> Version:
        return self._state.versions[-1]

    def text(self, path: str) -> str:
        """Returns a file's text. Raises `InputError` if the file is binary or does not exist. For a missing file, the
        message lists similar names."""
        _require_inside(path)
        file = self.files.get(path)
        if file is None:
            near = difflib.get_close_matches(path, self.files, 3, 0.5)
            raise InputError(f"there is no file {path!a}" + (f"; the nearest: {', '.join(near)}" if near else ""))
        if b"\0" in file.content[:8192]:
            raise InputError(f"{path} is a binary file of {len(file.content):,} bytes")
        return file.content.decode("utf-8", "replace")

    def texts(self, number: int | None = None) -> dict[str, str]:
        """Returns the files in a version (the current version if None) that are valid UTF-8 and not too large to
        edit."""
        texts = {}
        for path, file in (self.files if number is None else self.files_of(number)).items():
            with suppress(UnicodeDecodeError):
                if len(file.content) <= MAX_FILE_BYTES and b"\0" not in file.content[:8192]:
                    texts[path] = file.content.decode()
        return texts

    def edit(self, changes: Mapping[str, str | bytes | None], reason: str) -> Version:
        """Stores changes as a version. `changes` maps paths to new content, or to None to remove a file. Raises
        `InputError` if nothing changes. Raises `UnsafeInputError` if edits may not write a path, or if a file is larger
        than 2 MB."""
        new: _Changes = {}
        for path, content in changes.items():
            if why := refused_path(path, self.files):
                raise UnsafeInputError(f"{path!a} must not be written: {why}")
            known = self.files.get(path)
            if content is None:
                if known is not None:
                    new[path] = None
                continue
            data = content.encode("utf-8", "replace") if isinstance(content, str) else content
            if len(data) > MAX_FILE_BYTES:
                raise UnsafeInputError(f"{path} has {len(data):,} bytes, too many for a source file")
            if any(f"{path}/" == other[: len(path) + 1] or path.startswith(f"{other}/") for other in self.files):
                raise InputError(f"{path} cannot be a file: a folder or file with that name already exists")
            file = TreeFile(data, known.executable if known else data.startswith(b"#!"))
            if file != known:
                new[path] = file
        if not new:
            raise InputError("the edit changes nothing: the files already have this content")
        return self._add(new, reason, (*self.current.undo, self.current.number))

    def undo(self) -> Version:
        """Undoes the last edit that has not been undone. Raises `InputError` if there is nothing to undo."""
        if not self.current.undo:
            raise InputError("there is no edit to undo; the files are the starter's")
        target = self._state.versions[self.current.undo[-1]]
        undone = self._state.versions[target.number + 1]
        files = self.files_of(target.number)
        changes: _Changes = dict.fromkeys(self.files.keys() - files.keys())
        changes |= {path: file for path, file in files.items() if self.files.get(path) != file}
        return self._add(changes, f"Undo: {undone.reason}", self.current.undo[:-1])

    def rewind(self, number: int) -> None:
        """Deletes all versions after `number`, so that a killed run can resume."""
        self._enter(self._state.versions[: number + 1])
        del self._changes[number + 1 :]
        self.files = self.files_of(number)
        self._lay_out_tree()

    def files_of(self, number: int) -> dict[str, TreeFile]:
        files: dict[str, TreeFile] = {}
        for changes in self._changes[: number + 1]:
            _change(files, changes)
        return files

    def patch(self, since: int = 0, paths: Sequence[str] = ()) -> bytes:
        """Returns a patch for `git apply` that turns version `since` into the current version. If `paths` is not empty,
        includes only these files and folders."""
        old, new = self.files_of(since), self.files
        if paths:
            old, new = (
                {path: file for path, file in files.items() if any(f"{path}/".startswith(f"{p}/") for p in paths)}
                for files in (old, new)
            )
        return patches.patch(old, new)

    def diff(self, since: int = 0, paths: Sequence[str] = ()) -> str:
        """Returns the result of `patch` as text. Replaces invalid UTF-8."""
        return self.patch(since, paths).decode("utf-8", "replace")

    def changed(self) -> list[str]:
        """Returns the paths that differ from the starter."""
        old = self.files_of(0)
        return sorted(path for path in old.keys() | self.files.keys() if old.get(path) != self.files.get(path))

    def changed_lines(self) -> dict[str, frozenset[int]]:
        """Returns the lines (1-based) that the starter does not contain, by file. Omits removed files."""
        old, absent = self.files_of(0), TreeFile(b"")
        return {
            path: patches.changed_lines(old.get(path, absent).content, self.files[path].content)
            for path in self.changed()
            if path in self.files
        }

    def listing(self) -> list[str]:
        """Returns a line for each file with its size, and a note if the file differs from the starter."""
        changed = set(self.changed())
        rows = [
            f"{path}  {len(file.content):,} bytes{'  changed' * (path in changed)}"
            for path, file in sorted(self.files.items())
        ]
        left = len(rows) - _MOST_LISTED
        return [*rows[:_MOST_LISTED], *([f"… and {left} more"] if left > 0 else [])]

    def _add(self, changes: _Changes, reason: str, undo: tuple[int, ...]) -> Version:
        present = {path: file for path, file in changes.items() if file is not None}
        version = Version(
            number=len(self.versions),
            digest=versions.write_files(self.folder / _VERSIONS, present),
            removed=tuple(sorted(changes.keys() - present.keys())),
            reason=reason,
            when=int(time.time()),
            undo=undo,
        )
        self._enter((*self.versions, version))
        self._changes.append(changes)
        _change(self.files, changes)
        self._lay_out_tree(changes)
        return version

    def _enter(self, versions: tuple[Version, ...]) -> None:
        self._state = self._state.model_copy(update={"versions": versions})
        write_whole(self.folder / _STATE, self._state.model_dump_json().encode())

    def _lay_out_tree(self, changes: Mapping[str, TreeFile | None] | None = None) -> None:
        """Writes the tree, or only the changed files, with permissions that let the sandbox user read them."""
        if changes is None:
            shutil.rmtree(self.tree, ignore_errors=True)
            changes = self.files
        self.tree.mkdir(exist_ok=True)
        for path, file in changes.items():
            place = self.tree / path
            if file is None:
                place.unlink(missing_ok=True)
                for parent in place.parents:
                    if parent == self.tree or not parent.is_dir() or any(parent.iterdir()):
                        break
                    parent.rmdir()
        for path, file in changes.items():
            if file is not None:
                place = self.tree / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(file.content)
                place.chmod(0o755 if file.executable else 0o644)
        for folder in (self.tree, *(entry for entry in self.tree.rglob("*") if entry.is_dir())):
            folder.chmod(0o755)


def _change(files: dict[str, TreeFile], changes: _Changes) -> None:
    for path, file in changes.items():
        if file is None:
            files.pop(path, None)
        else:
            files[path] = file


def _require_inside(path: str) -> None:
    if not is_inside(path):
        raise UnsafeInputError(f"{path!a} is outside the workspace; use a path relative to its top, as listed")
