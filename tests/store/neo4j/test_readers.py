"""Readers with a copy each, on one graph on a real Neo4j; `tests/store/local/test_replica.py` has the many cases."""

import random
from pathlib import Path
from unittest import mock

import pytest

from tests.neo4j_server import Neo4jServer
from tests.store.graphs import FakeHashEmbedder, a_paper
from tests.store.neo4j.stores import open_remote
from xkg.store.neo4j.store import Neo4jStore

STEPS = 12


def found(store: Neo4jStore) -> object:
    """What can be asked of the graph."""
    with store.snapshot() as snapshot:
        papers = [paper.id for paper in snapshot.papers()]
        ids = [technique.id for paper in papers for technique in snapshot.bundle(paper).techniques]
        vector = FakeHashEmbedder().embed(["attention"])[0]
        return (
            papers,
            ids,
            snapshot.find_text("attention weights of a paper", 50),
            [(hit.id, round(hit.score, 5)) for hit in snapshot.find_vector(vector, 50)],
            snapshot.links(),
        )


@pytest.mark.product("one history more")
@pytest.mark.parametrize("seed", [0, 1])
def test_readers_that_were_restarted_find_what_a_fresh_one_finds(
    seed: int, server: Neo4jServer, tmp_path: Path
) -> None:
    draw = random.Random(seed)
    writer = open_remote(server, tmp_path / "writer")
    with mock.patch.multiple("xkg.store.local.replica", SMALL=0, SHARE=100.0):  # layers, however small the graph
        writer.publish([a_paper(1), a_paper(2)])
        readers = [open_remote(server, tmp_path / str(number)) for number in range(3)]
        for turn in range(STEPS):
            number = draw.randint(1, 5)
            held = [bundle.paper.id for bundle in writer.bundles()]
            if draw.random() < 0.3 and held:
                writer.remove([draw.choice(held)])
            else:
                writer.publish([a_paper(number, note=f"turn {turn}")])
            one = draw.randrange(3)
            if draw.random() < 0.5:
                readers[one].close()
                readers[one] = open_remote(server, tmp_path / str(one))
            found(readers[one])
    # whatever comes next is made one with the base
    with mock.patch.multiple("xkg.store.local.replica", SMALL=0, SHARE=0.0):
        writer.publish([a_paper(6)])
        fresh = open_remote(server, tmp_path / "fresh")
        expected = found(fresh)
        for store in readers:
            assert found(store) == expected
    for store in (*readers, fresh, writer):
        store.close()
