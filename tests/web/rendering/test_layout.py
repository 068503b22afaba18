import itertools
import math

from hypothesis import given, settings
from hypothesis import strategies as st

from xkg.web.rendering.layout import Edge, clusters, placed

SIZE = (1200.0, 600.0)
EDGES = st.integers(1, 12).flatmap(
    lambda nodes: st.tuples(
        st.just(nodes),
        st.lists(st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1), st.floats(0.1, 2))),
    )
)


@given(EDGES)
@settings(max_examples=20)
def test_every_label_is_on_the_drawing_covers_no_other_and_is_always_there(graph: tuple[int, list[Edge]]) -> None:
    nodes, edges = graph
    labels = [f"paper number {n}" for n in range(nodes)]
    at = placed([10.0] * nodes, labels, edges, SIZE)
    assert len(at) == nodes
    assert all(40 < x < SIZE[0] - 40 and 10 < y < SIZE[1] - 25 for x, y in at)
    for (x, y), (u, v) in itertools.combinations(at, 2):
        assert abs(x - u) > 90 or abs(y - v) > 36
    assert at == placed([10.0] * nodes, labels, edges, SIZE)


def test_what_is_joined_stands_nearer() -> None:
    edges = [(a, b, 1.0) for group in (range(4), range(4, 8)) for a, b in itertools.combinations(group, 2)]
    at = placed([6.0] * 8, ["a"] * 8, edges, SIZE)
    middles = [(sum(x for x, _ in own) / 4, sum(y for _, y in own) / 4) for own in (at[:4], at[4:])]
    for node, place in enumerate(at):
        near, far = (math.dist(place, middles[own]) for own in (node // 4, 1 - node // 4))
        assert near < far
    of = clusters(8, edges)
    assert len(set(of[:4])) == len(set(of[4:])) == 1
    assert of[0] != of[4]
