"""The map page: papers, the concepts that they share, and citations; similar papers are close to each other."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from xkg.attestations.trust import trusted
from xkg.model import Level, paper_of
from xkg.serve.answers.paper_list import PaperFilters, at_least, proven
from xkg.store.graph_store import PaperLine, Snapshot
from xkg.web.pages.papers import choice_of, parameters, totals
from xkg.web.rendering.layout import Edge, clusters, placed
from xkg.web.site import SECURITY, Page, Site, href, integer, paged, shortened

PAPERS = 60
"""Maximum number of papers per drawing; more could not be told apart."""
WIDTH, HEIGHT = 1200.0, 620.0
COLOURS = 8
_NEIGHBOURS = 3
_MOST_TECHNIQUES = 40
"""Number of techniques whose vectors represent a paper's subject."""
_ALIKE = 0.35
"""Minimum cosine, relative to the mean over all pairs, for papers to attract each other."""
_LABEL = 28
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_TOPIC_LETTER = 15.0
"""Width of a letter in a topic's name, in drawing units."""
_PHRASE = 3
"""Number of words in a topic's name."""


class Node(NamedTuple):
    """A paper (`line`) or a concept that several papers share, in drawing units."""

    x: float
    y: float
    radius: float
    cluster: int
    label: str
    title: str
    line: PaperLine | None
    ran: bool
    technique: str


class Line(NamedTuple):
    """An edge between two nodes by number; `kind` is `cites`, `concept` or `alike`."""

    x1: float
    y1: float
    x2: float
    y2: float
    kind: str
    ends: str


class Topic(NamedTuple):
    """The words that the titles in a cluster have in common."""

    x: float
    y: float
    cluster: int
    name: str


class Drawing(NamedTuple):
    nodes: Sequence[Node]
    lines: Sequence[Line]
    topics: Sequence[Topic]
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
    """Prepares the first map."""
    first = PaperFilters(order="proven")
    _drawn(site, snapshot, first, paged(site.service.paper_list(snapshot).chosen(first), 1, PAPERS))


def _drawn(site: Site, snapshot: Snapshot, choice: PaperFilters, page: Page) -> Drawing:
    key = (snapshot.generation, trusted(), choice, page.number)
    drawing: Drawing | None = site.drawings.get(key)
    if drawing is None:
        drawing = site.drawings[key] = draw(snapshot, page.rows)
    return drawing


def draw(snapshot: Snapshot, papers: Sequence[PaperLine]) -> Drawing:
    """Draws these papers."""
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
    # Nodes of one cluster are drawn together, even if few edges connect them.
    nodes, height = _nodes(papers, concepts, [*edges, *_within(of)], of)
    lines = [_line(nodes, a, b, "alike") for a, b, _ in alike]
    lines += [_line(nodes, a, b, "cites") for a, b in cites]
    lines += [_line(nodes, a, b, "concept") for a, b in shared]
    return Drawing(nodes, lines, _topics(papers, nodes), len(concepts), len(cites), height)


def _concepts(
    snapshot: Snapshot, techniques: Mapping[str, Sequence[str]], number: Mapping[str, int]
) -> list[tuple[str, list[int]]]:
    """Returns a representative technique for each shared concept, with the numbers of the papers that have it."""
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
    """Pairs each paper with the most similar papers, by the mean vectors of their techniques, and the similarity (0 to
    1)."""
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
    matrix = matrix - matrix.mean(axis=0)  # words that all have in common distinguish nothing
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
    """Returns the nodes, with room for each label, and the height of the drawing."""
    radii = [min(7 + 3.4 * math.sqrt(proven(line)), 34.0) for line in papers] + [7.0] * len(concepts)
    names = [line.title.partition(":")[0] or line.id for line in papers] + [_words(c) for c, _ in concepts]
    labels = [shortened(name, _LABEL) for name in names]
    height = min(max(240.0, 60.0 * len(radii)), max(HEIGHT, 11.0 * len(radii)))
    titles = [_about(line) for line in papers] + [f"concept: {_words(technique)}" for technique, _ in concepts]
    places = placed(radii, labels, edges, (WIDTH, height))
    nodes = []
    for number, ((x, y), radius) in enumerate(zip(places, radii, strict=True)):
        line = papers[number] if number < len(papers) else None
        ran = line is None or at_least(line, Level.EXECUTED) > 0
        technique = "" if line else concepts[number - len(papers)][0]
        colour = of[number] % COLOURS
        nodes.append(Node(x, y, round(radius, 1), colour, labels[number], titles[number], line, ran, technique))
    return nodes, height


def _line(nodes: Sequence[Node], first: int, second: int, kind: str) -> Line:
    """Returns the line from the edge of one circle to the edge of the other."""
    a, b = nodes[first], nodes[second]
    dx, dy = b.x - a.x, b.y - a.y
    length = math.hypot(dx, dy) or 1.0
    ends = f"{first} {second}"
    start, end = a.radius / length, (b.radius + (4 if kind == "cites" else 0)) / length
    return Line(
        round(a.x + dx * start, 1), round(a.y + dy * start, 1), round(b.x - dx * end, 1), round(b.y - dy * end, 1),
        kind, ends,
    )  # fmt: skip


def _topics(papers: Sequence[PaperLine], nodes: Sequence[Node]) -> list[Topic]:
    """Names each cluster of three or more papers by the phrase that is most common in its titles and least common in
    others."""
    phrases = [set(_phrases(line.title)) for line in papers]
    everywhere = Counter(phrase for own in phrases for phrase in own)
    members: dict[int, list[int]] = defaultdict(list)
    for number in range(len(papers)):
        members[nodes[number].cluster].append(number)
    topics = []
    for cluster, own in sorted(members.items()):
        here = Counter(phrase for number in own for phrase in phrases[number])
        telling = [phrase for phrase, count in here.items() if count > 1]
        if len(own) > 2 and telling:
            name = max(telling, key=lambda phrase: (here[phrase] ** 2 / everywhere[phrase], len(phrase), phrase))
            x, y = (round(sum(place) / len(own), 1) for place in zip(*(nodes[n][:2] for n in own), strict=True))
            half = min(_TOPIC_LETTER * len(" ".join(name)), WIDTH) / 2
            topics.append(Topic(min(max(x, half), WIDTH - half), y, cluster, " ".join(name)))
    return topics


def _phrases(title: str) -> Iterator[tuple[str, ...]]:
    """Yields phrases of two or three words in a title whose first and last word have at least four letters."""
    words = [word.casefold() for word in _WORD.findall(title)]
    for length in range(2, _PHRASE + 1):
        for start in range(len(words) - length + 1):
            phrase = tuple(words[start : start + length])
            if min(len(phrase[0]), len(phrase[-1])) > 3:
                yield phrase


def _words(technique: str) -> str:
    return technique.rpartition("/")[2].rpartition("#")[2].replace("-", " ")


def _about(line: PaperLine) -> str:
    year = f" ({line.year})" if line.year else ""
    return (
        f"{line.title}{year}: {line.techniques} techniques, {at_least(line, Level.EXECUTED)} of them with code that ran"
    )
