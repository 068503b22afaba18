"""A copy of starter code under the folder of a run: every accepted edit is a commit, and each can be undone.

    folder/history.git     our repository: a commit an edit, with its reason
    folder/workspace.json  the versions, and which of them undos go back to
    folder/tree/           the files of the current version, for runs to read

Version 0 is the starter. The user's repository is read once and never written to.
"""

import difflib
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from xkg.agents.workspace.starter import Starter, is_inside
from xkg.build.repositories.history import History, NewCommit, TreeFile
from xkg.errors import CorruptStoreError, InputError, UnsafeInputError
from xkg.files import private_folder, write_whole
from xkg.value import Value

MAX_FILE_BYTES = 2_000_000
_STATE = "workspace.json"


class UnchangedError(InputError):
    """An edit that changes nothing."""


class Version(Value):
    """A commit, made `when` (seconds since 1970). `restores` is the version whose files it has again, `undo` those that
    the next undos go back to, the next one last."""

    number: int
    commit: str
    reason: str
    when: int
    restores: int | None = None
    undo: tuple[int, ...] = ()


class _State(Value):
    spec: str
    identity: str
    base: str | None
    dirty: bool
    notes: tuple[str, ...]
    versions: tuple[Version, ...]


class Workspace:
    """The files of the current version are `files`. Not safe for use from several threads.

    `create` begins one, `open` goes on with one. Raises `InputError` where git fails, `UnsafeInputError` for a path
    outside of the tree."""

    def __init__(self, folder: Path, state: _State) -> None:
        self.folder = folder
        self._state = state
        self._history = History(folder / "history.git")
        self.files: dict[str, TreeFile] = self._history.files(self.current.commit)

    @classmethod
    def create(cls, folder: Path, starter: Starter) -> "Workspace":
        """A workspace with the starter as version 0. Raises `InputError` where the folder holds one."""
        if (folder / _STATE).exists():
            raise InputError(f"{folder} holds a run already: go on with it, or give another folder")
        private_folder(folder)
        shutil.rmtree(folder / "history.git", ignore_errors=True)  # of a run that was killed here
        history = History(folder / "history.git")
        now = int(time.time())
        commit = history.commit(NewCommit(starter.files, f"Starter code: {starter.identity}", now), None)
        state = _State(
            spec=starter.spec,
            identity=starter.identity,
            base=starter.base,
            dirty=starter.dirty,
            notes=starter.notes,
            versions=(Version(number=0, commit=commit, reason="starter code", when=now),),
        )
        workspace = cls._kept(folder, state)
        workspace._lay_out_tree()
        return workspace

    @classmethod
    def open(cls, folder: Path) -> "Workspace":
        """The workspace of a folder, at its last version. Raises `InputError` for none, `CorruptStoreError`."""
        try:
            state = _State.model_validate_json((folder / _STATE).read_bytes())
        except FileNotFoundError as error:
            raise InputError(f"{folder} holds no run") from error
        except (OSError, ValidationError) as error:
            raise CorruptStoreError(f"{folder / _STATE} cannot be read: remove {folder}, and run again") from error
        workspace = cls(folder, state)
        workspace._lay_out_tree()
        return workspace

    def copied(self, folder: Path) -> "Workspace":
        """A workspace of its own with the versions of this one, in a folder that holds none."""
        private_folder(folder)
        shutil.copytree(self.folder / "history.git", folder / "history.git")
        copy = self._kept(folder, self._state)
        copy._lay_out_tree()
        return copy

    @classmethod
    def _kept(cls, folder: Path, state: _State) -> "Workspace":
        write_whole(folder / _STATE, state.model_dump_json().encode())
        return cls(folder, state)

    @property
    def tree(self) -> Path:
        """The folder with the files of the current version: for reading only."""
        return self.folder / "tree"

    @property
    def spec(self) -> str:
        """What the starter was named."""
        return self._state.spec

    @property
    def identity(self) -> str:
        """The id of the starter's content."""
        return self._state.identity

    @property
    def base(self) -> str | None:
        """The commit that the starter belongs to; None for none."""
        return self._state.base

    @property
    def dirty(self) -> bool:
        """Whether the starter differed from that commit."""
        return self._state.dirty

    @property
    def notes(self) -> tuple[str, ...]:
        return self._state.notes

    @property
    def versions(self) -> tuple[Version, ...]:
        return self._state.versions

    @property
    def current(self) -> Version:
        return self._state.versions[-1]

    def text(self, path: str) -> str:
        """A file's text. Raises `InputError` with the nearest names for one that is not there, and for a binary one."""
        _require_inside(path)
        file = self.files.get(path)
        if file is None:
            near = difflib.get_close_matches(path, self.files, 3, 0.5)
            raise InputError(f"there is no file {path!a}" + (f"; the nearest: {', '.join(near)}" if near else ""))
        if b"\0" in file.content[:8192]:
            raise InputError(f"{path} is a binary file of {len(file.content):,} bytes")
        return file.content.decode("utf-8", "replace")

    def edit(self, changes: Mapping[str, str | bytes | None], reason: str) -> Version:
        """Commits changes: the new content of each path, None to remove it. Raises `UnchangedError` where nothing
        differs, `UnsafeInputError` for a path outside or a file of more than 2 MB."""
        new: dict[str, TreeFile | None] = {}
        for path, content in changes.items():
            _require_inside(path)
            known = self.files.get(path)
            if content is None:
                if known is not None:
                    new[path] = None
                continue
            data = content.encode("utf-8", "replace") if isinstance(content, str) else content
            if len(data) > MAX_FILE_BYTES:
                raise UnsafeInputError(f"{path}: {len(data):,} bytes are more than a source file has")
            if any(f"{path}/" == other[: len(path) + 1] or path.startswith(f"{other}/") for other in self.files):
                raise InputError(f"{path} cannot be a file: a folder or a file of that name is in the way")
            file = TreeFile(data, known.executable if known else data.startswith(b"#!"))
            if file != known:
                new[path] = file
        if not new:
            raise UnchangedError("the edit changes nothing: the files have this content already")
        return self._commit(new, reason, (*self.current.undo, self.current.number))

    def undo(self) -> Version:
        """Commits the files as they were before the last edit that is not undone. Raises `InputError` for none."""
        if not self.current.undo:
            raise InputError("there is no edit to undo: the files are those of the starter")
        target = self._state.versions[self.current.undo[-1]]
        undone = self._state.versions[-1]
        return self._restore(target, f"Undo: {undone.reason}", self.current.undo[:-1])

    def restore(self, number: int, reason: str) -> Version:
        """Commits the files of an earlier version."""
        return self._restore(self.version(number), reason, (*self.current.undo, self.current.number))

    def rewind(self, number: int) -> None:
        """Forgets all versions after `number`, as if they had not been: for a run that goes on after a kill."""
        kept = self._state.versions[: number + 1]
        self._enter(kept)
        self.files = self._history.files(self.current.commit)
        self._lay_out_tree()

    def version(self, number: int) -> Version:
        """Raises `InputError` for one that is not there."""
        if not 0 <= number < len(self.versions):
            raise InputError(f"there is no version {number}: 0 is the starter, {self.current.number} the last")
        return self.versions[number]

    def files_of(self, number: int) -> dict[str, TreeFile]:
        """All files of a version."""
        return self._history.files(self.version(number).commit)

    def diff(self, since: int = 0, until: int | None = None, paths: Sequence[str] = ()) -> str:
        """A unified diff between two versions, until the current one where none is named."""
        new = self.current if until is None else self.version(until)
        return self._history.diff(self.version(since).commit, new.commit, paths)

    def changed(self, since: int = 0) -> list[str]:
        """The paths that differ from a version."""
        return self._history.changed(self.version(since).commit, self.current.commit)

    def changed_lines(self, since: int = 0) -> dict[str, frozenset[int]]:
        """By file the lines (1-based) of the current version that a version does not have; removed files are absent."""
        old = self.version(since).commit
        return {
            path: self._history.changed_lines(old, self.current.commit, path)
            for path in self.changed(since)
            if path in self.files
        }

    def _restore(self, target: Version, reason: str, undo: tuple[int, ...]) -> Version:
        files = self._history.files(target.commit)
        changes: dict[str, TreeFile | None] = dict.fromkeys(self.files.keys() - files.keys())
        changes |= {path: file for path, file in files.items() if self.files.get(path) != file}
        return self._commit(changes, reason, undo, restores=target.number)

    def _commit(
        self,
        changes: Mapping[str, TreeFile | None],
        reason: str,
        undo: tuple[int, ...],
        restores: int | None = None,
    ) -> Version:
        now = int(time.time())
        commit = self._history.commit(NewCommit(changes, reason, now), self.current.commit)
        version = Version(
            number=len(self.versions), commit=commit, reason=reason, when=now, restores=restores, undo=undo
        )
        self._enter((*self.versions, version))
        for path, file in changes.items():
            if file is None:
                self.files.pop(path, None)
            else:
                self.files[path] = file
        self._lay_out_tree(changes)
        return version

    def _enter(self, versions: tuple[Version, ...]) -> None:
        self._state = self._state.model_copy(update={"versions": versions})
        write_whole(self.folder / _STATE, self._state.model_dump_json().encode())

    def _lay_out_tree(self, changes: Mapping[str, TreeFile | None] | None = None) -> None:
        """Writes the tree, or only what changed; readable for the user that runs have."""
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


def _require_inside(path: str) -> None:
    if not is_inside(path):
        raise UnsafeInputError(f"{path!a} lies outside of the workspace: give a path relative to its top, as listed")
