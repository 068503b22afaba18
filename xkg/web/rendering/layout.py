"""Where the nodes of a drawing stand: springs and repulsion (Fruchterman and Reingold, 1991), the same for the same
graph; and which nodes are one cluster (label propagation, Raghavan et al., 2007)."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STEPS = 160

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
    x, y = at[:, 0].copy(), at[:, 1].copy()
    first, second = ends[:, 0], ends[:, 1]
    pull_back = np.full(nodes, 0.5 * np.sqrt(nodes) * ideal)  # nothing drifts away,
    pull_back[np.bincount(ends.ravel(), minlength=nodes) == 0] *= 3  # least of all what nothing holds
    for step in range(STEPS):
        dx, dy = x[:, None] - x[None, :], y[:, None] - y[None, :]
        square = np.maximum(dx * dx + dy * dy, 1e-6)
        # What is far apart does not repel, so that a paper without edges stays near the others.
        push = np.where(square < (3.2 * ideal) ** 2, ideal**2 / square, 0.0)
        fx = np.einsum("ij,ij->i", dx, push) - x * pull_back
        fy = np.einsum("ij,ij->i", dy, push) - y * pull_back * aspect
        if len(ends):
            ex, ey = x[first] - x[second], y[first] - y[second]
            spring = np.sqrt(ex * ex + ey * ey) / ideal * pull
            for force, along in ((fx, ex * spring), (fy, ey * spring)):
                force += np.bincount(second, along, nodes) - np.bincount(first, along, nodes)
        size = np.maximum(np.sqrt(fx * fx + fy * fy), 1e-9)
        heat = 0.12 * (1 - step / STEPS) ** 1.5 + 0.002
        step_size = np.minimum(size, heat) / size
        x += fx * step_size
        y += fy * step_size
    at = np.stack([x, y], axis=1)
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


Box = tuple[float, float, float, float]
Point = tuple[float, float]
_GAP = 10
_PUSHES = 60
_CHARACTER, _LINE = 6.2, 13.0
"""The size of a label's letters, in units of the drawing."""


def apart(places: Sequence[Point], radii: Sequence[float], size: Point) -> list[Point]:
    """The places of circles, moved until no two overlap, or nearly so, within a drawing of that size."""
    import numpy as np

    x, y = np.array(places, dtype=float).reshape(-1, 2).T
    r = np.array(radii, dtype=float)
    # One upon the other, each goes a way of its own.
    x, y = x + np.cos(np.arange(len(r))) / 100, y + np.sin(np.arange(len(r))) / 100
    least = r[:, None] + r[None, :] + _GAP
    np.fill_diagonal(least, 0.0)
    for _ in range(_PUSHES):
        dx, dy = x[:, None] - x[None, :], y[:, None] - y[None, :]
        distance = np.maximum(np.hypot(dx, dy), 1e-6)
        push = np.maximum(least - distance, 0.0) / 2 / distance
        if not push.any():
            break
        x = np.clip(x + (dx * push).sum(axis=1), r + 4, size[0] - r - 4)
        y = np.clip(y + (dy * push).sum(axis=1), r + 4, size[1] - r - 20)
    return [(round(float(a), 1), round(float(b), 1)) for a, b in zip(x, y, strict=True)]


def label_sides(places: Sequence[Point], radii: Sequence[float], labels: Sequence[str], size: Point) -> list[str]:
    """On which side of its circle each label stands, `below`, `right`, `left` or `above`, so that it covers nothing;
    empty for one that finds no room."""
    taken: list[Box] = [(x - r, y - r, x + r, y + r) for (x, y), r in zip(places, radii, strict=True)]
    sides = []
    for own, ((x, y), r, label) in enumerate(zip(places, radii, labels, strict=True)):
        width = _CHARACTER * len(label)
        boxes: dict[str, Box] = {
            "below": (x - width / 2, y + r + 2, x + width / 2, y + r + 2 + _LINE),
            "right": (x + r + 4, y - _LINE / 2, x + r + 4 + width, y + _LINE / 2),
            "left": (x - r - 4 - width, y - _LINE / 2, x - r - 4, y + _LINE / 2),
            "above": (x - width / 2, y - r - 2 - _LINE, x + width / 2, y - r - 2),
        }
        side = next((name for name, box in boxes.items() if _is_free(box, own, taken, size)), "")
        if side:
            taken.append(boxes[side])
        sides.append(side)
    return sides


def _is_free(box: Box, own: int, taken: Sequence[Box], size: Point) -> bool:
    inside = box[0] > 2 and box[1] > 2 and box[2] < size[0] - 2 and box[3] < size[1] - 2
    return inside and not any(number != own and _overlap(box, other) for number, other in enumerate(taken))


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
