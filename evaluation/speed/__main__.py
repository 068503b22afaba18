"""Prints speed and memory in one table, and compares each figure with the lowest possible cost in the same run, or with
a budget.

    python -m evaluation.speed [--rounds N] [--calls N]

Needs the shared graphs (`$XKG_SHARED/peer-graphs`, default `../shared`) for all parts except the build. Each part of
the benchmark runs in a separate process with separate caches. Figures over their budget are marked, but the exit status
is still 0."""

import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median, quantiles
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from evaluation.generated.paper import write_paper, write_repository
from evaluation.inputs.command import run_command
from evaluation.inputs.graph import shared
from evaluation.speed.latency import starts, warm_calls

LIBRARIES = ("ladybug", "faiss-cpu", "tantivy", "onnxruntime", "tokenizers", "tree-sitter", "mcp", "numpy", "pydantic")
APART = ("environment", "check")
NO_STAGE = ("whole", "embedding", "memory_mb", "cpu", "process")

Seconds = dict[str, float]


class Figure(NamedTuple):
    """A row of the table: `value` in `unit`, the lowest possible value or budget, and the whole process's CPU seconds
    and peak memory (None if unknown). On a busy machine, CPU time is more reliable than elapsed time."""

    name: str
    value: float
    unit: str
    budget: float | None
    beside: str = ""
    memory_mb: float | None = None
    cpu: float | None = None


# --- parts, each in its own process ---------------------------------------------------------------------------------


def build(kg: Path) -> Seconds:
    """Builds the generated paper and repository, with the embedding model loaded and all caches empty."""
    from xkg.build.context import BuildContext
    from xkg.build.pipeline import build_paper
    from xkg.commands.graph.open import embedder, open_store
    from xkg.config import Settings
    from xkg.errors import SandboxUnavailableError
    from xkg.sandbox.packages.environments import UvEnvironments
    from xkg.sandbox.select import runner_for

    settings = Settings(kg=kg)
    model = embedder(settings)
    model.embed(["load the model"])
    embedding = _counted_embedding()
    try:
        runner = runner_for(settings.sandbox)
    except SandboxUnavailableError:
        runner = None
    environments = UvEnvironments(settings.environment, runner) if runner else None
    started = time.perf_counter()
    built = build_paper(kg / "paper.tex", str(kg / "code"), BuildContext(settings, model, runner, environments))
    published = time.perf_counter()
    with open_store(settings) as store:
        store.publish([built.bundle])
    publish = time.perf_counter() - published
    stages = {report.name: report.seconds for report in built.stages}
    apart = sum(stages.get(name, 0) for name in APART)
    whole = published - started - apart + publish
    return {**stages, "publish": publish, "whole": whole, "embedding": sum(embedding)}


def rerun(kg: Path) -> Seconds:
    from xkg.commands.build import build as command
    from xkg.config import LlmSettings, Settings

    imported = time.perf_counter()
    result = command(Settings(kg=kg, llm=LlmSettings(model="none")), kg / "paper.tex", str(kg / "code"))
    assert not result.published
    return {"work": time.perf_counter() - imported}


def imports(_: Path) -> Seconds:
    """Runs only the imports that a rerun needs. No build command can take less time."""
    import xkg.build.pipeline
    import xkg.commands.build
    import xkg.sandbox.packages.environments
    import xkg.store.local.store  # noqa: F401

    return {}


def import_graphs(kg: Path) -> Seconds:
    from xkg.commands.graph.contents import import_graphs as command
    from xkg.config import Settings

    embedding = _counted_embedding()
    started = time.perf_counter()
    result = command(Settings(kg=kg), shared() / "peer-graphs")
    return {"whole": time.perf_counter() - started, "embedding": sum(embedding), "papers": len(result.papers)}


def reopen(kg: Path) -> Seconds:
    started = time.perf_counter()
    import xkg.store.indexes.text
    import xkg.store.indexes.vectors  # noqa: F401
    from xkg.commands.graph.open import open_store
    from xkg.config import Settings

    imported = time.perf_counter()
    with open_store(Settings(kg=kg)) as store, store.snapshot() as snapshot:
        assert snapshot.papers()
        opened = time.perf_counter()
    assert "onnxruntime" not in sys.modules
    return {"imports": imported - started, "open": opened - imported}


PARTS: dict[str, Callable[[Path], Seconds]] = {
    part.__name__: part for part in (build, rerun, imports, import_graphs, reopen)
}


def _counted_embedding() -> list[float]:
    """Returns a list. From then on, each call to the model appends its duration in seconds."""
    from xkg.embeddings.onnx import OnnxEmbedder

    seconds: list[float] = []

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            started = time.perf_counter()
            try:
                return call(*arguments)
            finally:
                seconds.append(time.perf_counter() - started)

        return timed

    for name in ("embed", "encode"):
        setattr(OnnxEmbedder, name, counted(getattr(OnnxEmbedder, name)))
    return seconds


def run(part: str, kg: Path) -> Seconds:
    """Runs a part in a new process. Returns the part's measurements, and the seconds (`process`), `memory_mb` and `cpu`
    of the whole process."""
    started = time.perf_counter()
    ran = subprocess.run(
        [sys.executable, "-m", "evaluation.speed", "--part", part, "--kg", str(kg)], stdout=subprocess.PIPE, check=True
    )
    whole = time.perf_counter() - started
    measured: Seconds = json.loads(ran.stdout.splitlines()[-1])
    return measured | {"process": whole}


# --- the table --------------------------------------------------------------------------------------------------------


def of_build(kg: Path) -> list[Figure]:
    write_paper(kg)
    write_repository(kg / "code")
    first = run("build", kg)
    again, floor = run("rerun", kg), run("imports", kg)
    beside = f"of which embedding {first['embedding']:.1f} s"
    rows = [Figure("static build, generated input, cold caches", first["whole"], "s", 60, beside, *_of(first))]
    for name in (n for n in first if n not in NO_STAGE):
        rows.append(Figure(f"  {name}", first[name], "s", None, "apart" if name in APART else ""))
    beside = f"its imports alone {floor['process']:.2f} s"
    return [*rows, Figure("unchanged rerun, whole process", again["process"], "s", 3, beside, *_of(again))]


def of_graphs(kg: Path, rounds: int, calls: int) -> list[Figure]:
    first = run("import_graphs", kg)
    beside = f"of which embedding {first['embedding']:.1f} s"
    name = f"import of {first['papers']:.0f} graphs"
    rows = [Figure(name, first["whole"], "s", 40, beside, *_of(first))]
    opened = [run("reopen", kg) for _ in range(rounds)]
    once = {name: median(o[name] for o in opened) for name in opened[0]}
    rows += [
        Figure("reopening, imports apart", once["open"], "s", 0.2, "", *_of(once)),
        Figure(
            "reopening with its imports", once["open"] + once["imports"], "s", None, f"{once['imports']:.2f} s imports"
        ),
    ]
    started = starts(kg, rounds)
    bare, ours = median(started["bare"]), median(started["ours"])
    warm, memory = warm_calls(kg, calls)
    echo, one = median(warm["echo, bare server"]) * 1e3, median(warm["one query embedding"]) * 1e3
    search = warm["search_techniques"]
    beside = f"bare echo {echo:.1f} ms + one embedding {one:.1f} ms"
    rows += [
        Figure("search_techniques over stdio, p50", median(search) * 1e3, "ms", 15, beside, memory),
        Figure("search_techniques over stdio, p95", quantiles(search, n=20)[-1] * 1e3, "ms", None),
        Figure("start → initialize", ours, "s", 1.2 * bare, f"bare server {bare:.2f} s: ratio {ours / bare:.2f}"),
        Figure("start → first search answered", median(started["search"]), "s", 3, f"initialize {ours:.2f} s"),
    ]
    return rows


def _of(measured: Seconds) -> tuple[float, float]:
    return measured["memory_mb"], measured["cpu"]


def _machine() -> str:
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.*)", info.read_text()) if info.is_file() else None
    model = found[1] if found else platform.machine()
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    cores = len(os.sched_getaffinity(0))
    return f"{model}, {cores} cores, load {os.getloadavg()[0]:.1f}; Python {platform.python_version()}\n{libraries}"


def table(figures: Sequence[Figure]) -> Table:
    made = Table("", "figure", "budget", "also in this run", "peak MB", "CPU s")
    for figure in figures:
        over = figure.budget is not None and figure.value > figure.budget
        digits = 1 if figure.unit == "ms" or figure.value >= 10 else 2
        value = f"{figure.value:.{digits}f} {figure.unit}"
        made.add_row(
            figure.name,
            f"{value}  OVER" if over else value,
            "" if figure.budget is None else f"{figure.budget:.3g} {figure.unit}",
            figure.beside,
            "" if figure.memory_mb is None else f"{figure.memory_mb:.0f}",
            "" if figure.cpu is None else f"{figure.cpu:.1f}",
            style="bold red" if over else None,
        )
    return made


def main(
    *,
    rounds: Annotated[int, typer.Option(help="how often to start each server and reopen the graph")] = 5,
    calls: Annotated[int, typer.Option(help="number of warm calls to each tool")] = 100,
    part: Annotated[str | None, typer.Option(hidden=True)] = None,
    kg: Annotated[Path | None, typer.Option(hidden=True)] = None,
) -> None:
    if part and kg:
        measured = PARTS[part](kg)
        used = resource.getrusage(resource.RUSAGE_SELF)
        print(json.dumps(measured | {"memory_mb": used.ru_maxrss / 1024, "cpu": used.ru_utime + used.ru_stime}))
        return
    console = Console(width=140, highlight=False)
    console.print(_machine())
    with tempfile.TemporaryDirectory(prefix="xkg-speed-") as folder:
        figures = of_build(Path(folder) / "build")
        if (shared() / "peer-graphs").is_dir():
            figures += of_graphs(Path(folder) / "graphs", rounds, calls)
        else:
            console.print(f"{shared() / 'peer-graphs'} does not exist; set XKG_SHARED to measure the graphs")
    console.print(table(figures))
    console.print(f"load at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    run_command(main)
