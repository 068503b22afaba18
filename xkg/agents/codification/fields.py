"""Defines a task's fields, which become `xkg implement` options and Python arguments."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from xkg.option import Option

Mode = Literal["agent", "single", "prescribed"]


class NamedFields(TypedDict, total=False):
    """The required fields of a task, which may be set in its file or as options."""

    method: Annotated[
        str, Option("Method: paper.tex#sec:method, a text file, a paper or technique in the graph, or text.")
    ]
    starter: Annotated[str, Option("Folder, folder@commit or https URL of the starter code.")]
    run: Annotated[str, Option("Command that trains and evaluates, such as 'python train.py'.")]
    metric: Annotated[str, Option("Metric: 'test acc: ([0-9.]+):max', json:FILE#PATH:max or csv:FILE#COLUMN:min.")]


class TaskFields(TypedDict, total=False):
    """The optional fields of `Task`."""

    evaluate: Annotated[
        str, Option("Command that measures the output of --run in a separate sandbox, and prints the metric.")
    ]
    script: Annotated[str, Option("The starter's file to begin with.")]
    baseline: Annotated[float, Option("The starter's metric, to skip measuring it.")]
    pseudocode: str
    data_description: str
    data: Annotated[Mapping[str, Path], Option("Mount this folder read-only at PATH (repeatable).")]
    related: Annotated[
        Sequence[str],
        Option("Read-only file or folder that belongs to the method, in the starter or elsewhere (repeatable)."),
    ]
    protect: Annotated[
        Sequence[str], Option("File or file::function in the evaluation that must not change (repeatable).")
    ]
    may_change_evaluation: Annotated[bool, Option("Allow changes to evaluation code; the report lists them.")]
    mode: Annotated[
        Mode, Option("Mode: agent (default) or, for comparison, single (one call) or prescribed (a fixed sequence).")
    ]
    graph: Annotated[bool, Option("Work without the graph's techniques and code.", "--no-graph")]


class AllFields(NamedFields, TaskFields, total=False):
    """All fields of a task."""
