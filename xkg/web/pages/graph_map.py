"""Draws a map of papers, shared concepts and citations, in which similar papers are close to each other. Also lists
papers with the same filters."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from xkg.attestations.trust import trusted
from xkg.errors import InputError
from xkg.model import Level, paper_of
from xkg.serve.answers.paper_list import ORDERS, PaperFilters, PaperList, at_least, proven
from xkg.store.graph_store import PaperLine, Snapshot
from xkg.web.rendering.layout import Edge, Line, Node, arranged, clusters, joined, words_of
from xkg.web.site import SECURITY, Page, Site, href, integer, level_of, paged, shortened

PAPERS = 60
"""Maximum number of papers in a drawing. A drawing with more papers would be too crowded."""
WIDTH, HEIGHT = 1200.0, 620.0
COLOURS = 8
_NEIGHBOURS = 3
_MOST_TECHNIQUES = 40
"""Maximum number of techniques per paper whose vectors are averaged."""
_ALIKE = 0.35
"""Minimum cosine similarity at which papers attract each other, after subtracting the mean vector."""
_LABEL = 28


class Drawing(NamedTuple):
    nodes: Sequence[Node]
    lines: Sequence[Line]
    concepts: int
    citations: int
    height: float


def show(site: Site, request: Request) -> Response:
    with site.service.snapshot() as snapshot:
        papers = site.service.paper_list(snapshot)
        if len(papers.lines) == 1 and not set(request.query_params) - {"graph"}:
            return RedirectResponse(href("paper", papers.lines[0].id), 303, SECURITY)
        choice = choice_of(request)
        page = paged(papers.chosen(choice), integer(request, "page", 1) or 1, PAPERS)
        drawing = _drawn(site, snapshot, choice, page)
        return site.render(
            request, "map.html", rows=page, choice=choice, parameters=parameters(choice), drawing=drawing,
            width=WIDTH, **totals(papers),
        )  # fmt: skip


def first_drawing(site: Site, snapshot: Snapshot) -> None:
    """Draws and caches the first map."""
    first = PaperFilters(order="proven")
    _drawn(site, snapshot, first, paged(site.service.paper_list(snapshot).chosen(first), 1, PAPERS))


def _drawn(site: Site, snapshot: Snapshot, choice: PaperFilters, page: Page) -> Drawing:
    key = (snapshot.generation, trusted(), choice, page.number)
    drawing: Drawing | None = site.drawings.get(key)
    if drawing is None:
        drawing = site.drawings[key] = draw(snapshot, page.rows)
    return drawing


def draw(snapshot: Snapshot, papers: Sequence[PaperLine]) -> Drawing:
    """Draws the given papers."""
    number = {line.id: n for n, line in enumerate(papers)}
    techniques = {line.id: list(snapshot.technique_ids(line.id)) for line in papers}
    cites = [
        (number[line.id], number[other])
        for line in papers
        for other in sorted(snapshot.citations_of(line.id)[0])
        if other in number and other != line.id
    ]
    concepts = _concepts(snapshot, techniques, number)
    alike = _alike(snapshot, papers, techniques)
    shared = [(len(papers) + n, member) for n, (_, members) in enumerate(concepts) for member in members]
    edges: list[Edge] = [(a, b, 1.2) for a, b in cites] + [(a, b, 0.9 * weight) for a, b, weight in alike]
    edges += [(a, b, 1.6) for a, b in shared]
    of = clusters(len(papers) + len(concepts), edges)
    # Draw nodes in the same cluster close together, even if they are connected by few edges.
    nodes, height = _nodes(papers, concepts, [*edges, *_within(of)], of)
    lines = [joined(nodes, a, b, "alike") for a, b, _ in alike]
    lines += [joined(nodes, a, b, "cites") for a, b in cites]
    lines += [joined(nodes, a, b, "concept") for a, b in shared]
    return Drawing(nodes, lines, len(concepts), len(cites), height)


def _concepts(
    snapshot: Snapshot, techniques: Mapping[str, Sequence[str]], number: Mapping[str, int]
) -> list[tuple[str, list[int]]]:
    """Returns a representative technique for each shared concept, with the numbers of the papers that share the
    concept."""
    every = [technique for own in techniques.values() for technique in own]
    first: dict[str, str] = {}

    def root(technique: str) -> str:
        while first.get(technique, technique) != technique:
            technique = first[technique]
        return technique

    for link in snapshot.links_of(every) if every else ():
        if link.how != "open" and paper_of(link.first) in number and paper_of(link.second) in number:
            a, b = sorted((root(link.first), root(link.second)))
            first[b] = a
            first.setdefault(a, a)
    members: dict[str, set[int]] = defaultdict(set)
    for technique in first:
        members[root(technique)].add(number[paper_of(technique)])
    best = sorted(members, key=lambda technique: (-len(members[technique]), technique))
    return [(technique, sorted(members[technique])) for technique in best[:PAPERS] if len(members[technique]) > 1]


def _alike(
    snapshot: Snapshot, papers: Sequence[PaperLine], techniques: Mapping[str, Sequence[str]]
) -> list[tuple[int, int, float]]:
    """Returns pairs of papers and the similarity of each pair (0 to 1). A paper is paired with the papers whose mean
    technique vectors are closest to its own."""
    import numpy as np

    vectors = snapshot.vectors([t for own in techniques.values() for t in own[:_MOST_TECHNIQUES]])
    if not vectors:
        return []
    numbers, means = [], []
    for number, line in enumerate(papers):
        own = [vectors[t] for t in techniques[line.id] if t in vectors]
        if own:
            numbers.append(number)
            means.append(np.mean(own, axis=0))
    matrix = np.stack(means)
    matrix = matrix - matrix.mean(axis=0)  # remove the component that all papers share
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
    cosines = matrix @ matrix.T
    np.fill_diagonal(cosines, -1)
    found: dict[tuple[int, int], float] = {}
    for row, own in enumerate(cosines):
        for other in np.argsort(-own)[:_NEIGHBOURS]:
            if own[other] > _ALIKE:
                a, b = sorted((numbers[row], numbers[int(other)]))
                found[a, b] = float(own[other])
    return [(a, b, weight) for (a, b), weight in sorted(found.items())]


def _within(of: Sequence[int]) -> list[Edge]:
    members: dict[int, list[int]] = defaultdict(list)
    for node, cluster in enumerate(of):
        members[cluster].append(node)
    return [(own[0], other, 0.25) for own in members.values() for other in own[1:]]


def _nodes(
    papers: Sequence[PaperLine], concepts: Sequence[tuple[str, list[int]]], edges: Sequence[Edge], of: Sequence[int]
) -> tuple[list[Node], float]:
    """Returns the nodes, and a drawing height that leaves enough space for all labels."""
    nodes = []
    for line, cluster in zip(papers, of, strict=False):
        label = shortened(line.title.partition(":")[0] or line.id, _LABEL)
        radius = min(7 + 3.4 * math.sqrt(proven(line)), 34.0)
        hollow = not at_least(line, Level.EXECUTED)
        nodes.append(Node("paper", line.id, label, _about(line), radius, cluster % COLOURS, hollow))
    for (technique, _), cluster in zip(concepts, of[len(papers) :], strict=True):
        name = words_of(technique)
        nodes.append(Node("concept", technique, shortened(name, _LABEL), f"concept: {name}", 7.0, cluster % COLOURS))
    height = min(max(240.0, 60.0 * len(nodes)), max(HEIGHT, 11.0 * len(nodes)))
    return arranged(nodes, edges, (WIDTH, height)), height


def _about(line: PaperLine) -> str:
    year = f" ({line.year})" if line.year else ""
    return (
        f"{line.title}{year}: {line.techniques} techniques, {at_least(line, Level.EXECUTED)} of them with code that ran"
    )


ROWS = 50
_LONGEST_TEXT = 200


def show_list(site: Site, request: Request) -> Response:
    with site.service.snapshot() as snapshot:
        papers = site.service.paper_list(snapshot)
        choice = choice_of(request)
        page = paged(papers.chosen(choice), integer(request, "page", 1) or 1, ROWS)
        return site.render(
            request, "papers.html", rows=page, choice=choice, parameters=parameters(choice), **totals(papers)
        )


def choice_of(request: Request) -> PaperFilters:
    """Parses the filters in a URL. Raises `InputError` if a value is invalid."""
    asked = request.query_params
    order = asked.get("order", "proven")
    if order not in ORDERS:
        raise InputError(f"order must be one of {', '.join(ORDERS)}, not {order[:40]!r}")
    origin = asked.get("origin", "")
    if origin not in ("", "build", "import"):
        raise InputError(f"origin must be build or import, not {origin[:40]!r}")
    return PaperFilters(
        text=asked.get("q", "").strip()[:_LONGEST_TEXT],
        years=(integer(request, "from"), integer(request, "to")),
        level=level_of(request),
        origin=origin,
        field=asked.get("field", "")[:40],
        order=order,
    )


def parameters(choice: PaperFilters) -> Mapping[str, Any]:
    """Returns the URL parameters for these filters."""
    return {
        "q": choice.text,
        "from": choice.years[0],
        "to": choice.years[1],
        "level": choice.level.value if choice.level else "",
        "origin": choice.origin,
        "field": choice.field,
        "order": "" if choice.order == "proven" else choice.order,
    }


def totals(papers: PaperList) -> dict[str, Any]:
    return {
        "papers": len(papers.lines),
        "techniques": papers.techniques,
        "levels": papers.totals,
        "years": papers.years,
        "fields": papers.fields,
        "origins": len({line.origin for line in papers.lines}),
        "any_ran": any(papers.totals[level] for level in Level if level.rank >= Level.EXECUTED.rank),
    }
