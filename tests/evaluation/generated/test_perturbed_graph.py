"""A graph of perturbed techniques can be served, and is like what it was made from."""

from pathlib import Path

import numpy as np

from evaluation.generated.graph import bundles
from evaluation.generated.perturbed_graph import VECTORS_FILE, all_vectors, papers_of, perturbed, publish, source
from tests.store.graphs import FakeHashEmbedder
from xkg.serve.search.search import search
from xkg.store.local.store import EmbeddedStore


def test_a_graph_is_made_and_answers(tmp_path: Path) -> None:
    model = FakeHashEmbedder()
    of = source(bundles(3), model)
    publish(tmp_path, of, 130)
    store = EmbeddedStore(tmp_path, lambda: model)
    with store.snapshot() as snapshot:
        papers = papers_of(of, 130)
        assert (snapshot.paper_count(), papers) == (7, 7)
        stored = np.load(tmp_path / VECTORS_FILE)
        assert np.array_equal(stored, all_vectors(of, papers))
        wanted = perturbed(of, 5).techniques[3]
        assert search(snapshot, model.encode, wanted.name).rows[0].name == wanted.name
        (reading,) = model.encode([f"{wanted.name}. {wanted.definition}"])
        near = snapshot.interaction(reading, [t.id for t in perturbed(of, 5).techniques])
        assert max(near, key=lambda technique: near[technique]) == wanted.id
        assert 0.3 < near[wanted.id] < 0.9
        assert any(snapshot.citations_of(paper)[0] for paper in snapshot.paper_ids())
    store.close()
