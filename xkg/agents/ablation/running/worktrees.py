"""The workspaces in a run: the baseline's, and one per candidate, which starts from the repaired baseline."""

import shutil
import threading
import weakref
from collections.abc import Mapping
from pathlib import Path

from xkg.agents.workspace.starter import Starter
from xkg.agents.workspace.workspace import MAX_FILE_BYTES, Workspace


def opened(folder: Path, starter: Starter) -> Workspace:
    """The workspace in a folder, created if there is none for this starter."""
    if (folder / "workspace.json").exists():
        workspace = Workspace.open(folder)
        if workspace.identity == starter.identity:
            return workspace
        shutil.rmtree(folder)
    return Workspace.create(folder, starter)


def mutated(folder: Path, base: Workspace, after: Mapping[str, str], reason: str) -> Workspace:
    """A new workspace with the mutation as a version, on top of the repairs in `base`."""
    shutil.rmtree(folder, ignore_errors=True)  # left over from a killed run
    workspace = base.copied(folder)
    workspace.edit(after, reason)
    return workspace


def texts_of(workspace: Workspace) -> dict[str, str]:
    """The files that are valid UTF-8, except those that edits may not write because they are too large."""
    texts = {}
    for path, file in workspace.files.items():
        if len(file.content) > MAX_FILE_BYTES:
            continue
        try:
            texts[path] = file.content.decode()
        except UnicodeDecodeError:
            continue
    return texts


class Shared:
    """The workspaces of candidates, each opened once for all concurrent runs, since opening lays out the tree, which
    another run may be copying. Safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._opened: weakref.WeakValueDictionary[str, Workspace] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    def folder_of(self, candidate: str) -> Path:
        return self._folder / candidate

    def add(self, candidate: str, workspace: Workspace) -> None:
        """Shares a workspace while anyone holds it."""
        with self._lock:
            self._opened[candidate] = workspace

    def of(self, candidate: str) -> Workspace:
        """Opens or shares a candidate's workspace. Raises the errors of `Workspace.open`."""
        with self._lock:
            workspace = self._opened.get(candidate)
            if workspace is None:
                workspace = self._opened[candidate] = Workspace.open(self.folder_of(candidate))
            return workspace
