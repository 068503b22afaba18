"""The report as Markdown."""

from collections.abc import Iterable, Iterator

from xkg.agents.ablation.outcomes import Campaign
from xkg.agents.ablation.report import rows


def markdown(campaign: Campaign) -> str:
    return "\n".join(_lines(campaign)) + "\n"


def _lines(campaign: Campaign) -> Iterator[str]:
    yield f"# Ablation {campaign.id}\n"
    for name, value in rows.summary(campaign):
        yield f"- {name}: {_cell(value)}"
    for note in campaign.notes:
        yield f"- note: {_cell(note)}"
    for title, texts in rows.words(campaign):
        yield f"\n### {title}\n" if title else "\n## What it says\n"
        yield from (f"- {_cell(text)}" if title else _cell(text) for text in texts)
    yield "\n## Importance by component\n"
    yield from importance_table(campaign)
    yield f"\n{rows.comparisons(campaign)}\n"
    yield "## What was tried, in order\n"
    yield from _table(
        ("round", "candidate", "change", "value", "seeds", "result", "why"),
        (
            (
                str(o.round), f"{o.candidate.description} ({', '.join(map(str, o.candidate.places))})",
                o.candidate.kind, f"{o.effect.value:.6g}" if o.effect else "",
                str(len([r for r in o.runs if r.value is not None])),
                f"failed: {o.failure}" if o.failure else "no effect" if o.no_effect else rows.change(o.effect),
                rows.chosen(o),
            )
            for o in campaign.outcomes
        ),
    )  # fmt: skip
    if campaign.lessons:
        yield "\n## What the rounds changed\n"
        names = {component.id: component.name for component in campaign.space.components}
        for lesson in campaign.lessons:
            yield from (f"- after round {lesson.round}: {_cell(text)}" for text in lesson.lessons)
            for advice in lesson.advice:
                yield f"  - {_cell(names.get(advice.component, advice.component))}: {_cell(advice.text)}"
    failed = [o for o in campaign.outcomes if o.failure]
    if failed:
        yield "\n## Failures by cause\n"
        for cause, count in rows.failures(campaign).most_common():
            yield f"- {cause}: {count}"
            for outcome in failed:
                if outcome.failure == cause:
                    yield f"  - {outcome.id}, {_cell(outcome.candidate.description)}: {_cell(outcome.problem or '')}"
    if campaign.space.left_out:
        yield "\n## Left out\n"
        for left in campaign.space.left_out:
            yield f"- {_cell(left.name)} ({_cell(str(left.place))}): {left.reason}"
    if campaign.repairs:
        yield "\n## Repairs of the baseline\n"
        for repair in campaign.repairs:
            yield f"### {_cell(repair.reason)}\n"
            yield f"{_cell(repair.cause)}, after {repair.failure}: {_cell(repair.problem)}\n"
            yield _fenced(repair.diff)
    yield "\n## Diffs\n"
    for outcome in campaign.outcomes:
        if outcome.diff:
            yield f"### {outcome.id}: {_cell(outcome.candidate.description)}\n\n{_fenced(outcome.diff)}"


def importance_table(campaign: Campaign) -> Iterator[str]:
    """Ready for a paper."""
    found = campaign.importances()
    yield from _table(
        ("component", "strongest change", "metric", "relative change", "95 % interval", "seeds", "evidence"),
        (
            (
                i.component.name, i.best.candidate.description, f"{i.best.effect.value:.6g}",
                f"{rows.change(i.best.effect)} ({rows.direction(campaign, i.best.effect)})",
                rows.interval(i.best.effect), str(i.best.effect.seeds), rows.verdict(i),
            )
            for i in found
            if i.best is not None and i.best.effect is not None
        ),
    )  # fmt: skip
    rest = [i.component.name for i in found if i.best is None]
    if rest:
        yield f"\nNothing is known of: {_cell(', '.join(rest))}."


def _table(head: tuple[str, ...], body: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in body:
        yield "| " + " | ".join(map(_cell, row)) + " |"


def _fenced(diff: str) -> str:
    fence = "`" * max(3, _longest_run(diff) + 1)
    end = "" if diff.endswith("\n") else "\n"
    return f"{fence}diff\n{diff}{end}{fence}\n"


def _cell(text: str) -> str:
    line = " ".join(text.split())
    for mark in "\\`*_[]<>|#":
        line = line.replace(mark, f"\\{mark}")
    return line


def _longest_run(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest
