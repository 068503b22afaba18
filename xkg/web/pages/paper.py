"""Shows a paper's techniques as a tree with levels, and its repositories, findings and costs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from xkg.errors import XkgError
from xkg.llm.costs import Costs, costs
from xkg.model import Code, Level, PaperBundle, Technique
from xkg.serve.answers.measured import Ablations
from xkg.serve.answers.references import paper_id
from xkg.store.graph_store import Snapshot
from xkg.web.rendering.measured import shown
from xkg.web.site import Page, Site, integer, paged

ROWS = 150
RELATED = 6
MEASURED = 20
"""Maximum number of techniques for which the most important ablation is shown."""
CITATIONS = 30
REFERENCES = 200


class Row(NamedTuple):
    """A technique in the tree. `why` explains why the technique has no code or what the next level requires, and is
    empty if the code has the highest level."""

    technique: Technique
    depth: int
    code: Code | None
    why: str
    mutation: float | None


class Coverage(NamedTuple):
    """Counts the visible techniques that are located, that have code, and whose code has run, is tested or is
    faithful."""

    techniques: int
    located: int
    with_code: int
    ran: int
    tested: int
    faithful: int


def show(site: Site, request: Request) -> Response:
    with site.service.snapshot() as snapshot:
        identity = paper_id(snapshot, request.path_params["id"])
        if request.query_params.get("part") == "related":
            found = site.service.related(identity, RELATED)
            return site.render(request, "related.html", related=found.rows)
        number = integer(request, "page", 1) or 1
        ablations = site.service.ablations(snapshot)
        values = paper_values(snapshot.bundle(identity), snapshot, ablations, number, ROWS)
        return site.render(request, "paper.html", costs=_costs(site, identity), **values)


def _costs(site: Site, paper: str) -> Costs | None:
    try:
        return costs(site.service.folder, site.settings.llm, (paper,), "stage")
    except XkgError:
        return None


def paper_values(
    bundle: PaperBundle, snapshot: Snapshot, ablations: Ablations, number: int, size: int
) -> dict[str, Any]:
    """Returns the values for a paper's page, with one page of its tree."""
    rows = list(tree(bundle))
    visible = {row.technique.id for row in rows}
    largest = (ablations[row.technique.id][0] for row in rows if row.technique.id in ablations)
    measured = shown(sorted(largest, key=lambda ablation: -abs(ablation.change)))
    cites, cited = snapshot.citations_of(bundle.paper.id)
    references = bundle.paper.references or ()
    page: Page = paged(rows, number, size)
    return {
        "bundle": bundle,
        "paper": bundle.paper,
        "links": _links(bundle),
        "rows": page,
        "coverage": coverage(rows),
        "hidden": [t for t in bundle.techniques if t.id not in visible],
        "levels": _levels(rows),
        "measured": measured[:MEASURED],
        "more_measured": max(0, len(measured) - MEASURED),
        "names": {row.technique.id: row.technique.name for row in rows},
        "references": references[:REFERENCES],
        "more_references": max(0, len(references) - REFERENCES),
        "cites": snapshot.headings(sorted(cites)[:CITATIONS]),
        "cited": snapshot.headings(sorted(cited)[:CITATIONS]),
        "more_cites": max(0, len(cites) - CITATIONS),
        "more_cited": max(0, len(cited) - CITATIONS),
    }


def _links(bundle: PaperBundle) -> list[tuple[str, str]]:
    paper = bundle.paper
    found = []
    if paper.arxiv_id:
        arxiv = quote(paper.arxiv_id, safe="/")
        found += [("arXiv", f"https://arxiv.org/abs/{arxiv}"), ("PDF", f"https://arxiv.org/pdf/{arxiv}")]
    elif paper.id.startswith("doi:"):
        found.append(("DOI", f"https://doi.org/{quote(paper.id.removeprefix('doi:'), safe='/')}"))
    return found + [("Repository", each.url) for each in bundle.repositories[:1] if each.url.startswith("https://")]


def tree(bundle: PaperBundle) -> Iterator[Row]:
    """Yields the visible techniques. Parents come before their components."""
    code = {c.technique: c for c in bundle.code}
    places = {location.technique for location in bundle.locations if location.confidence != "weak"}
    hidden: set[str] = set()
    depths: dict[str, int] = {}
    for technique in bundle.techniques:
        if technique.hidden is not None or technique.parent in hidden:
            hidden.add(technique.id)
            continue
        depth = depths.get(technique.parent or "", -1) + 1
        depths[technique.id] = depth
        own = code.get(technique.id)
        last = own.evidence[-1] if own and own.evidence else None
        why = _why(bundle, technique, technique.id in places) if own is None else (last.reason or "") if last else ""
        yield Row(technique, depth, own, why, last.mutation_score if last else None)


def coverage(rows: Sequence[Row]) -> Coverage:
    ranks = [row.code.level.rank for row in rows if row.code]
    return Coverage(
        techniques=len(rows),
        located=sum(row.technique.grounding != "none" for row in rows),
        with_code=len(ranks),
        ran=sum(rank >= Level.EXECUTED.rank for rank in ranks),
        tested=sum(rank >= Level.TESTED.rank for rank in ranks),
        faithful=sum(rank >= Level.FAITHFUL.rank for rank in ranks),
    )


def _levels(rows: Sequence[Row]) -> Mapping[Level, int]:
    counts = dict.fromkeys(Level, 0)
    for row in rows:
        if row.code is not None:
            counts[row.code.level] += 1
    return counts


def _why(bundle: PaperBundle, technique: Technique, located: bool) -> str:
    if bundle.paper.origin == "import":
        return "the imported graph contains no code for this technique"
    if not bundle.repositories:
        return "the paper was built without a repository"
    if technique.grounding == "doubtful":
        return "the lines found for this technique may be wrong"
    return (
        "the technique's lines were found, but no code was generated from them"
        if located
        else "no lines in the repository implement this technique"
    )
