"""Measures how fast a large graph is searched, by comparing a search with its parts in one process. Also measures the
recall of the graph's vector index.

    python -m evaluation.speed.search_parts --kg DIR
    python -m evaluation.speed.search_parts --folder DIR [--from GRAPHS] [--techniques 1000000]

`--folder` creates a graph of perturbed techniques (`evaluation.generated.perturbed_graph`) if DIR does not exist.
Recall@10 is relative to exact search. CPU time is also shown, since it is more reliable on a busy machine. Questions
have about twelve words. `evaluation.speed.search_cost` measures the same graph over stdio and HTTP."""

import os
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
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.errors import InputError
from xkg.serve.search.candidates import DEPTH
from xkg.serve.search.search import search
from xkg.store.local.snapshot import EmbeddedSnapshot
from xkg.store.local.store import EmbeddedStore

AT = 10
WORDS = 11
BLOCK = 10
PARTS, WHOLE = "its three parts in turn", "a search in this process"
GOAL = 1.2


class Timed(NamedTuple):
    """The wall seconds for each call, and the CPU seconds per call."""

    name: str
    seconds: list[float]
    cpu: float


def draw_questions(snapshot: EmbeddedSnapshot, embedder: OnnxEmbedder, calls: int) -> tuple[str, ...]:
    """Returns the first words of definitions drawn from the whole graph, each followed by the last word of another
    definition."""
    near = {hit.id for text in ("learning", "sampling", "model") for hit in snapshot.find_text(text, 4 * calls)}
    vector = embedder.embed(["objective"])[0]
    near |= {hit.id for hit in snapshot.find_vector(vector, 4 * calls)}
    views = snapshot.techniques(sorted(near))
    words = [view.technique.definition.split()[2 : 2 + WORDS] for view in views if view.technique.definition]
    return tuple(dict.fromkeys(" ".join([*one, *other[-1:]]) for one, other in pairwise(words)))[: 4 * calls]


def parts(snapshot: EmbeddedSnapshot, embedder: OnnxEmbedder, questions: Sequence[str]) -> list[Timed]:
    """Times searches and their parts in this process. The three parts alternate, always with new questions, because a
    part that ran a hundred times in a row would have the CPU caches to itself. Searches and parts alternate in blocks
    of at most `BLOCK` questions. Returns an empty list if there are too few questions for blocks of two."""
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

    for question in questions[:block]:  # warm up, because a first search loads the indexes
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
    """Returns the recall@10 of the vector index for these questions, relative to exact search over the vectors from
    which the index was built. Returns None if these vectors are missing."""
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
    kg: Annotated[Path | None, typer.Option(help="a graph; its embedding cache may grow")] = None,
    folder: Annotated[
        Path | None, typer.Option(help="folder for the graph of perturbed techniques, created if missing")
    ] = None,
    graphs: Annotated[Path | None, typer.Option("--from", help="folder of graph files to perturb")] = None,
    techniques: int = 1_000_000,
    calls: Annotated[int, typer.Option(help="a quarter of the number of questions")] = 100,
) -> None:
    if folder is not None and not (folder / "CURRENT").exists():
        making = [sys.executable, "-m", "evaluation.generated.perturbed_graph", "--folder", str(folder)]
        making += ["--techniques", str(techniques)] + (["--from", str(graphs)] if graphs else [])
        subprocess.run(making, check=True)  # use a separate process, whose memory is freed when it ends
    kg = kg or folder
    if kg is None:
        raise InputError("pass --kg or --folder")
    check_graph(kg)
    console = Console(width=130, highlight=False)
    console.print(f"load {os.getloadavg()[0]:.1f}, {len(os.sched_getaffinity(0))} cores")
    embedder = OnnxEmbedder()
    store = EmbeddedStore(kg, lambda: embedder)
    with store.snapshot() as snapshot:
        questions = draw_questions(snapshot, embedder, calls)
        techniques = len(snapshot.vector_index())
        console.print(f"{techniques:,} techniques of {snapshot.paper_count():,} papers, {kg}")
        alone = parts(snapshot, embedder, questions)
        near = recall(snapshot, embedder, kg / VECTORS_FILE, questions[:200])
    store.close()
    if alone:
        _judge(console, alone)
    if near is not None:
        console.print(f"recall@{AT} of the vector index: {near:.4f} (goal 0.99)")
    console.print(f"load at the end {os.getloadavg()[0]:.1f}")


def _judge(console: Console, rows: Sequence[Timed]) -> None:
    table = Table("in one process", "p50 ms", "p99 ms", "cpu ms")
    for row in rows:
        cuts = quantiles(row.seconds, n=100, method="inclusive")
        table.add_row(row.name, f"{1e3 * cuts[49]:.1f}", f"{1e3 * cuts[98]:.1f}", f"{1e3 * row.cpu:.1f}")
    console.print(table)
    one = {row.name: row for row in rows}
    clock = median(one[WHOLE].seconds) / median(one[PARTS].seconds)
    processor = one[WHOLE].cpu / one[PARTS].cpu
    console.print(f"{WHOLE}: {clock:.2f} × its three parts, processor {processor:.2f} × (goal {GOAL} at a million)")


if __name__ == "__main__":
    run_command(main)
