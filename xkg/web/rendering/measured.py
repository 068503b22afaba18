"""Renders measured ablations, including the change of the metric, its confidence interval, and the diff."""

import hashlib
import math
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import escape

from xkg.model import Ablation
from xkg.web.rendering.source_lines import Line

WIDTH = 160.0
"""Width of a bar, in drawing units."""
_MARGIN = 6.0
_MOST_LINES = 400
_LEAST = 0.01
"""Minimum range of a bar, so that noise is not exaggerated."""


class Bar(NamedTuple):
    """A bar for a measured change. Positions are between 0 and WIDTH. `zero` means no change, `at` is the measured
    change, and `low` and `high` are the limits of the 95 % confidence interval, or None if the spread is unknown.
    `verdict` is `worse` or `better`, or `open` if the interval contains zero."""

    zero: float
    at: float
    low: float | None
    high: float | None
    verdict: str


class Shown(NamedTuple):
    """An ablation with its bar. `anchor` is the ablation's anchor on the technique's page. `diff` contains the lines of
    the diff, and `cut` is the number of lines that are not shown."""

    ablation: Ablation
    bar: Bar
    anchor: str
    diff: Sequence[Line]
    cut: int


def shown(ablations: Sequence[Ablation]) -> list[Shown]:
    """Returns the ablations with bars on a common scale."""
    ends = [end for a in ablations for end in (a.change, a.low, a.high) if end is not None and math.isfinite(end)]
    least, most = min([0.0, *ends]), max([_LEAST, *ends])
    scale = (WIDTH - 2 * _MARGIN) / (most - least)
    found = []
    for ablation in ablations:
        lines = ablation.diff.rstrip("\n").split("\n")
        found.append(
            Shown(
                ablation,
                _bar(ablation, least, scale),
                anchor(ablation),
                diff_lines(lines[:_MOST_LINES]),
                max(0, len(lines) - _MOST_LINES),
            )
        )
    return found


def anchor(ablation: Ablation) -> str:
    """Returns the ablation's anchor, which is the same on every page."""
    return f"change-{hashlib.sha256(ablation.id.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}"


def _bar(ablation: Ablation, least: float, scale: float) -> Bar:
    def place(change: float | None) -> float | None:
        if change is None or math.isnan(change):
            return None
        return round(min(max(_MARGIN + (change - least) * scale, 0.0), WIDTH), 1)

    low, high = ablation.low, ablation.high
    holds_none = low is not None and high is not None and low <= 0 <= high
    verdict = "worse" if (ablation.change > 0) == (ablation.direction == "min") else "better"
    return Bar(
        place(0.0) or 0.0,
        place(ablation.change) or 0.0,
        place(low),
        place(high),
        "open" if holds_none or ablation.change == 0 else verdict,
    )


def diff_lines(diff: Sequence[str]) -> list[Line]:
    """Renders the lines of a unified diff."""
    marks = {"+": "added", "-": "removed"}
    found = []
    for line in diff:
        is_head = line.startswith(("+++", "---", "@@", "diff ", "index "))
        found.append(Line(None, escape(line), "head" if is_head else marks.get(line[:1], "")))
    return found
