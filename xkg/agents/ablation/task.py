"""Defines ablation tasks, from a task file `ablate.yaml` or from options with the same names."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from xkg.agents.workspace.program.metric import Metric
from xkg.agents.workspace.task_file import read_fields, task_of
from xkg.errors import InputError
from xkg.sandbox.isolation.gpus import names
from xkg.sandbox.isolation.host_proxy import named_hosts
from xkg.value import Value

_FILE = re.compile(r"([^:]+\.(json|jsonl|csv)):([^:]+):(max|min)", re.IGNORECASE)
SEED = "{seed}"


class Task(Value):
    """An ablation task. The command `run` trains and evaluates. Each seed replaces `{seed}` in the command. `setup`
    runs before the command in the same sandbox. If `allow_hosts` lists hosts that `setup` may reach, `setup` runs only
    once, before all runs. `evaluate` runs after the command in a separate sandbox (see
    `xkg.agents.workspace.measured_run.measured`). The first of `metrics` is the primary metric. A metric is written as
    `results.json:test_mse:min`, `log.csv:val_loss:min` or a pattern such as `accuracy ([0-9.]+):max`. If `run` or
    `metrics` is empty, a model must find the missing value. `claimed` is the metric's value in the paper. A measured
    value reproduces the claim if it lies within the relative `tolerance`. `data` maps paths in the repository to
    read-only folders on this machine. `budget` is the maximum number of candidates. `seconds`, `memory_mb` and
    `disk_mb` limit one run and, separately, its evaluation. `devices` lists the GPUs (`nvidia:0`, or `nvidia` for all
    of a machine's GPUs). Each run uses one of them."""

    repo: str
    run: str = ""
    metrics: tuple[str, ...] = ()
    paper: str | None = None
    setup: str | None = None
    allow_hosts: tuple[str, ...] = ()
    evaluate: str | None = None
    data: Mapping[str, Path] = {}
    claimed: float | None = None
    tolerance: float = Field(default=0.05, gt=0)
    seeds: tuple[int, ...] = Field(default=(0, 1, 2, 3, 4), min_length=1)
    budget: int = Field(default=25, ge=1)
    seconds: float = Field(default=600, gt=0)
    memory_mb: int = Field(default=4096, ge=64)
    disk_mb: int = Field(default=1024, ge=16)
    only: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()

    @field_validator("seeds")
    @classmethod
    def _are_distinct(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(seeds)) < len(seeds):
            raise ValueError("give each seed only once, because a repeated run adds no evidence")
        return seeds

    @property
    def is_whole(self) -> bool:
        return bool(self.run and self.metrics)

    @property
    def metric(self) -> Metric:
        return parse_metric(self.metrics[0])

    def command(self, seed: int) -> str:
        """Returns the shell command for one seed. Each part of the command runs only if the previous parts succeed."""
        return self._of(seed, self.setup, self.run, self.evaluate)

    def training(self, seed: int) -> str:
        """Returns the command without `evaluate`."""
        return self._of(seed, None if self.allow_hosts else self.setup, self.run)

    def evaluation(self, seed: int) -> str | None:
        return self._of(seed, self.evaluate) if self.evaluate else None

    def with_modules_of(self, folder: str, name: str = "") -> "Task":
        """Returns a copy of the task whose commands set PYTHONPATH, so that Python finds the modules in a repository
        folder. If `name` is set, the folder itself is importable as the package `name`."""
        place = f"$PWD{folder and '/'}{folder}"
        link = f'names=$(mktemp -d) && ln -s "{place}" "$names/{name}" && ' if name else ""
        path = f'{link}export PYTHONPATH="{"$names" if name else place}${{PYTHONPATH:+:$PYTHONPATH}}" && '
        first = "setup" if self.setup else "run"
        named = [name for name in (first, "evaluate") if getattr(self, name)]
        return self.model_copy(update={name: path + getattr(self, name) for name in named})

    @staticmethod
    def _of(seed: int, *given: str | None) -> str:
        return " && ".join(part.strip().replace(SEED, str(seed)) for part in given if part)


def parse_metric(text: str) -> Metric:
    """Parses a metric from `file.json:path:min`, `file.csv:column:max`, or any form accepted by `Metric.parse`. Raises
    `InputError` if the text has none of these forms."""
    if match := _FILE.fullmatch(text):
        kind: Any = "csv" if match[2].lower() == "csv" else "json"
        direction: Any = match[4].lower()
        return Metric(source=kind, path=match[1], key=match[3], direction=direction)
    return Metric.parse(text)


def read_task(path: Path | None, flags: Mapping[str, object], *, planned: bool = False, offered: bool = False) -> Task:
    """Reads a task from a file. `flags` override the file's fields unless they are None. The command and metric may be
    missing if a model plans them (`planned`). The command may also be missing if the caller offers commands to choose
    from (`offered`). Raises `InputError` if the file cannot be read or a value is missing or invalid."""
    values: dict[str, Any] = {}
    if path is not None:
        values = read_fields(path, Task)
        for name in ("metrics", "devices", "allow_hosts"):
            if isinstance(values.get(name), str):
                values[name] = [values[name]]
    values |= {name: value for name, value in flags.items() if value is not None}
    for name, flag in (("repo", "--repo"), ("run", "--run"), ("metrics", "--metric")):
        may_lack = (planned and name != "repo") or (offered and name == "run")
        if not values.get(name) and not may_lack:
            model = "" if name == "repo" else ", or let a model find it with --llm"
            raise InputError(f"{name.rstrip('s')} is missing; set it with {flag}, or in a task file with --task{model}")
    task = task_of(Task, values)
    for metric in task.metrics:
        parse_metric(metric)
    names(task.devices)
    named_hosts(task.allow_hosts)
    if task.allow_hosts and not task.setup:
        raise InputError("--allow-host only applies to --setup; pass --setup too")
    return task
