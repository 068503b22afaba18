"""Tests measured importance, which is stored separately from bundles: on both stores, after a rebuild, exported and
copied."""

from contextlib import closing
from pathlib import Path

import pytest

from tests.neo4j_server import Neo4jServer
from tests.store.flows import FLOW, FLOWS, KERNEL, ablations, bundles
from tests.store.graphs import FakeHashEmbedder, open_store
from xkg.config import Settings, StoreSettings
from xkg.errors import CorruptStoreError, InputError
from xkg.store import ablations as files
from xkg.store.graph_store import GraphStore
from xkg.store.neo4j.store import Neo4jStore

EDGES = "MATCH (t:Technique)-[:ABLATED_IN]->(a:Ablation) RETURN t.id AS technique, a.change AS change ORDER BY change"


def by_id(of: list[str] | None = None) -> list[object]:
    return sorted((a for a in ablations() if of is None or a.technique in of), key=lambda a: a.id)


def require_kept(store: GraphStore) -> None:
    """Checks that ablations are read back and replaced by id, and that they survive the removal and return of their
    paper."""
    flows = [bundle for bundle in bundles() if bundle.paper.id == FLOWS]
    store.publish(bundles())
    store.add_ablations(ablations()[:1])
    store.add_ablations(ablations())
    assert list(store.ablations()) == by_id()
    assert list(store.ablations([KERNEL])) == by_id([KERNEL])
    assert store.query(EDGES).rows == ((KERNEL, -0.75), (FLOW, -0.02), (FLOW, 0.5))
    again = ablations()[0].model_copy(update={"change": 0.25})
    store.add_ablations([again])
    assert [row[1] for row in store.query(EDGES).rows] == [-0.75, -0.02, 0.25]
    store.remove([FLOWS])
    assert not store.query(EDGES).rows
    assert len(store.ablations()) == 3
    store.publish(flows)
    assert [row[1] for row in store.query(EDGES).rows] == [-0.75, -0.02, 0.25]
    store.connect()
    assert not store.check()


def test_an_embedded_graph_keeps_them(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "kg")) as store:
        require_kept(store)
        assert store.rollback()
        assert len(store.ablations()) == 3
        store.rebuild()
        assert len(store.query(EDGES).rows) == 0  # the paper is not in that generation
        assert len(store.ablations()) == 3


def test_a_shared_graph_keeps_them(server: Neo4jServer, tmp_path: Path) -> None:
    settings = Settings(kg=tmp_path / "kg", store=StoreSettings(url=server.url))
    store = Neo4jStore(settings, lambda: FakeHashEmbedder(settings.embedding.vectors))
    with closing(store):
        require_kept(store)


def test_a_damaged_file_is_set_aside_by_a_rebuild(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "kg")) as store:
        store.publish(bundles())
        store.add_ablations(ablations())
        [path] = (tmp_path / "kg" / files.FOLDER).glob("*.json")
        path.write_bytes(path.read_bytes()[:-9])
        with pytest.raises(CorruptStoreError, match="index rebuild"):
            store.ablations()
        assert any(path.name in line for line in store.check())
        _, notes = store.rebuild()
        assert any("xkg ablate report" in note for note in notes)
        assert not store.ablations()
        assert not store.check()


def test_an_export_takes_them_along(tmp_path: Path) -> None:
    assert files.export(tmp_path, []) is None
    assert files.exported(tmp_path) == ()
    path = files.export(tmp_path, ablations())
    assert path is not None
    assert list(files.exported(tmp_path)) == by_id()
    path.write_text("[{}]")
    with pytest.raises(InputError, match=r"ablations\.json"):
        files.exported(tmp_path)
