"""Runs the named queries on all of the peer's published graphs."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.graphs import open_store
from xkg.model import Evidence, Level
from xkg.store.cypher.named_queries import bind, find, queries
from xkg.store.exchange import graph_files, import_files
from xkg.store.local.store import EmbeddedStore

SHARED = Path(os.environ.get("XKG_SHARED") or Path(__file__).parents[3] / "shared")
PAPER = "title:score-based-generative-modeling-through-stochastic-differential-equations"
OTHER = "title:diffusion-posterior-sampling-for-general-noisy-inverse-problems"
VALUES = {
    "level": "parsed", "name": "adam", "other": OTHER, "package": "torch", "paper": PAPER, "path": ".py",
    "technique": "adam", "text": "diffusion",
}  # fmt: skip
# The peer's files contain no costs, years, repositories, findings or resources.
SILENT = {
    "costs-by-month", "partial-papers", "runnable-methods", "ablation-targets", "code-from-file", "entangled-symbols",
    "licenses", "located-in-file", "repositories", "spread-techniques",
}  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStore]:
    store = open_store(tmp_path_factory.mktemp("peer") / "kg")
    store.publish(import_files(graph_files(SHARED / "peer-graphs"), lambda _: Evidence(level=Level.PARSED))[0])
    yield store
    store.close()


@pytest.mark.shared
@pytest.mark.parametrize("name", [query.name for query in queries()])
def test_each_answers_within_what_a_tool_call_has(store: EmbeddedStore, name: str) -> None:
    query = find(name)
    values = {p.name: VALUES[p.name] for p in query.parameters if p.default is None}
    table = store.query(query.statements["embedded"], bind(query, values), seconds=10)
    assert not (name in SILENT and table.rows)


@pytest.mark.shared
def test_counts_agree_with_what_was_imported(store: EmbeddedStore) -> None:
    coverage = store.query(find("paper-coverage").statements["embedded"]).rows
    assert (len(coverage), sum(row[3] for row in coverage), sum(row[5] for row in coverage)) == (43, 309, 183)
