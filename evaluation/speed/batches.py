"""Measures batches of small papers. Compares one process with two. Also times a second run on an unchanged list, and
publishing a paper into a large graph.

    python -m evaluation.speed.batches [--papers 200] [--graph 1000] [--small 20]

Papers are short, as in real batches (`evaluation.generated.short_papers`), and their code is imported in the sandbox.
The papers are built without a model or packages, with one thread per job, starting from an empty graph. A single job
also uses part of a second core, because the sandbox and publishing run in parallel. A single job is therefore measured
on two cores and on one core. Use only the ratios from a single run on an idle machine. The load average is also
printed."""

import contextlib
import ctypes
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
from evaluation.generated.short_papers import write_short_paper
from evaluation.inputs.command import run_command
from xkg.config import EmbeddingSettings, Settings
from xkg.store.open import open_graph

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "XKG_EMBEDDING__THREADS")


_SET_CHILD_SUBREAPER = 36

PROGRAM = """
import os, resource, sys
if sys.argv[1] == "bound":
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
from xkg.cli.main import main
try:
    main(sys.argv[2:])
finally:
    own = resource.getrusage(resource.RUSAGE_SELF)
    print(own.ru_utime + own.ru_stime, file=sys.stderr)
"""


class Ran(NamedTuple):
    """The elapsed and CPU seconds of a command and all its processes. `own` is the CPU seconds of the main process,
    which publishes papers. `peak_mb` is the peak memory of the largest process so far."""

    seconds: float
    processor: float
    own: float
    peak_mb: float


ARMS = ("1 job", "1 job on one core", "1 job", "2 jobs", "again, unchanged")


def write_list(folder: Path, papers: int) -> Path:
    """Writes this many short papers, and a list of all of them."""
    listed = folder / "list.tsv"
    pairs = (write_short_paper(folder / f"p{number}", number) for number in range(papers))
    listed.write_text("".join(f"{paper}\t{code}\ttitle:p{n}\n" for n, (paper, code) in enumerate(pairs)))
    return listed


def build(kg: Path, listed: Path, jobs: int, *, bound: bool = False) -> Ran:
    """Runs the build in a child process, so that the resource usage of its processes can be read after they end. If
    `bound` is set, the build uses only one core."""
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1)  # processes that outlive the command become our children
    limits = {"XKG_ENVIRONMENT__MAX_MB": "0", "XKG_PRUNE__MIN_LEVEL": "parsed", **dict.fromkeys(THREADS, "1")}
    command = ["build", "--papers", str(listed), "--jobs", str(jobs), "--llm", "none"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "bound" if bound else "free", "--kg", str(kg), *command],
        env={**os.environ, **limits},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - started
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()  # the fork server ends shortly after the process that started it
    if done.returncode:
        raise SystemExit(done.stderr[-2000:] + done.stdout[-2000:])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Ran(seconds, processor, float(done.stderr.split()[-1]), after.ru_maxrss / 1024)


def publish_one(folder: Path, papers: int) -> tuple[float, float]:
    """Returns the wall and CPU seconds for publishing one paper, with seeded vectors, into an embedded graph of this
    many papers."""
    settings = Settings(kg=folder, embedding=EmbeddingSettings(model=SeededVectors.model))
    store = open_graph(settings, SeededVectors)
    store.publish(list(bundles(papers)))
    started, processor = time.monotonic(), time.process_time()
    store.publish([bundle(papers)])
    taken = time.monotonic() - started, time.process_time() - processor
    store.close()
    return taken


class Arms(NamedTuple):
    small: Ran
    bound: Ran
    one: Ran
    two: Ran
    again: Ran


def measure(folder: Path, small: int, papers: int) -> Arms:
    for each in ("small", "large"):
        (folder / each).mkdir(parents=True)
    few, many = write_list(folder / "small", small), write_list(folder / "large", papers)
    return Arms(
        build(folder / "kg-small", few, 1),
        build(folder / "kg0", many, 1, bound=True),
        build(folder / "kg1", many, 1),
        build(folder / "kg2", many, 2),
        build(folder / "kg2", many, 2),
    )


def main(*, papers: int = 200, small: int = 20, graph: int = 1000) -> None:
    console = Console()
    table = Table("what", "wall s", "processor s", "of it to start and publish", "peak MB", "papers an hour")
    with tempfile.TemporaryDirectory(prefix="xkg-batches-") as name:
        arms = measure(Path(name), small, papers)
        for what, count, ran in zip(ARMS, (small, *[papers] * 4), arms, strict=True):
            cells = f"{ran.seconds:.1f}", f"{ran.processor:.1f}", f"{ran.own:.1f} ({ran.own / ran.processor:.0%})"
            rate = f"{ran.peak_mb:.0f}", f"{count / ran.seconds * 3600:,.0f}"
            table.add_row(f"{count} papers, {what}", *cells, *rate)
        wall, processor = publish_one(Path(name) / "graph", graph)
    few, bound, one, two, again = arms
    console.print(table)
    console.print(
        f"2 jobs against 1: {one.seconds / two.seconds:.2f} x the papers an hour (floor 1.7; of both cores "
        f"{2 * one.seconds / one.processor:.2f} x), against 1 job on one core {bound.seconds / two.seconds:.2f} x; "
        f"{two.processor / one.processor:.2f} x the processor's time"
    )
    console.print(f"memory of {papers} against {small}: {two.peak_mb / few.peak_mb:.2f} x (at most 1.5)")
    console.print(f"again: {again.seconds:.1f} s (at most 10)")
    console.print(f"one paper into {graph:,}: {wall:.2f} s, {processor:.2f} s of processor (at most 3)")
    console.print(f"load average {', '.join(f'{value:.1f}' for value in os.getloadavg())} on {os.cpu_count()} cores")


if __name__ == "__main__":
    run_command(main)
