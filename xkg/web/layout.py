"""Where the nodes of a drawing stand: springs and repulsion (Fruchterman and Reingold, 1991), the same for the same
graph; and which nodes are one cluster (label propagation, Raghavan et al., 2007)."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STEPS = 220

Edge = tuple[int, int, float]
"""Two nodes by number, and how strongly they hold together."""


def positions(nodes: int, edges: Sequence[Edge], aspect: float = 1.6) -> "NDArray[np.float64]":
    """Coordinates in 0..1 of `nodes` nodes, shape (nodes, 2), for a drawing `aspect` times as wide as high."""
    import numpy as np

    if nodes == 0:
        return np.zeros((0, 2))
    # A sunflower to begin with: nothing coincides, and nothing is drawn by chance.
    turn = np.arange(nodes) * 2.399963
    radius = np.sqrt((np.arange(nodes) + 0.5) / nodes) / 2
    at = np.stack([radius * np.cos(turn) * aspect, radius * np.sin(turn)], axis=1)
    ideal = np.sqrt(aspect / nodes) * 0.72
    ends = np.array([(a, b) for a, b, _ in edges], dtype=int).reshape(-1, 2)
    pull = np.array([weight for _, _, weight in edges])
    for step in range(STEPS):
        difference = at[:, None, :] - at[None, :, :]
        square = np.maximum((difference**2).sum(axis=2), 1e-6)
        force = (difference * (ideal**2 / square)[:, :, None]).sum(axis=1)
        if len(ends):
            along = at[ends[:, 0]] - at[ends[:, 1]]
            length = np.sqrt((along**2).sum(axis=1))
            spring = along * (length / ideal * pull)[:, None]
            np.add.at(force, ends[:, 0], -spring)
            np.add.at(force, ends[:, 1], spring)
        force -= at * np.array([0.55, 0.55 * aspect]) * np.sqrt(nodes) * ideal  # nothing drifts away
        size = np.sqrt((force**2).sum(axis=1))
        heat = 0.12 * (1 - step / STEPS) ** 1.5 + 0.002
        at = at + force / np.maximum(size, 1e-9)[:, None] * np.minimum(size, heat)[:, None]
    least, most = at.min(axis=0), at.max(axis=0)
    scaled: NDArray[np.float64] = (at - least) / np.maximum(most - least, 1e-9)
    return scaled


def clusters(nodes: int, edges: Sequence[Edge]) -> list[int]:
    """The number of each node's cluster, the largest cluster 0; a node that nothing holds is a cluster of its own."""
    near: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for first, second, weight in edges:
        near[first].append((second, weight))
        near[second].append((first, weight))
    label = list(range(nodes))
    for _ in range(20):
        changed = False
        for node in sorted(range(nodes), key=lambda n: (-len(near[n]), n)):
            if not near[node]:
                continue
            votes: dict[int, float] = defaultdict(float)
            for other, weight in near[node]:
                votes[label[other]] += weight
            best = max(votes, key=lambda choice: (votes[choice], choice == label[node], -choice))
            changed |= best != label[node]
            label[node] = best
        if not changed:
            break
    sizes: dict[int, int] = defaultdict(int)
    for own in label:
        sizes[own] += 1
    rank = {own: number for number, own in enumerate(sorted(sizes, key=lambda own: (-sizes[own], own)))}
    return [rank[own] for own in label]
