"""Shows a panel with a node's neighbours when the node is clicked."""

from collections.abc import Sequence
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from xkg.errors import UnknownIdError
from xkg.model import Level, paper_of
from xkg.serve.answers.references import paper_id, technique_id
from xkg.store.graph_store import Snapshot
from xkg.web.site import Site, href

MOST = 8
"""Maximum number of neighbours of one kind."""


class Neighbour(NamedTuple):
    """Links to a neighbour's page. `level` is the level of a technique's code, or None for papers."""

    href: str
    name: str
    level: Level | None = None


class Group(NamedTuple):
    """Neighbours connected by the same kind of edge. `more` is the number of neighbours that are not shown."""

    kind: str
    rows: Sequence[Neighbour]
    more: int


def show(site: Site, request: Request) -> Response:
    identity = request.path_params["id"]
    with site.service.snapshot() as snapshot:
        if "#" in identity:
            view = snapshot.technique(technique_id(snapshot, identity))
            own = view.technique
            name, about, at = own.name, own.definition, href("technique", own.id)
            groups = _of_technique(snapshot, own.id, own.parent, view.paper_title, [c.id for c in view.children])
        else:
            paper = snapshot.bundle(paper_id(snapshot, identity)).paper
            name, about, at = paper.title or paper.id, paper.abstract, href("paper", paper.id)
            groups = _of_paper(site, snapshot, paper.id)
    return site.render(
        request, "neighbours.html", name=name, about=about, at=at, groups=[group for group in groups if group.rows]
    )


def _of_paper(site: Site, snapshot: Snapshot, paper: str) -> list[Group]:
    cites, cited = snapshot.citations_of(paper)
    techniques = list(snapshot.technique_ids(paper))
    related = [row for row in site.service.related(paper, MOST).rows if row.id not in (*cites, *cited)]
    return [
        _papers(snapshot, "Cites", sorted(cites)),
        _papers(snapshot, "Cited by", sorted(cited)),
        _papers(snapshot, "Alike", [row.id for row in related]),
        _techniques(snapshot, "Techniques", techniques),
    ]


def _of_technique(
    snapshot: Snapshot, technique: str, parent: str | None, paper_title: str, children: Sequence[str]
) -> list[Group]:
    links = snapshot.links_of([technique])
    same = [link.second if link.first == technique else link.first for link in links if link.how != "open"]
    return [
        Group("Paper", [Neighbour(href("paper", paper_of(technique)), paper_title)], 0),
        _techniques(snapshot, "Part of", [parent] if parent else []),
        _techniques(snapshot, "Components", children),
        _techniques(snapshot, "The same in other papers", same),
    ]


def _papers(snapshot: Snapshot, kind: str, ids: Sequence[str]) -> Group:
    rows = [Neighbour(href("paper", id), found.title or id) for id, found in snapshot.headings(ids[:MOST]).items()]
    return Group(kind, rows, max(0, len(ids) - MOST))


def _techniques(snapshot: Snapshot, kind: str, ids: Sequence[str]) -> Group:
    rows = []
    for technique in ids[:MOST]:
        try:
            view = snapshot.technique(technique)
        except UnknownIdError:  # another process may have removed the technique
            continue
        name = view.technique.name if kind != "The same in other papers" else view.paper_title
        level = view.code.level if view.code else Level.NONE
        rows.append(Neighbour(href("technique", technique), name, level))
    return Group(kind, rows, max(0, len(ids) - MOST))
