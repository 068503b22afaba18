import itertools
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tests.store.graphs import FakeHashEmbedder, a_paper
from tests.store.neo4j.loading import EMBEDDER, Graph
from xkg.config import EmbeddingSettings, IndexSettings, Settings, StoreSettings
from xkg.errors import ModelMismatchError, StoreError, UnknownIdError
from xkg.model import Paper, PaperBundle, Technique
from xkg.store.graph_store import Hit, Snapshot
from xkg.store.local.store import EmbeddedStore
from xkg.store.neo4j.search.indexes import SearchIndex
from xkg.store.neo4j.snapshot import RemoteSnapshot
from xkg.store.neo4j.store import Neo4jStore

WORDS = "sparse gradient kernel LayerNorm gated attention schedule warm-up posterior residual codebook 정규화".split()


def a_corpus(papers: int = 12, techniques: int = 6) -> list[PaperBundle]:
    rng = np.random.default_rng(1)

    def text(count: int) -> str:
        return " ".join(rng.choice(WORDS, size=count))

    bundles = []
    for number in range(papers):
        paper = f"arxiv:2102.{number:05d}"
        bundles.append(
            PaperBundle(
                paper=Paper(id=paper, title=text(3), origin="build"),
                techniques=tuple(
                    Technique(id=f"{paper}#t{n}", name=text(2), definition=text(n * 4), aliases=(text(1),))
                    for n in range(techniques)
                ),
            )
        )
    return bundles


def opened(graph: Graph) -> SearchIndex:
    index = SearchIndex(graph.connection)
    index.prepare(EMBEDDER.dimension, EMBEDDER.model)
    return index


def ids(found: Sequence[Hit]) -> list[str]:
    return [hit.id for hit in found]


def both(graph: Graph, folder: Path, bundles: Sequence[PaperBundle]) -> Iterator[Snapshot]:
    index = opened(graph)
    graph.put(*bundles)
    store = EmbeddedStore(folder, FakeHashEmbedder)
    store.publish(bundles)
    with store.snapshot() as embedded:
        yield embedded
        yield RemoteSnapshot(graph.connection, 1, graph.read, index=index)


def test_both_stores_find_alike(graph: Graph, tmp_path: Path) -> None:
    corpus = a_corpus()
    embedded, remote = both(graph, tmp_path, corpus)
    assert remote.searchable
    assert remote.embedding_model() == EMBEDDER.model
    some = [bundle.paper.id for bundle in corpus[:3]]
    for papers in ((), some):
        for query in ("layer norm", "sparse gradients", "LAYERNORM warmup", "정규화", "the of and", "zzz"):
            ours, theirs = remote.find_text(query, 500, papers), embedded.find_text(query, 500, papers)
            assert set(ids(ours)) == set(ids(theirs)), query
            scores = {hit.id: hit.score for hit in theirs}
            assert [h.score for h in ours] == pytest.approx([scores[h.id] for h in ours], rel=0.1)
            assert [h.score for h in ours] == sorted((h.score for h in ours), reverse=True)
            assert list(remote.find_text(query, 2, papers)) == list(ours[:2])
        for text in ("one", "two"):
            vector = EMBEDDER.embed([text])[0]
            ours, theirs = remote.find_vector(vector, 15, papers), embedded.find_vector(vector, 15, papers)
            assert ids(ours) == ids(theirs)
            assert [h.score for h in ours] == pytest.approx([h.score for h in theirs], abs=1e-5)


def test_both_stores_judge_alike(graph: Graph, tmp_path: Path) -> None:
    corpus = [*a_corpus(), a_paper(1)]
    embedded, remote = both(graph, tmp_path, corpus)
    known = [technique.id for bundle in corpus for technique in bundle.techniques]
    asked = [*known, "arxiv:none#x"]
    for query in ("layer norm", "sparse gradients of attention", "LAYERNORM 정규화", "zzz nothing", "the of and", ""):
        ours, total = remote.matched(query, asked)
        theirs, in_all = embedded.matched(query, asked)
        assert ours == pytest.approx(theirs)
        assert total == pytest.approx(in_all)
        assert ours.keys() == {*known}
    vectors, theirs_too = remote.vectors(asked), embedded.vectors(asked)
    assert vectors.keys() == theirs_too.keys() == {*known}
    assert all(np.allclose(vectors[t], theirs_too[t], atol=1e-6) for t in known)
    assert remote.background(vectors[known[0]]) == pytest.approx(embedded.background(vectors[known[0]]), abs=1e-5)
    assert remote.facts(asked) == embedded.facts(asked)
    for reading in EMBEDDER.read(["layer norm", "sparse gradients of attention", "the", "?"]):
        near = remote.interaction(reading, asked)
        assert near == pytest.approx(embedded.interaction(reading, asked))
        assert near.keys() == ({*known} if len(reading.words) > 1 else set())


def test_the_background_is_a_sample_that_stays(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xkg.store.neo4j.snapshot._SAMPLE", 20)
    index = opened(graph)
    graph.put(*a_corpus())
    vector = EMBEDDER.embed(["anything"])[0]
    first = RemoteSnapshot(graph.connection, 1, graph.read, index=index).background(vector)
    assert first.techniques == 72
    assert first == RemoteSnapshot(graph.connection, 2, graph.read, index=index).background(vector)
    assert index.sample(20).shape == (20, EMBEDDER.dimension)


def test_no_query_is_an_error(graph: Graph) -> None:
    index = opened(graph)
    graph.put(a_paper(1))
    paper = "arxiv:2101.00001"
    many = [paper, *(f"arxiv:{n}" for n in range(1000))]
    words = " ".join(map("".join, itertools.product("qxz", repeat=8)))
    queries = [
        "",
        " ",
        "\0",
        "\ud800",
        "*",
        "x*",
        "~",
        '"',
        "\\",
        "name:(",
        "+scope:x",
        "AND OR NOT",
        "x AND",
        "[x TO y]",
    ]
    for query in (*queries, "-", "&& ||", "x^99", "🙂", "x" * 100_000, words):
        assert index.find_text(query, 5) == [], query[:20]
        assert index.find_text(query, 5, many) == [], query[:20]
        assert ids(index.find_text(f"Warm-up {query}", 5, many)) == [f"{paper}#method/warm-up"], query[:20]


def test_a_filter_leaves_k_results_where_there_are_k(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    index = opened(graph)
    corpus = a_corpus()
    graph.put(*corpus)
    vector = EMBEDDER.embed(["anything"])[0]
    everything = index.find_vector(vector, 1000)
    assert len(everything) == 72
    last = everything[-1].id.partition("#")[0]
    wanted = [hit for hit in everything if hit.id.startswith(f"{last}#")]
    assert ids(index.find_vector(vector, 6, [last])) == ids(wanted)
    # The same through the graph of neighbours, from which too few of the paper come back.
    monkeypatch.setattr("xkg.store.neo4j.search.indexes._EXACT_UP_TO", 0)
    monkeypatch.setattr("xkg.store.neo4j.search.indexes._LEAST_CANDIDATES", 1)
    assert ids(index.find_vector(vector, 6, [last])) == ids(wanted)
    assert ids(index.find_vector(vector, 3, [last, "arxiv:none"])) == ids(wanted[:3])
    assert index.find_vector(vector, 3, ["arxiv:none"]) == []


def test_entries_follow_their_paper(graph: Graph) -> None:
    index = opened(graph)
    graph.put(a_paper(1), a_paper(2))
    assert len(index.find_text("warm-up", 9)) == 2
    smaller = a_paper(1).model_copy(update={"techniques": a_paper(1).techniques[:1], "code": (), "locations": ()})
    graph.put(smaller.model_copy(update={"derivations": ()}))
    assert ids(index.find_text("warm-up", 9)) == ["arxiv:2101.00002#method/warm-up"]
    assert len(index.find_vector(EMBEDDER.embed(["x"])[0], 99)) == 4
    graph.remove("arxiv:2101.00002")
    assert index.find_text("warm-up", 9) == []
    assert ids(index.find_vector(EMBEDDER.embed(["x"])[0], 99)) == ["arxiv:2101.00001#method"]


def test_another_model_is_refused_with_the_command_that_mends_it(graph: Graph) -> None:
    index = opened(graph)
    graph.put(a_paper(1))
    other = FakeHashEmbedder("other", 16)
    with pytest.raises(ModelMismatchError, match=r"'fake-hash'.*'other'.*xkg index rebuild"):
        SearchIndex(graph.connection).prepare(other.dimension, other.model)
    with pytest.raises(ModelMismatchError, match="xkg index rebuild"):
        SearchIndex(graph.connection).prepare(8, EMBEDDER.model)
    with pytest.raises(ModelMismatchError, match="xkg index rebuild"):
        graph.put(a_paper(1, note="new"), embedder=other)
    with pytest.raises(ModelMismatchError, match="8 dimensions"):
        index.find_vector(np.ones(8, dtype=np.float32), 3)
    assert len(index.find_text("warm-up", 9)) == 1

    anew = SearchIndex(graph.connection)
    smaller = FakeHashEmbedder("other", 8)
    anew.reset(8, "other")
    assert anew.find_text("warm-up", 9) == []
    assert anew.backfill(graph.bundles, smaller) == 1
    assert len(anew.find_vector(smaller.embed(["x"])[0], 99)) == 3


def test_papers_from_before_are_filled_in_and_writers_keep_what_they_wrote(graph: Graph) -> None:
    graph.put(*a_corpus(5), a_paper(1))
    index = opened(graph)
    late = a_corpus(5)[1].paper.id
    calls = 0

    def read(papers: Sequence[str]) -> Iterator[PaperBundle]:
        nonlocal calls
        calls += 1
        found = list(graph.bundles(papers))
        # Another writer comes between, twice, and then the machine stops.
        if calls == 1:
            graph.put(a_paper(1, note="newer"))
        if calls == 2:
            graph.remove(late)
        if calls == 3:
            raise KeyboardInterrupt
        return iter(found)

    with pytest.raises(KeyboardInterrupt):
        index.backfill(read, EMBEDDER, batch=2)
    assert index.backfill(graph.bundles, EMBEDDER, batch=2) == 2
    assert index.backfill(graph.bundles, EMBEDDER) == 0
    found = {hit.id for hit in index.find_vector(EMBEDDER.embed(["x"])[0], 999)}
    assert found == {t.id for b in (*a_corpus(5), a_paper(1)) for t in b.techniques if b.paper.id != late}
    assert ids(index.find_text("newer", 3)) == ["arxiv:2101.00001#method"]


def test_an_unknown_paper_is_named(graph: Graph) -> None:
    graph.put(a_paper(1))
    remote = RemoteSnapshot(graph.connection, 1, graph.read, index=opened(graph))
    for find in (lambda: remote.find_text("x", 3, ["arxiv:2101.1"]),
                 lambda: remote.find_vector(EMBEDDER.embed(["x"])[0], 3, ["arxiv:2101.1"])):  # fmt: skip
        with pytest.raises(UnknownIdError, match=r"nearest: arxiv:2101\.00001"):
            find()


def test_indexes_that_somebody_dropped_are_said_and_made_again(graph: Graph) -> None:
    index = opened(graph)
    graph.put(a_paper(1))
    for name in ("xkg_search_texts", "xkg_search_vectors"):
        graph.connection.write(lambda tx, name=name: tx.run(f"DROP INDEX {name}").consume())
    with pytest.raises(StoreError, match="xkg index rebuild"):
        index.find_text("warm-up", 3)
    with pytest.raises(StoreError, match="xkg index rebuild"):
        index.find_vector(EMBEDDER.embed(["x"])[0], 3)
    assert len(opened(graph).find_text("warm-up", 3)) == 1


def test_a_store_searches_what_every_writer_writes(graph: Graph, tmp_path: Path) -> None:
    where = StoreSettings(url=graph.connection.address)
    vectors = EmbeddingSettings(model=EMBEDDER.model)
    plain = Settings(kg=tmp_path / "plain", store=where, embedding=vectors)
    chosen = Settings(kg=tmp_path / "bare", store=where, embedding=vectors, index=IndexSettings(vectors="neo4j"))
    embedder = FakeHashEmbedder(chosen.embedding.vectors)
    with closing(Neo4jStore(plain, lambda: embedder)) as writer, closing(Neo4jStore(chosen, lambda: embedder)) as store:
        writer.publish([a_paper(1)])
        with store.snapshot() as snapshot:
            assert ids(snapshot.find_text("warm-up", 3)) == ["arxiv:2101.00001#method/warm-up"]
        writer.publish([a_paper(2)])
        with store.snapshot() as snapshot:
            assert len(snapshot.find_text("warm-up", 3)) == 2
            assert len(snapshot.find_vector(embedder.embed(["x"])[0], 9, ["arxiv:2101.00002"])) == 3
        writer.remove(["arxiv:2101.00001"])
        with store.snapshot() as snapshot:
            assert ids(snapshot.find_text("warm-up", 3)) == ["arxiv:2101.00002#method/warm-up"]
        assert not (tmp_path / "bare" / "replica").exists()
