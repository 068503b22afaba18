"""Defines a task's fields, which become `xkg ablate` options and Python arguments."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypedDict

from xkg.option import Option


class RepositoryField(TypedDict, total=False):
    repo: Annotated[str, Option("Repository: folder, folder@commit or https URL.")]


class TaskFields(TypedDict, total=False):
    """The fields of `Task` other than `repo`."""

    run: Annotated[str, Option("Command that trains and evaluates; {seed} is replaced by each seed.")]
    metrics: Annotated[
        Sequence[str],
        Option(
            "Metric: results.json:mse:min, log.csv:loss:min or a pattern (repeatable; the first is primary).",
            "--metric",
        ),
    ]
    paper: Annotated[str, Option("Paper in the graph whose techniques are the components.")]
    setup: Annotated[str, Option("Command that runs before --run, in the same sandbox.")]
    allow_hosts: Annotated[
        Sequence[str],
        Option(
            "Host that --setup may reach, such as data.example.org; --setup then runs once (repeatable).",
            "--allow-host",
        ),
    ]
    evaluate: Annotated[str, Option("Command that measures the output of --run in a separate sandbox.")]
    data: Annotated[Mapping[str, Path], Option("Mount this folder read-only at PATH (repeatable).")]
    claimed: Annotated[float, Option("Value of the primary metric in the paper.")]
    tolerance: Annotated[float, Option("Relative tolerance of --claimed (default: 0.05).")]
    seeds: Annotated[Sequence[int], Option("Seed of a baseline run (repeatable; default: 0 to 4).", "--seed")]
    budget: Annotated[int, Option("Maximum number of candidates (default: 25).")]
    seconds: Annotated[float, Option("Time limit for one run, in seconds (default: 600).")]
    memory_mb: Annotated[int, Option("Memory limit for one run, in MB (default: 4096).")]
    disk_mb: Annotated[int, Option("Scratch disk limit for one run, in MB (default: 1024).")]
    only: Annotated[Sequence[str], Option("Only components whose name contains this text (repeatable).")]
    devices: Annotated[
        Sequence[str],
        Option("A GPU such as nvidia:0, or nvidia for all; each run gets one (repeatable).", "--device"),
    ]


class AllFields(RepositoryField, TaskFields, total=False):
    """All fields of a task."""
