"""Checks that a graph on a real Neo4j contains exactly what was written to it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.attestations.conftest import LAB, evidence
from tests.neo4j_server import Neo4jServer
from tests.store.graphs import REPOSITORY, FakeHashEmbedder, a_paper, open_store
from tests.store.neo4j.stores import forget, open_remote
from tests.store.test_bundles import any_bundle
from xkg.attestations.bundles import received
from xkg.attestations.envelope import attest
from xkg.errors import CorruptStoreError, InputError, ModelMismatchError, UnknownIdError
from xkg.model import Code, Finding, Location, Paper, PaperBundle, Symbol, Technique
from xkg.store.change_feed import Position
from xkg.store.concepts.decisions import judged, text_hash
from xkg.store.graph_store import Decision
from xkg.store.local.store import EmbeddedStore
from xkg.store.neo4j.db.migrations import read_state
from xkg.store.neo4j.store import Neo4jStore

FIRST, SECOND = a_paper(1), a_paper(2)


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[EmbeddedStore]:
    with closing(open_store(tmp_path / "embedded")) as opened:
        yield opened


def attested() -> PaperBundle:
    """Returns a paper that someone else built. LAB attests its code."""
    sent = a_paper(3)
    code = [each.model_copy(update={"evidence": (evidence(),)}) for each in sent.code]
    claimed = received(sent.model_copy(update={"code": tuple(code)}), [attest(c, evidence(), (), LAB) for c in code])
    assert all(each.attestations for each in claimed.code)
    return claimed


def rows(store: Neo4jStore, statement: str, **parameters: Any) -> list[tuple[Any, ...]]:
    """Runs a statement the way Neo4j Browser does."""
    return store.connection.write(lambda transaction: [tuple(r) for r in transaction.run(statement, parameters)])  # type: ignore[arg-type]


def visible(store: Neo4jStore | EmbeddedStore) -> dict[str, list[tuple[Any, ...]]]:
    """Returns all nodes and edges with the properties that queries see, on either engine."""
    from xkg.store.rows import EDGES, NODES

    found = {}
    for label, columns in NODES.items():
        names = ", ".join(f"n.`{name.removesuffix('[]')}`" for name in columns.split())
        found[label] = store.query(f"MATCH (n:{label}) RETURN {names}", rows=100_000).rows
    for edge, (first, second, columns) in EDGES.items():
        properties = "".join(f", e.`{name.removesuffix('[]')}`" for name in columns.split())
        found[edge] = store.query(
            f"MATCH (a:{first})-[e:{edge}]->(b:{second}) RETURN a.id, b.id{properties}", rows=100_000
        ).rows
    return {
        table: sorted([tuple(tuple(v) if isinstance(v, list) else v for v in row) for row in all_], key=repr)
        for table, all_ in found.items()
    }


def nodes(store: Neo4jStore) -> dict[str, int]:
    """Counts the nodes by label, excluding nodes stored for earlier commits."""
    return dict(rows(store, "MATCH (n) WHERE NOT n:XkgEarlier RETURN labels(n)[0], count(*)"))  # type: ignore[arg-type]


def test_an_empty_server_is_an_empty_graph(store: Neo4jStore) -> None:
    assert list(store.bundles()) == []
    assert store.check() == []
    assert store.position().counter == 0
    with store.snapshot() as snapshot:
        assert snapshot.generation == 0
        assert list(snapshot.papers()) == []
    with pytest.raises(UnknownIdError, match="build or import"):
        store.remove(["arxiv:1"])


def test_papers_that_are_stored_as_they_are_publish_nothing(store: Neo4jStore) -> None:
    store.publish([FIRST, SECOND])
    store.connect()
    at = store.position()
    assert store.publish([SECOND, FIRST]) == at.counter
    assert store.position() == at
    rows(store, "MATCH (t:Technique {id: $id}) SET t.definition = 'by hand'", id=FIRST.techniques[0].id)
    assert store.publish([FIRST, SECOND]) == at.counter + 1
    assert list(store.bundles()) == [FIRST, SECOND]
    changed = a_paper(2, note="changed")
    assert store.publish([FIRST, changed]) == at.counter + 2
    assert list(store.bundles()) == [FIRST, changed]
    store.remove([changed.paper.id])
    assert store.publish([changed]) == at.counter + 4
    assert list(store.bundles()) == [FIRST, changed]


def test_the_same_papers_are_the_same_graph_on_both_stores(
    store: Neo4jStore, embedded: EmbeddedStore, published: Path
) -> None:
    """Compares the graphs on both stores, including citations and shared concepts, before and after removing a
    paper."""
    with closing(open_store(published)) as source:
        papers = list(source.bundles())
    twins = [a_paper(1), a_paper(6), attested()]  # two hashes are close enough for a link
    embedded.publish([*papers, *twins])
    store.publish([*papers, *twins])
    store.connect()
    assert visible(store) == visible(embedded)
    assert len(visible(store)["SAME_CONCEPT"]) >= 1
    assert len(visible(store)["CITES"]) >= 2
    gone = [FIRST.paper.id, papers[0].paper.id]
    embedded.remove(gone)
    store.remove(gone)
    store.connect()
    assert visible(store) == visible(embedded)
    assert store.check() == []


@given(any_bundle())
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bundle_comes_back_from_the_graph(store: Neo4jStore, bundle: PaperBundle) -> None:
    store.publish([bundle])
    assert list(store.bundles()) == [bundle]
    store.remove([bundle.paper.id])
    assert not nodes(store).keys() - {"XkgMeta", "XkgBundle"}


def test_hostile_texts_come_back(store: Neo4jStore) -> None:
    paper = "title:half-a-\ud800-pair\0" + "x" * 9000
    texts = ("\ud800", "a\0b", "", "é" * 9000, "line\r\n\x1f\x7f", "\N{SNOWMAN}\U0001f600")
    techniques = tuple(
        Technique(id=f"{paper}#{n}", name=text, aliases=(text, ""), definition=text, weight=1 / 3)
        for n, text in enumerate(texts)
    )
    hidden = Technique(id=f"{paper}#h", name="\ud800", hidden="", definition="d")
    code = tuple(
        Code(id=f"{t.id}@{n}", technique=t.id, implementation=t.name * 2, test=t.name, claims={t.name: [t.name, None]})
        for n, t in enumerate((*techniques, hidden))
    )
    symbol = Symbol(
        id=REPOSITORY.id + ":a\0b", repository=REPOSITORY.id, path="a\0b", qualified_name="", kind="module",
        start_line=1, end_line=1, fingerprint="f",
    )  # fmt: skip
    bundle = PaperBundle(
        paper=Paper(id=paper, title="\ud800", origin="import", authors=("", "\ud800"), claims={"k": {"\ud800": 1}}),
        techniques=(*techniques, hidden),
        code=code,
        repositories=(REPOSITORY,),
        symbols=(symbol,),
        locations=tuple(
            Location(technique=t.id, symbol=symbol.id, score=0.1, rank=n) for n, t in enumerate((*techniques, hidden))
        ),
        findings=(
            Finding(id=f"{paper}#finding/1", name="", description=None),
            Finding(id=f"{paper}#finding/2", name="\0", description=""),
        ),
    )
    twin = bundle.model_copy(update={"paper": Paper(id="title:half-a-\ud801-pair\0", title="", origin="import")})
    twin = PaperBundle(paper=twin.paper)
    store.publish([bundle, twin])
    assert sorted(store.bundles(), key=lambda b: len(b.paper.id)) == [twin, bundle]
    store.remove([bundle.paper.id])
    assert list(store.bundles()) == [twin]


def test_a_number_that_the_server_cannot_hold_is_refused_and_nothing_is_lost(store: Neo4jStore) -> None:
    store.publish([FIRST])
    paper = FIRST.paper.model_copy(update={"year": 2**64})
    with pytest.raises(InputError, match="64 bits"):
        store.publish([FIRST.model_copy(update={"paper": paper})])
    assert list(store.bundles()) == [FIRST]


def test_what_a_person_changes_in_the_graph_is_in_the_bundle(store: Neo4jStore) -> None:
    store.publish([FIRST, SECOND])
    rows(
        store,
        "MATCH (t:Technique {id: $id}) SET t.definition = 'By hand', t.aliases = ['X']",
        id=f"{FIRST.paper.id}#method",
    )
    rows(
        store,
        "MATCH (t:Technique {id: $id})-[e:LOCATED_AT]->() SET e.score = 0.25",
        id=f"{FIRST.paper.id}#method/layer-norm",
    )
    rows(store, "MATCH (c:Code) WHERE c.id STARTS WITH $id SET c.documentation = 'Mine'", id=FIRST.paper.id)
    rows(store, "MATCH (p:Paper {id: $id}) REMOVE p.title SET p.year = 1999, p.title = 'New'", id=FIRST.paper.id)
    rows(store, "MATCH (t:Technique {id: $id}) DETACH DELETE t", id=f"{FIRST.paper.id}#method/warm-up")
    first, second = store.bundles()
    assert second == SECOND
    assert first.techniques[0].definition == "By hand"
    assert first.techniques[0].aliases == ("X",)
    assert first.locations[0].score == 0.25
    assert first.code[0].documentation == "Mine"
    assert (first.paper.title, first.paper.year) == ("New", 1999)
    assert [t.name for t in first.techniques] == ["Method 1", "Layer normalisation"]
    named = [line for line in store.check() if "by hand" in line and "paper" in line]
    assert len(named) == 1
    assert FIRST.paper.id in named[0]
    rows(store, "CREATE (:Technique {id: 'mine'})")
    assert any("'mine'" in line for line in store.check()), "a node without a paper is named"
    store.publish([FIRST])
    assert next(store.bundles()) == FIRST


def test_what_cannot_be_a_bundle_is_named_and_can_be_replaced(store: Neo4jStore) -> None:
    store.publish([FIRST, SECOND])
    rows(store, "MATCH (t:Technique {id: $id}) SET t.depth = 'deep'", id=f"{FIRST.paper.id}#method")
    with pytest.raises(CorruptStoreError, match=f"{FIRST.paper.id}.*depth"):
        list(store.bundles())
    rows(store, "MATCH (b:XkgBundle {id: $id}) SET b.rest = $rest", id=FIRST.paper.id, rest=b"no zlib")
    with pytest.raises(CorruptStoreError, match="build or import it again"):
        list(store.bundles())
    assert any(FIRST.paper.id in line for line in store.check())
    store.publish([FIRST])
    assert list(store.bundles()) == [FIRST, SECOND]
    rows(store, "MATCH (b:XkgBundle {id: $id}) SET b.rest = $rest", id=FIRST.paper.id, rest=b"no zlib")
    store.remove([FIRST.paper.id])
    store.connect()
    assert list(store.bundles()) == [SECOND]
    assert store.check() == []


def test_repositories_and_symbols_stay_while_a_paper_has_them(store: Neo4jStore) -> None:
    other = FIRST.symbols[0].model_copy(update={"id": f"{REPOSITORY.id}:nn/other.py", "path": "nn/other.py"})
    first = FIRST.model_copy(
        update={
            "repositories": (REPOSITORY.model_copy(update={"is_official": True}),),
            "symbols": (*FIRST.symbols, other),
        }
    )
    official = "MATCH (r:Repository) RETURN r.is_official"
    for order in ([first, SECOND], [SECOND, first]):
        for bundle in order:
            store.publish([bundle])
        assert rows(store, official) == [(True,)]
        assert nodes(store)["Symbol"] == 2
        store.publish([FIRST])  # this version lacks the other symbol and is no longer official
        assert nodes(store)["Symbol"] == 1
        assert rows(store, official) == [(False,)]
        store.publish([first])
        store.remove([FIRST.paper.id])
        assert nodes(store)["Symbol"] == 1
        assert rows(store, official) == [(False,)]
        assert list(store.bundles()) == [SECOND]
        store.remove([SECOND.paper.id])
        assert nodes(store).keys() == {"XkgMeta", "XkgBundle"}


def test_a_paper_that_others_cite_is_a_cited_work_when_it_is_gone(store: Neo4jStore) -> None:
    cited = FIRST.model_copy(
        update={"paper": FIRST.paper.model_copy(update={"arxiv_id": "1706.03762", "id": "arxiv:1706.03762"})}
    )
    cited = PaperBundle(paper=cited.paper)
    store.publish([SECOND])
    store.connect()
    meant = "MATCH (:Paper {id: $id})-[:CITES]->(p {id: 'arxiv:1706.03762'}) RETURN labels(p), p.state"
    assert rows(store, meant, id=SECOND.paper.id) == [(["CitedWork"], None)]
    store.publish([cited])
    assert rows(store, meant, id=SECOND.paper.id) == [(["Paper"], "complete")]
    store.connect()
    assert rows(store, meant, id=SECOND.paper.id) == [(["Paper"], "complete")]
    assert store.check() == []
    store.remove([cited.paper.id])
    store.connect()
    assert rows(store, meant, id=SECOND.paper.id) == [(["CitedWork"], None)]
    assert store.check() == []


def test_what_a_killed_builder_left_unconnected_is_done_by_the_next(
    store: Neo4jStore, server: Neo4jServer, tmp_path: Path
) -> None:
    store.publish([FIRST, SECOND])
    forget(store)
    store.close()
    assert any("xkg concepts" in line for line in store.check())
    other = open_remote(server, tmp_path / "other")
    other.publish([a_paper(6)])
    assert visible(other)["SAME_CONCEPT"] == []
    other.close()
    assert store.check() == []
    assert (f"{FIRST.paper.id}#method/layer-norm", "arxiv:2101.00006#method/layer-norm") in {
        edge[:2] for edge in visible(store)["SAME_CONCEPT"]
    }


def test_decisions_are_drawn_and_stored(store: Neo4jStore, embedded: EmbeddedStore) -> None:
    first, second = FIRST.techniques[0], SECOND.techniques[0]
    decision = Decision(
        first=first.id, second=second.id, judged=judged(text_hash(first), text_hash(second)), relation="same", by="test"
    )
    assert store.decide([decision]) == 0
    for each in (store, embedded):
        each.publish([FIRST, SECOND])
        each.decide([decision])
    assert visible(store) == visible(embedded)
    assert (first.id, second.id) in {edge[:2] for edge in visible(store)["SAME_CONCEPT"]}
    assert list(store.decisions()) == list(embedded.decisions()) == [decision]
    changed = decision.model_copy(update={"relation": "different"})
    store.decide([changed])
    assert list(store.decisions()) == [changed]
    assert (first.id, second.id) not in {edge[:2] for edge in visible(store)["SAME_CONCEPT"]}


def test_changes_lead_from_one_position_to_the_next(store: Neo4jStore) -> None:
    store.publish([FIRST])
    start = store.position()
    assert not store.changes(start).whole
    assert list(store.changes(start).bundles) == []
    store.publish([SECOND])
    store.remove([FIRST.paper.id])
    changes = store.changes(start)
    assert (changes.to, changes.whole, changes.removed) == (store.position(), False, {FIRST.paper.id})
    assert list(changes.bundles) == [SECOND]
    assert changes.decisions is None
    for since in (None, Position("another", 1), Position(start.graph, 10_000)):
        whole = store.changes(since)
        assert (whole.whole, whole.removed, list(whole.bundles)) == (True, frozenset(), [SECOND])
    before = store.position()
    store.rebuild()
    assert store.changes(before).whole, "a graph that was rebuilt is copied anew"
    assert nodes(store)["XkgBundle"] == 1, "tombstones are gone"


def test_another_embedding_model_is_refused_until_the_graph_is_rebuilt(
    store: Neo4jStore, server: Neo4jServer, tmp_path: Path
) -> None:
    from xkg.config import EmbeddingSettings, Settings, StoreSettings

    store.publish([FIRST])
    chosen = Settings(
        kg=tmp_path / "other", store=StoreSettings(url=server.url), embedding=EmbeddingSettings(model="new")
    )
    other = Neo4jStore(chosen, lambda: FakeHashEmbedder("new"))
    with pytest.raises(ModelMismatchError, match="xkg index rebuild"):
        other.publish([SECOND])
    assert any("model" in line for line in other.check())
    other.rebuild()
    other.publish([SECOND])
    assert store.connection.read(read_state).model == "new"
    with pytest.raises(ModelMismatchError):
        store.publish([FIRST])
    forget(other)
    other.close()
