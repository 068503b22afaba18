"""Compares the cost of a search over MCP with the lowest possible cost: a bare SDK server that echoes the same text,
plus one embedding of that text.

    python -m evaluation.speed.search_cost --kg DIR [--calls N] [--seconds S] [--clients N]

The embedding uses the published 32-bit weights, whereas a search uses 8-bit weights.

Over stdio, each text is echoed, embedded and searched in turn, so that machine load affects all three calls. Texts are
embedded in this process, with as many threads as the server uses. Each figure is a median. The ratio is the time for a
search divided by the time for an echo plus an embedding. Short questions have about twelve words. Long questions are a
technique's name and definition. Apart from the repeated questions, no question is asked twice. Over HTTP, the lowest
possible cost is that of a bare server that embeds each text before it echoes the text. The servers are tested one after
another, in several rounds. CPU time is also shown, since it is more reliable on a busy machine."""

import asyncio
import os
import random
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Annotated, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from evaluation.inputs.command import run_command
from evaluation.inputs.graph import check_graph
from evaluation.speed import http
from evaluation.speed.latency import BARE, Pipe, ours
from evaluation.speed.search_parts import WORDS
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.errors import InputError
from xkg.store.local.snapshot import EmbeddedSnapshot
from xkg.store.local.store import EmbeddedStore

SEARCH = "search_techniques"
ROUNDS = 3
MOST = 6000
EMBEDDING = http.BARE.replace(
    'server = MCPServer("echo", log_level="ERROR")',
    "from xkg.embeddings.onnx import OnnxEmbedder\nembedder = OnnxEmbedder()\n"
    'server = MCPServer("echo", log_level="ERROR")',
).replace("    return text\n", "    embedder.embed([text])\n    return text\n")
"""A bare server that embeds the text that it echoes."""


class Cost(NamedTuple):
    seconds: float
    cpu: float


def questions(snapshot: EmbeddedSnapshot) -> tuple[list[str], list[str]]:
    """Returns short and long questions. All questions differ, and there are enough of them for a load test. Short
    questions are the first words of definitions, each with a word from another definition. Long questions consist of a
    technique's name and a definition: first the technique's own definition, then those of other techniques."""
    ids = [technique for paper in snapshot.paper_ids() for technique in snapshot.technique_ids(paper)]
    views = [view for view in snapshot.techniques(ids[:MOST]) if view.technique.definition]
    random.Random(0).shuffle(views)
    beginnings = [view.technique.definition.split()[2 : 2 + WORDS] for view in views]
    pairs = ((one, beginnings[n - shift]) for shift in range(1, len(views)) for n, one in enumerate(beginnings))
    short = dict.fromkeys(" ".join([*one, *other[-1:]]) for one, other in pairs)
    named = ((one, views[n - shift]) for shift in range(len(views)) for n, one in enumerate(views))
    long = (f"{one.technique.name}: {other.technique.definition}" for one, other in named)
    return list(short)[:MOST], list(islice(dict.fromkeys(islice(long, 2 * MOST)), MOST))


def over_stdio(kg: Path, embedder: OnnxEmbedder, asked: dict[str, Sequence[str]]) -> dict[str, dict[str, list[Cost]]]:
    """Returns the costs of echo, embedding and search for each kind of question."""
    bare, server = Pipe(BARE), Pipe(ours(kg))
    ways: dict[str, tuple[Callable[[str], object], Callable[[], float]]] = {
        "echo": (lambda text: bare.call("echo", {"text": text}), bare.cpu_seconds),
        "embedding": (lambda text: embedder.embed([text]), time.process_time),
        "search": (lambda text: server.call(SEARCH, {"query": text}), server.cpu_seconds),
    }
    for act, _ in ways.values():
        for text in ("a first text", "and a second one"):
            act(text)
    _settled(server)
    found: dict[str, dict[str, list[Cost]]] = {}
    for kind, texts in asked.items():
        for text in texts[:8] if kind == "repeated" else ():
            server.call(SEARCH, {"query": text})
        costs: dict[str, list[Cost]] = {name: [] for name in ways}
        before = {name: cpu() for name, (_, cpu) in ways.items()}
        mine = 0.0  # counts this process's CPU seconds, except those for embeddings
        for text in texts:
            for name, (act, _) in ways.items():
                own, started = time.process_time(), time.perf_counter()
                act(text)
                seconds = time.perf_counter() - started
                mine += 0.0 if name == "embedding" else time.process_time() - own
                costs[name].append(Cost(seconds, 0.0))
        for name, (_, cpu) in ways.items():
            spent = (cpu() - before[name] - (mine if name == "embedding" else 0.0)) / len(texts)
            costs[name] = [Cost(each.seconds, spent) for each in costs[name]]
        found[kind] = costs
    bare.close()
    server.close()
    return found


def _settled(server: Pipe, seconds: float = 1.0) -> None:
    """Waits until the server is idle, because the background loading after a server's first answers is not part of a
    search's cost."""
    before = -1.0
    while server.cpu_seconds() - before > 0.1 * seconds:
        before = server.cpu_seconds()
        time.sleep(seconds)


def over_http(
    kg: Path, texts: Sequence[str], clients: int, seconds: float, workers: int
) -> list[tuple[http.Load, http.Load, http.Load]]:
    """Returns the load on the bare server, the embedding server and our server, for several rounds of new texts."""
    shares = [texts[n::ROUNDS] for n in range(ROUNDS)]
    loads: list[tuple[http.Load, http.Load, http.Load]] = []
    with http.bare() as bare, http.bare(EMBEDDING) as floor, http.ours(kg, workers) as server:
        for share in shares:
            echo = [http.request("echo", {"text": text}) for text in share]
            search = [http.request(SEARCH, {"query": text}) for text in share]
            loads.append(
                (
                    asyncio.run(http.load(bare, echo, clients, seconds)),
                    asyncio.run(http.load(floor, echo, clients, seconds)),
                    asyncio.run(http.load(server, search, clients, seconds)),
                )
            )
        print(f"memory (PSS): bare {bare.memory_mb():.0f} MB, xkg {server.memory_mb():.0f} MB")
    return loads


def main(
    *,
    kg: Path,
    calls: Annotated[int, typer.Option(help="calls of each kind over stdio")] = 100,
    seconds: Annotated[float, typer.Option(help="seconds of HTTP load in each round; 0 for none")] = 5,
    clients: int = 8,
    workers: int = 1,
) -> None:
    check_graph(kg)
    console = Console(width=130, highlight=False)
    console.print(f"load {os.getloadavg()[0]:.1f}, {len(os.sched_getaffinity(0))} cores")
    embedder = OnnxEmbedder()
    store = EmbeddedStore(kg, lambda: embedder)
    with store.snapshot() as snapshot:
        short, long = questions(snapshot)
    store.close()
    if len(short) < (wanted := calls + (ROUNDS if seconds else 0)):
        raise InputError(
            f"{kg} yields {len(short)} questions, but {wanted} are needed; pass a larger graph (python -m "
            "evaluation.generated.perturbed_graph creates one), or fewer --calls and --seconds 0"
        )
    asked: dict[str, Sequence[str]] = {
        "short": short[:calls],
        "name with description": long[:calls],
        "repeated": [short[n % min(8, len(short))] for n in range(calls)],
    }
    table = Table("over stdio, ms", "echo", "embedding", "search", "ratio", "echo cpu", "embedding", "search", "ratio")
    for kind, costs in over_stdio(kg, embedder, asked).items():
        cells = []
        for of in (lambda cost: cost.seconds, lambda cost: cost.cpu):
            each = {name: median(map(of, several)) for name, several in costs.items()}
            cells += [f"{1e3 * value:.1f}" for value in each.values()]
            # Answers to repeated questions come from a cache, so they are not comparable.
            ratio = "" if kind == "repeated" else f"{each['search'] / (each['echo'] + each['embedding']):.2f}"
            cells.append(ratio)
        table.add_row(kind, *cells)
    console.print(table)
    if seconds:
        rates = ("echo/s", "with embedding/s", "search/s", "share")
        table = Table(f"HTTP, {clients} clients", *rates, "cpu ms", "", "", "share")
        for title, texts in (("short, new", short[calls:]), ("long, new", long[calls:])):
            for loads in over_http(kg, texts, clients, seconds, workers):
                _, embedding, server = loads
                share, of_cpu = server.a_second / embedding.a_second, embedding.cpu / server.cpu
                answered, cpu = [f"{load.a_second:.0f}" for load in loads], [f"{1e3 * load.cpu:.1f}" for load in loads]
                table.add_row(title, *answered, f"{share:.2f}", *cpu, f"{of_cpu:.2f}")
        console.print(table)


if __name__ == "__main__":
    run_command(main)
