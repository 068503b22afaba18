"""Scores plans with a judge, as an Inspect scorer. The judge answers one question, listing the matches between a plan
and the reference data.

The judge is the model with the `judge` role (`--model-role judge=…`). If no model has this role, the model under
evaluation judges its own plans. The author judge sees two sides without knowing which one comes from the paper. The
order of sides and entries is shuffled with a seed that depends only on the instance, so that a run can be repeated."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inspect_ai.model import ChatMessage, ChatMessageSystem, ChatMessageUser, get_model
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from evaluation.ablation_bench.instances import Instance, TaskName, source
from evaluation.ablation_bench.metrics import MOST_K, Scores, author_scores, reviewer_scores
from evaluation.ablation_bench.plans import MOST_CHARACTERS, Plan, PlanEntry, predictions, read_jsonl
from evaluation.inputs.inspect_tasks import cut_paper
from xkg.llm.prompt import load_prompt

ROLE = "judge"
PROMPTS = Path(__file__).parent / "prompts"

Matches = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Sides:
    """The entries on each side, as JSON lines. `plan_is_a` says whether the plan is side A."""

    a: str
    b: str
    plan_is_a: bool


@scorer(metrics={"*": [mean(), stderr()]})
def judge(task: TaskName, k: int, window: int) -> Scorer:
    """Scores the first `k` entries by precision, recall, F1 and, for the author task, nDCG. The metadata contains the
    matches, any problems in the judge's answer, and the scores at cutoffs 1 to 10. The judge sees up to `window` tokens
    of a paper."""
    prompt = load_prompt(PROMPTS / f"judge_{task}.md")

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001
        instance = Instance.model_validate(state.metadata)
        plan = read_jsonl(state.store.get("plan", ""), MOST_CHARACTERS)
        # An Inspect limit may have stopped the planner before it stored a plan.
        problems = Counter(state.store.get("problems", {"planner that was stopped without a plan": 1}))
        sides = blinded(instance.golds, plan.entries, instance.id)
        inputs, cut = _inputs(task, instance, plan, sides, window)
        answer = ""
        if plan.entries:
            system, user = prompt.render({"title": instance.title, "abstract": instance.abstract, **inputs})
            asked: list[ChatMessage] = [ChatMessageSystem(content=system), ChatMessageUser(content=user)]
            answer = (await get_model(role=ROLE).generate(asked)).completion
        by_k, found, wrong = _judged(task, instance, plan, answer, sides)
        if plan.entries:
            problems.update({f"judge: {kind}": count for kind, count in wrong.items()})
        return Score(
            value=dict(by_k[min(k, MOST_K)]),
            answer=plan.jsonl(),
            explanation=answer or "nothing to judge: the plan is empty",
            metadata={
                **found,
                "plan": {entry.name: entry.action for entry in plan.entries},
                "by_k": {str(k): scores for k, scores in by_k.items()},
                "problems": dict(problems),
                "cut": list(filter(None, (state.store.get("cut", ""), cut and f"{cut} (for the judge)"))),
            },
        )

    return score


def _inputs(task: TaskName, instance: Instance, plan: Plan, sides: Sides, window: int) -> tuple[dict[str, str], str]:
    if task == "author":
        return {"side_A": sides.a, "side_B": sides.b}, ""
    paper, cut = cut_paper(source(instance.paper), window)
    reviews = "\n\n".join(f"Review {n}:\n{review}" for n, review in enumerate(instance.reviews, start=1))
    return {"plan": plan.jsonl(), "reviews": reviews[:MOST_CHARACTERS], "paper": paper}, cut


def _judged(
    task: TaskName, instance: Instance, plan: Plan, answer: str, sides: Sides
) -> tuple[dict[int, Scores], dict[str, Any], Counter[str]]:
    ks = range(1, MOST_K + 1)
    if task == "author":
        golds = {gold.name: gold.action for gold in instance.golds}
        matches, wrong = author_matches(answer, sides, list(golds), plan.names)
        by_k = {k: author_scores(plan.names, list(golds), matches, k) for k in ks}
        return by_k, {"matches": matches, "golds": golds}, wrong
    labels, wrong = reviewer_labels(answer, plan.names)
    by_k = {k: reviewer_scores(list(labels.values()), instance.suggestions, k) for k in ks}
    return by_k, {"labels": labels, "suggestions": instance.suggestions}, wrong


def blinded(golds: Sequence[PlanEntry], plan: Sequence[PlanEntry], seed: str) -> Sides:
    chance = random.Random(seed)
    sides = []
    for entries in (golds, plan):
        lines = [entry.json_line() for entry in entries]
        chance.shuffle(lines)
        sides.append("\n".join(lines) or "(none)")
    plan_is_a = chance.random() < 0.5
    return Sides(sides[1], sides[0], True) if plan_is_a else Sides(sides[0], sides[1], False)


def author_matches(
    answer: str, sides: Sides, golds: Sequence[str], plan: Sequence[str]
) -> tuple[Matches, Counter[str]]:
    """Returns the plan entries that jointly match each gold ablation (empty if there are none), and the errors in the
    answer. Unknown names, gold ablations without a line, and gold ablations with several matches count as errors. Only
    the first of several matches counts."""
    rows, problems = predictions(answer)
    gold_key, plan_key = ("name_in_B", "name_in_A") if sides.plan_is_a else ("name_in_A", "name_in_B")
    matches: Matches = {}
    for row in rows:
        named, entries = _names(row.get(gold_key)), _names(row.get(plan_key))
        if named is None or entries is None:
            problems["line without the names of both sides"] += 1
            continue
        unknown = set(entries) - set(plan)
        problems["unknown ablation"] += len(set(named) - set(golds)) + len(unknown)
        known = () if unknown else tuple(dict.fromkeys(entries))  # a match that includes an unknown name does not count
        for gold in dict.fromkeys(name for name in named if name in golds):
            if matches.get(gold) and known:
                problems["gold ablation matched twice"] += 1
            else:
                matches[gold] = known or matches.get(gold, ())
    problems["gold ablation without a line"] += sum(gold not in matches for gold in golds)
    return {gold: matches.get(gold, ()) for gold in golds}, +problems


def reviewer_labels(answer: str, plan: Sequence[str]) -> tuple[dict[str, bool], Counter[str]]:
    """Returns whether a review suggests each plan entry, and the errors in the answer. If the answer does not mention
    an entry, the entry counts as not suggested."""
    rows, problems = predictions(answer)
    labels: dict[str, bool] = {}
    for row in rows:
        name, label = row.get("name_in_plan"), row.get("appears_in_review")
        if not isinstance(name, str) or not isinstance(label, bool):
            problems["line without a name and true or false"] += 1
        elif name not in plan:
            problems["unknown ablation"] += 1
        elif name in labels:
            problems["entry judged twice"] += 1
        else:
            labels[name] = label
    problems["entry without a line"] += sum(name not in labels for name in plan)
    return {name: labels.get(name, False) for name in plan}, +problems


def _names(value: Any) -> tuple[str, ...] | None:
    """Returns the names in a field, which may be a string, a list of strings, or null for no names. Returns None for
    any other value."""
    names = [] if value is None else [value] if isinstance(value, str) else value
    return tuple(names) if isinstance(names, list) and all(isinstance(name, str) for name in names) else None
