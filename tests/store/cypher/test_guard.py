"""Tests which untrusted statements pass the guard, and that the engine reads them in the same way."""

import contextlib
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import ladybug
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.store.graphs import a_paper, open_store
from tests.store.statements import ATTACKS, DIALECTS, HONEST, RESEARCH, filled
from xkg.errors import QueryRefusedError
from xkg.store.cypher.guard import guard
from xkg.store.cypher.tokens import tokenize


def test_honest_statements_pass() -> None:
    for statement in HONEST + RESEARCH + DIALECTS:
        assert guard(guard(statement)) == guard(statement)


def test_no_attack_gets_through_on_the_embedded_store(tmp_path: Path) -> None:
    store = open_store(tmp_path / "graph")
    store.publish([a_paper()])
    secret = tmp_path / "secret.csv"
    secret.write_text("a\nsecret\n")
    before = contents(tmp_path)
    for statement in ATTACKS:
        with pytest.raises(QueryRefusedError) as refusal:
            store.query(filled(statement, file=secret, out=tmp_path / "out", url="http://127.0.0.1:9/"))
        message = str(refusal.value)
        assert "\n" not in message
        assert len(message) < 400
    store.close()
    assert contents(tmp_path) == before


def contents(folder: Path) -> dict[str, str]:
    """Returns the digest of every file in a folder, keyed by relative path."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize(
    "pattern", ["(a+)+b", "(a*)*?b", r"(a)\1", r"(?<n>a)\k<n>", "(.*a){20}", ".*a.*a.*b", "a" * 201, "(", "a)", "*a"]
)
def test_a_pattern_in_a_parameter_is_judged_like_one_in_the_statement(pattern: str) -> None:
    statement = "MATCH (n) WHERE n.name =~ $pattern RETURN n.id"
    guard(statement, {"pattern": "(?i).*dpo.*"})
    with pytest.raises(QueryRefusedError, match="regular expression"):
        guard(statement, {"pattern": pattern})


PARTS = "a . [ab] \\d (a|b) (ab) (?i) * + ? {2} {1,9} ( ) | *? (a+) (?:a)".split()


@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join))
def test_patterns_that_pass_end_soon_in_a_backtracking_engine(pattern: str) -> None:
    """Python's engine backtracks like Java's, with fewer shortcuts."""
    try:
        guard("MATCH (n) RETURN n.title =~ $pattern", {"pattern": pattern})
    except QueryRefusedError:
        return
    assert len(re.findall(r"\((?!\?i\))", pattern)) <= 1, "at most one group"
    with contextlib.suppress(re.error):
        re.fullmatch(pattern, "ab" * 100 + "c")


def test_comments_and_odd_spaces_do_not_reach_the_engine() -> None:
    assert guard("MATCH/* a */(n)\u2003// b\nRETURN '// kept' ; // c") == "MATCH (n) RETURN '// kept'"


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


STATEMENTS = [
    "MATCH (p:Paper) RETURN p.title",
    "MATCH (p:Paper) WITH p AS x WHERE x.title = 's' RETURN x",
    "MATCH (p:Paper) WHERE EXISTS { MATCH (p)-[:PROPOSES]->(t) } RETURN *",
    "UNWIND [1] AS x RETURN x AS load",
]
INSERTS = [
    *WORDS,
    *("SET p.title = 'x'", "MERGE (:Paper {id: 'q'})", "DELETE p", "EXPORT DATABASE 'z'", "DROP TABLE Paper"),
    *("(RETURN 1)", "TO 'f.csv'", "(:Paper {id: 'q'})", "WITH p", "UNION", "CALL threads=2", "BEGIN TRANSACTION", "\n"),
    *r"as AS set p 1 . : | * , ; ` ' \' /* */ // { } ( ) [ ]".split(),
    '"',
]


@given(
    st.sampled_from(STATEMENTS),
    st.lists(st.tuples(st.integers(0, 12), st.sampled_from(INSERTS)), min_size=1, max_size=4),
    st.sampled_from([" ", "\n", "/**/"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
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


@given(
    st.sampled_from(HONEST),
    st.integers(0, 60),
    st.sampled_from(WORDS),
    st.sampled_from(["(n:Paper)", "n", "FROM 'x' RETURN *", "n.x = 1", "(RETURN 1) TO 'x'"]),
)
def test_no_clause_slips_in_after_a_finished_part(statement: str, where: int, word: str, rest: str) -> None:
    """A clause that is inserted between two tokens of a valid statement is refused, unless it is read as a name at that
    position."""
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
