import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.model import Paper, Reference
from xkg.store.concepts.citations import works_and_citations


def paper(number: int, title: str, *references: Reference, authors: tuple[str, ...] = (), **more: str) -> Paper:
    given_id = more.get("id", f"arxiv:2101.{number:05d}")
    arxiv_id = given_id.removeprefix("arxiv:") if given_id.startswith("arxiv:") else None
    return Paper(id=given_id, title=title, arxiv_id=arxiv_id, authors=authors, references=references, origin="build")


TARGET = "Sparse Gates: Learning Which β-Units of a Network to Keep"


@pytest.mark.parametrize(
    "reference",
    [
        Reference(title=None, arxiv_id="arXiv:2101.00009v2"),
        Reference(title="Another title", doi="https://doi.org/10.48550/arXiv.2101.00009"),
        Reference(title="sparse gates learning which beta units of a network to keep"),
        Reference(title="Sparse gates: learning which $\\beta$-units of a {N}etwork to keep."),
        Reference(title="Sparse G ates Learning Which β Units of a Network to Keep"),
        Reference(title="Learning which beta-units of a network to keep"),
        Reference(title="Sparse Gates: \\emph{Learning} Which \\textit{β}-Units of a Network to Keep"),
    ],
)
def test_a_reference_finds_its_paper(reference: Reference) -> None:
    stubs, edges = works_and_citations(
        [paper(1, "The one that cites"), paper(9, TARGET), paper(2, "Another", reference)]
    )
    assert stubs == []
    assert edges == [("arxiv:2101.00002", "arxiv:2101.00009")]


@pytest.mark.parametrize(
    "reference",
    [
        Reference(title="Sparse Gates"),
        Reference(title="Sparse Gates: Learning Which Layers of a Network to Keep"),
        Reference(title=TARGET, arxiv_id="1912.12345"),
    ],
)
def test_a_reference_to_something_else_becomes_a_stub(reference: Reference) -> None:
    stubs, edges = works_and_citations([paper(9, TARGET), paper(2, "Another", reference)])
    assert edges == [("arxiv:2101.00002", stubs[0].id)]
    assert stubs[0].id != "arxiv:2101.00009"


def test_a_short_title_needs_an_author() -> None:
    book = paper(9, "Deep Learning", authors=("Ada Hypatia",))
    by_her = paper(2, "Two", Reference(title="Deep learning", text="A. Hypatia, Deep learning, 2019"))
    by_another = paper(3, "Three", Reference(title="Deep learning", text="B. Zeno, Deep learning, 2016"))
    stubs, edges = works_and_citations([book, by_her, by_another])
    assert edges == [("arxiv:2101.00002", "arxiv:2101.00009"), ("arxiv:2101.00003", "title:deep-learning")]
    assert [stub.id for stub in stubs] == ["title:deep-learning"]
    named = paper(9, "Deep Learning", id="title:deep-learning")
    assert works_and_citations([named, by_another]) == ([], []), "no stub takes the id of a paper that is here"


def test_one_cited_paper_is_one_stub_by_its_best_id() -> None:
    title = "A Cited Paper with a Long Enough Title"
    citing = [
        paper(1, "One", Reference(title=title.upper())),
        paper(2, "Two", Reference(title=title, doi="10.1000/XYZ")),
        paper(3, "Three", Reference(title=title, arxiv_id="1912.12345")),
        paper(4, "Four", Reference(title=None, text="illegible")),
    ]
    stubs, edges = works_and_citations(citing)
    assert [(stub.id, stub.arxiv_id) for stub in stubs] == [("arxiv:1912.12345", "1912.12345")]
    assert [source for source, _ in edges] == [p.id for p in citing[:3]]


ids = st.none() | st.sampled_from(["2101.00001", "2101.00002", "1912.00001", "not an id"])
references = st.builds(
    Reference,
    title=st.none() | st.sampled_from([TARGET, "Deep Learning", TARGET.upper(), "\udcff", ""]),
    arxiv_id=ids,
    doi=st.none() | st.sampled_from(["10.1000/a", "10.48550/arXiv.2101.00002", "nonsense"]),
)


@given(st.lists(st.lists(references, max_size=4), min_size=1, max_size=4))
def test_the_order_of_papers_changes_nothing_and_every_edge_has_its_ends(lists: list[list[Reference]]) -> None:
    titles = [TARGET, "Deep Learning", "Another Paper with a Title", "Deep Learning"]
    papers = [paper(n, titles[n], *found) for n, found in enumerate(lists)]
    stubs, edges = works_and_citations(papers)
    assert works_and_citations(papers[::-1]) == (stubs, edges)
    held = {p.id for p in papers}
    assert not held & {stub.id for stub in stubs}
    assert {end for edge in edges for end in edge} <= held | {stub.id for stub in stubs}
    assert {stub.id for stub in stubs} <= {meant for _, meant in edges}, "no stub without a citation"
    assert all(citing != meant for citing, meant in edges)


@pytest.mark.parametrize("title", ["PMLR", "In In", "Advances", "Efficient optimization with gradient approxi-"])
def test_a_fragment_of_a_bibliography_is_no_paper(title: str) -> None:
    stubs, edges = works_and_citations([paper(1, "The one that cites", Reference(title=title, text=title))])
    assert (stubs, edges) == ([], [])
    by_id = Reference(title=title, arxiv_id="2101.00042")
    assert [s.id for s in works_and_citations([paper(1, "The one that cites", by_id)])[0]] == ["arxiv:2101.00042"]
