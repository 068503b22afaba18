"""`xkg explore --save`: a graph on one page with plots (levels by paper, coverage, mutation scores, costs)."""

from collections.abc import Sequence
from typing import NamedTuple

from xkg.config import LlmSettings
from xkg.errors import XkgError
from xkg.llm.costs import Costs, costs
from xkg.model import Level
from xkg.serve.answers.paper_list import PaperFilters
from xkg.serve.service import Service
from xkg.store.graph_store import PaperLine
from xkg.web.pages.paper import Coverage, coverage, tree
from xkg.web.paper_file import page
from xkg.web.rendering.charts import Chart, Segment, bars, histogram

PAPERS = 40
"""On the plots: those of which most is proven."""
MOST_READ = 2000
"""Papers whose code is read for mutation scores."""
STAGES = 12


class Facts(NamedTuple):
    """The figures behind the plots; `scores` are mutation scores of code, `read` how many papers they are from."""

    lines: Sequence[PaperLine]
    covered: Sequence[tuple[str, Coverage]]
    scores: Sequence[float]
    read: int
    papers: int
    techniques: int
    totals: dict[Level, int]


def report(service: Service, llm: LlmSettings) -> str:
    """The page, as the text of one HTML file that needs no other. Raises `StoreError` for an empty graph."""
    facts = _facts(service)
    try:
        bill = costs(service.folder, llm, by="stage")
    except XkgError:
        bill = None
    plots = [_levels(facts), _coverage(facts)]
    if facts.scores:
        plots.append(_scores(facts))
    if bill is not None and bill.rows:
        plots.append(_costs(bill))
    return page(
        "report.html",
        {
            "plots": plots,
            "facts": facts,
            "levels": facts.totals,
            "bill": bill,
            "graph": service.folder.name,
            "more": max(0, facts.papers - len(facts.lines)),
        },
    )


def _facts(service: Service) -> Facts:
    with service.snapshot() as snapshot:
        papers = service.paper_list(snapshot)
        chosen = papers.chosen(PaperFilters(order="proven"))
        lines = chosen[:PAPERS]
        covered: list[tuple[str, Coverage]] = []
        scores: list[float] = []
        read = chosen[:MOST_READ]
        for number, line in enumerate(read):
            rows = list(tree(snapshot.bundle(line.id)))
            if number < PAPERS:
                covered.append((line.title or line.id, coverage(rows)))
            scores += [row.mutation for row in rows if row.mutation is not None]
        return Facts(lines, covered, scores, len(read), len(chosen), papers.techniques, papers.totals)


def _levels(facts: Facts) -> Chart:
    rows = []
    for line in facts.lines:
        own, end = [], 0
        for level in reversed(Level):
            if count := line.levels.get(level, 0):
                own.append(Segment(end, end + count, f"fill-{level.value}"))
                end += count
        rows.append((line.title or line.id, own))
    kinds = [level for level in reversed(Level) if any(line.levels.get(level, 0) for line in facts.lines)]
    legend = [(f"fill-{level.value}", "below parsed" if level is Level.NONE else level.value) for level in kinds]
    return bars("Levels of code by paper, the most proven first", "code nodes", rows, legend)


def _coverage(facts: Facts) -> Chart:
    parts = (("located", "fill-parsed", 1.0), ("with_code", "fill-imported", 0.7), ("ran", "fill-faithful", 0.4))
    rows = [
        (
            title,
            [Segment(0, 100 * getattr(own, name) / max(1, own.techniques), kind, part) for name, kind, part in parts],
        )
        for title, own in facts.covered
    ]
    legend = [(kind, name.replace("_", " ")) for name, kind, _ in parts]
    caption = "Coverage: the share of each paper's techniques that are located, have code, and ran"
    return bars(caption, "% of the techniques", rows, legend, most=100)


def _scores(facts: Facts) -> Chart:
    axis = "mutation score: the share of mutants that a test notices (tested from 0.6 on)"
    return histogram(f"Mutation scores of {len(facts.scores)} tests", axis, facts.scores, mark=0.6)


def _costs(bill: Costs) -> Chart:
    priced = bill.total.dollars > 0
    rows = [
        (row.name, [Segment(0, row.dollars if priced else row.input_tokens + row.output_tokens, "fill-model")])
        for row in bill.rows[:STAGES]
    ]
    axis = "dollars" if priced else "tokens (price unknown)"
    return bars("What the language model was used for, by stage", axis, rows)
