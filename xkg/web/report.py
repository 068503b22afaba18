"""`xkg explore --save`: a graph on one page (levels and coverage by paper, mutation scores, costs)."""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from xkg.config import LlmSettings
from xkg.errors import XkgError
from xkg.llm.costs import costs
from xkg.model import Level
from xkg.serve.answers.paper_list import PaperFilters
from xkg.serve.service import Service
from xkg.store.graph_store import PaperLine
from xkg.web.pages.paper import Coverage, coverage, tree
from xkg.web.paper_file import page

PAPERS = 40
"""Number of papers listed by name: those with the most proven code."""
MOST_READ = 2000
"""Number of papers whose code is read for mutation scores."""


class Facts(NamedTuple):
    """The figures on the page; `scores` are mutation scores, `read` is the number of papers that they come from."""

    papers_shown: Sequence[tuple[PaperLine, Coverage]]
    scores: Sequence[float]
    read: int
    papers: int
    techniques: int
    totals: dict[Level, int]


def report(service: Service, llm: LlmSettings) -> str:
    """Returns the page as a self-contained HTML file. Raises `StoreError` if the graph is empty."""
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
