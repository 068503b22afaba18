"""Reads judgements of a graph by people and models. Computes majority verdicts and inter-judge agreement.

A person's file contains JSON lines {question, item, judge, verdict}. Models' verdicts come from Inspect logs
(`tasks.py`). Agreement is Krippendorff's alpha for nominal data (Krippendorff, "Content Analysis", 2004, chapter 11): 1
if all agree, 0 for agreement at chance level. Judges may skip items."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from evaluation.results.document import Figure, mean_figure
from xkg.value import Value

Question = Literal["pair", "technique", "same"]
VERDICTS: Mapping[Question, tuple[str, ...]] = {
    "pair": ("exact", "broader", "narrower", "wrong"),
    "technique": ("valid", "invalid"),
    "same": ("same", "different"),
}
UNUSABLE = "unusable"
SETTLED_BY_NONE = "no majority"
_SEPARATOR = " = "


class Judgement(Value):
    """One judge's verdict on an item. `item` is a code id (`pair`), a technique id (`technique`), or a gold path and a
    technique id (`same_item`)."""

    question: Question
    item: str
    judge: str
    verdict: str


@dataclass(frozen=True)
class Verdicts:
    """One question's judgements. `by_item` contains each judge's verdict on each item, and `judges` lists all judges,
    sorted."""

    question: Question
    by_item: Mapping[str, Mapping[str, str]]
    judges: tuple[str, ...]

    def majority(self) -> dict[str, str]:
        """Returns the majority verdict on each item, or `SETTLED_BY_NONE` if no verdict is shared by more than half of
        the item's judges."""
        return {item: _majority(list(verdicts.values())) for item, verdicts in self.by_item.items()}


def collect(judgements: Iterable[Judgement], question: Question, items: Iterable[str]) -> tuple[Verdicts, list[str]]:
    """Returns the judgements for one question on these items, and one line for each unusable judgement. A judgement is
    unusable if its item is not in the graph, its verdict is unknown, or its judge has already judged the item."""
    known, problems = set(items), list[str]()
    by_item: dict[str, dict[str, str]] = {}
    for judgement in judgements:
        if judgement.question != question:
            continue
        name = f"{judgement.judge} on {judgement.item[:120]}"
        if judgement.item not in known:
            problems.append(f"{name}: the graph has no such item")
        elif judgement.verdict not in VERDICTS[question]:
            problems.append(f"{name}: {judgement.verdict[:40]!r} is none of {', '.join(VERDICTS[question])}")
        elif judgement.judge in by_item.get(judgement.item, {}):
            problems.append(f"{name}: judged twice; only the first judgement counts")
        else:
            by_item.setdefault(judgement.item, {})[judgement.judge] = judgement.verdict
    judges = sorted({judge for verdicts in by_item.values() for judge in verdicts})
    return Verdicts(question, by_item, tuple(judges)), problems


def figures_of(verdicts: Verdicts, names: Mapping[str, str], published: Mapping[str, str]) -> list[Figure]:
    """Returns the share of items with each majority verdict, and the judges' agreement. `names` maps each verdict to
    its figure's name. Without judges, returns one figure without a value."""
    if not verdicts.by_item:
        first = next(iter(names))
        text = published.get(first, "")
        return [Figure(name=names[first], value=None, source="", published=text, note="nobody judged")]
    source = f"majority of {', '.join(verdicts.judges)}" if len(verdicts.judges) > 1 else verdicts.judges[0]
    majority = verdicts.majority()
    figures = [
        mean_figure(
            names[verdict],
            {item: float(given == verdict) for item, given in majority.items()},
            source=source,
            published=published.get(verdict, ""),
        )
        for verdict in names
    ]
    return [*figures, *agreement(verdicts)]


def agreement(verdicts: Verdicts) -> list[Figure]:
    """Returns the agreement between judges, or an empty list if there is only one judge."""
    if len(verdicts.judges) < 2:
        return []
    twice = [list(given.values()) for given in verdicts.by_item.values() if len(given) > 1]
    undecided = sum(given == SETTLED_BY_NONE for given in verdicts.majority().values())
    return [
        Figure(
            name=f"… agreement on each {verdicts.question} (alpha)",
            value=alpha(twice),
            count=len(twice),
            unit="number",
            source=", ".join(verdicts.judges),
            note=f"{undecided} without a majority" if undecided else "",
        )
    ]


def alpha(units: Sequence[Sequence[str]]) -> float | None:
    """Returns Krippendorff's alpha over the verdicts on each item. Returns None if fewer than two items have two
    verdicts, or if all verdicts are equal."""
    pairable = [unit for unit in units if len(unit) > 1]
    totals = Counter(verdict for unit in pairable for verdict in unit)
    count = sum(totals.values())
    expected = count * count - sum(n * n for n in totals.values())
    if len(pairable) < 2 or not expected:
        return None
    differing = sum(
        (len(unit) ** 2 - sum(n * n for n in Counter(unit).values())) / (len(unit) - 1) for unit in pairable
    )
    return 1 - (count - 1) * differing / expected


def same_item(gold_path: Sequence[str], technique: str) -> str:
    """Returns the item that asks whether a technique is the same as a gold technique."""
    return f"{technique}{_SEPARATOR}{' / '.join(gold_path)}"


def _majority(verdicts: Sequence[str]) -> str:
    verdict, count = Counter(verdicts).most_common(1)[0]
    return verdict if 2 * count > len(verdicts) else SETTLED_BY_NONE


assert set(VERDICTS) == set(get_args(Question))
