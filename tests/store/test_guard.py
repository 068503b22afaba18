"""The guard: what strangers may ask, what they may not, and that its reading is the engine's."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import ladybug
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from xkg.errors import QueryRefusedError
from xkg.store.cypher_tokens import LONGEST_STATEMENT, tokenize
from xkg.store.guard import CLAUSES, FUNCTIONS, PROCEDURES, guard

HONEST = [
    "MATCH (t:Technique) RETURN t.name",
    "match (t:Technique) return t.name limit 5",
    "MATCH (t:Technique)-[:IMPLEMENTED_BY]->(c:Code) RETURN t.name, c.level ORDER BY c.level DESC SKIP 1 LIMIT 5;",
    "MATCH (p:Paper {id: $id})-[r:PROPOSES]->(t) RETURN r.order, t.name ORDER BY r.order",
    "MATCH (p:Paper) WHERE p.title CONTAINS 'CREATE' RETURN p.id",
    "MATCH (p:Paper) WHERE p.title = 'a; DROP TABLE Paper' RETURN p.id",
    'MATCH (p:Paper) WHERE p.title STARTS WITH "LOAD FROM" OR p.title ENDS WITH "COPY" RETURN p.id',
    r"MATCH (p:Paper) WHERE p.title = 'it\'s; SET' RETURN p.id",
    "MATCH (p:Paper) WHERE p.title = 'it''s' RETURN p.id",
    "MATCH (p:Paper) RETURN p.`create`, p.`set` AS `delete`",
    "MATCH (p:Paper) RETURN p.set, p.load, p.copy AS import",
    "MATCH (set:Paper) RETURN set.title",
    "MATCH (n {load: 1, create: 'x', set: [1, 2]}) RETURN n.id",
    "MATCH (n:Load)-[:USE|DELETE]->(m:`Drop`) RETURN n.id, m.id",
    "MATCH (n) WHERE n:Export RETURN count(*) AS n",
    "MATCH (n) RETURN n.id // CREATE (x)",
    "MATCH (n) /* DELETE n; COPY */ RETURN n.id",
    "/** CALL apoc.load.json('x') */ MATCH (n) RETURN n.id",
    "OPTIONAL MATCH (a)-[:CITES]->(b) RETURN a.id, b.id",
    "MATCH (a:Technique) OPTIONAL MATCH (a)-[:CITES*1..3]->(b) WITH a, count(b) AS n WHERE n > 2 RETURN a.id, n",
    "UNWIND [1, 2, 3] AS x WITH x WHERE x > 1 RETURN collect(x) AS xs",
    "UNWIND $rows AS row RETURN row",
    "MATCH (a:Paper) WHERE EXISTS { MATCH (a)-[:PROPOSES]->(:Technique) } RETURN a.id",
    "MATCH (a:Paper) RETURN a.id, COUNT { MATCH (a)-[:PROPOSES]->(t) WHERE t.depth = 1 } AS n",
    "MATCH (a:Paper) RETURN a.id UNION ALL MATCH (t:Technique) RETURN t.id AS id",
    "RETURN 1 AS a UNION RETURN 2 AS a",
    "CALL show_tables() RETURN *",
    "CALL table_info('Technique') RETURN name, type",
    "CALL db.labels() YIELD label RETURN label ORDER BY label",
    "MATCH p = (a:Technique)-[:HAS_COMPONENT*1..5]->(b) RETURN length(p), nodes(p)",
    "MATCH p = (a)-[e:HAS_COMPONENT* SHORTEST 1..4]->(b) RETURN length(e)",
    "MATCH (c:Code) RETURN CASE WHEN c.level = 'parsed' THEN 0 ELSE 1 END AS ran, count(*)",
    "MATCH (c:Code) WHERE c.test IS NOT NULL AND NOT c.test = '' RETURN DISTINCT c.language",
    "MATCH (t:Technique) WHERE any(x IN t.aliases WHERE lower(x) = 'dpo') RETURN t.id",
    "MATCH (t:Technique) WHERE t.name =~ '(?i).*create.*' RETURN t.id",
    "MATCH (t:Technique) RETURN {id: t.id, set: t.name} AS row",
    "RETURN [x IN [1, 2] WHERE x > 1 | x * 2] AS doubled",
    "RETURN 1.5e-3 + .5 - 2 AS x, [1, 2, 3][0:1] AS head",
    "MATCH\u00a0(n)\u2003RETURN\tn.id",
    "MATCH (n) WHERE n.name = 'Größe \u2014 日本 \\u00e9' RETURN n.id AS größe",
    "MATCH (a)<-[:CITES]-(b), (c)--(d) WHERE a.year >= 2020 AND a.year <> 2021 RETURN a.id",
    "RETURN 'C:\\\\temp' AS path",
]

# run both ways: what the engine itself would do is in test_what_the_guard_stops_would_happen
FILES = [
    "LOAD FROM '{file}' RETURN *",
    "load from '{file}' (header=false) return *",
    "LOAD WITH HEADERS (a STRING) FROM '{file}' RETURN a",
    "MATCH (p:Paper) LOAD FROM '{file}' RETURN *",
    "LOAD/**/FROM '{file}' RETURN *",
    "LOAD\u2003FROM '{file}' RETURN *",
    "// a comment\nLOAD FROM '{file}' RETURN *",
    "LOAD FROM ['{file}'] RETURN *",
    "LOAD FROM glob('{file}') RETURN *",
    "UNWIND [1] AS x LOAD FROM '{file}' RETURN *",
]
WRITES = [
    "COPY (MATCH (p:Paper) RETURN p.id) TO '{out}.csv'",
    "CoPy (RETURN 1 AS a) TO '{out}.csv'",
    "COPY (MATCH (p:Paper) RETURN p.id) TO '{out}.parquet'",
    "EXPORT DATABASE '{out}'",
    "RETURN 1; COPY (RETURN 1 AS a) TO '{out}.csv'",
    "MATCH (p:Paper) RETURN p.id; EXPORT DATABASE '{out}'",
    "MATCH (p:Paper) RETURN p.id;; COPY (RETURN 1 AS a) TO '{out}.csv'",
    "RETURN ';' ; COPY (RETURN 1 AS a) TO '{out}.csv'",
    "RETURN 1 /* ; **/ ' */; COPY (RETURN 1 AS a) TO '{out}.csv' //'",
]
LADYBUG = [
    "CREATE (p:Paper {id: 'x'})",
    "cReAtE (p:Paper {id: 'x'})",
    "CREATE/**/(p:Paper {id: 'x'})",
    "MATCH (p:Paper) SET p.title = 'x'",
    "MATCH (p:Paper) SET p.title = 'x' RETURN p.id",
    "MATCH (p:Paper) DELETE p",
    "MATCH (p:Paper) DETACH DELETE p",
    "MERGE (p:Paper {id: 'y'}) ON CREATE SET p.title = 'y'",
    "MATCH (p:Paper) WITH p CREATE (:Paper {id: 'z'})",
    "MATCH (p:Paper) WITH p MERGE (:Paper {id: 'z'})",
    "UNWIND [1] AS as MERGE (:Paper {id: 'z'})",
    "WITH 1 AS as CREATE (:Paper {id: 'z'})",
    "DROP TABLE Paper",
    "ALTER TABLE Paper ADD x STRING",
    "CREATE NODE TABLE Evil (id STRING PRIMARY KEY)",
    "CREATE MACRO evil(x) AS x + 1",
    "CREATE SEQUENCE s",
    "COMMENT ON TABLE Paper IS 'x'",
    "COPY Paper FROM 'x.csv'",
    "IMPORT DATABASE 'x'",
    "ATTACH 'x' AS y (DBTYPE lbug)",
    "DETACH y",
    "USE y",
    "USE GRAPH y",
    "CREATE GRAPH y",
    "INSTALL httpfs",
    "FORCE INSTALL httpfs",
    "LOAD EXTENSION httpfs",
    "LOAD httpfs",
    "UNINSTALL httpfs",
    "UPDATE httpfs",
    "ANALYZE",
    "CALL threads=64",
    "CALL timeout=0",
    "CALL `threads` = 64",
    "CALL home_directory='/'",
    "CALL enable_multi_copy=true",
    "CALL project_graph('g', ['Paper'], [])",
    "CALL project_graph_cypher('g', 'MATCH (n) RETURN n')",
    "CALL current_setting('s3_secret_access_key') RETURN *",
    "CALL clear_warnings()",
    "CALL read_csv_serial('x') RETURN *",
    "CALL file_info() RETURN *",
    "CALL show_attached_databases() RETURN *",
    "CALL show_tables() RETURN * UNION CALL bm_info() RETURN *",
    "BEGIN TRANSACTION",
    "COMMIT",
    "ROLLBACK",
    "CHECKPOINT",
    "EXPLAIN MATCH (p) RETURN p",
    "PROFILE MATCH (p) RETURN p",
    "RETURN nextval('s')",
    "RETURN `nextval`('s')",
    "RETURN setseed(1)",
    "RETURN error('x')",
    "MATCH (p:Paper) HINT p RETURN p",
]
NEO4J = [
    "LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line",
    "LOAD CSV WITH HEADERS FROM 'http://169.254.169.254/' AS line RETURN line",
    "MATCH (n) LOAD CSV FROM 'http://x' AS l RETURN l",
    "CALL apoc.load.json('http://x') YIELD value RETURN value",
    "CALL apoc . load . json('http://x') YIELD value RETURN value",
    "CALL `apoc`.`load`.`json`('http://x') YIELD value RETURN value",
    "CALL apoc.cypher.doIt('CREATE (n)', {}) YIELD value RETURN value",
    "CALL apoc.export.csv.all('x', {})",
    "RETURN apoc.load.json('http://x')",
    "RETURN `apoc.load.json`('http://x')",
    "RETURN apoc.util.sleep(100000)",
    "EXPLAIN CALL apoc.load.json('http://x') YIELD value RETURN value",
    "CALL { CREATE (n) RETURN n } RETURN n",
    "CALL { MATCH (n) RETURN n } RETURN n",
    "MATCH (n) CALL (n) { SET n.x = 1 } RETURN n",
    "CALL { LOAD CSV FROM 'x' AS l RETURN l } IN TRANSACTIONS RETURN l",
    "MATCH (n) FOREACH (x IN [1] | SET n.x = x)",
    "MATCH (n) FOREACH (x IN [1] | CREATE (:A))",
    "MATCH (n) REMOVE n.x",
    "INSERT (n:A)",
    "MATCH (n) INSERT (n)-[:R]->(m)",
    "CALL dbms.security.createUser('x', 'y')",
    "CALL dbms.setConfigValue('x', 'y')",
    "CALL dbms.listConfig() YIELD name RETURN name",
    "CALL dbms.killQuery('1')",
    "CALL db.createLabel('x')",
    "CALL gds.graph.project('g', '*', '*')",
    "SHOW USERS",
    "TERMINATE TRANSACTION 'x'",
    "USING PERIODIC COMMIT LOAD CSV FROM 'x' AS l CREATE (n)",
    "USE system MATCH (n) RETURN n",
    "CYPHER runtime=slotted MATCH (n) RETURN n",
    "CREATE USER x SET PASSWORD 'y'",
    "START DATABASE x",
    "STOP DATABASE neo4j",
    "GRANT ROLE admin TO x",
    "DROP INDEX i",
    "RENAME USER a TO b",
    "DENY READ ON GRAPH * TO x",
    "MATCH (n) RETURN '\\u0027 SET n.x = 1 //'",
    "MATCH (n) RETURN '\\uu0027 SET n.x = 1 //'",
    "MATCH (n) RETURN '\\\\u0027 SET n.x = 1 //'",
    "MATCH (n) WITH n // \\u000a DELETE n\nRETURN n",
    "MATCH (n) WITH n /* \\u002a\\u002f DELETE n */ RETURN n",
    "MATCH (n) RETURN n.`\\u0060 SET n.x = 1 //`",
    "\\u0043REATE (n)",
    "MATCH (n) WHERE n.x = 1dDELETE n",
    "MATCH (n) WHERE n.x = 0x1FDELETE n",
    "MATCH (n) \u017fET n.x = 1",
    "MATCH (n) \uff33\uff25\uff34 n.x = 1",
    "MATCH (n) DETACH\u2028DELETE n",
    "MATCH (n) EXISTS { CREATE (m) }",
    "MATCH (n) WHERE EXISTS { MATCH (n) SET n.x = 1 } RETURN n",
    "MATCH (n) RETURN COLLECT { CREATE (m) RETURN m }",
]
MALFORMED = [
    "",
    " \n ;",
    ";",
    "/* only */",
    "MATCH (n) RETURN 'open",
    'MATCH (n) RETURN "open',
    "MATCH (n) RETURN `open",
    "MATCH (n) RETURN n /* open",
    "MATCH (n) RETURN n /*/",
    "MATCH (n RETURN n",
    "MATCH (n)) RETURN n",
    "MATCH (n] RETURN n",
    "MATCH (n) RETURN n\0; DROP TABLE Paper",
    "MATCH (n) RETURN '\0'",
    "MATCH (n) RETURN '\ud800'",
    "MATCH (n)\u200bRETURN n",
    "\ufeffMATCH (n) RETURN n",
    "MATCH (n) NUKE n",
    "MATCH (n) NUKE.x n",
    "MATCH (n) RETURN * NUKE n",
    "MATCH (n) RETURN n ORDER BY n.id DESC NUKE n",
    "MATCH (n) RETURN $",
    "RETURN " + "(" * 500 + "1" + ")" * 500,
    "RETURN '" + "x" * LONGEST_STATEMENT + "'",
]


@pytest.mark.parametrize("statement", HONEST)
def test_honest_statements_pass(statement: str) -> None:
    assert guard(guard(statement)) == guard(statement)


@pytest.mark.parametrize("statement", FILES + WRITES + LADYBUG + NEO4J + MALFORMED)
def test_attacks_are_refused_in_one_line(statement: str) -> None:
    with pytest.raises(QueryRefusedError) as refusal:
        guard(statement.replace("{file}", "/etc/hostname").replace("{out}", "/nowhere/out"))
    message = str(refusal.value)
    assert "\n" not in message
    assert len(message) < 400


def test_comments_and_odd_spaces_do_not_reach_the_engine() -> None:
    assert guard("MATCH/* a */(n)\u2003// b\nRETURN '// kept' ; // c") == "MATCH (n) RETURN '// kept'"


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("MATCH (n) SET n.x = 1", "SET"),
        ("CALL apoc.load.json('x')", "apoc.load.json"),
        ("RETURN nextval('s')", "nextval"),
        ("MATCH (n) RETURN n; RETURN 1", "';'"),
        ("MATCH (n) FROB n", "'FROB'"),
    ],
)
def test_the_refusal_names_the_token(statement: str, named: str) -> None:
    with pytest.raises(QueryRefusedError, match=named.replace(".", r"\.")):
        guard(statement)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("guard") / "graph"
    with ladybug.Database(path) as database, ladybug.Connection(database) as connection:
        connection.execute("CREATE NODE TABLE Paper (id STRING PRIMARY KEY, title STRING)")
        connection.execute("CREATE NODE TABLE Technique (id STRING PRIMARY KEY, name STRING, depth INT64)")
        connection.execute("CREATE REL TABLE PROPOSES (FROM Paper TO Technique)")
        connection.execute("CREATE (:Paper {id: 'a', title: 'A'})")
    return path


@pytest.mark.parametrize("statement", FILES)
def test_what_the_guard_stops_would_happen_reading(statement: str, graph: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\nsecret\n")
    with ladybug.Database(graph, read_only=True) as database, ladybug.Connection(database) as connection:
        result = connection.execute(statement.replace("{file}", str(secret)))
        assert not isinstance(result, list)
        assert "secret" in str(list(result))


@pytest.mark.parametrize("statement", WRITES)
def test_what_the_guard_stops_would_happen_writing(statement: str, graph: Path, tmp_path: Path) -> None:
    with ladybug.Database(graph, read_only=True) as database, ladybug.Connection(database) as connection:
        connection.execute(statement.replace("{out}", str(tmp_path / "out")))
    assert list(tmp_path.iterdir())


FRAGMENTS = (
    "CREATE set Load COPY MATCH RETURN WITH as AS CALL EXISTS n x 1 . : ( ) [ ] { } ' '' \" ` \\ /* */ // | , * $ ; ="
)
PIECES = st.one_of(st.sampled_from([*FRAGMENTS.split(), " ", "\n", "\\u0027"]), st.text(max_size=3))


@given(st.lists(PIECES, max_size=25).map("".join))
def test_any_text_is_read_or_refused(statement: str) -> None:
    try:
        passed = guard(statement)
    except QueryRefusedError:
        return
    assert guard(passed) == passed


WORDS = ["CREATE", "MERGE", "SET", "DELETE", "LOAD", "COPY", "EXPORT", "ATTACH", "DROP", "FROB", "CALL threads=1"]


@given(
    st.sampled_from(HONEST),
    st.integers(0, 60),
    st.sampled_from(WORDS),
    st.sampled_from(["(n:Paper)", "n", "FROM 'x' RETURN *", "n.x = 1", "(RETURN 1) TO 'x'"]),
)
def test_no_clause_slips_in_after_a_finished_part(statement: str, where: int, word: str, rest: str) -> None:
    """A clause put between any two tokens of an honest statement is refused, unless the place makes it a name."""
    tokens = tokenize(statement)
    cut = min(where, len(tokens))
    before = "".join((" " if t.gap else "") + t.text for t in tokens[:cut])
    after = "".join((" " if t.gap else "") + t.text for t in tokens[cut:])
    try:
        passed = guard(f"{before} {word} {rest} {after}")
    except QueryRefusedError:
        return
    last = tokens[cut - 1].text
    assert last in (".", ":", "|", "$") or last.upper() == "AS" or word == "FROB", passed


STATEMENTS = [
    "MATCH (p:Paper) RETURN p.title",
    "MATCH (p:Paper) WITH p AS x WHERE x.title = 's' RETURN x",
    "MATCH (p:Paper) WHERE EXISTS { MATCH (p)-[:PROPOSES]->(t) } RETURN *",
    "UNWIND [1] AS x RETURN x AS load",
]
INSERTS = [
    *WORDS,
    *(
        "SET p.title = 'x'",
        "MERGE (:Paper {id: 'q'})",
        "DELETE p",
        "EXPORT DATABASE 'z'",
        "DROP TABLE Paper",
        "(RETURN 1)",
    ),
    *(
        "TO 'f.csv'",
        "(:Paper {id: 'q'})",
        "as",
        "AS",
        "set",
        ".",
        ":",
        "|",
        "*",
        ",",
        ";",
        "`",
        "'",
        '"',
        "\\'",
        "/*",
        "*/",
    ),
    *("//", "\n", "{", "}", "(", ")", "[", "]", "1", "p", "WITH p", "UNION", "CALL threads=2", "BEGIN TRANSACTION"),
]


@given(
    st.sampled_from(STATEMENTS),
    st.lists(st.tuples(st.integers(0, 12), st.sampled_from(INSERTS)), min_size=1, max_size=4),
    st.sampled_from([" ", "\n", "/**/"]),
)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_passes_changes_nothing_even_in_a_writable_graph(
    writable: ladybug.Connection, statement: str, inserts: list[tuple[int, str]], space: str
) -> None:
    words = statement.split(" ")
    for place, word in inserts:
        words.insert(min(place, len(words)), word)
    try:
        passed = guard(space.join(words))
    except QueryRefusedError:
        return
    with contextlib.suppress(RuntimeError):
        writable.execute(passed)
    rows = writable.execute("MATCH (p:Paper) RETURN p.id, p.title")
    assert not isinstance(rows, list)
    assert list(rows) == [["a", "A"]]
    assert all(path.name.startswith("graph") for path in Path.cwd().iterdir())


@pytest.fixture
def writable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ladybug.Connection]:
    monkeypatch.chdir(tmp_path)
    with ladybug.Database(tmp_path / "graph") as database, ladybug.Connection(database) as connection:
        connection.execute("CREATE NODE TABLE Paper (id STRING PRIMARY KEY, title STRING)")
        connection.execute("CREATE NODE TABLE Technique (id STRING PRIMARY KEY)")
        connection.execute("CREATE REL TABLE PROPOSES (FROM Paper TO Technique)")
        connection.execute("CREATE (:Paper {id: 'a', title: 'A'})")
        yield connection


def test_lists_hold_nothing_that_writes_or_reaches_out() -> None:
    for name in FUNCTIONS | PROCEDURES:
        assert not any(
            part in name for part in ("apoc", "csv", "file", "load", "nextval", "currval", "setting", "project")
        )
    assert not {"CREATE", "SET", "LOAD"} & CLAUSES
