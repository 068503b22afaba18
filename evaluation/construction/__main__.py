"""Measures the quality of a built graph alongside published figures: `python -m evaluation.construction GRAPH`.

GRAPH is the folder of a graph, a folder of graph files (bundles or the peer's format), or one such file; it is not
modified. Without options, only the figures that need no judge are computed. The options add figures judged by people
and models:

    --gold FILE        human-made hierarchies (JSON: paper, techniques with name, aliases, weight, components): weighted
                       precision, recall and F1 of the shown techniques, and which techniques are invalid
    --labels FILE      people's verdicts: JSON lines {question: pair | technique | same, item, judge, verdict}
    --judge MODEL      asks a model, specified by its Inspect name (openai/gpt-5), about each technique, its code, and
                       each name without a match in --gold; logs are written to --log-dir
    --judgements LOG   reads logs of earlier judges instead of asking again

All options except --log-dir may be repeated. In the table, `source` says who made the judgements. Published figures are
for other papers, models and judges."""

from collections.abc import Sequence
from pathlib import Path

from evaluation.construction import against_gold, counted, judgements
from evaluation.construction.hierarchy import GoldHierarchy, read_hierarchies
from evaluation.construction.judgements import Judgement, Verdicts, same_item
from evaluation.construction.matching import ALIKE
from evaluation.inputs.command import Earlier, JsonFile, run_command
from evaluation.inputs.graph import MeasuredGraph, read_graph
from evaluation.inputs.rows import read_rows
from evaluation.results.document import Figure, Results
from evaluation.results.table import conclude, read_earlier
from xkg.config import LlmSettings
from xkg.errors import InputError

_PAIRS = {verdict: f"technique-code pairs: {verdict}" for verdict in judgements.VERDICTS["pair"]}


def measure(
    graph: MeasuredGraph,
    hierarchies: Sequence[GoldHierarchy],
    given: Sequence[Judgement],
    alike: float = ALIKE,
    problems: Sequence[str] = (),
) -> tuple[Results, list[str]]:
    """Returns a graph's results, and the tables to print before the results."""
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
    kg = graph.path if graph.settings is not None else None
    ids = [bundle.paper.id for bundle in bundles]
    costs, by_stage = counted.asked(kg, graph.settings.llm if graph.settings else LlmSettings(), ids)
    unlabelled = Figure(
        name="weighted F1",
        value=None,
        unit="number",
        published=against_gold.PUBLISHED_F1,
        note="no --gold for its papers",
    )
    figures: list[Figure] = [
        *(against_gold.figures_of(papers) if papers else [unlabelled]),
        *counted.granularity(bundles),
        counted.hidden(bundles),
        *against_gold.validity(bundles, papers, verdicts["technique"]),
        *judgements.agreement(verdicts["technique"]),
        *counted.levels(bundles),
        *judgements.figures_of(verdicts["pair"], _PAIRS, {"exact": "74.51 %"}),
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
    results = Results(
        measure="construction",
        about={"graph": str(graph.path), "papers": str(len(bundles)), "techniques": str(len(techniques))},
        figures=tuple(figures),
        scores={name: values for name, values in scores.items() if values},
        details={
            "matches": matches,
            "verdicts": {question: found.by_item for question, found in verdicts.items() if found.by_item},
            "cost by stage": [] if by_stage is None else [row.model_dump() for row in by_stage.rows],
        },
        problems=(*lost, *missing),
    )
    tables = [against_gold.papers_table(papers)] if papers else []
    return results, tables + ([str(by_stage)] if by_stage is not None else [])


def ask(graph: MeasuredGraph, hierarchies: Sequence[GoldHierarchy], models: Sequence[str], folder: Path) -> list[Path]:
    """Runs models as judges with Inspect, one after another, and returns the logs. Raises `InputError` if Inspect does
    not know a model or has no key for it, or if a judge could not finish. An unfinished judge's answers stay in the
    log, from which `inspect eval-retry` resumes."""
    from inspect_ai import eval as inspect_eval
    from inspect_ai.model import get_model
    from rich.text import Text

    from evaluation.construction import tasks

    samples = {
        "pair": [tasks.pair_sample(bundle, code) for bundle in graph.bundles for code in bundle.code],
        "technique": [tasks.technique_sample(bundle, t) for bundle in graph.bundles for t in bundle.techniques],
        "same": tasks.open_questions(against_gold.matched(graph.bundles, hierarchies)[0]),
    }
    asked = [tasks.judged(question, samples[question]) for question in judgements.VERDICTS if samples[question]]
    for model in models:
        try:
            get_model(model)
        except Exception as error:  # providers raise arbitrary exceptions
            why = " ".join(Text.from_markup(str(error)).plain.split())
            raise InputError(f"--judge {model}: {why[:300]}") from error
    logs = inspect_eval(asked, model=list(models), log_dir=str(folder), display="plain")
    if failed := [log for log in logs if log.status != "success"]:
        first = failed[0]
        why = first.error.message if first.error else first.status
        raise InputError(
            f"{first.eval.model} did not finish {first.eval.task} ({why[:200]}): inspect eval-retry {first.location}"
        )
    return [Path(log.location.removeprefix("file://")) for log in logs]


def main(
    graph: Path,
    *,
    paper: Sequence[str] = (),
    gold: Sequence[Path] = (),
    labels: Sequence[Path] = (),
    judge: Sequence[str] = (),
    judgements: Sequence[Path] = (),
    log_dir: Path = Path("storage/inspect"),
    alike: float = ALIKE,
    json: JsonFile = None,
    against: Earlier = None,
) -> None:
    earlier = read_earlier(against, "construction")
    measured = read_graph(graph, paper)
    read = [read_hierarchies(path) for path in gold]
    hierarchies = [hierarchy for found, _ in read for hierarchy in found]
    verdicts = [read_rows(path, Judgement) for path in labels]
    logs = [*judgements, *(ask(measured, hierarchies, judge, log_dir) if judge else ())]
    if logs:
        from evaluation.construction.tasks import read_judgements

        verdicts += map(read_judgements, logs)
    given = [judgement for found, _ in verdicts for judgement in found]
    problems = [line for _, wrong in (*read, *verdicts) for line in wrong]
    results, tables = measure(measured, hierarchies, given, alike, problems)
    for table in tables:
        print(table + "\n")
    conclude(results, json, earlier)


if __name__ == "__main__":
    run_command(main)
