"""Lays out drawings of graphs. Nodes are placed with stress majorization (Gansner, Koren and North, 2004), and
overlapping labels are moved apart. Clusters are found with label propagation (Raghavan et al., 2007). The layout is
deterministic."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ROUNDS = 120
_CHARACTER, _LINE = 7.2, 18.0
"""Width of a character and height of a line in labels, in drawing units."""
_GAP = 10.0
_FAR = 0.5
"""Additional distance between nodes that are not connected, on top of the longest path."""

Edge = tuple[int, int, float]
"""Two node numbers and the strength of their attraction."""
Point = tuple[float, float]


class Node(NamedTuple):
    """A node in a drawing. `kind` is `paper`, `technique` or `concept` (shared by several papers). `x` and `y` are the
    centre, in drawing units."""

    kind: str
    id: str
    label: str
    title: str
    radius: float
    cluster: int
    hollow: bool = False
    x: float = 0.0
    y: float = 0.0


class Line(NamedTuple):
    """An edge in a drawing. `kind` is `cites`, `concept` or `alike`, and `ends` contains both node numbers."""

    x1: float
    y1: float
    x2: float
    y2: float
    kind: str
    ends: str


def words_of(node_id: str) -> str:
    return node_id.rpartition("/")[2].rpartition("#")[2].replace("-", " ")


def arranged(nodes: Sequence[Node], edges: Sequence[Edge], size: Point) -> list[Node]:
    """Returns the nodes with their positions."""
    places = placed([node.radius for node in nodes], [node.label for node in nodes], edges, size)
    return [node._replace(x=x, y=y, radius=round(node.radius, 1)) for node, (x, y) in zip(nodes, places, strict=True)]


def joined(nodes: Sequence[Node], first: int, second: int, kind: str) -> Line:
    """Returns the line between the borders of two nodes."""
    a, b = nodes[first], nodes[second]
    dx, dy = b.x - a.x, b.y - a.y
    length = math.hypot(dx, dy) or 1.0
    start, end = a.radius / length, (b.radius + (4 if kind == "cites" else 0)) / length
    return Line(
        round(a.x + dx * start, 1), round(a.y + dy * start, 1), round(b.x - dx * end, 1), round(b.y - dy * end, 1),
        kind, f"{first} {second}",
    )  # fmt: skip


def placed(radii: Sequence[float], labels: Sequence[str], edges: Sequence[Edge], size: Point) -> list[Point]:
    """Returns the centres of circles in a drawing of the given size. Each circle has a label below it. Circles and
    labels do not overlap if there is enough space."""
    import numpy as np

    if not radii:
        return []
    wide = [max(2 * r, _CHARACTER * len(label)) + _GAP for r, label in zip(radii, labels, strict=True)]
    half = np.array([(w, 2 * r + _LINE + _GAP) for w, r in zip(wide, radii, strict=True)]) / 2
    at = _embedded(len(radii), edges)
    # Average the distance and rank, so that crowded nodes get more space and distant nodes less.
    rank = np.argsort(np.argsort(at, axis=0, kind="stable"), axis=0, kind="stable") / max(1, len(radii) - 1)
    least, width = at.min(axis=0), np.ptp(at, axis=0)
    spread = np.where(width > 1e-6, (at - least) / np.maximum(width, 1e-6), 0.5)
    share = (spread + np.where(width > 1e-6, rank, 0.5)) / 2
    few = min(1.0, 0.3 + len(radii) / 16)  # keep a small number of nodes close together in the middle
    at = np.array(size) / 2 + (share - 0.5) * few * (np.array(size) - 2 * half.max(axis=0))
    at = _separated(at, half, np.array(size))
    # Each circle is above its label.
    return [(round(float(x), 1), round(float(y) - _LINE / 2, 1)) for x, y in at]


def _embedded(nodes: int, edges: Sequence[Edge]) -> "NDArray[np.float64]":
    """Returns coordinates whose distances approximate the distances in the graph, rotated so that the longest axis is
    horizontal."""
    import numpy as np

    away = np.full((nodes, nodes), np.inf)
    np.fill_diagonal(away, 0.0)
    for a, b, weight in edges:
        away[a, b] = away[b, a] = min(away[a, b], 1 / math.sqrt(max(weight, 0.1)))
    for middle in range(nodes):
        away = np.minimum(away, away[:, middle, None] + away[None, middle, :])
    away = np.where(np.isinf(away), np.max(away, where=np.isfinite(away), initial=1.0) + _FAR, away)
    pull = 1 / np.maximum(away, 0.1) ** 2
    np.fill_diagonal(pull, 0.0)
    # Start with a sunflower pattern, in which no nodes coincide and nothing is random.
    turn, radius = np.arange(nodes) * 2.399963, np.sqrt(np.arange(nodes) + 0.5)
    at = np.stack([radius * np.cos(turn), radius * np.sin(turn)], axis=1)
    for _ in range(ROUNDS if nodes > 1 else 0):
        between = at[:, None] - at[None]
        stretch = away / np.maximum(np.linalg.norm(between, axis=2), 1e-9)
        at = np.einsum("ij,ijk->ik", pull, at[None] + between * stretch[..., None]) / pull.sum(axis=1)[:, None]
    at -= at.mean(axis=0)
    turned: NDArray[np.float64] = at @ np.linalg.svd(at, full_matrices=False)[2].T if nodes > 1 else at
    return turned


def _separated(
    at: "NDArray[np.float64]", half: "NDArray[np.float64]", size: "NDArray[np.float64]"
) -> "NDArray[np.float64]":
    """Moves boxes along the axis with the smaller overlap until no (or almost no) boxes overlap, and returns the
    centres of the boxes."""
    import numpy as np

    number = np.arange(len(at))
    for _ in range(ROUNDS):
        # Push nodes at the same position in different directions.
        between = at[:, None] - at[None] + 1e-6 * (number[:, None] - number)[..., None]
        over = half[:, None] + half[None] - np.abs(between)
        over[number, number] = 0
        hit = over.min(axis=2, keepdims=True) > 0
        if not hit.any():
            break
        upright = over[..., 0] > over[..., 1]
        move = np.sign(between) * over * np.stack([~upright, upright], axis=2) * hit
        at = np.clip(at + 0.4 * move.sum(axis=1), half, size - half)
    return at


def clusters(nodes: int, edges: Sequence[Edge]) -> list[int]:
    """Returns each node's cluster number. The largest cluster is 0, and an isolated node is its own cluster."""
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
