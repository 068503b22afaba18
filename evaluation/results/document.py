"""The results of a measurement, as a JSON file.

    {"measure": "executability", "made_at": "2026-11-22T17:00:00+00:00", "version": "0.3.0", "about": {"graph": "…"},
     "figures": [{"name": "executed now", "value": 0.71, "low": 0.6, "high": 0.8, "count": 309, "unit": "share",
                  "source": "counted", "published": "52.38 % → 100 %"}],
     "scores": {"executed now": {"<code id>": 1.0}}, "problems": ["gold.json: line 3: …"]}

`scores` have one number per item, so that a later run can be compared item by item (`compare.py`). `source` says where
a judgement comes from: a counting program, a person's labels, or the judging model."""

import json
import math
import subprocess
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from evaluation.results.intervals import interval, share_interval
from xkg.errors import InputError
from xkg.files import read_regular, write_whole
from xkg.value import Value
from xkg.version import __version__

Unit = Literal["share", "number", "dollars", "count"]
LARGEST = 256 * 1024 * 1024


class Figure(Value):
    """One number with its 95 % interval, None if there is none. `value` is None if nothing was measured, and `note`
    then says why. `count` is the number of items. `published` is the value that others report."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    count: int = 0
    unit: Unit = "share"
    source: str = "counted"
    published: str = ""
    note: str = ""


class Results(Value):
    """`about` are the inputs and settings, `details` the tables behind the figures; `problems` are unusable inputs, one
    line each."""

    measure: str
    made_at: str = Field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    version: str = __version__
    commit: str = Field(default_factory=lambda: commit())
    about: dict[str, str] = Field(default={})
    figures: tuple[Figure, ...] = ()
    scores: dict[str, dict[str, float]] = Field(default={})
    details: dict[str, Any] = Field(default={})
    problems: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _finite(self) -> "Results":
        numbers = [score for scores in self.scores.values() for score in scores.values()]
        numbers += [x for f in self.figures for x in (f.value, f.low, f.high) if x is not None]
        if not all(map(math.isfinite, numbers)):
            raise ValueError("a number is not finite")
        return self


def commit() -> str:
    """The commit of the measuring clone, marked if files differ from it; '' outside of a clone."""
    here = Path(__file__).resolve().parent
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--exclude=*"],
            cwd=here,
            capture_output=True,
            text=True,
            timeout=20,
        )
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
    """The mean of items' scores with its interval over papers; a figure without a value if there are no items."""
    if not scores:
        return Figure(name=name, value=None, unit=unit, source="", published=published, note=note or "no items")
    low, high = interval(scores) if unit != "share" else share_interval(scores)
    mean = math.fsum(scores.values()) / len(scores)
    return Figure(
        name=name,
        value=mean,
        low=low,
        high=high,
        count=len(scores),
        unit=unit,
        source=source,
        published=published,
        note=note,
    )


def write(results: Results, path: Path) -> None:
    """Writes the file atomically. Raises `InputError` if it cannot be written."""
    try:
        write_whole(path, json.dumps(results.model_dump(), ensure_ascii=True, indent=1).encode() + b"\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); choose another file") from error


def read(path: Path, measure: str | None = None) -> Results:
    """Raises `InputError` for a file that cannot be read, has no results, or has those of another measurement."""
    try:
        results = Results.model_validate_json(read_regular(path, LARGEST))
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); give the --json file of an earlier run"
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise InputError(f"{path}: holds no results ({where}: {first['msg']}); give what --json wrote") from error
    if measure is not None and results.measure != measure:
        raise InputError(f"{path}: measures {results.measure}, not {measure}; give an earlier run of {measure}")
    return results


def counted_problems(problems: Iterable[str], most: int = 10) -> list[str]:
    """Lines for a person: the number of unusable inputs, and the first of them."""
    every = list(problems)
    if not every:
        return []
    lines = [f"{len(every)} input{'s' * (len(every) != 1)} could not be used:"]
    lines += [f"  {line}" for line in every[:most]]
    return lines + ([f"  … and {len(every) - most} more"] if len(every) > most else [])
