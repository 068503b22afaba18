"""Bar charts and histograms as SVG, drawn here so that pages need no library for plots and follow light and dark."""

import math
from collections.abc import Sequence
from typing import NamedTuple

WIDTH = 820.0
_LABELS = 320.0
"""Room for the names at the left."""
_RIGHT, _TOP, _BOTTOM = 20.0, 6.0, 40.0
_ROW = 20.0
_THICK = 13.0
_LONGEST = 40
_HIGH = 220.0
_TICKS = 6


class Segment(NamedTuple):
    """A part of a bar from `start` to `end` in units of the axis, of a CSS class; `part` is its share of the bar's
    thickness."""

    start: float
    end: float
    kind: str
    part: float = 1.0


class Rect(NamedTuple):
    x: float
    y: float
    width: float
    height: float
    kind: str
    words: str


class Label(NamedTuple):
    x: float
    y: float
    text: str


class Chart(NamedTuple):
    """A drawing: `caption` says what it shows, `axis` what its numbers are, `grid` where their lines stand, `legend`
    the CSS classes with their names. `mark` is a line across, None for none."""

    caption: str
    axis: Label
    height: float
    rects: Sequence[Rect]
    names: Sequence[Label]
    ticks: Sequence[Label]
    grid: Sequence[tuple[float, float, float, float]]
    legend: Sequence[tuple[str, str]]
    mark: float | None = None
    width: float = WIDTH


def bars(
    caption: str,
    axis: str,
    rows: Sequence[tuple[str, Sequence[Segment]]],
    legend: Sequence[tuple[str, str]] = (),
    most: float | None = None,
) -> Chart:
    """A bar for each row, from left to right up to `most`, or as far as they go."""
    longest = most or max((segment.end for _, own in rows for segment in own), default=0.0) or 1.0
    scale = (WIDTH - _LABELS - _RIGHT) / longest
    bottom = _TOP + _ROW * max(1, len(rows))
    rects, names = [], []
    for number, (name, own) in enumerate(rows):
        middle = _TOP + _ROW * (number + 0.5)
        names.append(Label(_LABELS - 8, round(middle + 4, 1), _short(name)))
        for start, end, kind, part in own:
            thick = _THICK * part
            rects.append(
                Rect(
                    round(_LABELS + start * scale, 1), round(middle - thick / 2, 1), round((end - start) * scale, 1),
                    round(thick, 1), kind, f"{name}: {end - start:,.4g}",
                )
            )  # fmt: skip
    places = [(round(_LABELS + tick * scale, 1), tick) for tick in ticks(longest)]
    return Chart(
        caption,
        Label((_LABELS + WIDTH - _RIGHT) / 2, bottom + 34, axis),
        bottom + _BOTTOM,
        rects,
        names,
        [Label(x, bottom + 15, f"{tick:,g}") for x, tick in places],
        [(x, _TOP, x, bottom) for x, _ in places],
        legend,
    )


def histogram(caption: str, axis: str, values: Sequence[float], mark: float, cells: int = 20) -> Chart:
    """How many of these values in 0..1 lie in each of `cells` cells; `mark` is a value to compare with."""
    counts = [0] * cells
    for value in values:
        counts[max(0, min(int(value * cells + 1e-9), cells - 1))] += 1
    left, bottom = 60.0, _TOP + _HIGH
    wide = (WIDTH - left - _RIGHT) / cells
    longest = max(*counts, 1)
    scale = _HIGH / longest
    rects = [
        Rect(
            round(left + wide * number + 1, 1), round(bottom - count * scale, 1), round(wide - 2, 1),
            round(count * scale, 1), "fill-faithful", f"{number / cells:.2f} to {(number + 1) / cells:.2f}: {count}",
        )
        for number, count in enumerate(counts)
        if count
    ]  # fmt: skip
    heights = [tick for tick in ticks(longest) if tick == int(tick)]
    return Chart(
        caption,
        Label((left + WIDTH - _RIGHT) / 2, bottom + 34, axis),
        bottom + _BOTTOM,
        rects,
        [Label(left - 8, round(bottom - tick * scale + 4, 1), f"{tick:,g}") for tick in heights],
        [Label(round(left + (WIDTH - left - _RIGHT) * n / 5, 1), bottom + 15, f"{n / 5:g}") for n in range(6)],
        [(left, round(bottom - tick * scale, 1), WIDTH - _RIGHT, round(bottom - tick * scale, 1)) for tick in heights],
        (),
        round(left + (WIDTH - left - _RIGHT) * mark, 1),
    )


def ticks(most: float) -> list[float]:
    """Round numbers from 0 to `most`, about six of them."""
    rough = most / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * n for n in (1, 2, 5, 10) if power * n >= rough * 0.999)
    return [round(step * n, 10) for n in range(int(most / step + 1e-9) + 1)]


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else flat[: _LONGEST - 1] + "…"
