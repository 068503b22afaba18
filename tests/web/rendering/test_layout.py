import itertools

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


def test_what_is_joined_is_one_cluster() -> None:
    edges = [(a, b, 1.0) for group in (range(4), range(4, 8)) for a, b in itertools.combinations(group, 2)]
    of = clusters(8, edges)
    assert (len(set(of[:4])), len(set(of[4:])), of[0] != of[4]) == (1, 1, True)
