"""Tests which papers are found to be related to a paper, and the reasons given."""

from collections.abc import Iterator

import pytest

from tests.serve.conftest import published, snapshot_of, technique
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.model import Paper, PaperBundle, Reference
from xkg.serve.search.related import RelatedRow, related_papers
from xkg.store.graph_store import Snapshot


def paper(number: int, title: str, *techniques: tuple[str, str, str], cites: str = "") -> PaperBundle:
    own = f"arxiv:2101.{number:05d}"
    references = (Reference(title="x", arxiv_id=cites),) if cites else ()
    return PaperBundle(
        paper=Paper(id=own, title=title, year=2000 + number, origin="build", references=references),
        techniques=tuple(technique(own, path, name, said) for path, name, said in techniques),
    )


STEAM = "Pour water on hot iron in the oven, so that steam keeps the crust of the loaf soft while it rises."
PAPERS = [
    paper(
        1,
        "Bread",
        ("baking", "Hearth Baking", "Bake loaves of wheat bread on a hot stone in a closed oven."),
        ("baking/steam", "Steam Injection", STEAM),
    ),
    paper(2, "Rolls", ("rolls", "Steam Injection", STEAM)),
    paper(3, "Deep rolls", ("a", "Roll Factory", "A line of machines."), ("a/steam", "Steam Injection", STEAM)),
    paper(4, "Crumb", ("crumb", "Crumb Scanner", "Photographs slices of bread and counts holes."), cites="2101.00001"),
    paper(5, "Stars", ("stars", "Star Catalogue", "Positions of stars from photographic plates of the night sky.")),
    paper(6, "Bees", ("hive", "Hive Smoking", "Blow cool smoke into the hive to calm the bees.")),
    paper(7, "Ships", ("hull", "Hull Painting", "Copper paint keeps barnacles off a wooden hull.")),
    paper(8, "Law", ("law", "Tort Digest", "Summaries of court decisions in alphabetical order.")),
]


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory, embedder: OnnxEmbedder) -> Iterator[Snapshot]:
    with snapshot_of(published(tmp_path_factory.mktemp("related"), embedder, *PAPERS), embedder) as snapshot:
        yield snapshot


def rows(snapshot: Snapshot, title: str, k: int = 10) -> dict[str, RelatedRow]:
    return {row.title: row for row in related_papers(snapshot, title, k).rows}


def test_a_citation_relates_either_way(snapshot: Snapshot) -> None:
    citing, cited = rows(snapshot, "crumb")["Bread"], rows(snapshot, "bread")["Crumb"]
    assert (citing.cites, citing.cited) == (True, False)
    assert (cited.cites, cited.cited) == (False, True)
    assert cited.score >= 0.5


def test_a_shared_concept_counts_by_its_place(snapshot: Snapshot) -> None:
    found = rows(snapshot, "bread")
    (pair,) = found["Rolls"].shared
    assert (pair.own_name, pair.other_name) == ("Steam Injection", "Steam Injection")
    assert (pair.own, pair.other) == ("arxiv:2101.00001#baking/steam", "arxiv:2101.00002#rolls")
    (back,) = rows(snapshot, "rolls")["Bread"].shared
    assert (back.own, back.other) == (pair.other, pair.own)
    assert found["Rolls"].score > found["Deep rolls"].score > 0
    assert found["Rolls"].alike > 0
    assert found["Rolls"].nearest[0].other == "arxiv:2101.00002#rolls"


def test_the_unrelated_and_the_paper_itself_are_not_there(snapshot: Snapshot) -> None:
    found = related_papers(snapshot, "arxiv:2101.00001")
    assert found.paper == "arxiv:2101.00001"
    assert {row.title for row in found.rows} >= {"Rolls", "Deep rolls", "Crumb"}
    assert {row.title for row in found.rows}.isdisjoint({"Bread", "Stars", "Bees", "Ships", "Law"})
    scores = [row.score for row in found.rows]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
