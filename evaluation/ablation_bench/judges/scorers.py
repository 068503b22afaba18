"""Judges as Inspect scorers: one model or the majority of several, each asked one question.

Models are those of the roles `judge`, `judge_2` and `judge_3` (`--model-role judge=…`). Without a role, the model under
evaluation judges its own plans."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inspect_ai.model import ChatMessageSystem, ChatMessageUser, Model, get_model
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from evaluation.ablation_bench.answers import MOST_CHARACTERS, Plan, read_jsonl
from evaluation.ablation_bench.instances.rows import Instance, TaskName, source
from evaluation.ablation_bench.instances.sections import shortened
from evaluation.ablation_bench.judges.matching import (
    author_matches,
    blinded,
    majority_labels,
    majority_matches,
    reviewer_labels,
)
from evaluation.ablation_bench.scores.metrics import MOST_K, Scores, author_scores, reviewer_scores
from evaluation.ablation_bench.scores.report import ROLES
from xkg.llm.prompt import load_prompt

PROMPTS = Path(__file__).parent / "prompts"


@scorer(metrics={"*": [mean(), stderr()]})
def author_judge(k: int, judges: int = 1) -> Scorer:
    """Precision, recall, F1 and nDCG of the first `k` entries, by the majority of `judges` judges. The metadata has the
    matches, the problems in each judge's answer, and the scores at 1 to 10."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001
        instance = Instance.model_validate(state.metadata)
        plan = _plan(state)
        golds = [gold.name for gold in instance.golds]
        problems = _problems(state)
        votes: list[Mapping[str, Sequence[str]]] = []
        answers: list[str] = []
        for model in _judges(judges if plan.entries else 0):
            sides = blinded(instance.golds, plan.entries, f"{instance.id} {len(votes)}")
            prompt = load_prompt(PROMPTS / "judge_author.md")
            inputs = {"title": instance.title, "abstract": instance.abstract, "side_A": sides.a, "side_B": sides.b}
            answers.append(await _ask(model, prompt.render(inputs)))
            matches, wrong = author_matches(answers[-1], sides, golds, plan.names)
            votes.append(matches)
            problems.update({f"judge: {kind}": count for kind, count in wrong.items()})
        decided = majority_matches(votes, golds)
        by_k = {n: author_scores(plan.names, golds, decided, n) for n in range(1, MOST_K + 1)}
        found = {"matches": decided, "votes": votes, "golds": {g.name: g.action for g in instance.golds}}
        return _score(by_k, author_scores(plan.names, golds, decided, k), found, plan, instance, problems, answers)

    return score


@scorer(metrics={"*": [mean(), stderr()]})
def reviewer_judge(k: int, judges: int = 1, window: int = 100_000) -> Scorer:
    """Precision, recall and F1 of the first `k` entries, by the majority of `judges` judges, which read at most
    `window` tokens of the paper."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001
        instance = Instance.model_validate(state.metadata)
        plan = _plan(state)
        text, left_out = shortened(source(instance.paper), 4 * window)
        reviews = "\n\n".join(f"Review {n}:\n{review}" for n, review in enumerate(instance.reviews, start=1))
        problems = _problems(state)
        problems.update({"judge: reviews cut off at the limit of characters": int(len(reviews) > MOST_CHARACTERS)})
        votes: list[Mapping[str, bool]] = []
        answers: list[str] = []
        for model in _judges(judges if plan.entries else 0):
            prompt = load_prompt(PROMPTS / "judge_reviewer.md")
            inputs = {
                "title": instance.title,
                "abstract": instance.abstract,
                "plan": plan.jsonl(),
                "reviews": reviews[:MOST_CHARACTERS],
                "paper": text,
            }
            answers.append(await _ask(model, prompt.render(inputs)))
            labels, wrong = reviewer_labels(answers[-1], plan.names)
            votes.append(labels)
            problems.update({f"judge: {kind}": count for kind, count in wrong.items()})
        decided = majority_labels(votes, plan.names)
        right = [decided[name] for name in plan.names]
        by_k = {n: reviewer_scores(right, instance.suggestions, n) for n in range(1, MOST_K + 1)}
        found = {"labels": decided, "votes": votes, "suggestions": instance.suggestions}
        at_k = reviewer_scores(right, instance.suggestions, k)
        return _score(by_k, at_k, found, plan, instance, +problems, answers, left_out)

    return score


def judge_scorer(task: TaskName, k: int, judges: int, window: int) -> Scorer:
    return author_judge(k, judges) if task == "author" else reviewer_judge(k, judges, window)


def _judges(count: int) -> list[Model]:
    """A missing role uses the model of the first one."""
    first = get_model(role=ROLES[0])
    return [get_model(role=role, default=first) for role in ROLES[:count]]


async def _ask(model: Model, question: tuple[str, str]) -> str:
    system, user = question
    return (await model.generate([ChatMessageSystem(content=system), ChatMessageUser(content=user)])).completion


def _problems(state: TaskState) -> Counter[str]:
    """The planner's count. An Inspect limit may have stopped it before it left a plan."""
    return Counter(state.store.get("problems", {"planner that was stopped without a plan": 1}))


def _plan(state: TaskState) -> Plan:
    """The plan that the planner left; it has already counted the errors."""
    return read_jsonl(state.store.get("plan", ""), MOST_CHARACTERS)


def _score(
    by_k: Mapping[int, Scores],
    at_k: Scores,
    found: Mapping[str, Any],
    plan: Plan,
    instance: Instance,
    problems: Counter[str],
    answers: Sequence[str],
    left_out: Sequence[str] = (),
) -> Score:
    return Score(
        value={name: value for name, value in vars(at_k).items() if value is not None},
        answer=plan.jsonl(),
        explanation="\n\n".join(answers) or "nothing to judge: the plan is empty",
        metadata={
            **found,
            "plan": {entry.name: entry.action for entry in plan.entries},
            "by_k": {str(k): vars(scores) for k, scores in by_k.items()},
            "groups": instance.groups,
            "problems": dict(problems),
            "left_out": [f"for the judge: {title}" for title in left_out],
        },
    )
