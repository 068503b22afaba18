"""Runs without worktrees: one tree for all candidates, one after another, as in the published ablation switch.

Each candidate's files overwrite those of the one before, and files that runs leave stay. Only for generated code: there
is no sandbox."""

import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from xkg.agents.ablation.changed_code import ChangedPlace
from xkg.agents.ablation.outcomes import RunOutcome
from xkg.agents.ablation.task import Task, parse_metric
from xkg.agents.workspace.measured_run import Origin
from xkg.agents.workspace.metric import Metric
from xkg.agents.workspace.workspace import Workspace
from xkg.errors import MetricError
from xkg.sandbox.isolation.interpreters import own


class OneTree:
    """Has the signature of `xkg.agents.ablation.running.on_engine.Elsewhere`."""

    def __init__(self, folder: Path) -> None:
        self._tree = folder / "tree"
        self._programs = folder / "bin"
        self._tree.mkdir(parents=True)
        self._programs.mkdir()
        (self._programs / "python").symlink_to(own().program)
        self._lock = threading.Lock()

    def __call__(
        self,
        task: Task,
        workspace: Workspace,
        seed: int,
        _day: str | None,
        _changed: Sequence[ChangedPlace],
        _origin: Origin,
    ) -> RunOutcome:
        with self._lock:
            for path, file in workspace.files.items():
                place = self._tree / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(file.content)
            command = task.command(seed)
            began = time.monotonic()
            ran = subprocess.run(
                command,
                shell=True,
                cwd=self._tree,
                env={"PATH": f"{self._programs}:/usr/bin:/bin", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"},
                capture_output=True,
                text=True,
                timeout=task.seconds,
                check=False,
            )
            seconds = time.monotonic() - began
            value, problem = None, None
            if ran.returncode == 0:
                value, problem = self._read(parse_metric(task.metrics[0]), ran.stdout)
        failed = value is None
        return RunOutcome(
            seed=seed,
            command=command,
            values=() if failed else (value,),
            seconds=seconds,
            failure="error" if failed else None,
            problem=(problem or ran.stderr.strip()[-200:] or "it failed") if failed else None,
        )

    def _read(self, metric: Metric, output: str) -> tuple[float | None, str | None]:
        files = {name: (self._tree / name).read_bytes() for name in metric.files if (self._tree / name).exists()}
        try:
            return metric.read(output, files), None
        except MetricError as error:
            return None, str(error)
