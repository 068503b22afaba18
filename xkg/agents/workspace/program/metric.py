"""Parses metrics: a pattern in a run's output, a value in a JSON file, or the last row of a CSV column.

test accuracy: ([0-9.]+):max       the last match in the output
json:results.json#test.accuracy:max
csv:log.csv#val_loss:min
"""

import csv
import io
import json
import math
import re
from collections.abc import Mapping
from typing import Literal

from xkg.errors import InputError, MetricError
from xkg.text.unicode import printable_line
from xkg.value import Value

Direction = Literal["max", "min"]

_LONGEST_LINE = 4000
_MOST_LINES = 200_000
_FILE = re.compile(r"(json|csv):([^#]+)#(.+)", re.S)


class Metric(Value):
    """A metric. If `source` is `output`, `key` is a regular expression whose group (or whole match) is the number. If
    `source` is `json`, `key` is a dotted path of names and list indices. If `source` is `csv`, `key` is a column.
    `path` is the JSON or CSV file."""

    source: Literal["output", "json", "csv"]
    key: str
    direction: Direction
    path: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Metric":
        """Parses a metric in the format that this module's docstring describes. Raises `InputError` if the text is
        invalid."""
        rest, colon, direction = text.rpartition(":")
        if not colon or direction not in ("max", "min") or not rest:
            raise InputError(
                f"the metric {text!a} does not say whether higher or lower is better; end it with :max or :min, "
                "as in 'test accuracy: ([0-9.]+):max'"
            )
        if match := _FILE.fullmatch(rest):
            return cls(source=match[1], path=match[2], key=match[3], direction=direction)  # type: ignore[arg-type]
        try:
            pattern = re.compile(rest)
        except (re.error, RecursionError, OverflowError) as error:
            raise InputError(f"the metric {rest!a} is not a valid regular expression ({error})") from error
        if re.search(r"\n|\\n", re.sub(r"\[[^\]]{0,200}\]", "", rest)):
            raise InputError(
                f"the metric {rest!a} has a line break, but is matched against one line at a time; remove the line "
                "break"
            )
        plain = re.sub(r"\[[^\]]{0,200}\]|\\[a-zA-Z]|\(\?[a-zA-Z]+\)|nan|inf", "", rest)
        if pattern.groups == 0 and re.search(r"[^\W\d_]{2}", plain):
            raise InputError(f"the metric {rest!a} matches more than a number; put ( ) around the number")
        if pattern.groups > 1:
            raise InputError(f"the metric {rest!a} has {pattern.groups} groups; put ( ) around the number only")
        return cls(source="output", key=rest, direction=direction)  # type: ignore[arg-type]

    def __str__(self) -> str:
        where = self.key if self.source == "output" else f"{self.source}:{self.path}#{self.key}"
        return f"{where}:{self.direction}"

    @property
    def files(self) -> tuple[str, ...]:
        """Returns the files of a run that contain the metric."""
        return () if self.path is None else (self.path,)

    def read(self, output: str, files: Mapping[str, bytes]) -> float:
        """Returns the last value. Has no time limit, so use `SourceReader.metric` for a run's output.

        Raises `MetricError` if there is no value, or if the value is NaN, infinite or text."""
        if self.source == "output":
            return _number(self._in_output(output), f"the output's last match of {self.key!a}")
        assert self.path is not None
        content = files.get(self.path)
        if content is None:
            raise MetricError(f"the run wrote no readable file {self.path} of at most 4 MB")
        text = content.decode("utf-8", "replace")
        value = self._in_json(text) if self.source == "json" else self._in_csv(text)
        return _number(value, f"{self.path}#{self.key}")

    def is_better(self, value: float, than: float) -> bool:
        return value > than if self.direction == "max" else value < than

    def _in_output(self, output: str) -> object:
        pattern = re.compile(self.key)
        lines = output.splitlines()[-_MOST_LINES:]
        for line in reversed(lines):
            matches = list(pattern.finditer(line[:_LONGEST_LINE]))
            if matches:
                return matches[-1][1] if pattern.groups else matches[-1][0]
        last = next((line for line in reversed(lines) if re.search(r"\d", line)), None)
        shown = (
            "no line contains a digit"
            if last is None
            else f"its last line with a number is {printable_line(last[:200])!a}"
        )
        raise MetricError(f"no line in the output matches {self.key!a}; {shown}")

    def _in_json(self, text: str) -> object:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            lines = [line for line in text.splitlines() if line.strip()]
            try:  # if the file has one object per line, use the last one
                value = json.loads(lines[-1])
            except (ValueError, RecursionError, IndexError):
                raise MetricError(f"{self.path} is not valid JSON") from None
        for name in self.key.split("."):
            if isinstance(value, dict) and name in value:
                value = value[name]
            elif isinstance(value, list) and re.fullmatch(r"-?\d{1,9}", name) and -len(value) <= int(name) < len(value):
                value = value[int(name)]
            else:
                raise MetricError(f"{self.path} has no {name!a} at {self.key!a}")
        return value

    def _in_csv(self, text: str) -> object:
        try:
            header, *rows = csv.reader(io.StringIO(text), strict=True)
            column = header.index(self.key)
            return next(row[column] for row in reversed(rows) if len(row) > column and row[column])
        except csv.Error as error:
            raise MetricError(f"{self.path} is not valid CSV ({error})") from error
        except (ValueError, StopIteration):
            raise MetricError(f"{self.path} has no value in the column {self.key!a}") from None


def plain_text(pattern: str) -> str:
    """Replaces a pattern's escapes and classes with bars, which leaves only words that occur literally in the
    output."""
    return re.sub(r"\\.|\[[^\]]{0,200}\]|\(\?\w{0,20}", "|", pattern)


def _number(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise MetricError(f"{where} is {str(value)[:40]!a}, not a number")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise MetricError(f"{where} is {str(value)[:40]!a}, not a number") from None
    if not math.isfinite(number):
        raise MetricError(f"{where} is {number}: training has diverged, or nothing was measured")
    return number
