"""Writes papers as BibTeX, CSL-JSON and GraphML, and reads them again."""

import json
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from tests.store.graphs import a_paper
from xkg.build.paper.latex import bibtex as reader
from xkg.model import Paper
from xkg.store.bibliographies import bibtex, csl_json
from xkg.store.graphml import graphml

SPACE = "{http://graphml.graphdrawing.org/xmlns}"
PAPERS = (
    Paper(
        id="arxiv:1608.04471",
        title="100% of {x_1} & more: \\alpha^2",
        authors=("Qiang Liu", "The Group, Ltd."),
        year=2016,
        origin="build",
    ),
    Paper(id="doi:10.1000/1", title="100% of {x_1} & more", authors=("Qiang Liu",), year=2016, origin="build"),
)


def test_bibtex_is_read_as_it_was_written() -> None:
    first, second = reader.entries(bibtex(PAPERS))
    assert (first.key, second.key) == ("liu2016more", "liu2016more-2")
    assert first.fields["title"] == r"{100\% of \{x\_1\} \& more: \textbackslash{}alpha\textasciicircum{}2}"
    assert first.fields["author"] == "Qiang Liu and {The Group, Ltd.}"
    assert (first.fields["eprint"], second.fields["doi"]) == ("1608.04471", "10.1000/1")


@given(st.text(min_size=1))
def test_no_title_breaks_an_entry(title: str) -> None:
    papers = [Paper(id=f"title:{n}", title=title, origin="build") for n in range(2)]
    assert len(reader.entries(bibtex(papers))) == 2
    assert len(json.loads(csl_json(papers))) == 2


def test_csl_json_has_names_year_and_address() -> None:
    first, _ = json.loads(csl_json(PAPERS))
    assert first["author"] == [{"family": "Liu", "given": "Qiang"}, {"literal": "The Group, Ltd."}]
    assert (first["issued"], first["URL"]) == ({"date-parts": [[2016]]}, "https://arxiv.org/abs/1608.04471")


def test_graphml_declares_its_properties_and_joins_its_nodes() -> None:
    bundle = a_paper()
    root = ElementTree.fromstring("".join(graphml([bundle], [], [])))
    declared = {key.get("id") for key in root.iter(f"{SPACE}key")}
    nodes = {node.get("id") for node in root.iter(f"{SPACE}node")}
    edges = [(edge.get("source"), edge.get("target")) for edge in root.iter(f"{SPACE}edge")]
    assert {data.get("key") for data in root.iter(f"{SPACE}data")} <= declared
    assert edges
    assert all(end in nodes for edge in edges for end in edge)
    assert f"Paper {bundle.paper.id}" in nodes
