"""`xkg report`: a graph on one page with plots. Levels by paper, coverage, mutation scores, and what builds cost."""

import base64
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from xkg.config import LlmSettings
from xkg.errors import XkgError
from xkg.llm.costs import Costs, costs
from xkg.model import Level
from xkg.serve.answers.paper_list import PaperFilters
from xkg.serve.service import Service
from xkg.store.graph_store import PaperLine
from xkg.web.pages.paper import Coverage, coverage, tree
from xkg.web.paper_file import page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAPERS = 40
"""On the plots: those of which most is proven."""
MOST_READ = 2000
"""Papers whose code is read for mutation scores."""
_TITLE = 44
_COLOURS = {
    Level.FAITHFUL: "#0f766e", Level.TESTED: "#2f9e62", Level.EXECUTED: "#c98a1b", Level.IMPORTED: "#7794ad",
    Level.PARSED: "#9a9f9d", Level.NONE: "#d8d4ca",
}  # fmt: skip


class Plot(NamedTuple):
    """A picture as a `data:` address, and what it shows in words."""

    source: str
    caption: str


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


def _levels(facts: Facts) -> Plot:
    figure, axes = _figure(len(facts.lines))
    names = [_short(line.title or line.id) for line in facts.lines]
    left = [0] * len(names)
    for level, colour in _COLOURS.items():
        counts = [line.levels.get(level, 0) for line in facts.lines]
        if any(counts):
            axes.barh(range(len(names)), counts, left=left, color=colour, label=level.value, height=0.72)
            left = [have + more for have, more in zip(left, counts, strict=True)]
    _by_paper(axes, names, "code nodes")
    return _plot(figure, "Levels of code by paper, the most proven first")


def _coverage(facts: Facts) -> Plot:
    figure, axes = _figure(len(facts.covered))
    names = [_short(title) for title, _ in facts.covered]
    for field, colour, name in (
        ("located", "#cfd8dc", "located"),
        ("with_code", "#7794ad", "with code"),
        ("ran", "#0f766e", "ran"),
    ):
        shares = [100 * getattr(own, field) / max(1, own.techniques) for _, own in facts.covered]
        height = {"located": 0.8, "with_code": 0.55, "ran": 0.3}[field]
        axes.barh(range(len(names)), shares, color=colour, label=name, height=height)
    axes.set_xlim(0, 100)
    _by_paper(axes, names, "% of the techniques")
    return _plot(figure, "Coverage: the share of each paper's techniques that are located, have code, and ran")


def _scores(facts: Facts) -> Plot:
    figure, axes = _figure(10)
    axes.hist(list(facts.scores), bins=[n / 20 for n in range(21)], color="#0f766e", edgecolor="white")
    axes.axvline(0.6, color="#a3232f", linestyle="--", linewidth=1)
    axes.set_xlabel("mutation score: the share of mutants that a test notices (tested from 0.6 on)")
    axes.set_ylabel("code nodes")
    axes.set_xlim(0, 1)
    return _plot(figure, f"Mutation scores of {len(facts.scores)} tests")


def _costs(bill: Costs) -> Plot:
    rows = bill.rows[:12]
    figure, axes = _figure(len(rows))
    priced = bill.total.dollars > 0
    values = [row.dollars if priced else row.input_tokens + row.output_tokens for row in rows]
    axes.barh(range(len(rows)), values, color="#4f5fb8", height=0.7)
    _by_paper(axes, [row.name for row in rows], "dollars" if priced else "tokens (price unknown)", legend=False)
    return _plot(figure, "What the language model was used for, by stage")


def _figure(rows: int) -> "tuple[Figure, Axes]":
    # Figures of their own, without pyplot: it holds all figures of a process, and looks for a screen.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.2, min(14, 1.6 + 0.27 * max(rows, 6))), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    return figure, axes


def _by_paper(axes: "Axes", names: Sequence[str], label: str, *, legend: bool = True) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel(label, fontsize=9)
    if legend and axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8, frameon=False, loc="lower right")


def _plot(figure: "Figure", caption: str) -> Plot:
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    return Plot(f"data:image/svg+xml;base64,{base64.b64encode(out.getvalue()).decode()}", caption)


def _short(title: str) -> str:
    """Without what matplotlib would read as a formula."""
    flat = " ".join(title.split()).replace("$", "\\$")
    return flat if len(flat) <= _TITLE else flat[: _TITLE - 1].rstrip("\\") + "…"
