"""Exports a run's result as a patch, or as a branch in the starter's repository."""

from collections.abc import Container, Iterable
from pathlib import Path

from xkg.agents.workspace.files.workspace import Workspace
from xkg.agents.workspace.files.writable_paths import refused_path
from xkg.build.repositories.branch import NewCommit, TreeFile, add_branch
from xkg.errors import InputError, UnsafeInputError


def patch(workspace: Workspace) -> bytes:
    """Returns all changes since the starter as a patch for `git apply`. Raises `InputError` if there are no changes,
    and `UnsafeInputError` if a change affects a path that edits may not write."""
    _require_writable(workspace.changed(), workspace.files_of(0))
    found = workspace.patch()
    if not found:
        raise InputError("the run changed nothing: there is nothing to apply")
    return found


def branch(workspace: Workspace, name: str, repository: Path | None = None) -> str:
    """Adds the branch `name` with one commit per edit, and returns its last commit. The branch is added to the
    starter's repository, or to its clone `repository`, and starts at the starter's commit. If the starter had
    uncommitted changes, the first commit contains those in files that the run changed.

    Raises `InputError` if the starter has no repository or the run changed nothing. Raises `UnsafeInputError` if a
    change affects a path that edits may not write. Also raises the errors of `add_branch`."""
    folder = repository or Path(workspace.spec.removeprefix("file://").rpartition("@")[0] or workspace.spec)
    if repository is None and not folder.is_dir():
        folder = Path(workspace.spec.removeprefix("file://"))
    if workspace.base is None or not folder.expanduser().is_dir():
        raise InputError(
            f"the starter {workspace.spec} is not a git repository on this machine; export the result as a patch, or "
            "pass a clone of the repository with --to"
        )
    touched = set(workspace.changed())
    if not touched:
        raise InputError("the run changed nothing: there is nothing to apply")
    commits = []
    before = workspace.files_of(0)
    if workspace.dirty:
        snapshot = {path: file for path, file in before.items() if path in touched}
        if snapshot:
            commits.append(NewCommit(snapshot, "Uncommitted changes from before the run", workspace.versions[0].when))
    for version in workspace.versions[1:]:
        files = workspace.files_of(version.number)
        changes: dict[str, TreeFile | None] = dict.fromkeys(before.keys() - files.keys())
        changes |= {path: file for path, file in files.items() if before.get(path) != file}
        _require_writable(changes, before)
        commits.append(NewCommit(changes, version.reason, version.when))
        before = files
    return add_branch(folder.expanduser(), name, workspace.base, commits)


def _require_writable(changed: Iterable[str], starter: Container[str]) -> None:
    for path in sorted(changed):
        if why := refused_path(path, starter):
            raise UnsafeInputError(f"the run changed {path!a}, which is left out of the result: {why}")
