"""Asks judges about a graph, as Inspect tasks: `inspect eval evaluation/construction/tasks.py@exact_pairs -T
graph=DIR`.

    exact_pairs        is this code exactly this technique: exact, broader, narrower or wrong
    valid_techniques   is this a technique at all
    same_techniques    is this technique in the graph the same as one in a human-made hierarchy (-T gold=FILE)

Each sample is one item. The rubrics are the files in `prompts/`. For several judges, use `--model a,b,c` or a separate
log for each. Read the judges' answers with `python -m evaluation.construction GRAPH --judgements LOG…`."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser
from inspect_ai.scorer import Metric as InspectMetric
from inspect_ai.scorer import SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import TaskState, generate

from evaluation.construction.against_gold import Matched, cosines, matched
from evaluation.construction.hierarchy import GoldTechnique, read_hierarchies
from evaluation.construction.judgements import UNUSABLE, VERDICTS, Judgement, Question, same_item
from evaluation.inputs.graph import read_graph
from evaluation.inputs.inspect_tasks import checked, given_path, read_log
from xkg.errors import InputError
from xkg.llm.prompt import load_prompt
from xkg.model import Code, PaperBundle, Technique

_PROMPTS = Path(__file__).parent / "prompts"
_VERDICT = re.compile(r"<verdict>\s{0,20}([a-z]{1,20})\s{0,20}</verdict>", re.IGNORECASE)
_LONGEST = 60_000
_NEAREST = 3
"""The number of graph techniques to ask about for each unmatched gold technique."""


@task
@checked
def exact_pairs(graph: str, papers: str = "") -> Task:
    """One sample per code node in a graph. If `papers` (separated by '|') is given, only code from these papers is
    included."""
    bundles = read_graph(given_path(graph), _split(papers)).bundles
    return judged("pair", [pair_sample(b, code) for b in bundles for code in b.code])


@task
@checked
def valid_techniques(graph: str, papers: str = "") -> Task:
    """One sample per technique in a graph, including hidden techniques."""
    bundles = read_graph(given_path(graph), _split(papers)).bundles
    return judged("technique", [technique_sample(b, t) for b in bundles for t in b.techniques])


@task
@checked
def same_techniques(graph: str, gold: str) -> Task:
    """One sample for each pair of an unmatched gold technique and one of the nearest unmatched techniques."""
    hierarchies, _ = read_hierarchies(given_path(gold))
    return judged("same", open_questions(matched(read_graph(given_path(graph)).bundles, hierarchies)[0]))


def judged(question: Question, samples: list[Sample]) -> Task:
    """Returns the task for one question. Raises `InputError` if there is nothing to ask."""
    if not samples:
        raise InputError(f"there is no {question} to judge in this graph")
    return Task(dataset=MemoryDataset(samples), solver=generate(), scorer=verdict(question), name=f"judge_{question}")


@metric
def unusable() -> InspectMetric:
    """Counts the answers without a valid verdict."""

    def count(scores: list[SampleScore]) -> float:
        return float(sum(score.score.answer == UNUSABLE for score in scores))

    return count


@metric
def share_of_best() -> InspectMetric:
    """Returns the share of usable answers that give the first verdict: exact, valid or same."""

    def share(scores: list[SampleScore]) -> float:
        usable = [score.score.as_float() for score in scores if score.score.answer != UNUSABLE]
        return sum(usable) / len(usable) if usable else 0.0

    return share


@scorer(metrics=[share_of_best(), unusable()])
def verdict(question: Question) -> Scorer:
    """Scores the last verdict in an answer: 1 for the question's first verdict, 0 for any other."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001
        given = read_verdict(state.output.completion, question)
        return Score(value=float(given == VERDICTS[question][0]), answer=given, explanation=state.output.completion)

    return score


def read_verdict(answer: str, question: Question) -> str:
    """Returns the verdict in the answer's last tag, or `UNUSABLE` if the tag does not contain a verdict."""
    found = _VERDICT.findall(answer[-_LONGEST:])
    given = found[-1].lower() if found else ""
    return given if given in VERDICTS[question] else UNUSABLE


def read_judgements(path: Path) -> tuple[list[Judgement], list[str]]:
    """Returns the judgements in an Inspect log, and one line for each sample without a usable judgement. Raises
    `InputError` for a file that is not a log of these tasks."""
    log = read_log(path)
    names: Mapping[str, Question] = {f"judge_{question}": question for question in VERDICTS}
    question = names.get(log.eval.task.rpartition("/")[2])
    if question is None:
        raise InputError(f"{path}: is a log of {log.eval.task}, not of a task in evaluation/construction/tasks.py")
    judgements, problems = [], []
    for sample in log.samples or ():
        scores = list((sample.scores or {}).values())
        given = scores[0].answer if scores and scores[0].answer else UNUSABLE
        if given == UNUSABLE:
            problems.append(f"{path}: {log.eval.model} gave no usable verdict on {str(sample.id)[:120]}")
        else:
            judgements.append(Judgement(question=question, item=str(sample.id), judge=log.eval.model, verdict=given))
    return judgements, problems


def open_questions(papers: Iterable[Matched]) -> list[Sample]:
    samples = []
    for matching in (paper.all for paper in papers):
        if not matching.missed or not matching.unmatched:
            continue
        near = cosines([g.name for g in matching.missed], [t.name for t in matching.unmatched])
        for row, gold in enumerate(matching.missed):
            for column in (-near[row]).argsort(kind="stable")[:_NEAREST]:
                samples.append(_same(gold, matching.unmatched[int(column)]))
    return samples


def pair_sample(bundle: PaperBundle, code: Code) -> Sample:
    technique = next((t for t in bundle.techniques if t.id == code.technique), None)
    name, definition = ("", "") if technique is None else (technique.name, technique.definition)
    inputs = {
        "technique": name,
        "definition": definition[:_LONGEST] or "none is given: judge by the name",
        "language": code.language,
        "code": code.implementation[:_LONGEST],
    }
    return _sample("pair", code.id, inputs)


def technique_sample(bundle: PaperBundle, technique: Technique) -> Sample:
    inputs = {
        "title": bundle.paper.title,
        "abstract": bundle.paper.abstract[:_LONGEST],
        "technique": technique.name,
        "definition": technique.definition[:_LONGEST] or "none",
    }
    return _sample("technique", technique.id, inputs)


def _same(gold: GoldTechnique, technique: Technique) -> Sample:
    inputs = {
        "gold": " / ".join(gold.path),
        "aliases": ", ".join(gold.aliases) or "none",
        "technique": technique.name,
        "definition": technique.definition[:_LONGEST] or "none",
    }
    return _sample("same", same_item(gold.path, technique.id), inputs)


def _sample(question: Question, item: str, inputs: Mapping[str, str]) -> Sample:
    system, user = load_prompt(_PROMPTS / f"{question}.md").render(inputs)
    return Sample(id=item, input=[ChatMessageSystem(content=system), ChatMessageUser(content=user)])


def _split(papers: str) -> list[str]:
    return [paper.strip() for paper in papers.split("|") if paper.strip()]
