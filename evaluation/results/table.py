"""Formats figures and comparisons as text for a terminal."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from evaluation.results.document import Figure, Results, read, write
from evaluation.results.statistics import Comparison, interval, paired

_LISTED = 10


def conclude(
    results: Results,
    json: Path | None,
    earlier: Results | None,
    say: Callable[[str], None] = print,
    *,
    beside: bool = True,
) -> None:
    """Prints the table and the unusable inputs, writes the results to `json`, and compares them with an earlier run. To
    fail early, call `read_earlier` before any slow or paid work. Raises `InputError`."""
    say(figures_table(results.figures, beside=beside))
    if results.problems:
        say(f"{len(results.problems)} input{'s' * (len(results.problems) != 1)} could not be used:")
        for line in results.problems[:_LISTED]:
            say(f"  {line}")
        if len(results.problems) > _LISTED:
            say(f"  … and {len(results.problems) - _LISTED} more")
    if json is not None:
        write(results, json)
    if earlier is not None:
        say(f"\nagainst the run of {earlier.made_at} ({earlier.version} {earlier.commit})")
        say(comparison_table(earlier.scores, results.scores))


def read_earlier(path: Path | None, measure: str) -> Results | None:
    """Returns the results of an earlier run, or None if `path` is None. Raises `InputError`."""
    return None if path is None else read(path, measure)


def figures_table(figures: Sequence[Figure], *, beside: bool = True) -> str:
    """Returns one line per figure with the value, the interval, the number of items, the published value (if `beside`
    is set), and the judgements' source."""
    heads = ("", "here", "95 % interval", "items", *(("published",) if beside else ()), "source")
    rows = [heads]
    for figure in figures:
        value = number(figure.value, figure.unit)
        if figure.low is None or figure.high is None:
            spread = ""
        else:
            spread = f"{number(figure.low, figure.unit)} to {number(figure.high, figure.unit)}"
        source = "; ".join(filter(None, (figure.source, figure.note)))
        count = str(figure.count) if figure.count else ""
        rows.append((figure.name, value, spread, count, *((figure.published,) if beside else ()), source))
    return aligned(rows, left={0, len(heads) - 1, *({4} if beside else ())})


def comparison_table(before: Mapping[str, Mapping[str, float]], now: Mapping[str, Mapping[str, float]]) -> str:
    """Returns one line for each score in both runs, in the order of the later run. If the runs have no scores in
    common, returns a line that says so."""
    rows = [paired(name, before[name], now[name]) for name in now if name in before]
    if not rows:
        return "the runs have no score in common: nothing to compare"
    heads = ("", "before", "now", *DIFFERENCE, "p (t)", "items", "papers", "unpaired")
    cells = [
        (
            row.score,
            number(row.before, "number"),
            number(row.now, "number"),
            *difference(row),
            number(row.p_t, "number"),
            str(row.items),
            str(row.papers),
            f"{row.only_before} + {row.only_now}",
        )
        for row in rows
    ]
    return aligned([heads, *cells], left={0})


DIFFERENCE = ("difference", "95 % interval", "d_z", "p")


def difference(row: Comparison) -> tuple[str, ...]:
    """Returns the cells for the columns in `DIFFERENCE`."""
    spread = "" if row.low is None or row.high is None else f"{row.low:+.3f} to {row.high:+.3f}"
    mean = "" if row.difference is None else f"{row.difference:+.3f}"
    return mean, spread, number(row.effect, "number"), number(row.p_permutation, "number")


def mean_with_interval(values: Sequence[float], form: str = ".2f") -> str:
    """Formats the mean of independent values with its interval, or returns 'none' if there are no values."""
    if not values:
        return "none"
    low, high = interval({str(n): value for n, value in enumerate(values)})
    spread = "" if low is None or high is None else f" [{low:{form}}, {high:{form}}]"
    return f"{fmean(values):{form}}{spread}"


def number(value: float | None, unit: str) -> str:
    """Formats a value with its unit, or None as '-'."""
    if value is None:
        return "-"
    match unit:
        case "share":
            return f"{value:.1%}"
        case "dollars":
            return f"${value:,.2f}"
        case "count":
            return f"{value:,.1f}" if value != round(value) else f"{value:,.0f}"
        case _:
            return f"{value:.3f}"


def aligned(rows: Sequence[Sequence[str]], left: set[int]) -> str:
    """Aligns columns. Columns listed in `left` are left-aligned, and all others right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
