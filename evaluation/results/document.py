"""Reads and writes a measurement's results as a JSON file.

    {"measure": "executability", "made_at": "2026-11-22T17:00:00+00:00", "version": "0.3.0", "about": {"graph": "…"},
     "figures": [{"name": "executed now", "value": 0.71, "low": 0.6, "high": 0.8, "count": 309, "unit": "share",
                  "source": "counted", "published": "52.38 % → 100 %"}],
     "scores": {"executed now": {"<code id>": 1.0}}, "problems": ["gold.json: line 3: …"]}

`scores` contains one number per item, so that a later run can be compared item by item (`statistics.py`). `source` says
where a judgement comes from: a counting program, human labels, or a judging model."""

import math
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, FiniteFloat, ValidationError

from evaluation.inputs.rows import LARGEST, first_error
from evaluation.results.statistics import Bounds, interval, share_interval
from xkg.errors import InputError
from xkg.files import read_regular, write_whole
from xkg.value import Value
from xkg.version import __version__

Unit = Literal["share", "number", "dollars", "count"]


class Figure(Value):
    """A number with its 95% interval (None if there is no interval). If nothing was measured, `value` is None and
    `note` says why. `count` is the number of items. `published` is the value reported in a publication."""

    name: str
    value: FiniteFloat | None
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    count: int = 0
    unit: Unit = "share"
    source: str = "counted"
    published: str = ""
    note: str = ""


class Results(Value):
    """A measurement's results. `about` contains inputs and settings, and `details` contains the tables behind the
    figures. `problems` lists unusable inputs, one line each."""

    measure: str
    made_at: str = Field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    version: str = __version__
    commit: str = Field(default_factory=lambda: commit())
    about: dict[str, str] = Field(default={})
    figures: tuple[Figure, ...] = ()
    scores: dict[str, dict[str, FiniteFloat]] = Field(default={})
    details: dict[str, Any] = Field(default={})
    problems: tuple[str, ...] = ()


def commit() -> str:
    """Returns the commit of the clone that runs the measurement, followed by `-dirty` if files have been modified.
    Returns '' outside a clone."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def mean_figure(
    name: str,
    scores: Mapping[str, float],
    *,
    unit: Unit = "share",
    source: str = "counted",
    published: str = "",
    note: str = "",
) -> Figure:
    """Returns the mean of the items' scores with an interval over papers, or a figure without a value if there are no
    items."""
    value: float | None = None
    bounds: Bounds = (None, None)
    if scores:
        bounds = interval(scores) if unit != "share" else share_interval(scores)
        value = math.fsum(scores.values()) / len(scores)
    return Figure(
        name=name,
        value=value,
        low=bounds[0],
        high=bounds[1],
        count=len(scores),
        unit=unit,
        source=source if scores else "",
        published=published,
        note=note or ("" if scores else "no items"),
    )


def write(results: Results, path: Path) -> None:
    """Writes the file atomically. Raises `InputError` if the file cannot be written."""
    try:
        write_whole(path, results.model_dump_json(indent=1, ensure_ascii=True).encode() + b"\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); choose another file") from error


def read(path: Path, measure: str | None = None) -> Results:
    """Reads earlier results. Raises `InputError` if the file cannot be read, or does not contain results of this
    measurement."""
    try:
        results = Results.model_validate_json(read_regular(path, LARGEST))
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); pass the --json file of an earlier run"
        ) from error
    except ValidationError as error:
        raise InputError(
            f"{path}: contains no results ({first_error(error)}); pass a file written with --json"
        ) from error
    if measure is not None and results.measure != measure:
        raise InputError(f"{path}: measures {results.measure}, not {measure}; pass an earlier run of {measure}")
    return results
