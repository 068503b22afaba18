"""The questions to a judge and the matches in its answer, between gold ablations and entries of a plan.

The author judge sees two sides without knowing which is the paper's. The order of sides and entries is shuffled with a
seed that depends only on the instance, so that a run can be repeated."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.ablation_bench.answers import PlanEntry, predictions

Matches = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Sides:
    """The entries of both sides as JSON lines; `plan_is_a` says whether the plan is side A."""

    a: str
    b: str
    plan_is_a: bool


def blinded(golds: Sequence[PlanEntry], plan: Sequence[PlanEntry], seed: str) -> Sides:
    chance = random.Random(seed)
    sides = []
    for entries in (golds, plan):
        lines = [entry.json() for entry in entries]
        chance.shuffle(lines)
        sides.append("\n".join(lines) or "(none)")
    plan_is_a = chance.random() < 0.5
    return Sides(sides[1], sides[0], True) if plan_is_a else Sides(sides[0], sides[1], False)


def author_matches(
    answer: str, sides: Sides, golds: Sequence[str], plan: Sequence[str]
) -> tuple[Matches, Counter[str]]:
    """For each gold ablation the plan entries that match it together (empty for none), and the errors in the answer:
    unknown names, golds without a line, golds with several matches (the first counts)."""
    rows, problems = predictions(answer)
    gold_key, plan_key = ("name_in_B", "name_in_A") if sides.plan_is_a else ("name_in_A", "name_in_B")
    matches: Matches = {}
    for row in rows:
        named, entries = _names(row.get(gold_key)), _names(row.get(plan_key))
        if named is None or entries is None:
            problems["line without the names of both sides"] += 1
            continue
        for name in [*(set(named) - set(golds)), *(set(entries) - set(plan))]:
            problems["ablation that is not there"] += bool(name)
        known = tuple(dict.fromkeys(entry for entry in entries if entry in plan))
        if len(known) < len(set(entries)):
            known = ()  # a joint match with an unknown name does not count
        for gold in dict.fromkeys(name for name in named if name in golds):
            if matches.get(gold) and known:
                problems["gold ablation matched twice"] += 1
            else:
                matches[gold] = known or matches.get(gold, ())
    problems["gold ablation without a line"] += sum(gold not in matches for gold in golds)
    return {gold: matches.get(gold, ()) for gold in golds}, +problems


def reviewer_labels(answer: str, plan: Sequence[str]) -> tuple[dict[str, bool], Counter[str]]:
    """For each plan entry whether a review asks for it (False without a line), and the errors."""
    rows, problems = predictions(answer)
    labels: dict[str, bool] = {}
    for row in rows:
        name, label = row.get("name_in_plan"), row.get("appears_in_review")
        if not isinstance(name, str) or not isinstance(label, bool):
            problems["line without a name and true or false"] += 1
        elif name not in plan:
            problems["ablation that is not there"] += 1
        elif name in labels:
            problems["entry judged twice"] += 1
        else:
            labels[name] = label
    problems["entry without a line"] += sum(name not in labels for name in plan)
    return {name: labels.get(name, False) for name in plan}, +problems


def majority_matches(votes: Sequence[Mapping[str, Sequence[str]]], golds: Sequence[str]) -> Matches:
    """For each gold ablation the match that more than half of the judges give, otherwise none."""
    decided: Matches = {}
    for gold in golds:
        counts = Counter(frozenset(vote.get(gold, ())) for vote in votes)
        winner, count = counts.most_common(1)[0] if counts else (frozenset[str](), 0)
        decided[gold] = tuple(sorted(winner)) if count * 2 > len(votes) else ()
    return decided


def majority_labels(votes: Sequence[Mapping[str, bool]], plan: Sequence[str]) -> dict[str, bool]:
    """For each entry whether more than half of the judges say true."""
    return {name: 2 * sum(vote.get(name, False) for vote in votes) > len(votes) for name in plan}


def _names(value: Any) -> tuple[str, ...] | None:
    """The names in a field: a text, a list of texts, or null for no names; None for any other value."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) and all(isinstance(name, str) for name in value) else None
