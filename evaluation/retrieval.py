"""How well `search_techniques` finds what a query means, beside BM25 alone, vectors alone and their plain fusion.

    python -m evaluation.retrieval --kg DIR [--queries FILE]

A query holds its gold techniques by paper title and path of names; `groups` lists what must be found, each group met by
any of its techniques. Recall@k is the share of groups met among the first k rows, MRR the reciprocal rank of the first
gold row. A negative query is right when nothing is answered.
"""

import argparse
import json
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from rich.console import Console
from rich.table import Table

from xkg.embed import OnnxEmbedder
from xkg.model import slug
from xkg.ranking import reciprocal_rank_fusion
from xkg.serve.retrieval import OVERFETCH, search
from xkg.store import Snapshot
from xkg.store.embedded import EmbeddedStore

Ranker = Callable[[str], list[list[str]]]
"""Rows for a query, best first; a row is the ids it shows, the row's own first."""


def gold_ids(snapshot: Snapshot, query: dict[str, Any]) -> list[set[str]]:
    """For each gold entry the ids of the techniques at its path; siblings may share a name."""
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
            raise SystemExit(f"{query['id']}: no technique at {gold['path']} of {gold['paper']!r} in this graph")
        found.append(ids)
    return found


def measure(query: dict[str, Any], gold: Sequence[set[str]], rows: list[list[str]], whole_row: bool) -> list[float]:
    """Recall@1, @3, @5 and reciprocal rank; with `whole_row` a row counts for all that it shows."""
    shown = [set(row) if whole_row else set(row[:1]) for row in rows]
    recalls = []
    for k in (1, 3, 5):
        top = set().union(*shown[:k])
        recalls.append(mean(any(gold[g] & top for g in group) for group in query["groups"]))
    wanted = set().union(*gold)
    rank = next((i for i, row in enumerate(shown, start=1) if row & wanted), None)
    return [*recalls, 1 / rank if rank else 0.0]


def main() -> None:
    shared = Path(os.environ.get("XKG_SHARED", "../shared"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kg", type=Path, required=True, help="a graph that holds the papers of the queries")
    parser.add_argument("--queries", type=Path, default=shared / "retrieval-dev" / "queries.jsonl")
    options = parser.parse_args()
    queries = [json.loads(line) for line in options.queries.read_text(encoding="utf-8").splitlines() if line]
    embedder = OnnxEmbedder()
    store = EmbeddedStore(options.kg, lambda: embedder)
    with store.snapshot() as snapshot:

        def vector(text: str) -> Any:
            return embedder.embed([text])[0]

        def by_text(query: str) -> list[str]:
            return [hit.id for hit in snapshot.find_text(query, OVERFETCH)]

        def by_vector(query: str) -> list[str]:
            return [hit.id for hit in snapshot.find_vector(vector(query), OVERFETCH)]

        def alone(ids: Sequence[str]) -> list[list[str]]:
            return [[technique] for technique in ids[:5]]

        def whole(query: str) -> list[list[str]]:
            rows = search(snapshot, vector, query, k=5).rows
            return [[row.id, *(relative.id for relative in row.relatives)] for row in rows]

        rankers: dict[str, tuple[Ranker, bool]] = {
            "BM25 alone": (lambda q: alone(by_text(q)), False),
            "vectors alone": (lambda q: alone(by_vector(q)), False),
            "plain fusion": (
                lambda q: alone([t for t, _ in reciprocal_rank_fusion([by_text(q), by_vector(q)])]),
                False,
            ),
            "search_techniques": (whole, False),
            "… with relatives": (whole, True),
        }
        table = Table("", "kind", "queries", "recall@1", "recall@3", "recall@5", "MRR", "answered with nothing")
        for name, (ranker, whole_row) in rankers.items():
            results: dict[str, list[list[float]]] = defaultdict(list)
            silent: dict[str, list[bool]] = defaultdict(list)
            for query in queries:
                rows = ranker(query["query"])
                kinds = (query["kind"],) if query["kind"] == "negative" else (query["kind"], "all but negative")
                for kind in kinds:
                    silent[kind].append(not rows)
                    if query["gold"]:
                        results[kind].append(measure(query, gold_ids(snapshot, query), rows, whole_row))
            for kind, empty in silent.items():
                means = [f"{mean(column):.2f}" for column in zip(*results[kind], strict=True)] or ["", "", "", ""]
                table.add_row(name, kind, str(len(empty)), *means, f"{sum(empty)}")
                name = ""
            table.add_section()
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
