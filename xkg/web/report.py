"""A report on a graph (`xkg explore --save`): levels and coverage by paper, mutation scores, and costs."""

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
"""Maximum number of papers to list. The papers with the most proven code are listed."""
MOST_READ = 2000
"""Maximum number of papers to read for mutation scores."""


class Facts(NamedTuple):
    """The figures in the report. `scores` are mutation scores, and `read` is the number of papers from which the scores
    come."""

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
