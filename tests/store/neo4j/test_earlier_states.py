"""Comparing commits of a graph on a real Neo4j, and the bound on what is kept for that."""

from pathlib import Path

import pytest

from tests.neo4j_server import Neo4jServer
from tests.store.graphs import a_paper
from tests.store.neo4j.stores import settings_for
from xkg.commands.graph.diff import diff
from xkg.errors import StoreError
from xkg.model import PaperBundle
from xkg.store.neo4j import earlier_states
from xkg.store.neo4j.store import Neo4jStore

FIRST, SECOND, NEWER = a_paper(1), a_paper(2), a_paper(1, note="newer")


def states(store: Neo4jStore) -> list[tuple[int, dict[str, PaperBundle]]]:
    """A history of a graph: the number of each commit, and the papers that the graph had at it."""
    first, second = FIRST.paper.id, SECOND.paper.id
    return [
        (0, {}),
        (store.publish([FIRST]), {first: FIRST}),
        (store.publish([SECOND]), {first: FIRST, second: SECOND}),
        (store.publish([NEWER]), {first: NEWER, second: SECOND}),
        (store.remove([second]), {first: NEWER}),
        (store.revise([first], lambda _: FIRST), {first: FIRST}),
        (store.publish([SECOND]), {first: FIRST, second: SECOND}),
    ]


def test_any_two_commits_are_compared(store: Neo4jStore) -> None:
    history = states(store)
    for one, before in history:
        for other, after in history:
            papers = sorted(before.keys() | after.keys())
            pairs = [(before.get(paper), after.get(paper)) for paper in papers]
            found = list(store.differences(one, other))
            # A paper that was replaced by itself in between may be compared with itself.
            assert [pair for pair in found if pair[0] != pair[1]] == [pair for pair in pairs if pair[0] != pair[1]]


def test_the_last_change_is_compared_by_default(store: Neo4jStore, server: Neo4jServer, tmp_path: Path) -> None:
    store.publish([FIRST, SECOND])
    store.publish([NEWER])
    store.connect()
    assert list(store.differences(None, None)) == [(FIRST, NEWER)]
    result = diff(settings_for(server, tmp_path / "kg"))
    assert [change.paper for change in result.papers] == [FIRST.paper.id]


def test_as_many_states_are_kept_as_fit(store: Neo4jStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier_states, "MOST", 2)
    numbers = [store.publish([a_paper(1, note=str(note))]) for note in range(5)]
    assert [pair[0] for pair in store.differences(numbers[2], None)] == [a_paper(1, note="2")]
    with pytest.raises(StoreError, match=f"generation {numbers[1]} .* {numbers[2]} to {numbers[4]} can: .*export"):
        list(store.differences(numbers[1], None))
    with pytest.raises(StoreError, match="cannot be compared"):
        list(store.differences(0, numbers[4] + 1))


def test_a_damaged_paper_is_replaced_all_the_same(store: Neo4jStore) -> None:
    number = store.publish([FIRST])
    store.connection.write(lambda tx: tx.run("MATCH (b:XkgBundle) SET b.rest = $rest", rest=b"x").consume())
    newer = store.publish([NEWER])
    assert list(store.bundles()) == [NEWER]
    assert list(store.differences(newer, None)) == []
    with pytest.raises(StoreError, match="cannot be compared"):
        list(store.differences(number, None))


def test_a_graph_of_before_is_compared_from_its_migration_on(store: Neo4jStore) -> None:
    store.publish([FIRST])
    newer = store.publish([NEWER])
    for statement in ("MATCH (e:XkgEarlier) DELETE e", "MATCH (m:XkgMeta) SET m.schema = 5 REMOVE m.earliest"):
        store.connection.write(lambda tx, s=statement: tx.run(s).consume())  # type: ignore[misc]
    from xkg.store.neo4j.db.migrations import migrate

    assert migrate(store.connection) == ["006-earlier"]
    last = store.publish([FIRST])
    assert list(store.differences(newer, last)) == [(NEWER, FIRST)]
    with pytest.raises(StoreError, match="cannot be compared"):
        list(store.differences(newer - 1, last))
