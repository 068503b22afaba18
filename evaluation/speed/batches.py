"""Batches of small papers: one process against two, a second run over an unchanged list, publishing into a large graph.

    python -m evaluation.speed.batches [--papers 200] [--graph 1000] [--small 20]

Papers are generated and built without a model and without packages, one thread a job in all arms; each arm begins with
an empty graph. What counts are the ratios of one run on an idle machine: the load average is printed with them.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from evaluation.generated.graph import SeededVectors, bundle, bundles
from xkg.config import EmbeddingSettings, Settings
from xkg.store.open import open_graph

PAPER = r"""\documentclass{{article}}\title{{The {name} filter}}\begin{{document}}\maketitle
\section{{Method}}\subsection{{{name} smoothing}}
We propose {name} smoothing, which averages each window of a signal after it was sorted, so that spikes are lost.
\begin{{equation}} y_t = \frac{{1}}{{w}} \sum_i x_{{t-i}} \end{{equation}}
\end{{document}}
"""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "XKG_EMBEDDING__THREADS")


PROGRAM = """
import resource, sys
from xkg.cli.main import main
try:
    main(sys.argv[1:])
finally:
    own = resource.getrusage(resource.RUSAGE_SELF)
    print(own.ru_utime + own.ru_stime, file=sys.stderr)
"""


class Ran(NamedTuple):
    """Wall and processor seconds of a command with all its processes, those of its own process, which publishes, and
    the largest of all processes so far in MB."""

    seconds: float
    processor: float
    own: float
    peak_mb: float


def write_list(folder: Path, papers: int) -> Path:
    for number in range(papers):
        name = "".join(chr(65 + int(digit)) for digit in str(number)).capitalize() + "ton"
        (folder / f"p{number}.tex").write_text(PAPER.format(name=name))
    listed = folder / "list.tsv"
    listed.write_text("".join(f"p{number}.tex\t\ttitle:p{number}\n" for number in range(papers)))
    return listed


def build(kg: Path, listed: Path, jobs: int) -> Ran:
    """Runs the command in a child, so that what it and its processes took can be read when it is gone."""
    limits = {"XKG_ENVIRONMENT__MAX_MB": "0", "XKG_PRUNE__MIN_LEVEL": "parsed", **dict.fromkeys(THREADS, "1")}
    command = ["build", "--papers", str(listed), "--jobs", str(jobs), "--llm", "none"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "--kg", str(kg), *command],
        env={**os.environ, **limits},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - started
    if done.returncode:
        raise SystemExit(done.stderr[-2000:] + done.stdout[-2000:])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Ran(seconds, processor, float(done.stderr.split()[-1]), after.ru_maxrss / 1024)


def publish_one(folder: Path, papers: int) -> tuple[float, float]:
    """Wall and processor seconds to publish one paper into an embedded graph of so many, with seeded vectors."""
    settings = Settings(kg=folder, embedding=EmbeddingSettings(model=SeededVectors.model))
    store = open_graph(settings, SeededVectors)
    store.publish(list(bundles(papers)))
    started, processor = time.monotonic(), time.process_time()
    store.publish([bundle(papers)])
    taken = time.monotonic() - started, time.process_time() - processor
    store.close()
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--papers", type=int, default=200)
    parser.add_argument("--small", type=int, default=20)
    parser.add_argument("--graph", type=int, default=1000)
    chosen = parser.parse_args()
    console, table = Console(), Table()
    for column in ("what", "wall s", "processor s", "of it to start and publish", "peak MB", "papers an hour"):
        table.add_column(column)

    def row(name: str, ran: Ran, papers: int) -> None:
        hourly = f"{papers / ran.seconds * 3600:,.0f}"
        own = f"{ran.own:.1f} ({ran.own / ran.processor:.0%})"
        table.add_row(name, f"{ran.seconds:.1f}", f"{ran.processor:.1f}", own, f"{ran.peak_mb:.0f}", hourly)
        console.print(f"{name}: {ran.seconds:.1f} s")

    with tempfile.TemporaryDirectory(prefix="xkg-batches-") as name:
        folder = Path(name)
        small_folder, large_folder = folder / "small", folder / "large"
        for each in (small_folder, large_folder):
            each.mkdir()
        small = build(folder / "kg-small", write_list(small_folder, chosen.small), 1)
        row(f"{chosen.small} papers, 1 job", small, chosen.small)
        listed = write_list(large_folder, chosen.papers)
        one = build(folder / "kg1", listed, 1)
        row(f"{chosen.papers} papers, 1 job", one, chosen.papers)
        two = build(folder / "kg2", listed, 2)
        row(f"{chosen.papers} papers, 2 jobs", two, chosen.papers)
        again = build(folder / "kg2", listed, 2)
        row("again, unchanged", again, chosen.papers)
        wall, processor = publish_one(folder / "graph", chosen.graph)
    console.print(table)
    console.print(f"2 jobs against 1: {one.seconds / two.seconds:.2f} x the papers an hour (floor 1.7)")
    console.print(
        f"memory of {chosen.papers} against {chosen.small}: {two.peak_mb / small.peak_mb:.2f} x (at most 1.5)"
    )
    console.print(f"again: {again.seconds:.1f} s (at most 10)")
    console.print(f"one paper into {chosen.graph:,}: {wall:.2f} s, {processor:.2f} s of processor (at most 3)")
    console.print(f"load average {', '.join(f'{value:.1f}' for value in os.getloadavg())} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
