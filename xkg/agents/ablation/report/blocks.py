"""The report as a list of blocks, from which each format is made."""

from collections.abc import Iterator
from typing import NamedTuple

from xkg.agents.ablation.outcomes import Campaign
from xkg.agents.ablation.report import rows


class Heading(NamedTuple):
    level: int
    text: str


class Text(NamedTuple):
    text: str


class Items(NamedTuple):
    items: tuple[str, ...]


class Table(NamedTuple):
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Diff(NamedTuple):
    title: str
    text: str


class Plot(NamedTuple):
    """The importances, as a plot if the format has plots."""


Block = Heading | Text | Items | Table | Diff | Plot


def blocks(campaign: Campaign) -> Iterator[Block]:
    yield Heading(1, f"Ablation {campaign.id}")
    facts = (f"{name}: {value}" for name, value in rows.summary(campaign))
    yield Items((*facts, *(f"note: {note}" for note in campaign.notes)))
    yield from _words(campaign)
    yield Heading(2, "Importance by component")
    yield Plot()
    yield _importances(campaign)
    if unknown := [i.component.name for i in campaign.importances() if i.best is None]:
        yield Text(f"Nothing is known of: {', '.join(unknown)}.")
    yield Text(rows.comparisons(campaign))
    yield Heading(2, "What was tried, in order")
    yield _tried(campaign)
    yield from _lessons(campaign)
    yield from _failures(campaign)
    if campaign.space.left_out:
        yield Heading(2, "Left out")
        yield Items(tuple(f"{left.name} ({left.place}): {left.reason}" for left in campaign.space.left_out))
    if campaign.repairs:
        yield Heading(2, "Repairs of the baseline")
    for repair in campaign.repairs:
        yield Diff(f"{repair.reason} ({repair.cause}, after {repair.failure}: {repair.problem})", repair.diff)
    yield Heading(2, "Diffs")
    for outcome in campaign.outcomes:
        if outcome.diff:
            yield Diff(f"{outcome.id}: {outcome.candidate.description}", outcome.diff)


def _importances(campaign: Campaign) -> Table:
    """A table that can be copied into a paper."""
    return Table(
        ("component", "strongest change", "metric", "relative change", "95 % interval", "seeds", "evidence"),
        tuple(
            (
                i.component.name, i.best.candidate.description, f"{i.best.effect.value:.6g}",
                f"{rows.change(i.best.effect)} ({rows.direction(campaign, i.best.effect)})",
                rows.interval(i.best.effect), str(i.best.effect.seeds), rows.verdict(i),
            )
            for i in campaign.importances()
            if i.best is not None and i.best.effect is not None
        ),
    )  # fmt: skip


def _tried(campaign: Campaign) -> Table:
    return Table(
        ("round", "candidate", "change", "value", "seeds", "result", "remark"),
        tuple(
            (
                str(o.round), f"{o.candidate.description} ({', '.join(map(str, o.candidate.places))})",
                o.candidate.kind, f"{o.effect.value:.6g}" if o.effect else "",
                str(len([r for r in o.runs if r.value is not None])),
                f"failed: {o.failure}" if o.failure else "no effect" if o.no_effect else rows.change(o.effect),
                rows.remark(o),
            )
            for o in campaign.outcomes
        ),
    )  # fmt: skip


def _words(campaign: Campaign) -> Iterator[Block]:
    for title, texts in rows.words(campaign):
        yield Heading(3, title) if title else Heading(2, "What it says")
        yield from [Items(texts)] if title else map(Text, texts)


def _lessons(campaign: Campaign) -> Iterator[Block]:
    names = {component.id: component.name for component in campaign.space.components}
    said = [
        text
        for lesson in campaign.lessons
        for text in (
            *(f"after round {lesson.round}: {text}" for text in lesson.lessons),
            *(f"{names.get(advice.component, advice.component)}: {advice.text}" for advice in lesson.advice),
        )
    ]
    if said:
        yield Heading(2, "What the rounds changed")
        yield Items(tuple(said))


def _failures(campaign: Campaign) -> Iterator[Block]:
    counts = rows.failures(campaign).most_common()
    if counts:
        yield Heading(2, "Failures by cause")
    for cause, count in counts:
        yield Text(f"{cause}: {count}")
        failed = (o for o in campaign.outcomes if o.failure == cause)
        yield Items(tuple(f"{o.id}, {o.candidate.description}: {o.problem or ''}" for o in failed))
