"""Runs statements that agents write for Neo4j on the embedded store."""

from collections.abc import Iterator

import pytest

from tests.store.graphs import open_store
from xkg.errors import QueryFailedError
from xkg.model import Paper, PaperBundle, Technique
from xkg.store.cypher.ladybug_dialect import for_ladybug
from xkg.store.local.store import EmbeddedStore


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStore]:
    store = open_store(tmp_path_factory.mktemp("dialect"))
    paper = Paper(id="title:p", title="P", authors=("Ann", "Bob", "Cy"), origin="build")
    techniques = tuple(Technique(id=f"title:p#{name}", name=name) for name in ("one", "two"))
    store.publish([PaperBundle(paper=paper, techniques=techniques)])
    yield store
    store.close()


@pytest.mark.parametrize(
    ("statement", "rows"),
    [
        ("MATCH (:Paper)-[r]->(:Technique) RETURN DISTINCT type(r)", [["PROPOSES"]]),
        ("MATCH (p:Paper) RETURN COUNT { (p)-[:PROPOSES]->(t) RETURN t }", [[2]]),
        ("MATCH (p:Paper) RETURN COUNT { MATCH (p)-[:PROPOSES]->(t) WHERE t.name = 'one' RETURN t.id } AS n", [[1]]),
        ("MATCH (p:Paper) WHERE EXISTS { (p)-[:PROPOSES]->() } RETURN p.title", [["P"]]),
        ("MATCH (p:Paper) RETURN p.authors[0], p.authors[-1]", [["Ann", "Cy"]]),
        ("MATCH (p:Paper) RETURN p.authors[0..2]", [[["Ann", "Bob"]]]),
        ("MATCH (p:Paper) RETURN labels(p)[0], 'Paper' IN labels(p)", [["Paper", True]]),
        ("MATCH (p:Paper) WHERE p.title IN ['P'] RETURN toString(1)", [["1"]]),
        ("CALL db.labels() YIELD label WHERE label STARTS WITH 'Pa' RETURN label", [["Paper"]]),
        ("CALL db.relationshipTypes() YIELD relationshipType AS r RETURN r LIMIT 1", [["PROPOSES"]]),
    ],
)
def test_a_statement_for_neo4j_is_answered(store: EmbeddedStore, statement: str, rows: list[list[object]]) -> None:
    assert [list(row) for row in store.query(statement).rows] == rows


def test_a_call_alone_lists_the_schema(store: EmbeddedStore) -> None:
    assert store.query("CALL db.labels()").columns == ("label",)
    assert ("title",) in store.query("CALL db.propertyKeys()").rows


@pytest.mark.parametrize(
    ("items", "columns"),
    [
        ("type(r), labels(p)[0]", ("type(r)", "labels(p)[0]")),
        ("DISTINCT count( * ) AS n, p.authors[0] AS `first one`, p.title", ("n", "first one", "p.title")),
        ("p, toString( p.year ) ORDER BY p.title LIMIT 1", ("p", "toString( p.year )")),
        ("p.title STARTS WITH 'P', CAST(p.year AS STRING)", ("p.title STARTS WITH 'P'", "CAST(p.year AS STRING)")),
        ("[p.title, 'a, b'], COUNT { (p)-[:PROPOSES]->() }", ("[p.title, 'a, b']", "COUNT { (p)-[:PROPOSES]->() }")),
    ],
)
def test_a_column_has_the_text_of_its_expression(store: EmbeddedStore, items: str, columns: tuple[str, ...]) -> None:
    assert store.query(f"MATCH (p:Paper)-[r:PROPOSES]->(t) RETURN {items}").columns == columns


def test_a_star_has_the_names_of_the_variables(store: EmbeddedStore) -> None:
    assert store.query("MATCH (p:Paper) WITH p, p.title AS t RETURN *").columns == ("p", "t")
    assert store.query("MATCH (p:Paper) RETURN *").columns == ("p",)


@pytest.mark.parametrize(
    ("statement", "remedy"),
    [
        ("MATCH (p:Paper) RETURN [x IN p.authors | upper(x)]", "UNWIND"),
        ("MATCH (p:Paper) RETURN head(p.authors)", "list[0]"),
        ("MATCH (p:Paper)-[:HAS_TECHNIQUE]->(t) RETURN t", "edges PROPOSES"),
    ],
)
def test_an_error_names_what_works_on_both_stores(store: EmbeddedStore, statement: str, remedy: str) -> None:
    with pytest.raises(QueryFailedError, match=remedy.replace("[", r"\[")):
        store.query(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "MATCH (n) WHERE n.type = 1 RETURN n.type, {type: 2}",
        "MATCH (n:Paper) RETURN count(*), [1, 2], n.year IN [1]",
        "MATCH (n) RETURN COUNT { MATCH (n)--() RETURN DISTINCT n }",
        "MATCH (n) RETURN COUNT { MATCH (n)--() RETURN n LIMIT 1 }",
        "MATCH (n) RETURN COUNT { MATCH (n)--(m) RETURN count(m) }",
    ],
)
def test_what_both_read_alike_stays(statement: str) -> None:
    assert for_ladybug(statement) == statement
