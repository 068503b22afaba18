"""Figures and comparisons as text for a terminal, and the options that every measurement has."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from evaluation.results.compare import Comparison, compare
from evaluation.results.document import Figure, Results, counted_problems, read, write


def add_options(parser: argparse.ArgumentParser) -> None:
    """`--json FILE` and `--against EARLIER`."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")
    parser.add_argument(
        "--against", type=Path, metavar="EARLIER", help="compare with the --json file of an earlier run, item by item"
    )


def read_earlier(options: argparse.Namespace, measure: str) -> Results | None:
    """The results named by `--against`. Read them before any slow or paid work. Raises `InputError`."""
    return None if options.against is None else read(options.against, measure)


def conclude(
    results: Results, options: argparse.Namespace, say: Callable[[str], None] = print, *, beside: bool = True
) -> None:
    """Prints the table, then writes and compares as the options say. The earlier file is read before anything is
    written, so both may be the same file. Raises `InputError`."""
    earlier = read_earlier(options, results.measure)
    say(figures_table(results.figures, beside=beside))
    for line in counted_problems(results.problems):
        say(line)
    if options.json is not None:
        write(results, options.json)
    if earlier is not None:
        say("")
        say(f"against {options.against} (made {earlier.made_at}, {earlier.version} {earlier.commit})")
        say(comparison_table(compare(earlier, results)))


def figures_table(figures: Sequence[Figure], *, beside: bool = True) -> str:
    """One line per figure: value, interval, items, the published value (with `beside`), and who judged."""
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


def comparison_table(comparisons: Sequence[Comparison]) -> str:
    """One line per score, or a line that says that there is nothing to compare."""
    if not comparisons:
        return "no score is in both runs: nothing to compare"
    rows = [("", "before", "now", "difference", "95 % interval", "d_z", "p", "p (t)", "items", "papers", "unpaired")]
    for row in comparisons:
        spread = "" if row.low is None or row.high is None else f"{row.low:+.3f} to {row.high:+.3f}"
        difference = "" if row.difference is None else f"{row.difference:+.3f}"
        rows.append(
            (
                row.score,
                number(row.before, "number"),
                number(row.now, "number"),
                difference,
                spread,
                number(row.effect, "number"),
                number(row.p_permutation, "number"),
                number(row.p_t, "number"),
                str(row.items),
                str(row.papers),
                f"{row.only_before} + {row.only_now}",
            )
        )
    return aligned(rows, left={0})


def number(value: float | None, unit: str) -> str:
    """A value in its unit; '-' for None."""
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
    """Columns, those in `left` left-aligned, the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
