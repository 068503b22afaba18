"""Workspaces of a run: the baseline's, and one for each candidate, which begins with the repairs of the baseline."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from xkg.agents.workspace.starter import Starter
from xkg.agents.workspace.workspace import Version, Workspace


def opened(folder: Path, starter: Starter) -> Workspace:
    """The workspace of a folder, made anew where there is none of this starter."""
    if (folder / "workspace.json").exists():
        workspace = Workspace.open(folder)
        if workspace.identity == starter.identity:
            return workspace
        shutil.rmtree(folder)
    return Workspace.create(folder, starter)


def mutated(folder: Path, starter: Starter, base: Workspace, after: Mapping[str, str], reason: str) -> Version:
    """The commit of a mutation in a new workspace, on top of a commit for each repair of `base`."""
    shutil.rmtree(folder, ignore_errors=True)  # of a run that was killed here
    workspace = opened(folder, starter)
    for version in base.versions[1:]:
        before, repaired = base.files_of(version.number - 1), base.files_of(version.number)
        changes = {path: file.content for path, file in repaired.items() if before.get(path) != file}
        workspace.edit({**dict.fromkeys(before.keys() - repaired.keys()), **changes}, version.reason)
    return workspace.edit(after, reason)


def texts_of(workspace: Workspace) -> dict[str, str]:
    """Files that are UTF-8, exactly."""
    texts = {}
    for path, file in workspace.files.items():
        try:
            texts[path] = file.content.decode()
        except UnicodeDecodeError:
            continue
    return texts
