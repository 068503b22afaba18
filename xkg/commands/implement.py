"""Implements `xkg implement`. Has an agent implement a method in starter code, and delivers the result to the user."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from xkg.agents.codification import start
from xkg.agents.codification.result import CodificationResult
from xkg.agents.codification.task import Task
from xkg.agents.codification.transcript import json_lines, write_inspect_log
from xkg.agents.workspace.files import apply as results
from xkg.agents.workspace.files.workspace import Workspace
from xkg.commands.graph.open import require_folder
from xkg.config import Settings
from xkg.errors import InputError
from xkg.llm.prices import model_of
from xkg.value import Value


class Applied(Value):
    """Where the result of a run was written: a branch, with its last commit, or a patch file."""

    run: str
    branch: str | None = None
    commit: str | None = None
    patch: str | None = None

    def __str__(self) -> str:
        if self.branch is not None:
            return f"branch {self.branch}, commit {(self.commit or '')[:12]}; see `git diff HEAD...{self.branch}`"
        return f"wrote {self.patch}; to apply the patch, run `git apply {self.patch}` in the starter's folder"


def implement(
    settings: Settings, task: Task, notify: Callable[[object], None], *, roots: Sequence[Path] | None = None
) -> CodificationResult:
    """Calls `xkg.agents.codification.start.implement`, and creates the graph's folder first."""
    require_folder(settings.kg)
    return start.implement(settings, task, notify, roots=roots)


def apply(
    settings: Settings,
    run: str,
    *,
    patch: Path | None = None,
    branch: str | None = None,
    to: Path | None = None,
    force: bool = False,
) -> Applied:
    """Delivers the result of a run to the user as a branch in the starter's repository, or in its clone `to`. If
    `patch` is set, or if the starter is not a local repository, writes a patch instead.

    Raises `InputError` if the run is unknown, if the file exists, or if the result was not accepted and `force` is not
    set. Raises the same errors as `xkg.agents.workspace.files.apply.branch`."""
    folder = find_run(settings, run)
    if not force:
        _require_accepted(folder)
    workspace = Workspace.open(folder)
    here = to is not None or (workspace.base is not None and Path(workspace.spec.partition("@")[0]).is_dir())
    if patch is None and here:
        name = branch or f"xkg/{folder.name}"
        return Applied(run=folder.name, branch=name, commit=results.branch(workspace, name, to))
    place = patch or Path(f"{folder.name}.patch")
    found = results.patch(workspace)
    try:
        with place.open("xb") as file:
            file.write(found)
    except FileExistsError:
        raise InputError(f"{place} already exists; choose another file with --patch") from None
    except OSError as error:
        raise InputError(f"{place} cannot be written ({error.strerror})") from error
    return Applied(run=folder.name, patch=str(place))


def transcript(settings: Settings, run: str, inspect: Path | None = None) -> str:
    """Returns the steps of a run as JSON lines. If `inspect` is set, writes a log to that file and returns a note about
    it. Raises the same errors as `find_run` and `xkg.agents.codification.transcript.write_inspect_log`."""
    folder = find_run(settings, run)
    if inspect is None:
        return json_lines(folder)
    models = {
        "code_model": model_of(settings.llm, "code_model"),
        "stronger_model": model_of(settings.llm, "stronger_model"),
        "expert_model": model_of(settings.llm, "expert_model"),
    }
    write_inspect_log(folder, inspect, models)
    return f"wrote {inspect}; to view the log, run `inspect view --log-dir {inspect.absolute().parent}`"


def find_run(settings: Settings, run: str) -> Path:
    """Finds the folder of a run by its name, a prefix of the name, or its path. Raises `InputError`, which lists the
    existing runs, if there is not exactly one match."""
    runs = settings.kg / start.RUNS
    if os.sep in run and (Path(run) / "workspace.json").is_file():
        return Path(run)
    names = sorted(path.name for path in runs.iterdir() if path.is_dir()) if runs.is_dir() else []
    found = [name for name in names if name == run] or [name for name in names if name.startswith(run)]
    if len(found) == 1:
        return runs / found[0]
    listed = ", ".join(found or names[-5:]) or "none"
    raise InputError(f"{run!a} {'matches several runs' if found else 'is not a run'} in {settings.kg} (runs: {listed})")


def _require_accepted(folder: Path) -> None:
    try:
        result = CodificationResult.model_validate_json((folder / "result.json").read_bytes())
    except (OSError, ValueError):
        raise InputError(
            f"the run {folder.name} is not finished; run the same command again, or use --force to "
            f"apply its current state"
        ) from None
    if result.result not in ("A", "B"):
        raise InputError(
            f"the run {folder.name} ended as {result.result}, not as working code (see {result.report}); use --force "
            f"to apply it anyway"
        )
