"""Ablates the graph, and measures the effect by a score that a command prints:

    python -m evaluation.study --kg DIR --paper ID --runs 3 --out FOLDER -- COMMAND…

The variants are the same as in the published study: the full graph; the graph without paper, code or technique nodes;
the graph with raw, rewritten or verified code; and no graph. For each variant and paper, both views are written to
FOLDER, then the command runs `--runs` times. In the command's arguments, {planning} and {implementation} are replaced
with these files, {folder} with their folder, and {paper}, {variant} and {run} with their values. Environment variables
such as XKG_STUDY_PLANNING contain the same values. The score is the last printed line that is a number or a JSON object
with `score`. Finished runs are stored in FOLDER and reused as long as the command and the context are unchanged.

A failed run is counted but has no score. Differences from the full graph are computed between runs of the same paper
with the same number. Papers are the units of intervals and tests (`evaluation/results/statistics.py`). In a study of
one paper, the units are its runs, so the results do not generalise to other papers."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

import xkg
from evaluation.inputs.command import Earlier, JsonFile, run_command
from evaluation.inputs.graph import check_graph
from evaluation.results.document import Results, mean_figure
from evaluation.results.table import conclude, read_earlier
from evaluation.study.runs import IMPLEMENTATION, PLANNING, Run, run
from evaluation.study.summary import scores, table
from xkg.api import KnowledgeGraph
from xkg.errors import InputError
from xkg.model import slug
from xkg.serve.context.context import KINDS
from xkg.serve.context.parts import CodeForm, Kind


@dataclass(frozen=True)
class Variant:
    """Selects the contents of a prompt: the kinds of nodes, and the form of their code. If no kinds are selected, the
    context is empty."""

    name: str
    include: tuple[Kind, ...] = KINDS
    code: CodeForm = "rewritten"


def _without(*kinds: Kind) -> tuple[Kind, ...]:
    return tuple(each for each in KINDS if each not in kinds)


_PAPER_NODE: tuple[Kind, ...] = ("paper", "repositories", "findings", "resources", "related")
"""Everything in a paper node and its edges, except its techniques."""


VARIANTS: tuple[Variant, ...] = (
    Variant("full"),
    Variant("without paper nodes", _without(*_PAPER_NODE)),
    Variant("without code nodes", _without("code")),
    Variant("without technique nodes", _without("techniques")),
    Variant("raw code", code="raw"),
    Variant("rewritten code"),
    Variant("verified code", code="verified"),
    Variant("without a graph", ()),
)
"""`rewritten code` has the same contents as `full`, but separate runs, so that the forms of code can be compared."""


def write_context(graph: KnowledgeGraph, paper: str, variant: Variant, budget_tokens: int, folder: Path) -> int:
    """Writes both views of a paper, `planning.md` and `implementation.md`, each within the token budget. The files are
    empty if a variant has no content. Returns the number of techniques whose code is in the files. Raises the same
    errors as `KnowledgeGraph.context`, except for errors about the budget."""
    folder.mkdir(parents=True, exist_ok=True)
    pairs = 0
    for file, view in ((PLANNING, "planning"), (IMPLEMENTATION, "implementation")):
        text = ""
        if variant.include:
            made = graph.context(
                paper,
                budget_tokens=budget_tokens,
                view=view,  # type: ignore[arg-type]
                include=variant.include,
                code=variant.code,
            )
            text, pairs = str(made), pairs + len(made.pairs)
        (folder / file).write_text(text, encoding="utf-8", errors="backslashreplace")
    return pairs


def study(
    kg: Path,
    papers: Sequence[str],
    variants: Sequence[Variant],
    command: Sequence[str],
    folder: Path,
    *,
    runs: int,
    budget_tokens: int,
    seconds: float,
) -> tuple[dict[str, list[Run]], list[str]]:
    """Returns the runs for each variant, and the variants that should contain code but do not. Raises `InputError` if a
    context cannot be created or the command cannot be started."""
    found: dict[str, list[Run]] = {variant.name: [] for variant in variants}
    notes: list[str] = []
    with xkg.open(kg) as graph:
        ids = [graph.paper(paper).id for paper in papers] or [paper.id for paper in graph.papers()]
        for variant in variants:
            bare = 0
            for paper in ids:
                context = folder / slug(variant.name) / slug(paper)
                bare += write_context(graph, paper, variant, budget_tokens, context) == 0
                for number in range(1, runs + 1):
                    made = run(command, variant.name, paper, number, context, folder / "runs", seconds)
                    found[variant.name].append(made)
                    outcome = made.problem or f"{made.score:g}"
                    print(f"{variant.name}, {paper}, run {number}: {outcome}", file=sys.stderr, flush=True)
            if bare and "code" in variant.include:
                notes.append(f"{variant.name}: the graph has no code in this form for {bare} of {len(ids)} papers")
    return found, notes


def main(
    command: Sequence[str],
    *,
    kg: Path,
    out: Path,
    paper: Sequence[str] = (),
    variant: Sequence[str] = (),
    runs: Annotated[int, typer.Option(min=1)] = 3,
    budget_tokens: int = 8000,
    seconds: Annotated[float, typer.Option(min=0.001)] = 3600,
    json: JsonFile = None,
    against: Earlier = None,
) -> None:
    earlier = read_earlier(against, "study")
    check_graph(kg)
    if unknown := set(variant) - {each.name for each in VARIANTS}:
        raise InputError(f"no variant {unknown.pop()!r}; choose from {', '.join(each.name for each in VARIANTS)}")
    chosen = [each for each in VARIANTS if not variant or each.name in variant]
    made, notes = study(kg, paper, chosen, command, out, runs=runs, budget_tokens=budget_tokens, seconds=seconds)
    print(table(made), end="\n\n")
    by_variant = {name: scores(of_variant) for name, of_variant in made.items()}
    figures = [mean_figure(name, values, unit="number", source="command") for name, values in by_variant.items()]
    problems = [f"{r.variant}, {r.paper}, run {r.number}: {r.problem}" for rs in made.values() for r in rs if r.problem]
    conclude(
        Results(
            measure="study",
            about={"graph": str(kg), "command": " ".join(command), "runs": str(runs)},
            figures=tuple(figures),
            scores=by_variant,
            problems=(*notes, *problems),
        ),
        json,
        earlier,
        beside=False,
    )
    if not any(by_variant.values()):
        raise InputError("no run has a score; correct the command after --")


if __name__ == "__main__":
    run_command(main)
