"""Renders a paper, or a report on a graph (`xkg explore --save`), as a self-contained HTML file without scripts."""

import base64
import hashlib
from collections.abc import Sequence
from statistics import median
from typing import Any, NamedTuple

from markupsafe import Markup

from xkg.config import LlmSettings
from xkg.errors import XkgError
from xkg.llm.costs import costs
from xkg.model import Level, paper_of
from xkg.serve.answers.paper_list import PaperFilters
from xkg.serve.answers.references import paper_id
from xkg.serve.service import Service
from xkg.store.graph_store import PaperLine
from xkg.web.pages.paper import Coverage, coverage, paper_values, tree
from xkg.web.pages.technique import columns
from xkg.web.paper_sources import PaperSources
from xkg.web.rendering.measured import shown
from xkg.web.site import STATIC, environment


def paper_file(service: Service, paper: str) -> tuple[str, str]:
    """Finds a paper by its id or title, and returns the paper's id and HTML file. Raises `UnknownIdError` if the paper
    is unknown."""
    sources = PaperSources(service.folder, service.parsers)
    with service.snapshot() as snapshot:
        identity = paper_id(snapshot, paper)
        bundle = snapshot.bundle(identity)
        rows = list(tree(bundle))
        ablations = service.ablations(snapshot)
        values = paper_values(bundle, snapshot, ablations, 1, max(1, len(rows)))
    anchors = {row.technique.id: f"t{number}-" for number, row in enumerate(rows)}

    def technique_href(technique: str) -> str:
        return f"#{anchors[technique]}" if technique in anchors else "#hidden"

    def paper_href(other: str) -> str:
        arxiv = paper_of(other).removeprefix("arxiv:")
        return f"https://arxiv.org/abs/{arxiv}" if other.startswith("arxiv:") and other != identity else "#"

    techniques = [
        {
            "row": row,
            "anchor": anchors[row.technique.id],
            "measured": shown(ablations.get(row.technique.id, ())),
            **columns(sources, bundle, row.technique, row.code),
        }
        for row in rows
    ]
    return identity, page("paper-file.html", values | {
        "techniques": techniques, "technique_href": technique_href, "paper_href": paper_href, "costs": None,
    })  # fmt: skip


def page(template: str, values: dict[str, Any]) -> str:
    """Renders a page with inline CSS. The page's content security policy allows only this CSS."""
    style = (STATIC / "style.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        environment()
        .get_template(template)
        .render(values, page="file", theme="", style=Markup(style), style_hash=f"sha256-{digest}")
    )


PAPERS = 40
"""Maximum number of papers to list. The papers with the most proven code are listed."""
MOST_READ = 2000
"""Maximum number of papers whose mutation scores are read."""


class Facts(NamedTuple):
    """The numbers for the report. `scores` are the mutation scores, which come from `read` papers."""

    papers_shown: Sequence[tuple[PaperLine, Coverage]]
    scores: Sequence[float]
    read: int
    papers: int
    techniques: int
    totals: dict[Level, int]


def report(service: Service, llm: LlmSettings) -> str:
    """Returns the report as a self-contained HTML file. Raises `StoreError` if the graph is empty."""
    facts = _facts(service)
    try:
        bill = costs(service.folder, llm, by="stage")
    except XkgError:
        bill = None
    return page(
        "report.html",
        {
            "facts": facts,
            "levels": facts.totals,
            "median": median(facts.scores or [0.0]),
            "bill": bill,
            "graph": service.folder.name,
            "more": max(0, facts.papers - len(facts.papers_shown)),
        },
    )


def _facts(service: Service) -> Facts:
    with service.snapshot() as snapshot:
        papers = service.paper_list(snapshot)
        chosen = papers.chosen(PaperFilters(order="proven"))
        covered: list[tuple[PaperLine, Coverage]] = []
        scores: list[float] = []
        read = chosen[:MOST_READ]
        for number, line in enumerate(read):
            rows = list(tree(snapshot.bundle(line.id)))
            if number < PAPERS:
                covered.append((line, coverage(rows)))
            scores += [row.mutation for row in rows if row.mutation is not None]
        return Facts(covered, scores, len(read), len(chosen), papers.techniques, papers.totals)
