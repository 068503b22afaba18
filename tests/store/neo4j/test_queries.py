"""Tests untrusted queries on a real Neo4j, including attacks and their effect without the guard."""

import contextlib
import hashlib
import http.server
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ladybug
import neo4j
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from neo4j.exceptions import Neo4jError

from tests.neo4j_server import Neo4jServer, empty
from tests.store.statements import ATTACKS, DIALECTS, GRAPH, HARM, PARAMETERS, RESEARCH, Harm, filled
from xkg.errors import QueryFailedError, QueryRefusedError
from xkg.store.cypher.guard import PROCEDURES, guard
from xkg.store.cypher.named_queries import embedded_schema
from xkg.store.cypher.process import QueryProcess
from xkg.store.cypher.tokens import tokenize
from xkg.store.graph_store import Table
from xkg.store.neo4j import queries
from xkg.store.neo4j.queries import read

SECRET = "s3cr3t"


@dataclass
class Surroundings:
    """Contains the things that a statement must not reach: a file with a secret, a folder, and a web server."""

    folder: Path
    url: str
    requests: list[str] = field(default_factory=list)

    @property
    def file(self) -> Path:
        return self.folder / "secret.json"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def fill(self, statement: str) -> str:
        return filled(statement, file=self.file, out=self.out, url=self.url)


@pytest.fixture
def surroundings(tmp_path: Path) -> Iterator[Surroundings]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.requests.append(self.path)
            answer = json.dumps({"secret": SECRET}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as web:
        thread = threading.Thread(target=web.serve_forever, args=(0.02,))
        thread.start()
        found = Surroundings(tmp_path, f"http://127.0.0.1:{web.server_port}/x")
        found.file.write_text(json.dumps({"secret": SECRET}))
        yield found
        web.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def driver(neo4j_server: Neo4jServer) -> Iterator[neo4j.Driver]:
    with neo4j.GraphDatabase.driver(
        neo4j_server.url, auth=neo4j_server.auth, notifications_min_severity="OFF"
    ) as driver:
        restore(driver)
        yield driver


def restore(driver: neo4j.Driver) -> None:
    empty(driver)
    with driver.session(database="neo4j") as session, session.begin_transaction() as transaction:
        for statement in GRAPH:
            transaction.run(statement)
        transaction.commit()


def fetched(driver: neo4j.Driver, statement: str, access: str = neo4j.READ_ACCESS) -> list[list[Any]]:
    """Returns the rows of a statement without checking it with the guard."""
    with driver.session(database="neo4j", default_access_mode=access) as session:
        return [list(record.values()) for record in session.run(statement)]


def state(driver: neo4j.Driver) -> str:
    """Returns a digest of every node and relationship, of indexes, constraints and users."""
    parts = []
    for statement in (
        "MATCH (n) RETURN labels(n), properties(n)",
        "MATCH (a)-[r]->(b) RETURN a.id, type(r), properties(r), b.id",
        "SHOW INDEXES YIELD name RETURN name",
        "SHOW CONSTRAINTS YIELD name RETURN name",
        "SHOW USERS YIELD user RETURN user",
    ):
        parts.append(sorted(json.dumps(row, sort_keys=True) for row in fetched(driver, statement)))
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_no_attack_gets_through(driver: neo4j.Driver, surroundings: Surroundings) -> None:
    before, files = state(driver), contents(surroundings.folder)
    for attack in ATTACKS:
        with pytest.raises(QueryRefusedError):
            read(driver, "neo4j", surroundings.fill(attack))
    assert state(driver) == before
    assert contents(surroundings.folder) == files
    assert surroundings.requests == []


@pytest.mark.product("each store × each query")
@pytest.mark.parametrize("harm", HARM, ids=lambda harm: harm.statement[:60])
def test_without_the_guard_an_attack_does_what_it_is_refused_for(
    driver: neo4j.Driver, surroundings: Surroundings, harm: Harm
) -> None:
    before = state(driver)
    changes = harm.does.startswith("changes")
    rows: list[list[Any]] = []
    try:
        rows = fetched(driver, surroundings.fill(harm.statement), neo4j.WRITE_ACCESS if changes else neo4j.READ_ACCESS)
    except Neo4jError:
        assert harm.does == "sends"  # the request was sent, but its answer was not XML or lacked a column
    if harm.does == "sends":
        assert surroundings.requests
    elif harm.does == "reads":
        assert SECRET in str(rows)
    elif harm.does == "writes a file":
        assert surroundings.out.stat().st_size > 0
    elif harm.does == "tells":
        assert rows
    else:
        assert state(driver) != before
        if harm.does == "changes accounts":
            fetched(driver, "DROP USER evil", neo4j.WRITE_ACCESS)
        restore(driver)
        assert state(driver) == before


def test_a_read_session_and_the_planner_stop_writing_and_nothing_else(
    driver: neo4j.Driver, surroundings: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "guard", lambda statement, _: statement)
    before = state(driver)
    for harm in HARM:
        if harm.does.startswith("changes"):
            with pytest.raises((QueryRefusedError, QueryFailedError)):
                read(driver, "neo4j", harm.statement)
    assert state(driver) == before
    with pytest.raises(QueryRefusedError, match="classifies it as more than a read"):
        read(driver, "neo4j", "SHOW USERS")
    assert SECRET in str(read(driver, "neo4j", surroundings.fill("CALL apoc.load.json('{url}')")).rows)


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueryProcess]:
    path = tmp_path_factory.mktemp("embedded") / "graph"
    with ladybug.Database(path) as database, ladybug.Connection(database) as connection:
        for statement in [embedded_schema(), *GRAPH]:
            connection.execute(statement)
    with closing(QueryProcess(path)) as process:
        yield process


@pytest.mark.product("each store × each query")
@pytest.mark.parametrize("statement", RESEARCH)
def test_what_a_researcher_asks_has_the_same_answer_on_both_engines(
    driver: neo4j.Driver, embedded: QueryProcess, statement: str
) -> None:
    given = {name: value for name, value in PARAMETERS.items() if f"${name}" in statement.replace("$ids", "$ ids")}
    if "$ids" in statement:
        given = {"ids": PARAMETERS["ids"]}
    here = embedded.run(guard(statement, given), given)
    there = read(driver, "neo4j", statement, given)
    assert here.rows
    assert without_ids(here, statement) == without_ids(there, statement)
    assert sorted(keys(here)) == sorted(keys(there))


def without_ids(table: Table, statement: str) -> Any:
    """Returns columns and rows in a fixed order. Sorts the rows of statements without ORDER BY, and lists from
    `collect`, because Cypher does not define their order."""

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: bare(item) for key, item in value.items() if key not in ("_id", "_src", "_dst")}
        if not isinstance(value, (list, tuple)):
            return value
        items = [bare(item) for item in value]
        return sorted(items, key=repr) if collects and isinstance(value, list) else items

    collects = "collect(" in statement
    rows = bare(table.rows)
    return table.columns, rows if "ORDER BY" in statement else sorted(rows, key=repr), table.truncated


def keys(table: Table) -> list[list[str]]:
    return [sorted(value) for row in table.rows for value in row if isinstance(value, dict) and "_label" in value]


def test_values_are_plain_json(driver: neo4j.Driver) -> None:
    table = read(
        driver,
        "neo4j",
        "RETURN date('2020-01-02') AS day, datetime('2020-01-02T03:04:05.5+02:00') AS moment, "
        "time('01:02:03Z') AS hour, localdatetime('2020-01-02T03:04:05') AS here, duration('P1M2DT3S') AS span, "
        "point({x: 1, y: 2}) AS place, "
        "0.0 / 0.0 AS none, -1.0 / 0.0 AS below, $bytes AS text, {a: [date('2020-01-02')]} AS nested",
        {"bytes": "é"},
    )
    assert json.loads(json.dumps(table.rows[0])) == [
        *("2020-01-02", "2020-01-02T03:04:05.500000+02:00", "01:02:03+00:00", "2020-01-02T03:04:05", 2764803.0),
        *({"srid": 7203, "coordinates": [1.0, 2.0]}, "nan", "-inf", "é", {"a": ["2020-01-02"]}),
    ]


def test_row_and_size_limits_end_the_stream_and_mark_it_truncated(driver: neo4j.Driver) -> None:
    few = read(driver, "neo4j", "UNWIND range(1, 1000000000) AS x RETURN x", rows=3)
    assert (few.rows, few.truncated) == (((1,), (2,), (3,)), True)
    assert not read(driver, "neo4j", "UNWIND range(1, 3) AS x RETURN x", rows=3).truncated
    small = read(driver, "neo4j", "UNWIND range(1, 1000000000) AS x RETURN 'é' AS text", bytes=2000)
    assert 10 < len(small.rows) < 300
    assert small.truncated


def test_a_query_over_its_time_is_gone_from_the_server(driver: neo4j.Driver) -> None:
    with pytest.raises(QueryFailedError, match=r"longer than 0\.5 s"):
        read(
            driver,
            "neo4j",
            "UNWIND range(1, 1000000) AS x UNWIND range(1, 1000000) AS y RETURN sum(x * y)",
            seconds=0.5,
        )
    until = time.monotonic() + 60
    while "sum(x * y)" in str(running := fetched(driver, "SHOW TRANSACTIONS YIELD currentQuery")):
        assert time.monotonic() < until, running
        time.sleep(0.1)
    assert read(driver, "neo4j", "RETURN 1 AS x").rows == ((1,),)


@pytest.fixture
def unguarded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "guard", lambda statement, _: statement)


@pytest.mark.usefixtures("unguarded")
def test_queries_that_the_server_cannot_stop_hold_up_nobody(
    driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The server sleeps for 3 s even if the transaction has a shorter limit. The ninth query must still be answered in
    the meantime."""
    monkeypatch.setattr(queries, "_GRACE_SECONDS", 0.0)

    def sleep() -> None:
        with pytest.raises(QueryFailedError, match=r"longer than 0\.5 s"):
            read(driver, "neo4j", "CALL apoc.util.sleep(3000)", seconds=0.5)

    with ThreadPoolExecutor(queries._AT_ONCE) as pool:
        for asleep in [pool.submit(sleep) for _ in range(queries._AT_ONCE)]:
            asleep.result()
    assert "its connection was closed" in caplog.text
    monkeypatch.setattr(queries, "_GRACE_SECONDS", 30.0)
    assert read(driver, "neo4j", "RETURN 1 AS x").rows == ((1,),)


@pytest.mark.parametrize(
    "expression",
    [
        "datetime({year: 999999999})",
        "date('2020-01-01') + duration({days: 9223372036854775807})",
        "substring('abc', -1, 9)",
    ],
)
def test_a_value_that_cannot_be_is_a_fault_of_the_query(driver: neo4j.Driver, expression: str) -> None:
    with pytest.raises(QueryFailedError) as failure:
        read(driver, "neo4j", f"RETURN {expression} AS x")
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize(
    ("statement", "message_start"),
    [
        ("MATCH (n:Paper) WHERE n.title = $missing RETURN n", "Expected parameter(s): missing"),
        ("MATCH (n) /* one\ntwo */ RETURN n.x AS x, m", "Variable `m` not defined"),
        ("RETURN 1 / 0 AS x", "/ by zero"),
    ],
)
def test_errors_are_the_servers_words_in_one_line(driver: neo4j.Driver, statement: str, message_start: str) -> None:
    with pytest.raises(QueryFailedError) as failure:
        read(driver, "neo4j", statement)
    message = str(failure.value)
    assert message.startswith(f"the query failed: {message_start}")
    assert len(message) < 300
    assert not any(part in message for part in ("\n", "line 1", "offset", "EXPLAIN", "CREATE"))


def misdeeds(driver: neo4j.Driver, statement: str) -> list[str]:
    """Returns the forbidden operations in the server's plan. Raises `Neo4jError` if there is no plan."""
    with driver.session(database="neo4j", default_access_mode=neo4j.WRITE_ACCESS) as session:
        planned = session.run(f"EXPLAIN {statement}").consume()
    assert planned.plan is not None
    found = [] if planned.query_type == "r" else [f"type {planned.query_type}"]
    for operator, details in operators(planned.plan):
        called = details.split("(")[0] if "ProcedureCall" in operator else ""
        if "LoadCSV" in operator or "apoc" in details or (called and called not in PROCEDURES):
            found.append(f"{operator} {details}")
    return found


def operators(plan: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield plan["operatorType"], str(plan["args"].get("Details", ""))
    for child in plan.get("children", ()):
        yield from operators(child)


PIECES = [
    *("CREATE (:Evil)", "MERGE (:Evil)", "INSERT (:Evil)", "SET n.x = 1", "SET n:Evil", "DELETE n", "DETACH DELETE n"),
    *("REMOVE n.x", "FOREACH (x IN [1] | SET n.x = 1)", "FINISH", "USE neo4j", "LOAD CSV FROM 'x' AS l", "SHOW USERS"),
    *("CALL { CREATE (:Evil) }", "CALL (*) { CREATE (:Evil) }", "IN TRANSACTIONS", "CALL apoc.load.json('x')"),
    *("CALL apoc.load.json('x') YIELD value", "apoc.text.join(['x'], '')", "COLLECT { CREATE (n) RETURN n }"),
    *("EXISTS { CALL apoc.load.json('x') }", "EXPLAIN", "PROFILE", "CYPHER 5", "UNION", "UNION ALL RETURN 1 AS id"),
    *("*", "+", "*1..", "*..", "{1,}", "{,}", "->+", "-->*(x)", "[*]", "-[*]-", "(x)", "(", ")", "[", "]", "{", "}"),
    *(
        "as",
        "AS",
        "AS x",
        "AS set",
        "WITH *",
        "WITH n",
        "RETURN n",
        "MATCH (n)",
        "WHERE",
        "ORDER BY",
        "LIMIT 1",
        "n",
        "x",
    ),
    *". : :: | & ! % $ , ; = =~ ' \" ` \\ // /* */ /**/ .. - 1 0x1 1e5 IS ORDER CASE".split(),
    *("\n", "\\u0053ET", "\\u000a", "\\u0027", "\\u002f", "\u017fET"),
]
EDITS = st.lists(
    st.tuples(st.integers(0, 60), st.sampled_from(PIECES), st.sampled_from([" ", "", "/**/", "\n", "\u2003"])),
    min_size=1,
    max_size=4,
)
CASES = st.sampled_from([str, str.upper, str.lower, str.swapcase])


@given(st.sampled_from(RESEARCH + DIALECTS), EDITS, CASES, st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_passes_only_reads_in_the_eyes_of_the_server(
    driver: neo4j.Driver, statement: str, edits: list[tuple[int, str, str]], case: Any, replaces: bool
) -> None:
    words = [(" " if token.gap else "") + case(token.text) for token in tokenize(statement)]
    for place, piece, space in edits:
        at = min(place, len(words))
        words[at : at + replaces] = [space + piece + space]
    try:
        passed = guard("".join(words))
    except QueryRefusedError:
        return
    with contextlib.suppress(Neo4jError):
        assert not misdeeds(driver, passed), passed


def test_the_plans_of_attacks_show_what_they_are(driver: neo4j.Driver, surroundings: Surroundings) -> None:
    """Checks that the test above can fail."""
    planned = 0
    for statement in [harm.statement for harm in HARM if harm.does != "tells"]:
        if statement.startswith(("CYPHER", "PROFILE", "CREATE USER")):
            continue
        with contextlib.suppress(Neo4jError):
            assert misdeeds(driver, surroundings.fill(statement)), statement
            planned += 1
    assert planned > 15
