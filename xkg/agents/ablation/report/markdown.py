"""Renders the report as Markdown."""

import re
from collections.abc import Iterable, Iterator, Sequence

from xkg.agents.ablation.outcomes import Campaign
from xkg.agents.ablation.report import rows


def markdown(campaign: Campaign) -> str:
    return "\n".join(_parts(campaign))


def _parts(campaign: Campaign) -> Iterator[str]:
    yield f"# Ablation {_text(campaign.id)}\n"
    if why := campaign.unmeasured:
        yield f"**{_text(why)}**\n"
    facts = (f"{name}: {value}" for name, value in rows.summary(campaign))
    yield _items((*facts, *(f"note: {note}" for note in campaign.notes)))
    yield from _words(campaign)
    yield "## Importance by component\n"
    yield _importances(campaign)
    if unknown := [i.component.name for i in campaign.importances() if i.best is None]:
        yield _text(f"Nothing is known about: {', '.join(unknown)}.") + "\n"
    yield _text(rows.comparisons(campaign)) + "\n"
    yield "## What was tried, in order\n"
    yield _tried(campaign)
    if lessons := list(_lessons(campaign)):
        yield "## What the rounds changed\n"
        yield _items(lessons)
    yield from _failures(campaign)
    if campaign.space.left_out:
        yield "## Left out\n"
        yield _items(f"{left.name} ({left.place}): {left.reason}" for left in campaign.space.left_out)
    if campaign.repairs:
        yield "## Repairs of the baseline\n"
    for repair in campaign.repairs:
        yield _diff(f"{repair.reason} ({repair.cause}, after {repair.failure}: {repair.problem})", repair.diff)
    yield "## Diffs\n"
    for outcome in campaign.outcomes:
        if outcome.diff:
            yield _diff(f"{outcome.id}: {outcome.candidate.description}", outcome.diff)


def _importances(campaign: Campaign) -> str:
    return _table(
        ("component", "strongest change", "metric", "relative change", "95 % interval", "seeds", "evidence"),
        (
            (
                i.component.name, i.best.candidate.description, f"{i.best.effect.value:.6g}",
                f"{rows.change(i.best.effect)} ({rows.direction(campaign, i.best.effect)})",
                rows.interval(i.best.effect), str(i.best.effect.seeds), rows.verdict(i),
            )
            for i in campaign.importances()
            if i.best is not None and i.best.effect is not None
        ),
    )  # fmt: skip


def _tried(campaign: Campaign) -> str:
    return _table(
        ("round", "candidate", "change", "value", "seeds", "result", "remark"),
        (
            (
                str(o.round), f"{o.candidate.description} ({', '.join(map(str, o.candidate.places))})",
                o.candidate.kind, f"{o.effect.value:.6g}" if o.effect else "",
                str(len([r for r in o.runs if r.value is not None])),
                f"failed: {o.failure}" if o.failure else "the same value" if o.no_effect else rows.change(o.effect),
                rows.remark(o),
            )
            for o in campaign.outcomes
        ),
    )  # fmt: skip


def _words(campaign: Campaign) -> Iterator[str]:
    analysis = campaign.analysis
    if analysis is None:
        return
    yield "## What the model says\n"
    evidence = {each.component.name: rows.verdict(each) for each in campaign.importances()}
    for title, statements in (("Evidence that holds", analysis.strong), ("Weak evidence", analysis.weak)):
        yield f"### {title}\n"
        yield _items([f"{each.component} ({evidence[each.component]}): {each.text}" for each in statements] or ["none"])
    if analysis.caveats:
        yield "### Limits\n"
        yield _items(analysis.caveats)


def _lessons(campaign: Campaign) -> Iterator[str]:
    names = {component.id: component.name for component in campaign.space.components}
    for lesson in campaign.lessons:
        yield from (f"after round {lesson.round}: {text}" for text in lesson.lessons)
        yield from (f"{names.get(advice.component, advice.component)}: {advice.text}" for advice in lesson.advice)


def _failures(campaign: Campaign) -> Iterator[str]:
    counts = rows.failures(campaign).most_common()
    if counts:
        yield "## Failures by cause\n"
    for cause, count in counts:
        yield f"{_text(cause)}: {count}\n"
        failed = (o for o in campaign.outcomes if o.failure == cause)
        yield _items(f"{o.id}, {o.candidate.description}: {o.problem or ''}" for o in failed)


def _table(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    return "".join(map(_row, (head, ["---"] * len(head), *(map(_text, row) for row in body))))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _items(items: Iterable[str]) -> str:
    return "".join(f"- {_text(item)}\n" for item in items)


def _diff(title: str, text: str) -> str:
    fence = "`" * max(3, 1 + max(map(len, re.findall("`++", text)), default=0))
    return f"### {_text(title)}\n\n{fence}diff\n{text.removesuffix(chr(10))}\n{fence}\n"


def _text(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(text.split()))
