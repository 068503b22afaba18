import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.store.graphs import hashed_words
from tests.store.local.test_store import rows
from xkg.embeddings.base import EncodedText
from xkg.errors import CorruptStoreError
from xkg.model import Paper, PaperBundle, Technique
from xkg.store.concepts import linking, names
from xkg.store.concepts.decisions import judged, text_hash
from xkg.store.graph_store import Decision, Link
from xkg.store.index_entries import Entry
from xkg.store.indexes.vectors import SLACK, neighbours_of
from xkg.store.local.store import EmbeddedStore


class ByFirstWord:
    """Two different texts that contain `cos0.7` have vectors whose cosine is 0.7."""

    model = "fake-cosines"
    dimension = 64

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        matrix = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(matrix, texts, strict=True):
            part = float(text.partition("cos")[2][:4] or 0)
            own = 1 + sum(text.encode()) % (self.dimension - 1)
            row[0], row[own] = part**0.5, (1 - part) ** 0.5
        return matrix

    def encode(self, texts: list[str]) -> list[EncodedText]:
        return hashed_words(texts, self.embed(texts))


def paper(number: int, *techniques: tuple[str, str], hidden: str | None = None) -> PaperBundle:
    """Returns a paper with these techniques, each with a name and a definition."""
    of = f"arxiv:2101.{number:05d}"
    return PaperBundle(
        paper=Paper(id=of, title=f"Paper {number}", origin="build"),
        techniques=tuple(
            Technique(id=f"{of}#{n}", name=name, definition=definition, hidden=hidden)
            for n, (name, definition) in enumerate(techniques)
        ),
    )


def store_at(folder: Path) -> EmbeddedStore:
    return EmbeddedStore(folder, ByFirstWord)  # type: ignore[arg-type, return-value]


def links(store: EmbeddedStore) -> list[Link]:
    with store.snapshot() as snapshot:
        found = snapshot.links()
        assert found is not None
        return list(found)


def how(store: EmbeddedStore) -> dict[tuple[str, str], str]:
    return {(link.first[-7:], link.second[-7:]): link.how for link in links(store)}


def decision(store: EmbeddedStore, link: Link, relation: str = "same") -> Decision:
    with store.snapshot() as snapshot:
        texts = [text_hash(snapshot.technique(end).technique) for end in (link.first, link.second)]
    return Decision(
        first=link.first,
        second=link.second,
        judged=judged(*texts),
        relation=relation,
        by="a test",  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (("Sparse Gate Pruning (SGP)", "cos0.4"), ("sparse gate pruning", "cos0.4 too"), "name"),
        (("Sparse gate pruning", "cos0.1"), ("Sparse gate pruning", "cos0.1 too"), "open"),
        (("SGP", "cos0.7"), ("Sparse Gate Pruning (SGP)", "cos0.7 too"), "name"),
        (("SGP", "cos0.4"), ("Sparse Gate Pruning (SGP)", "cos0.4 too"), "open"),
        (("SGP", "cos0.1"), ("Sparse Gate Pruning (SGP)", "cos0.1 too"), None),
        (("Sigmoid Ghost Plots (SGP)", "cos0.5"), ("Sparse Gate Pruning (SGP)", "cos0.5 too"), None),
        (("Training", "cos0.5"), ("Training", "cos0.5 too"), None),
        (("Training", "cos0.8"), ("Training", "cos0.8 too"), "open"),
        (("Gates that close", "cos0.8"), ("Something else", "cos0.8 too"), "open"),
        (("Gates that close", "cos0.99"), ("Something else", "cos0.99 too"), "vectors"),
    ],
)
def test_what_links_two_techniques(
    tmp_path: Path, one: tuple[str, str], other: tuple[str, str], expected: str | None
) -> None:
    store = store_at(tmp_path)
    store.publish([paper(1, one), paper(2, other)])
    assert how(store) == ({("00001#0", "00002#0"): expected} if expected else {})
    edges = rows(store, "MATCH (a:Technique)-[l:SAME_CONCEPT]->(b:Technique) RETURN a.id, b.id, l.how")
    assert len(edges) == (expected not in (None, "open"))


def test_what_is_hidden_is_not_linked(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    same = ("Sparse gates", "cos0.8")
    store.publish([paper(1, same), paper(2, same, hidden="no code")])
    assert links(store) == []


NAMES = ["Sparse gates", "SG", "Sparse Gates (SG)", "Training", "Soft gates", "Bare"]
DEFINITIONS = ["cos0.2 x", "cos0.5 y", "cos0.7 z", "cos0.99", "cos0.99 w", ""]
a_technique = st.tuples(st.sampled_from(NAMES), st.sampled_from(DEFINITIONS))
some_papers = st.lists(st.lists(a_technique, max_size=3), min_size=2, max_size=4)


def linked(papers: list[PaperBundle], decisions: dict[tuple[str, str, str], Decision]) -> set[tuple[str, str, str]]:
    """Computes the links between papers directly, without a store."""
    found = [
        linking.concept(row, number, Entry(technique, 0, (), None))
        for row, (number, technique) in enumerate((n, t) for n, bundle in enumerate(papers) for t in bundle.techniques)
    ]
    texts = [f"{t.name} {t.definition}" for bundle in papers for t in bundle.techniques]
    vectors = ByFirstWord().embed(texts)
    groups = np.array([c.paper for c in found], dtype=np.int64)
    cosines = vectors @ vectors.T
    rows, others = np.nonzero(cosines >= linking.OPEN - SLACK)
    near = neighbours_of(rows, others, cosines[rows, others], groups)
    return {(found[e.first].id, found[e.second].id, e.how) for e in linking.link(found, vectors, near, decisions)}


@given(some_papers, st.booleans())
def test_links_are_the_same_in_any_order_and_follow_from_the_two_papers_alone(
    contents: list[list[tuple[str, str]]], decided: bool
) -> None:
    papers = [paper(n, *content) for n, content in enumerate(contents)]
    decisions: dict[tuple[str, str, str], Decision] = {}
    if decided:
        by_id = {t.id: t for bundle in papers for t in bundle.techniques}
        for n, (first, second, _) in enumerate(sorted(linked(papers, {}))):
            made = Decision(
                first=first,
                second=second,
                judged=judged(text_hash(by_id[first]), text_hash(by_id[second])),
                relation=("same", "variant", "different")[n % 3],  # type: ignore[arg-type]
                by="a test",
            )
            decisions[made.key] = made
    whole = linked(papers, decisions)
    for order in itertools.islice(itertools.permutations(papers), 0, None, 5):
        assert linked(list(order), decisions) == whole
    assert set().union(*(linked(list(two), decisions) for two in itertools.combinations(papers, 2))) == whole
    for first, second, _ in whole:
        assert first < second
        assert first.partition("#")[0] != second.partition("#")[0]
    for made in decisions.values():
        assert ((made.first, made.second, "model") in whole) is (made.relation == "same")


def test_a_decision_survives_whatever_happens_to_other_papers_and_a_new_text_asks_again(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    first, second = paper(1, ("Gates that close", "cos0.8")), paper(2, ("Something else", "cos0.8 too"))
    store.publish([first, second])
    (waiting,) = links(store)
    assert waiting.how == "open"
    made = decision(store, waiting)
    store.decide([made])
    pair = ("00001#0", "00002#0")
    assert how(store) == {pair: "model"}
    store.publish([paper(3, ("A third", "cos0.1"))])
    store.publish([first.model_copy(update={"paper": first.paper.model_copy(update={"title": "Retitled"})})])
    assert how(store) == {pair: "model"}
    store.remove([second.paper.id])
    assert how(store) == {}
    assert rows(store, "MATCH ()-[l:SAME_CONCEPT]->() RETURN l.score") == []
    store.publish([second])
    assert how(store) == {pair: "model"}, "what was decided of this text is not asked again"
    store.publish([paper(2, ("Something else", "cos0.8 but reworded"))])
    assert how(store) == {pair: "open"}
    assert store.check() == []


def test_a_damaged_file_of_decisions_is_named_and_repaired(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    store.publish([paper(1, ("Gates that close", "cos0.8")), paper(2, ("Something else", "cos0.8 too"))])
    (waiting,) = links(store)
    store.decide([decision(store, waiting)])
    (file,) = (tmp_path / "links").iterdir()
    file.write_bytes(file.read_bytes()[:-9])
    (problem,) = store.check()
    assert file.name in problem
    with pytest.raises(CorruptStoreError, match="xkg index rebuild"):
        store.publish([paper(3)])
    assert [link.how for link in links(store)] == ["model"], "what is published can be read on"
    _, notes = store.rebuild()
    assert any("xkg concepts" in note for note in notes)
    assert links(store) == [waiting]
    assert store.check() == []
    assert file.with_suffix(".damaged").exists()


def test_a_name_that_a_paper_gives_to_very_many_techniques_links_nothing() -> None:
    def concepts(many: int) -> list[linking.Concept]:
        named = names.names("Kernel smoothing", ())
        rows = [(0, f"a#{n}") for n in range(many)] + [(1, "b#0")]
        return [linking.Concept(row, of, own, named, "") for row, (of, own) in enumerate(rows)]

    def linked(many: int) -> int:
        return len(linking.link(concepts(many), np.ones((many + 1, 1), np.float32), (), {}))

    assert (linked(1), linked(linking.MOST_NAMESAKES), linked(linking.MOST_NAMESAKES + 1)) == (1, 20, 0)
