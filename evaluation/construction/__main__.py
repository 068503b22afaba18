"""Measures the quality of a built graph next to published figures: `python -m evaluation.construction GRAPH`.

GRAPH is the folder of a graph, a folder of graph files (bundles or the peer's format), or one such file; it is only
read. Without options, only figures that need no judge are computed. The options add those of people and models:

  --gold FILE        human-made hierarchies (JSON: paper, techniques with name, aliases, weight, components): weighted
                     precision, recall and F1 of the shown techniques, and which are invalid
  --labels FILE      people's verdicts: JSON lines {question: pair | technique | same, item, judge, verdict}
  --judge MODEL      asks a model, named as Inspect names it (openai/gpt-5), about each pair of technique and code, each
                     technique, and each name without a match in --gold; several judges: repeat it. Logs: --log-dir
  --judgements LOG   reads logs of such judges instead of asking again

`source` in the table says who judged. Published figures are of other papers, models and judges.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from evaluation.construction import against_gold, counted, judgements, published
from evaluation.construction.hierarchy import GoldHierarchy, read_hierarchies
from evaluation.construction.judgements import Judgement, Verdicts, same_item
from evaluation.construction.matching import ALIKE
from evaluation.inputs.command import run_command
from evaluation.inputs.graph import MeasuredGraph, read_graph
from evaluation.inputs.rows import read_rows
from evaluation.results.document import Figure, Results
from evaluation.results.table import add_options, conclude, read_earlier
from xkg.config import LlmSettings
from xkg.errors import InputError

_PAIRS = {
    "exact": "technique-code pairs: exact",
    "broader": "technique-code pairs: broader",
    "narrower": "technique-code pairs: narrower",
    "wrong": "technique-code pairs: wrong",
}


def measure(
    graph: MeasuredGraph,
    hierarchies: Sequence[GoldHierarchy],
    given: Sequence[Judgement],
    alike: float = ALIKE,
    problems: Sequence[str] = (),
) -> tuple[Results, list[str]]:
    """The results of a graph, and tables to print before them."""
    bundles = graph.bundles
    lost = [*graph.problems, *problems]
    techniques = [t for bundle in bundles for t in bundle.techniques]
    items = {
        "pair": [code.id for bundle in bundles for code in bundle.code],
        "technique": [t.id for t in techniques],
        "same": [same_item(g.path, t.id) for h in hierarchies for g in h.techniques for t in techniques],
    }
    verdicts: dict[str, Verdicts] = {}
    for question in judgements.VERDICTS:
        verdicts[question], unusable = judgements.collect(given, question, items[question])
        lost += unusable
    papers, missing = against_gold.matched(bundles, hierarchies, verdicts["same"], alike)
    lost += missing
    ids = [bundle.paper.id for bundle in bundles]
    kg = graph.path if graph.settings is not None else None
    costs, by_stage = counted.asked(kg, graph.settings.llm if graph.settings else LlmSettings(), ids)
    agreement = judgements.agreement(verdicts["technique"])
    figures: list[Figure] = [
        *(against_gold.figures_of(papers) if papers else [_unlabelled()]),
        *counted.granularity(bundles),
        counted.hidden(bundles),
        *against_gold.validity(bundles, papers, verdicts["technique"]),
        *agreement,
        *counted.levels(bundles),
        *judgements.figures_of(verdicts["pair"], _PAIRS, {"exact": published.EXACT}),
        *costs,
    ]
    majority = verdicts["pair"].majority()
    scores = {
        **against_gold.scores_of(papers),
        **counted.level_scores(bundles),
        "exact pairs": {item: float(verdict == "exact") for item, verdict in majority.items()},
    }
    matches = {
        paper.bundle.paper.id: {
            "pairs": [[pair.technique.id, " / ".join(pair.gold.path), pair.how] for pair in paper.shown.pairs],
            "without counterpart": [technique.id for technique in paper.shown.unmatched],
            "missed": [" / ".join(gold.path) for gold in paper.shown.missed if gold.weight > 0],
        }
        for paper in papers
    }
    stages = [] if by_stage is None else [row.model_dump() for row in by_stage.rows]
    results = Results(
        measure="construction",
        about={"graph": str(graph.path), "papers": str(len(bundles)), "techniques": str(len(techniques))},
        figures=tuple(figures),
        scores={name: values for name, values in scores.items() if values},
        details={
            "matches": matches,
            "verdicts": {question: found.by_item for question, found in verdicts.items() if found.by_item},
            "cost by stage": stages,
        },
        problems=tuple(lost),
    )
    tables = [against_gold.papers_table(papers)] if papers else []
    return results, tables + ([str(by_stage)] if by_stage is not None else [])


def _unlabelled() -> Figure:
    return Figure(
        name="weighted F1", value=None, unit="number", published=published.F1, note="no --gold for its papers"
    )


def ask(graph: MeasuredGraph, hierarchies: Sequence[GoldHierarchy], models: Sequence[str], folder: Path) -> list[Path]:
    """Lets models judge with Inspect, one after another, and returns their logs. Raises `InputError` if a judge could
    not finish: its answers stay in its log, and `inspect eval-retry` resumes from there."""
    from inspect_ai import eval as inspect_eval

    from evaluation.construction import tasks

    samples = {
        "pair": [tasks.pair_sample(bundle, code) for bundle in graph.bundles for code in bundle.code],
        "technique": [tasks.technique_sample(bundle, t) for bundle in graph.bundles for t in bundle.techniques],
        "same": tasks.open_questions(against_gold.matched(graph.bundles, hierarchies)[0]),
    }
    asked = [tasks.judged(question, samples[question]) for question in judgements.VERDICTS if samples[question]]
    check_models(models)
    logs = inspect_eval(asked, model=list(models), log_dir=str(folder), display="plain")
    if failed := [log for log in logs if log.status != "success"]:
        first = failed[0]
        why = first.error.message if first.error else first.status
        raise InputError(
            f"{first.eval.model} did not finish {first.eval.task} ({why[:200]}): inspect eval-retry {first.location}"
        )
    return [Path(log.location.removeprefix("file://")) for log in logs]


def check_models(models: Sequence[str]) -> None:
    """Raises `InputError` for a model that Inspect does not know or has no key for."""
    from inspect_ai.model import get_model
    from rich.text import Text

    for model in models:
        try:
            get_model(model)
        except Exception as error:  # providers raise arbitrary exceptions
            why = " ".join(Text.from_markup(str(error)).plain.split())
            raise InputError(f"--judge {model}: {why[:300]}") from error


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m evaluation.construction",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("graph", type=Path)
    parser.add_argument("--paper", action="append", default=[], help="only this paper, by id or title; repeatable")
    parser.add_argument("--gold", action="append", type=Path, default=[], metavar="FILE")
    parser.add_argument("--labels", action="append", type=Path, default=[], metavar="FILE")
    parser.add_argument("--judge", action="append", default=[], metavar="MODEL")
    parser.add_argument("--judgements", action="append", type=Path, default=[], metavar="LOG")
    parser.add_argument("--log-dir", type=Path, default=Path("storage/inspect"), help="logs of --judge")
    parser.add_argument("--alike", type=float, default=ALIKE, help="least cosine of two names (%(default)s)")
    add_options(parser)
    options = parser.parse_args(arguments)
    read_earlier(options, "construction")
    graph = read_graph(options.graph, options.paper)
    hierarchies: list[GoldHierarchy] = []
    given: list[Judgement] = []
    problems: list[str] = []
    for path in options.gold:
        found, wrong = read_hierarchies(path)
        hierarchies += found
        problems += wrong
    for path in options.labels:
        rows, wrong = read_rows(path, Judgement)
        given += rows
        problems += wrong
    logs = list(options.judgements)
    if options.judge:
        logs += ask(graph, hierarchies, options.judge, options.log_dir)
    if logs:
        from evaluation.construction.tasks import read_judgements

        for log in logs:
            judged, wrong = read_judgements(log)
            given += judged
            problems += wrong
    results, tables = measure(graph, hierarchies, given, options.alike, problems)
    for table in tables:
        print(table + "\n")
    conclude(results, options)


if __name__ == "__main__":
    run_command(main)
