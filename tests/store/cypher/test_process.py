"""Tests queries in a separate process: their results, their limits, and their isolation."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import ladybug
import pytest

from xkg.errors import QueryFailedError
from xkg.store.cypher.process import QueryProcess
from xkg.store.cypher.worker import plain


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("query") / "graph"
    with ladybug.Database(path) as database, ladybug.Connection(database) as connection:
        connection.execute("CREATE NODE TABLE Technique (id STRING PRIMARY KEY, name STRING, aliases STRING[])")
        connection.execute("CREATE REL TABLE HAS_COMPONENT (FROM Technique TO Technique, `order` INT64)")
        for i in range(50):
            connection.execute(
                "CREATE (:Technique {id: $id, name: $name, aliases: ['a', 'b']})", {"id": f"t{i:02}", "name": "é" * 100}
            )
        connection.execute("MATCH (a {id: 't00'}), (b {id: 't01'}) CREATE (a)-[:HAS_COMPONENT {`order`: 3}]->(b)")
    return path


@pytest.fixture(scope="module")
def queries(graph: Path) -> Iterator[QueryProcess]:
    with closing(QueryProcess(graph)) as process:
        yield process


def test_nodes_relationships_paths_and_lists_come_out_as_plain_json(queries: QueryProcess) -> None:
    table = queries.run("MATCH p = (a)-[r]->(b) RETURN a, r, p, a.aliases AS aliases, date('2020-01-02') AS day")
    a, r, p, aliases, day = table.rows[0]
    assert table.columns[3:] == ("aliases", "day")
    assert (a["_label"], a["id"], a["aliases"]) == ("Technique", "t00", ["a", "b"])
    assert (r["_label"], r["order"], r["_src"]) == ("HAS_COMPONENT", 3, a["_id"])
    assert [node["id"] for node in p["_nodes"]] == ["t00", "t01"]
    assert aliases == ["a", "b"]
    assert day == "2020-01-02"


@pytest.mark.parametrize("value", [{"a": 1}, [], [1, "a"], [[1]], [None], 2**70, b"x", "\ud800"])
def test_parameters_that_the_engine_mistakes_are_refused(queries: QueryProcess, value: Any) -> None:
    with pytest.raises(QueryFailedError, match=r"parameter \$value must be"):
        queries.run("RETURN $value AS value", {"value": value})


def test_a_parameter_is_never_written_into_the_statement(queries: QueryProcess) -> None:
    """The client library replaces to_json($x) with the value's text, even inside a string."""
    assert queries.run('RETURN "to_json($x)" AS s', {"x": "\"; COPY (RETURN 1) TO 'f' //\""}).rows == (
        ("to_json($x)",),
    )


def test_row_and_size_limits_mark_a_table_truncated(queries: QueryProcess) -> None:
    statement = "MATCH (t:Technique) RETURN t.id, t.name ORDER BY t.id"
    assert not queries.run(statement, rows=50).truncated
    few = queries.run(statement, rows=3)
    assert ([row[0] for row in few.rows], few.truncated) == (["t00", "t01", "t02"], True)
    small = queries.run(statement, bytes=2000)
    assert 0 < len(small.rows) < 10
    assert small.truncated


def test_a_query_over_its_time_is_stopped_and_the_next_one_answered(graph: Path) -> None:
    with closing(QueryProcess(graph)) as process:
        with pytest.raises(QueryFailedError, match=r"longer than 0\.3 s"):
            process.run("UNWIND range(1, 100000) AS x UNWIND range(1, 100000) AS y RETURN sum(x * y)", seconds=0.3)
        assert process.run("RETURN 1 AS x").rows == ((1,),)


def test_to_wait_for_another_query_counts_towards_the_time(graph: Path) -> None:
    with closing(QueryProcess(graph)) as process, ThreadPoolExecutor(1) as pool:
        process.start()
        long = pool.submit(
            process.run, "UNWIND range(1, 100000) AS x UNWIND range(1, 100000) AS y RETURN sum(x * y)", seconds=20
        )
        while not process._lock.locked():
            time.sleep(0.01)
        with pytest.raises(QueryFailedError, match=r"other queries were still running after 0\.2 s"):
            process.run("RETURN 1 AS x", seconds=0.2)
        assert process._worker is not None
        process._worker.kill()
        with pytest.raises(QueryFailedError):
            long.result()


def test_a_query_over_its_memory_is_stopped_and_the_next_one_answered(graph: Path) -> None:
    with closing(QueryProcess(graph)) as process:
        with pytest.raises(QueryFailedError, match="too large"):
            process.run("RETURN size(repeat(repeat('x', 100000), 100000)) AS n")
        assert process.run("RETURN 1 AS x").rows == ((1,),)


ATTACKS = [
    "LOAD FROM '{secret}' RETURN *",
    "LOAD FROM '/etc/passwd' (delim=':', header=false) RETURN *",
    "LOAD FROM '/proc/self/environ' RETURN *",
    "COPY (MATCH (t:Technique) RETURN t.id) TO '{out}.csv'",
    "COPY (MATCH (t:Technique) RETURN t.id) TO '{out}.parquet'",
    "EXPORT DATABASE '{out}'",
    "ATTACH '{graph}' AS other (DBTYPE lbug)",
    "IMPORT DATABASE '{out}'",
    "INSTALL httpfs",
    "LOAD EXTENSION '{secret}'",
    "CREATE (:Technique {{id: 'x'}})",
    "RETURN 1; COPY (RETURN 1 AS a) TO '{out}.csv'",
]


@pytest.mark.parametrize("confined", [True, False])
def test_past_the_guard_the_process_still_reaches_nothing(graph: Path, tmp_path: Path, confined: bool) -> None:
    """Without the guard, none of these statements works in the confined process. The first one works without
    confinement."""
    secret = tmp_path / "secret.csv"
    secret.write_text("a\nsecret\n")
    beside = sorted(tmp_path.iterdir())
    with closing(QueryProcess(graph, confine=confined)) as process:
        for attack in ATTACKS if confined else ATTACKS[:1]:
            statement = attack.format(secret=secret, out=tmp_path / "out", graph=graph)
            if confined:
                with pytest.raises(QueryFailedError):
                    process.run(statement)
            else:
                assert "secret" in str(process.run(statement).rows)
    assert sorted(tmp_path.iterdir()) == beside


def test_without_landlock_limits_alone_keep_files_out(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = tmp_path / "worker.py"
    real = Path(plain.__code__.co_filename)
    source = real.read_text().replace("str(Path(__file__).parents[3])", repr(str(real.parents[3])))
    worker.write_text(source.replace("landlock.version()", "0"))
    monkeypatch.setattr("xkg.store.cypher.process._WORKER", worker)
    with closing(QueryProcess(graph)) as process:
        assert process.run("RETURN 1 AS x").rows == ((1,),)
        assert process.landlock == 0
        for attack in ATTACKS:
            with pytest.raises(QueryFailedError):
                process.run(attack.format(secret=worker, out=tmp_path / "out", graph=graph))
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size] == [worker]


@pytest.mark.parametrize(
    "value", [1, -1.5, True, "x' OR 1=1 //", "Größe \u2028 \u0000".replace("\0", ""), None, [1, 2], ["a"]]
)
def test_parameters_arrive_as_they_are(queries: QueryProcess, value: Any) -> None:
    assert queries.run("RETURN $value AS value", {"value": value}).rows == ((value,),)


@pytest.mark.parametrize(
    "statement", ["RETURN frobnicate(1)", "MATCH (n:Nope) RETURN n", "MATCH (n RETURN n", "RETURN $missing"]
)
def test_errors_are_the_engines_words_in_one_line(queries: QueryProcess, statement: str) -> None:
    with pytest.raises(QueryFailedError) as failure:
        queries.run(statement)
    assert any(word in str(failure.value) for word in ("exception", "not found"))
    assert "\n" not in str(failure.value)
    assert queries.run("RETURN 1 AS x").rows == ((1,),)


def test_a_graph_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with closing(QueryProcess(tmp_path / "none")) as process, pytest.raises(QueryFailedError, match="cannot be opened"):
        process.run("RETURN 1")
