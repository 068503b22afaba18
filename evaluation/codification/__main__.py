"""How far `xkg implement` gets: counts of its runs by mode and class, beside the published means.

    python -m evaluation.codification RUNS… [--judgements FILE.csv]

RUNS are folders of runs (`<graph>/runs`). The judgements are rows `run,judge,quality,edited,repaired`: quality S1 (as
it should be), S2 (small repairs) or S3 (to be written anew), the lines that the agent edited, and those of them
that the judge had to repair; time saved is 1 − repaired/edited. Few runs are counts, no percentages; where two judges
differ, both are printed.

Published: Gandhi et al., "ResearchCodeAgent", 2025.
"""

import argparse
import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from xkg.agents.codification.result import CodificationResult
from xkg.agents.codification.verdict import Class
from xkg.errors import InputError
from xkg.value import Value

PUBLISHED = (
    "published, agent: A 25 %, B 21.9 %, C 43.8 %, D 9.4 %; S1 46.9 %; time saved 57.9 %. "
    "Error-free (A + B): prescribed 0 + 31 %, single call 12.5 + 6.3 %"
)
CLASSES: tuple[Class, ...] = ("A", "B", "C", "D")


class Judgement(Value):
    """One judge's view of a run."""

    run: str
    judge: str
    quality: str
    edited: int
    repaired: int

    @property
    def saved(self) -> float | None:
        return 1 - self.repaired / self.edited if self.edited else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, help="folders of runs")
    parser.add_argument("--judgements", type=Path, help="CSV of run, judge, quality, edited, repaired")
    options = parser.parse_args()
    results = results_in(options.runs)
    console = Console()
    console.print(by_mode(results))
    console.print(PUBLISHED, highlight=False)
    if options.judgements:
        for line in judged(judgements_in(options.judgements), {result.run: result for result in results}):
            console.print(line, highlight=False)


def results_in(folders: Iterable[Path]) -> list[CodificationResult]:
    """The runs that are over, in order. Raises `InputError` for a folder without one."""
    found = []
    for folder in folders:
        files = sorted(folder.glob("*/result.json"))
        if not files:
            raise InputError(f"{folder} holds no run that is over: give the folder `runs` of a graph")
        found += [CodificationResult.model_validate_json(file.read_bytes()) for file in files]
    return found


def by_mode(results: Sequence[CodificationResult]) -> Table:
    """Counts of classes, steps, edits and dollars, a row a mode."""
    table = Table("mode", "runs", *CLASSES, "steps", "edits", "expert", "dollars", title="Runs by class")
    for mode in sorted({result.mode for result in results}):
        of = [result for result in results if result.mode == mode]
        counts = Counter(result.result for result in of)
        dollars = [result.dollars for result in of]
        cost = "unknown" if None in dollars else f"{sum(each for each in dollars if each is not None):.3f}"
        sums = (sum(r.steps for r in of), sum(r.edits for r in of), sum(r.expert_calls for r in of))
        table.add_row(mode, str(len(of)), *(str(counts[name]) for name in CLASSES), *map(str, sums), cost)
    return table


def judgements_in(file: Path) -> list[Judgement]:
    with file.open(newline="", encoding="utf-8") as rows:
        return [Judgement.model_validate(row) for row in csv.DictReader(rows)]


def judged(judgements: Sequence[Judgement], results: dict[str, CodificationResult]) -> list[str]:
    """A line for each judgement, and one for all. Raises `InputError` for a judgement of an unknown run."""
    lines = []
    for each in judgements:
        if each.run not in results:
            raise InputError(f"there is no run {each.run} among those that were given")
        saved = "nothing edited" if each.saved is None else f"time saved {each.saved:.0%}"
        lines.append(
            f"{each.run} ({results[each.run].result}), judge {each.judge}: {each.quality}, {each.edited} lines edited, "
            f"{each.repaired} repaired, {saved}"
        )
    qualities = Counter(each.quality for each in judgements)
    edited, repaired = sum(each.edited for each in judgements), sum(each.repaired for each in judgements)
    counted = ", ".join(f"{name} {count}" for name, count in sorted(qualities.items()))
    lines.append(f"all: {counted}; {repaired} of {edited} edited lines were repaired")
    return lines


if __name__ == "__main__":
    main()
