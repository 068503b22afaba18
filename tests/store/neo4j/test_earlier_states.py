"""Compares commits of a graph on a real Neo4j, and tests the limit on stored commits."""

import pytest

from tests.store.graphs import a_paper
from xkg.errors import StoreError
from xkg.model import PaperBundle
from xkg.store.neo4j import earlier_states
from xkg.store.neo4j.store import Neo4jStore

FIRST, SECOND, NEWER = a_paper(1), a_paper(2), a_paper(1, note="newer")


def states(store: Neo4jStore) -> list[tuple[int, dict[str, PaperBundle]]]:
    """Returns the history of a graph: the number of each commit, and the papers in the graph at that commit."""
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
            # The differences may include a paper that was replaced with an identical one.
            assert [pair for pair in found if pair[0] != pair[1]] == [pair for pair in pairs if pair[0] != pair[1]]


def test_as_many_states_are_kept_as_fit(store: Neo4jStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier_states, "MOST", 2)
    numbers = [store.publish([a_paper(1, note=str(note))]) for note in range(5)]
    assert [pair[0] for pair in store.differences(numbers[2], None)] == [a_paper(1, note="2")]
    with pytest.raises(StoreError, match=f"generation {numbers[1]} .* {numbers[2]} to {numbers[4]} can; .*export"):
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
