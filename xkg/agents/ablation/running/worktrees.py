"""Workspaces of a run: the baseline's, and one per candidate that starts from the repaired baseline."""

import shutil
import threading
import weakref
from collections.abc import Mapping
from pathlib import Path

from xkg.agents.workspace.starter import Starter
from xkg.agents.workspace.workspace import Workspace


def opened(folder: Path, starter: Starter) -> Workspace:
    """The workspace of a folder, created if there is none of this starter."""
    if (folder / "workspace.json").exists():
        workspace = Workspace.open(folder)
        if workspace.identity == starter.identity:
            return workspace
        shutil.rmtree(folder)
    return Workspace.create(folder, starter)


def mutated(folder: Path, base: Workspace, after: Mapping[str, str], reason: str) -> Workspace:
    """A new workspace with the mutation as a version, on top of the repairs of `base`."""
    shutil.rmtree(folder, ignore_errors=True)  # left by a killed run
    workspace = base.copied(folder)
    workspace.edit(after, reason)
    return workspace


class Shared:
    """Workspaces of candidates, each opened once for all concurrent runs: opening lays out the tree, which another run
    may be copying. Safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._opened: weakref.WeakValueDictionary[str, Workspace] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    def folder_of(self, candidate: str) -> Path:
        return self._folder / candidate

    def add(self, candidate: str, workspace: Workspace) -> None:
        """Shares a workspace while anybody holds it."""
        with self._lock:
            self._opened[candidate] = workspace

    def of(self, candidate: str) -> Workspace:
        """Raises the errors of `Workspace.open`."""
        with self._lock:
            workspace = self._opened.get(candidate)
            if workspace is None:
                workspace = self._opened[candidate] = Workspace.open(self.folder_of(candidate))
            return workspace
