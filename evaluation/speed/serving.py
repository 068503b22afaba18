"""How fast a graph is served, over stdio and HTTP, next to a bare SDK server with one echo tool in the same run.

    python -m evaluation.speed.serving --kg DIR
    python -m evaluation.speed.serving --folder DIR [--from GRAPHS] [--techniques 1000000]

It serves a graph of perturbed techniques (`evaluation.generated.perturbed_graph`), made in DIR if it is not there. The
output has: start to `initialize` and to the first answer; p50 and p99 of every tool that needs no language model, for
new questions, for known ones (embedding cached, answer computed again) and for repeated ones (answer cached); searches
in this process and their parts; recall@10 of the vector index relative to exact search; requests per second, and
memory. Processor time is also shown, since it is more reliable on a busy machine. Questions have about twelve words."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median, quantiles
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from evaluation.generated.perturbed_graph import VECTORS_FILE
from evaluation.inputs.command import run_command
from evaluation.inputs.graph import check_graph
from evaluation.speed import http
from evaluation.speed.latency import BARE, Pipe, ours, starts
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.errors import InputError
from xkg.serve.generation import ANSWERS
from xkg.serve.search.candidates import DEPTH
from xkg.serve.search.search import search
from xkg.store.local.snapshot import EmbeddedSnapshot
from xkg.store.local.store import EmbeddedStore

SEARCH = "search_techniques"
NEW = f"{SEARCH}, new questions"
AT = 10
WORDS = 11
BLOCK = 10
PARTS, WHOLE = "its three parts in turn", "a search in this process"
GOAL = 1.2
MILLISECONDS_GOAL = 15.0
SMALL = 100_000
"""The number of techniques below which the goal of a search is in milliseconds; above it, relative to its parts."""

Arguments = dict[str, Any]


class Inputs(NamedTuple):
    """Inputs for the tools: distinct questions, and ids of a few papers and techniques with code."""

    questions: tuple[str, ...]
    papers: tuple[str, ...]
    techniques: tuple[str, ...]


class Timed(NamedTuple):
    """Wall seconds of each call, and processor seconds for one."""

    name: str
    seconds: list[float]
    cpu: float | None = None


def draw_inputs(snapshot: EmbeddedSnapshot, embedder: OnnxEmbedder, calls: int) -> Inputs:
    """The first words of definitions, drawn over the whole graph, with the last word of another's."""
    near = {hit.id for text in ("learning", "sampling", "model") for hit in snapshot.find_text(text, 4 * calls)}
    vector = embedder.embed(["objective"])[0]
    near |= {hit.id for hit in snapshot.find_vector(vector, 4 * calls)}
    views = snapshot.techniques(sorted(near))
    words = [view.technique.definition.split()[2 : 2 + WORDS] for view in views if view.technique.definition]
    questions = dict.fromkeys(" ".join([*one, *other[-1:]]) for one, other in pairwise(words))
    with_code = [view.technique.id for view in views if view.code is not None]
    papers = dict.fromkeys(technique.partition("#")[0] for technique in with_code)
    return Inputs(tuple(questions)[: 4 * calls], tuple(papers)[:20], tuple(with_code)[:50])


def worked_out(questions: Sequence[str]) -> list[str]:
    """Variants that are equal for the embedding model, but too many for the answer cache."""
    return [question + " " * spaces for spaces in range(3 * ANSWERS // len(questions)) for question in questions]


def tool_calls(inputs: Inputs) -> dict[str, tuple[str, list[Arguments]]]:
    """By row name, a tool and the arguments of its calls, in turn."""
    first = inputs.questions[: len(inputs.questions) // 2]
    known = [{"query": question} for question in worked_out(first[:8])]
    technique = [{"id": id} for id in inputs.techniques]
    return {
        NEW: (SEARCH, [{"query": question} for question in inputs.questions[len(first) :]]),
        f"{SEARCH}, known questions": (SEARCH, known),
        f"{SEARCH}, repeated questions": (SEARCH, [{"query": question} for question in first[:8]]),
        f"{SEARCH}, a technique's name": (SEARCH, [{"query": id.rpartition("/")[2]} for id in inputs.techniques]),
        f"{SEARCH} in 3 papers": (SEARCH, [one | {"papers": list(inputs.papers[:3])} for one in known]),
        f"{SEARCH} of the last years": (SEARCH, [one | {"first_year": 2020} for one in known]),
        f"{SEARCH} with code": (SEARCH, [one | {"with_code": True} for one in known]),
        "related_papers": ("related_papers", [{"paper": paper} for paper in inputs.papers]),
        "get_paper": ("get_paper", [{"paper": paper} for paper in inputs.papers]),
        "plan_context": ("plan_context", [{"paper": paper} for paper in inputs.papers]),
        "get_technique": ("get_technique", technique),
        "get_code": ("get_code", technique),
        "locate": ("locate", [{"technique": id} for id in inputs.techniques]),
        "graph_schema": ("graph_schema", [{}]),
        "cypher": ("cypher", [{"query": "MATCH (p:Paper) RETURN p.id LIMIT 5"}]),
    }


def over_stdio(kg: Path, inputs: Inputs, calls: int) -> list[Timed]:
    """Every tool on one server, and the bare server's echo before and after."""
    rows: list[Timed] = []
    echo = [{"text": question} for question in inputs.questions[:8]]
    for command, tools in ((BARE, {"echo, bare server": ("echo", echo)}), (ours(kg), tool_calls(inputs))):
        pipe = Pipe(command)
        offered = {tool["name"] for tool in pipe.ask("tools/list", {})["tools"]}
        for name, (tool, arguments) in tools.items():
            if tool not in offered:
                continue
            try:
                for one in arguments[:4]:
                    pipe.call(tool, one)
                before = pipe.cpu_seconds()
                seconds = [pipe.call(tool, arguments[(4 + n) % len(arguments)]) for n in range(calls)]
            except SystemExit as error:
                print(f"left out: {error}", file=sys.stderr)
                continue
            rows.append(Timed(name, seconds, (pipe.cpu_seconds() - before) / calls))
        pipe.close()
    return rows


def parts(snapshot: EmbeddedSnapshot, embedder: OnnxEmbedder, questions: Sequence[str]) -> list[Timed]:
    """Searches in this process, and their parts. The three parts take turns with new questions, since a part that runs
    alone a hundred times has the processor's caches to itself. At most `BLOCK` of each alternate. Empty if there are
    too few questions for two of each."""
    block = min(BLOCK, len(questions) // 3)
    if block < 2:
        return []
    took: dict[str, list[tuple[float, float]]] = {}

    def timed(name: str, act: Callable[[], Any]) -> Any:
        wall, processor = time.perf_counter(), time.process_time()
        result = act()
        took.setdefault(name, []).append((time.perf_counter() - wall, time.process_time() - processor))
        return result

    def in_turn(question: str) -> None:
        vector = timed("one query embedding", lambda: embedder.embed([question])[0])
        timed(f"one BM25 search, {DEPTH} hits", lambda: snapshot.text_index().search(question, DEPTH))
        timed(f"one FAISS search, {DEPTH} hits", lambda: snapshot.vector_index().search(vector, DEPTH))

    for question in questions[:block]:  # opens everything that the first search opens
        in_turn(question)
        search(snapshot, embedder.encode, question)
    took.clear()
    for start in range(block, len(questions) - 2 * block + 1, 2 * block):
        for question in questions[start : start + block]:
            timed(PARTS, partial(in_turn, question))
        for question in questions[start + block : start + 2 * block]:
            timed(WHOLE, partial(search, snapshot, embedder.encode, question))
    return [
        Timed(name, [wall for wall, _ in each], sum(processor for _, processor in each) / len(each))
        for name, each in took.items()
    ]


def recall(
    snapshot: EmbeddedSnapshot, embedder: OnnxEmbedder, vectors_file: Path, questions: Sequence[str]
) -> float | None:
    """Recall@10 of the vector index for these questions, relative to exact search over the vectors it was made from;
    None if these are missing."""
    import numpy as np

    from xkg.store.indexes.vectors import nearest_rows

    if not vectors_file.is_file():
        return None
    vectors = np.load(vectors_file, mmap_mode="r")
    queries = embedder.embed(questions)
    found = [[row for row, _ in snapshot.vector_index().search(query, AT)] for query in queries]
    exact = nearest_rows(vectors, queries).tolist()
    return fmean(len({*right} & {*rows}) / len(right) for right, rows in zip(exact, found, strict=True))


def main(
    *,
    kg: Annotated[Path | None, typer.Option(help="a graph to serve; its embedding cache may grow")] = None,
    folder: Annotated[Path | None, typer.Option(help="where the graph of perturbed techniques is, or is made")] = None,
    graphs: Annotated[Path | None, typer.Option("--from", help="folder of graph files to perturb")] = None,
    techniques: int = 1_000_000,
    calls: Annotated[int, typer.Option(help="calls of each tool")] = 100,
    rounds: Annotated[int, typer.Option(help="starts of each server")] = 3,
    seconds: Annotated[float, typer.Option(help="of load over HTTP, for each number of clients")] = 10,
    clients: Sequence[int] = (1, 8, 64, 256),
    workers: int = 1,
) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    if folder is not None and not (folder / "CURRENT").exists():
        making = [sys.executable, "-m", "evaluation.generated.perturbed_graph", "--folder", str(folder)]
        making += ["--techniques", str(techniques)] + (["--from", str(graphs)] if graphs else [])
        subprocess.run(making, check=True)  # a separate process, whose memory is freed with it
    kg = kg or folder
    if kg is None:
        raise InputError("give --kg or --folder")
    check_graph(kg)
    console = Console(width=130, highlight=False)
    console.print(f"load {os.getloadavg()[0]:.1f}, {len(os.sched_getaffinity(0))} cores")
    embedder = OnnxEmbedder()
    store = EmbeddedStore(kg, lambda: embedder)
    with store.snapshot() as snapshot:
        found = draw_inputs(snapshot, embedder, calls)
        techniques = len(snapshot.vector_index())
        console.print(f"{techniques:,} techniques of {snapshot.paper_count():,} papers, {kg}")
        alone = parts(snapshot, OnnxEmbedder(eight_bits=True), found.questions)
        near = recall(snapshot, embedder, kg / VECTORS_FILE, found.questions[:200])
    store.close()
    tools = over_stdio(kg, found, calls)
    console.print(_times("over stdio", tools), _times("in one process", alone) if alone else "")
    _judge(console, techniques, tools, alone)
    if near is not None:
        console.print(f"recall@{AT} of the vector index: {near:.4f} (goal 0.99)")
    if rounds:
        started = starts(kg, rounds)
        bare, own, first = (median(started[name]) for name in ("bare", "ours", "search"))
        console.print(f"start → initialize {own:.2f} s (bare {bare:.2f} s), → first search answered {first:.2f} s")
    with http.bare() as floor, http.ours(kg, workers) as server:
        for title, questions in (("worked out", worked_out(found.questions[:8])), ("repeated", found.questions[:8])):
            requests = [http.request(SEARCH, {"query": question}) for question in questions]
            console.print(f"{SEARCH}, {title}:", http.compared(floor, server, requests, clients, seconds))
        console.print(f"memory (PSS) after it: bare {floor.memory_mb():.0f} MB, xkg {server.memory_mb():.0f} MB")
    console.print(f"load at the end {os.getloadavg()[0]:.1f}")


def _judge(console: Console, techniques: int, tools: Sequence[Timed], alone: Sequence[Timed]) -> None:
    """Compares the search of a new question with its goal."""
    if techniques < SMALL:
        for row in tools:
            if row.name == NEW:
                console.print(f"{NEW}: p50 {1e3 * median(row.seconds):.1f} ms (goal {MILLISECONDS_GOAL:.0f} ms)")
    one = {row.name: row for row in alone}
    if WHOLE not in one:
        return
    clock = median(one[WHOLE].seconds) / median(one[PARTS].seconds)
    processor = (one[WHOLE].cpu or 0.0) / (one[PARTS].cpu or 1.0)
    console.print(f"{WHOLE}: {clock:.2f} × its three parts, processor {processor:.2f} × (goal {GOAL} at a million)")


def _times(title: str, rows: Sequence[Timed]) -> Table:
    table = Table(title, "p50 ms", "p99 ms", "cpu ms")
    for row in rows:
        cuts = quantiles(row.seconds, n=100, method="inclusive")
        cpu = "" if row.cpu is None else f"{1e3 * row.cpu:.1f}"
        table.add_row(row.name, f"{1e3 * cuts[49]:.1f}", f"{1e3 * cuts[98]:.1f}", cpu)
    return table


if __name__ == "__main__":
    run_command(main)
