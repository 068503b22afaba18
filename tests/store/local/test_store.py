import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.store.graphs import FakeHashEmbedder, a_paper, no_embedder, open_store
from tests.store.test_bundles import any_bundle
from xkg.errors import CorruptStoreError, InputError, ModelMismatchError, StoreError, UnknownIdError
from xkg.model import Level, PaperBundle, Reference
from xkg.store.graph_store import Facts
from xkg.store.index_entries import entries, vector_text
from xkg.store.local.store import EmbeddedStore


def rows(store: EmbeddedStore, statement: str) -> list[list[object]]:
    """Queries the graph file itself, without the guard and the separate process."""
    import ladybug

    with store.snapshot() as snapshot:
        graph = snapshot.graph_file()
        assert graph is not None
        database = ladybug.Database(graph, read_only=True, max_db_size=1 << 32)
        with database, ladybug.Connection(database) as connection:
            return sorted(connection.execute(statement).get_all())  # type: ignore[union-attr]


@given(st.lists(any_bundle(), max_size=3, unique_by=lambda b: b.paper.id))
@settings(max_examples=4)
def test_what_is_published_comes_back(tmp_path_factory: pytest.TempPathFactory, papers: list[PaperBundle]) -> None:
    store = open_store(tmp_path_factory.mktemp("any"))
    store.publish(papers)
    assert sorted(store.bundles(), key=lambda b: b.paper.id) == sorted(papers, key=lambda b: b.paper.id)
    with store.snapshot() as snapshot:
        for bundle in papers:
            assert snapshot.bundle(bundle.paper.id) == bundle
            for entry in entries(bundle):
                view = snapshot.technique(entry.technique.id)
                assert (view.technique, view.path, view.code) == (entry.technique, entry.path, entry.code)
                assert entry.technique.id in {h.id for h in snapshot.find_vector(vector_of(vector_text(entry)), 50)}
    assert store.check() == []
    store.close()


def test_facts_and_citations_and_the_background(tmp_path: Path) -> None:
    store = open_store(tmp_path / "kg")
    citing = a_paper(2)
    citing = citing.model_copy(
        update={"paper": citing.paper.model_copy(update={"references": (Reference(title="x", arxiv_id="2101.00001"),)})}
    )
    store.publish([a_paper(1), citing])
    with store.snapshot() as snapshot:
        top, part = "arxiv:2101.00001#method", "arxiv:2101.00001#method/layer-norm"
        assert snapshot.facts([part, top, "nobody#x"]) == {
            part: Facts(paper="arxiv:2101.00001", level=Level.PARSED, language="python", packages=("numpy",)),
            top: Facts(paper="arxiv:2101.00001", level=Level.NONE),
        }
        assert snapshot.citations_of("arxiv:2101.00002") == ({"arxiv:2101.00001"}, set())
        background = snapshot.background(vector_of("x"))
        assert (-1 <= background.mean <= 1, 0 <= background.deviation <= 1, background.techniques) == (True, True, 6)
    store.remove(["arxiv:2101.00001", "arxiv:2101.00002"])
    with store.snapshot() as snapshot:
        assert snapshot.background(vector_of("x")) == (0.0, 0.0, 0)
        assert snapshot.facts([part]) == {}
        assert snapshot.matched("norm", [part])[0] == {}


def vector_of(text: str) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    return FakeHashEmbedder().embed([text])[0]


def test_publish_replace_remove_rollback_reopen(tmp_path: Path) -> None:
    store = open_store(tmp_path / "kg")
    assert store.publish([a_paper(1), a_paper(2)]) == 1
    assert store.publish([a_paper(2, note="changed"), a_paper(3)]) == 2
    reopened = EmbeddedStore(tmp_path / "kg", no_embedder)
    assert list(reopened.bundles()) == [a_paper(1), a_paper(2, note="changed"), a_paper(3)]
    assert reopened.remove(["arxiv:2101.00001"]) == 3
    assert [b.paper.title for b in store.bundles()] == ["Paper 2", "Paper 3"]
    assert reopened.rollback() == 2
    assert list(store.bundles()) == [a_paper(1), a_paper(2, note="changed"), a_paper(3)]
    assert reopened.rollback() == 1
    assert list(store.bundles()) == [a_paper(1), a_paper(2)]
    assert store.check() == []
    assert store.publish([a_paper(4)]) == 4, "numbers are not used twice"
    assert len(list(store.bundles())) == 3


def test_a_revision_is_of_what_is_stored_at_its_turn_and_of_nothing_else(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.publish([a_paper(1), a_paper(2)])

    def renamed(bundle: PaperBundle) -> PaperBundle:
        return bundle.model_copy(update={"paper": bundle.paper.model_copy(update={"title": "Another"})})

    open_store(tmp_path).publish([a_paper(1, note="by another writer")])
    gone = "arxiv:2101.00009"
    assert store.revise([a_paper(1).paper.id, gone], renamed) == 3
    assert list(store.bundles()) == [renamed(a_paper(1, note="by another writer")), a_paper(2)]
    assert store.revise([a_paper(2).paper.id], lambda bundle: bundle) == 3
    assert store.revise([gone], renamed) == 3
    with pytest.raises(InputError):
        store.revise([a_paper(2).paper.id], lambda bundle: bundle.model_copy(update={"techniques": ()}))
    assert open_store(tmp_path / "empty").revise([gone], renamed) == 0
    assert store.check() == []


def test_papers_that_are_stored_as_they_are_publish_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    assert store.publish([a_paper(1), a_paper(2)]) == 1
    again = EmbeddedStore(tmp_path, no_embedder)
    assert again.publish([a_paper(2)]) == 1
    (damaged,) = (tmp_path / "bundles").glob("arxiv-2101.00001-*")
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[:-9])
    assert again.publish([a_paper(1)]) == 1
    assert damaged.read_bytes() == whole, "a damaged file is written anew"
    assert store.publish([a_paper(1), a_paper(2, note="changed")]) == 2
    assert store.publish([a_paper(1), a_paper(2)]) == 3
    assert [p.name for p in sorted((tmp_path / "generations").iterdir())] == ["1", "2", "3"]


def test_two_earlier_generations_are_retained(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for n in range(5):
        store.publish([a_paper(note=str(n))])
    assert sorted(p.name for p in (tmp_path / "generations").iterdir()) == ["3", "4", "5"]
    assert len(list((tmp_path / "bundles").iterdir())) == 3
    assert store.rollback() == 4
    assert store.rollback() == 3
    with pytest.raises(StoreError, match="nothing to roll back"):
        store.rollback()
    assert next(store.bundles()) == a_paper(note="2")


def test_an_empty_graph_answers_with_nothing(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path / "none", no_embedder)
    with store.snapshot() as snapshot:
        assert snapshot.generation == 0
        assert list(snapshot.papers()) == list(snapshot.find_text("anything", 5)) == list(snapshot.named("x")) == []
        assert list(snapshot.find_vector(vector_of("x"), 5)) == []
        with pytest.raises(UnknownIdError, match="graph is empty"):
            snapshot.bundle("arxiv:1")
    assert store.check() == []
    assert not (tmp_path / "none").exists(), "reading makes no folder"
    with pytest.raises(StoreError, match="nothing to roll back"):
        store.rollback()


def test_what_is_hidden_is_found_without_its_code_and_is_not_in_the_graph(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    whole = a_paper()
    top, norm, warm = whole.techniques
    bundle = whole.model_copy(
        update={"techniques": (top, norm.model_copy(update={"hidden": "no code at executed"}), warm)}
    )
    store.publish([bundle])
    with store.snapshot() as snapshot:
        assert snapshot.bundle(bundle.paper.id) == bundle
        assert [c.name for c in snapshot.technique(top.id).children] == ["Warm-up"]
        assert snapshot.technique(top.id).without_code == ("Warm-up", "Layer normalisation")
        assert list(snapshot.named("LayerNorm")) == [norm.id]
        assert norm.id in {hit.id for hit in snapshot.find_text("layer norm", 5)}
        assert len(snapshot.find_vector(vector_of("x"), 10)) == 3
        view = snapshot.technique(norm.id)
        assert (view.technique.hidden, view.code) == ("no code at executed", None)
        assert snapshot.facts([norm.id])[norm.id].level is Level.NONE
        with pytest.raises(UnknownIdError):
            snapshot.code(bundle.code[0].id)
    assert rows(store, "MATCH (c:Code) RETURN c.id") == []
    assert rows(store, "MATCH (:Technique)-[l:LOCATED_AT]->(:Symbol) RETURN l.rank") == []
    assert rows(store, "MATCH (:Technique)-[l:HAS_COMPONENT]->(t:Technique) RETURN t.name, l.`order`") == [
        ["Warm-up", 0]
    ]


def test_code_has_the_name_of_its_technique_and_what_was_claimed(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.publish([a_paper()])
    found = rows(store, "MATCH (t:Technique)-->(c:Code) RETURN t.aliases, c.name, c.packages, c.claims")
    assert found == [[["LayerNorm", "LN"], "Layer normalisation", ["numpy"], '{"pass_exec": null}']]


def test_unknown_ids_are_answered_with_the_nearest(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.publish([a_paper(7)])
    with store.snapshot() as snapshot:
        with pytest.raises(UnknownIdError, match=r"nearest: arxiv:2101\.00007#method/layer-norm"):
            snapshot.technique("arxiv:2101.00007#method/layernorms")
        with pytest.raises(UnknownIdError, match=r"nearest: arxiv:2101\.00007"):
            snapshot.bundle("arxiv:2101.0007")
        with pytest.raises(UnknownIdError):
            snapshot.code("arxiv:2101.00007#method@000000000000")
        with pytest.raises(UnknownIdError):
            snapshot.find_text("norm", 3, ["arxiv:9999.00000"])
    with pytest.raises(UnknownIdError):
        store.remove(["arxiv:2101.00007", "arxiv:9"])
    assert len(list(store.bundles())) == 1


def test_a_query_vector_of_another_model_is_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.publish([a_paper()])
    with store.snapshot() as snapshot, pytest.raises(ModelMismatchError, match="xkg index rebuild"):
        snapshot.find_vector(np.ones(7, dtype=np.float32), 3)


def test_a_graph_of_the_format_before_is_refused_with_the_command_that_keeps_exactly_its_papers(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.publish([a_paper(1), a_paper(2)])
    store.remove([a_paper(2).paper.id])
    store.close()
    current = json.loads((tmp_path / "CURRENT").read_bytes())
    path = tmp_path / "generations" / str(current["generation"]) / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"format": 5}))
    current["manifest_sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (tmp_path / "CURRENT").write_text(json.dumps(current))
    with pytest.raises(CorruptStoreError, match="xkg index rebuild"):
        list(store.bundles())
    assert store.rebuild()[1] == []
    assert list(store.bundles()) == [a_paper(1)], "what was removed stays so"
    store.close()
