"""Measures how well `search_techniques` finds the techniques that a query refers to, and how well it recognises that no
technique fits. BM25, vectors, and a plain fusion of both over the same indexes serve as baselines.

    python -m evaluation.retrieval [--kg DIR] [--queries FILE] [--failures]

Without --kg, the shared graphs are imported into a temporary graph. `--failures` lists the queries for which techniques
were missed or wrongly returned.

A query specifies its gold techniques by paper title and path of names, and lists the `groups` to find. A group is found
if any of its techniques is found. In `evaluation/gold/search`, groups consist of technique ids instead. Recall@k is the
share of groups found in the first k rows, and MRR is the reciprocal rank of the first gold row. nDCG@10 counts each
group at its first match. A row counts only as its own technique. "With relatives" means that a row also counts as the
techniques listed inside it. "As an agent sees it" is a server's default answer over stdio, with all techniques that the
answer mentions. The last line is for `find_implementations` on queries that describe a task, and counts all rows.
"Nothing fits" counts the queries that returned no rows, which is right only for negative queries."""

import math
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import anyio
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from rich.console import Console
from rich.table import Table

from evaluation.inputs.command import run_command
from evaluation.inputs.graph import graph_or_shared, shared
from evaluation.inputs.rows import read_queries, require_techniques
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.errors import InputError
from xkg.fusion import reciprocal_rank_fusion
from xkg.model import slug
from xkg.serve.answers.references import technique_id
from xkg.serve.search.calibration import FITS
from xkg.serve.search.search import EVERYTHING, search
from xkg.store.graph_store import Snapshot
from xkg.store.local.store import EmbeddedStore

Ranker = Callable[[str], list[list[str]]]
"""Rows for a query, best first. A row is a list of technique ids, beginning with the row's own id."""

DEPTH = 50
ROWS = 10
CUTS = (1, 5, 10)
QUERY = {"search_techniques": "query", "find_implementations": "task"}


def gold_ids(snapshot: Snapshot, query: dict[str, Any]) -> list[set[str]]:
    """Returns the ids of the techniques at each gold entry's path. A path may have several ids, because siblings may
    share a name."""
    by_title: dict[str, list[str]] = defaultdict(list)
    for paper in snapshot.papers():
        by_title[slug(paper.title)].append(paper.id)
    found = []
    for gold in query["gold"]:
        bundles = [snapshot.bundle(paper) for paper in by_title[slug(gold["paper"])]]
        ids = {
            t.id
            for bundle in bundles
            for t in bundle.techniques
            if t.name == gold["path"][-1] and snapshot.technique(t.id).path == tuple(gold["path"])
        }
        if not ids:
            raise InputError(f"{query['id']}: no technique at {gold['path']} of {gold['paper']!r} in this graph")
        found.append(ids)
    return found


def groups_of(snapshot: Snapshot, query: dict[str, Any]) -> list[set[str]]:
    """Returns the groups to find, as sets of ids."""
    if "groups" not in query:
        return [set(group) for group in query["gold"]]
    gold = gold_ids(snapshot, query)
    return [set().union(*(gold[entry] for entry in group)) for group in query["groups"]]


def measure(groups: Sequence[set[str]], rows: Sequence[set[str]]) -> list[float]:
    """Returns the rows' reciprocal rank, nDCG@10 and recall at each of `CUTS`, given the groups to find."""
    if not groups:
        return [0.0] * (len(CUTS) + 2)
    met = [next((rank for rank, row in enumerate(rows[:ROWS], start=1) if row & group), math.inf) for group in groups]
    ideal = sum(1 / math.log2(1 + rank) for rank in range(1, min(len(groups), ROWS) + 1))
    gained = sum(1 / math.log2(1 + rank) for rank in met)
    return [*(mean(rank <= cut for rank in met) for cut in CUTS), 1 / min(met), min(1.0, gained / ideal)]


def measure_all(groups: Sequence[set[str]], rows: Sequence[Sequence[str]]) -> float:
    """Returns the share of groups satisfied by any of the rows."""
    shown = {technique for row in rows for technique in row}
    return mean(bool(shown & group) for group in groups)


def ask_server(kg: Path, tool: str, queries: Sequence[str]) -> list[dict[str, Any]]:
    """Sends each query to a server without a language model, and returns the structured content of its answers."""
    return anyio.run(_ask, kg, tool, list(queries))


def seen_rows(snapshot: Snapshot, answer: dict[str, Any]) -> list[list[str]]:
    """Returns the full ids of the techniques in each row of an answer, beginning with the row's own id."""
    found = [row for part in answer.get("parts", [answer]) for row in part["rows"]]
    return [[technique_id(snapshot, node["id"]) for node in (row, *row.get("relatives", ()))] for row in found]


async def _ask(kg: Path, tool: str, queries: list[str]) -> list[dict[str, Any]]:
    environment = {**os.environ, "XKG_KG": str(kg.resolve()), "XKG_LLM__MODEL": "none"}
    server = StdioServerParameters(command=str(Path(sys.executable).with_name("xkg")), args=["serve"], env=environment)
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        answers = []
        for query in queries:
            result = await session.call_tool(tool, {QUERY[tool]: query})
            if result.is_error or result.structured_content is None:
                raise SystemExit(f"{tool} refused {query!r}: {result.content}")
            answers.append(result.structured_content)
        return answers


def main(*, kg: Path | None = None, queries: Path | None = None, failures: bool = False) -> None:
    with graph_or_shared(kg) as graph:
        report(graph, queries or shared() / "retrieval-dev" / "queries.jsonl", failures)


def report(kg: Path, queries_file: Path, failures: bool) -> None:
    queries = read_queries(queries_file)
    embedder = OnnxEmbedder()
    store = EmbeddedStore(kg, OnnxEmbedder)

    console = Console(width=130)
    texts = [query["query"] for query in queries]
    with store.snapshot() as snapshot:
        for query in queries:
            query["groups"] = groups_of(snapshot, query)
            query["kind"] = query["kind"] if query["groups"] else "negative"
        groups = {query["id"]: query["groups"] for query in queries}
        require_techniques(snapshot, queries_file, set().union(*(set().union(*each) for each in groups.values())))
        seen = dict(zip(texts, ask_server(kg, "search_techniques", texts), strict=True))
        tasks = [query["query"] for query in queries if query["kind"] == "task"]
        found = dict(zip(tasks, ask_server(kg, "find_implementations", tasks), strict=True))

        def by_text(query: str) -> list[str]:
            return [hit.id for hit in snapshot.find_text(query, DEPTH)]

        def by_vector(query: str) -> list[str]:
            return [hit.id for hit in snapshot.find_vector(embedder.embed([query])[0], DEPTH)]

        def fused(query: str) -> list[str]:
            return [technique for technique, _ in reciprocal_rank_fusion([by_text(query), by_vector(query)])]

        def alone(ranker: Callable[[str], list[str]]) -> Ranker:
            return lambda query: [[technique] for technique in ranker(query)[:ROWS]]

        def whole(query: str) -> list[list[str]]:
            answer = search(snapshot, embedder.encode, query, ROWS, EVERYTHING, bar=FITS)
            return [[row.id, *(relative.id for relative in row.relatives)] for row in answer.rows]

        rankers: dict[str, tuple[Ranker, bool]] = {
            "BM25 alone": (alone(by_text), False),
            "vectors alone": (alone(by_vector), False),
            "plain fusion": (alone(fused), False),
            "search_techniques": (whole, False),
            "… with relatives": (whole, True),
            "as an agent sees it": (lambda query: seen_rows(snapshot, seen[query]), True),
        }
        heads = (*(f"R@{cut}" for cut in CUTS), "MRR", "nDCG@10")
        table = Table("", "kind", "queries", *heads, "nothing fits")
        for name, (ranker, whole_row) in rankers.items():
            results: dict[str, list[list[float]]] = defaultdict(list)
            silent: dict[str, list[bool]] = defaultdict(list)
            for query in queries:
                rows = ranker(query["query"])
                kinds = (query["kind"],) if query["kind"] == "negative" else (query["kind"], "all but negative")
                measured = measure(groups[query["id"]], [set(r) if whole_row else set(r[:1]) for r in rows])
                for kind in kinds:
                    silent[kind].append(not rows)
                    if query["groups"]:
                        results[kind].append(measured)
                if failures and whole_row and (measured[1] < 1 if query["groups"] else rows):
                    tops = "; ".join(row[0].partition("#")[2][-60:] for row in rows[:3])
                    console.print(f"{query['id']} {query['kind']}: {query['query'][:110]}\n    → {tops}", markup=False)
            for kind, empty in silent.items():
                means = [f"{mean(column):.2f}" for column in zip(*results[kind], strict=True)] or [""] * len(heads)
                table.add_row(name, kind, str(len(empty)), *means, f"{sum(empty)} ({mean(empty):.0%})")
                name = ""
            table.add_section()
        if tasks:
            shares = [
                measure_all(groups[query["id"]], seen_rows(snapshot, found[query["query"]]))
                for query in queries
                if query["kind"] == "task"
            ]
            table.add_row("find_implementations", "task", str(len(tasks)), f"all rows: {mean(shares):.2f}")
    console.print(table)


if __name__ == "__main__":
    run_command(main)
