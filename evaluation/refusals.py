"""Measures how well search recognises that it has no answer. The tables show which queries return no rows, and how
reliable the scores are.

    python -m evaluation.refusals [--kg DIR] [QUERIES.jsonl …]

The queries come from `evaluation/gold/search` and are for the shared graphs. Without --kg, the shared graphs are
imported into a temporary graph. Each query searches all papers. If a query has no gold techniques, search should return
nothing (refuse the query). Otherwise, the rows or `nearest` should include a gold technique. To compare rankings, the
output also shows the share of unanswerable queries that a threshold would refuse if it also refused 3% of the
answerable queries. Reliability is the share of answerable queries among the queries whose best score is in a given
range, weighted as if half of all queries were answerable."""

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

from rich.console import Console
from rich.table import Table

from evaluation.inputs.command import run_command
from evaluation.inputs.graph import graph_or_shared
from evaluation.inputs.rows import read_queries, require_techniques
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.serve.answers.types import SearchAnswer
from xkg.serve.search.search import search
from xkg.store.local.store import EmbeddedStore

GOLD = Path(__file__).parent / "gold" / "search"
LOST = 0.03
BINS = (0.0, 0.05, 0.15, 0.3, 0.5, 0.7, 0.9, 1.01)
ROWS = 5


def main(queries: Sequence[Path] = tuple(sorted(GOLD.glob("*.jsonl"))), *, kg: Path | None = None) -> None:
    with graph_or_shared(kg) as graph:
        embedder = OnnxEmbedder()
        store = EmbeddedStore(graph, OnnxEmbedder)
        for file in queries:
            asked = read_queries(file)
            with store.snapshot() as snapshot:
                require_techniques(snapshot, file, (id for query in asked for group in query["gold"] for id in group))
                answers = [search(snapshot, embedder.encode, query["query"], ROWS) for query in asked]
                # Without a threshold, every query returns rows, so every query has a best score.
                all_rows = [search(snapshot, embedder.encode, query["query"], ROWS, bar=0.0) for query in asked]
            best = [max((row.score for row in answer.rows), default=0.0) for answer in all_rows]
            report(file.stem, asked, answers, best)
        store.close()


def named(query: dict[str, Any], answer: SearchAnswer) -> bool:
    """Returns whether a gold technique is in a row or among the nearest results."""
    ids = {row.id for row in answer.rows} | {near.id for near in answer.nearest}
    ids |= {relative.id for row in answer.rows for relative in row.relatives}
    return any(id in ids for group in query["gold"] for id in group)


def report(
    name: str, queries: Sequence[dict[str, Any]], answers: Sequence[SearchAnswer], best: Sequence[float]
) -> None:
    console = Console(width=110)
    table = Table("", "kind", "queries", "no row", "in rows or nearest", title=name)
    for present in (True, False):
        asked = [(q, answer) for q, answer in zip(queries, answers, strict=True) if bool(q["gold"]) is present]
        for kind in ("short", "paraphrase", "task", "all"):
            own = [(query, answer) for query, answer in asked if kind in (query["kind"], "all")]
            silent, there = ([not a.rows for _, a in own], [named(query, a) for query, a in own])
            counts = [f"{sum(each)} ({mean(each):.1%})" for each in ((silent, there) if present else (silent,))]
            table.add_row("present" if present else "absent", kind, str(len(own)), *counts)
    console.print(table)
    has = [score for query, score in zip(queries, best, strict=True) if query["gold"]]
    none = [score for query, score in zip(queries, best, strict=True) if not query["gold"]]
    threshold = sorted(has)[math.floor(LOST * len(has))]
    console.print(f"Refused if {LOST:.0%} are lost: {mean(score < threshold for score in none):.1%}")
    reliability = Table("best score", "queries", "share with an answer")
    for low, high in pairwise(BINS):
        share, others = (mean(low <= score < high for score in scores) for scores in (has, none))
        count = sum(low <= score < high for score in best)
        if count:
            reliability.add_row(f"{low:g} to {min(high, 1):g}", str(count), f"{share / (share + others):.2f}")
    console.print(reliability)


if __name__ == "__main__":
    run_command(main)
