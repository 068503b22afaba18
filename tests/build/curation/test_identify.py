from collections.abc import Sequence

import pytest

from xkg.build.curation.identify import identify
from xkg.build.sources.paper_index import FoundPaper
from xkg.errors import InputError
from xkg.model import Reference
from xkg.text.titles import title_similarity


class Shelf:
    """Imitates an index of a few papers. The index can be down."""

    name, is_slow = "Shelf", False

    def __init__(self, *papers: FoundPaper, down: bool = False) -> None:
        self.papers, self.down = papers, down

    def _all(self) -> Sequence[FoundPaper]:
        if self.down:
            raise InputError("the shelf cannot be reached; try later")
        return self.papers

    def by_arxiv_ids(self, ids: Sequence[str]) -> Sequence[FoundPaper]:
        return [paper for paper in self._all() if paper.arxiv_id in ids]

    def by_dois(self, dois: Sequence[str]) -> Sequence[FoundPaper]:
        return [paper for paper in self._all() if paper.doi in dois]

    def by_titles(self, titles: Sequence[str]) -> Sequence[FoundPaper]:
        return self._all() if titles else ()

    def search(self, query: str, k: int) -> Sequence[FoundPaper]:
        return self._all()[:k] if query else ()


WAVE = FoundPaper(
    source="Shelf",
    title="Wave Transport",
    authors=("Ann Sea",),
    published="2020-01-01",
    arxiv_id="2001.00001",
    doi="10.1/w",
)
OTHER = FoundPaper(
    source="Shelf", title="Wave Transport", authors=("Zoe Land",), published="1999-01-01", arxiv_id="9901.00001"
)


def found(reference: Reference, *papers: FoundPaper) -> tuple[str | None, str]:
    [identified] = identify([reference], [Shelf(*papers)], lambda _: None)
    return (identified.paper.arxiv_id if identified.paper is not None else None), identified.how


def test_by_id_before_doi_before_title() -> None:
    assert (
        found(Reference(title="Wave transport", arxiv_id="2001.00001"), WAVE)[1]
        == "the entry contains arXiv:2001.00001"
    )
    assert "the DOI 10.1/w" in found(Reference(title="Wave transport", doi="10.1/W"), WAVE)[1]
    assert "similarity 1.00" in found(Reference(title="Wave Transport"), WAVE)[1]


def test_an_id_that_belongs_to_another_title_is_not_believed() -> None:
    reference = Reference(title="Pasta recipes of the far north", arxiv_id="2001.00001")
    assert found(reference, WAVE)[0] is None


def test_of_two_papers_of_a_title_the_authors_decide() -> None:
    reference = Reference(title="Wave transport", text="Sea, A. Wave transport. 2020.", year=2020)
    assert found(reference, OTHER, WAVE)[0] == "2001.00001"
    assert found(reference, OTHER)[0] is None


def test_what_is_not_found_says_what_came_nearest() -> None:
    near = found(Reference(title="Wave transport in deep currents"), WAVE)
    assert near[0] is None
    assert "similarity 0.57" in near[1]
    assert "cannot be separated" in found(Reference(title=None, text="?"), WAVE)[1]


@pytest.mark.parametrize(
    ("first", "second", "least", "most"),
    [
        ("Hindsight Experience Replay", "hindsight  experience replay.", 1.0, 1.0),
        ("TD3: A Fujimoto {A}lgorithm", "TD3 A Fujimoto Algorithm", 1.0, 1.0),
        ("Back-propagation in nets", "Backpropagation in Nets", 1.0, 1.0),
        ("A Kučera equation", "A Kucera equation", 1.0, 1.0),
        ("Deep learning", "Deep learning for fish", 0.6, 0.8),
        ("Deep learning", "Shallow water", 0.0, 0.0),
    ],
)
def test_the_similarity_of_titles(first: str, second: str, least: float, most: float) -> None:
    assert least <= title_similarity(first, second) <= most
    assert title_similarity(first, second) == title_similarity(second, first)


def test_a_reference_that_nobody_could_look_up_is_not_called_unknown() -> None:
    reference = Reference(title="Wave Transport", arxiv_id="2001.00001")
    [unknown] = identify([reference], [Shelf(down=True), Shelf(down=True)], lambda _: None)
    assert unknown.how == "Shelf and Shelf could not be searched"
    [half] = identify([reference], [Shelf(down=True), Shelf()], lambda _: None)
    assert half.how == "no paper on arXiv has this title; Shelf could not be searched"
