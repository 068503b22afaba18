import itertools
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from xkg.web.rendering.layout import apart, clusters, positions

EDGES = st.integers(1, 12).flatmap(
    lambda nodes: st.tuples(
        st.just(nodes),
        st.lists(st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1), st.floats(0.1, 2))),
    )
)


@given(EDGES)
@settings(max_examples=20)
def test_every_node_is_on_the_drawing_and_always_there(graph: tuple[int, list[tuple[int, int, float]]]) -> None:
    nodes, edges = graph
    at = positions(nodes, edges)
    assert at.shape == (nodes, 2)
    assert np.isfinite(at).all()
    assert ((at >= 0) & (at <= 1)).all()
    assert (at == positions(nodes, edges)).all()


def test_what_is_joined_stands_nearer() -> None:
    edges = [(a, b, 1.0) for group in (range(4), range(4, 8)) for a, b in itertools.combinations(group, 2)]
    at = positions(8, edges)
    inside = math.dist(at[0], at[1])
    assert all(math.dist(at[0], at[other]) > inside for other in range(4, 8))
    of = clusters(8, edges)
    assert len(set(of[:4])) == len(set(of[4:])) == 1
    assert of[0] != of[4]


def test_circles_are_moved_apart_within_the_drawing() -> None:
    places = apart([(50.0, 50.0)] * 5, [10.0] * 5, (400, 300))
    for (x, y), (u, v) in itertools.combinations(places, 2):
        assert math.hypot(x - u, y - v) > 19
    assert all(0 < x < 400 and 0 < y < 300 for x, y in places)
