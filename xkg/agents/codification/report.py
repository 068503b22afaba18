"""Writes a run's report: the task, the steps, the evidence, and points for the reader to check."""

from collections.abc import Iterator, Sequence

from xkg.agents.codification.prompting.memory import Taken, shown
from xkg.agents.codification.result import CodificationResult
from xkg.agents.codification.session import Session
from xkg.agents.codification.verdict import Verdict
from xkg.agents.workspace.command import cut_middle, numbered

_LONGEST_METHOD, _LONGEST_OBSERVATION, _LONGEST_DIFF = 6000, 1200, 200_000


def written(session: Session, history: Sequence[Taken], verdict: Verdict | None, result: CodificationResult) -> str:
    return "\n\n".join(_blocks(session, history, verdict, result)) + "\n"


def _blocks(
    session: Session, history: Sequence[Taken], verdict: Verdict | None, result: CodificationResult
) -> Iterator[str]:
    task = session.task
    yield f"# {result.title}"
    before, after = ("none" if v is None else f"{v:g}" for v in (result.metric_before, result.metric_after))
    cost = "unknown" if result.dollars is None else f"${result.dollars:.4f}"
    yield "\n".join(
        [
            f"- run: {result.run} ({task.mode}{'' if task.graph else ', without the graph'})",
            f"- metric {task.parsed_metric}: {before} before, {after} after",
            f"- {result.steps} steps, {result.edits} edits, {result.expert_calls} calls to the expert, dollars: {cost}",
            *(f"- not done: {fault}" for fault in result.faults),
            *([f"- stopped: {result.stopped}"] if result.stopped else []),
        ]
    )
    yield "## The task"
    starter = f"{task.starter} ({session.workspace.identity})"
    yield f"- starter: {starter}\n- run: {task.run}\n- method: {session.method.source}"
    yield _fenced(cut_middle(session.method.text, _LONGEST_METHOD))
    if result.notes:
        yield "Notes:\n\n" + "\n".join(f"- {note}" for note in result.notes)
    yield "## What to check"
    yield "\n".join(f"- {line}" for line in _to_check(session, verdict))
    yield "## The method's parts and their lines"
    yield from _places(session, verdict)
    yield "## All changes"
    yield _fenced(cut_middle(session.workspace.diff(), _LONGEST_DIFF) or "none")
    yield "## Steps"
    plan = next((each.step.plan_and_status for each in reversed(history) if each.step.plan_and_status), "")
    if plan:
        yield "The last plan:\n\n" + _fenced(plan)
    for each in history:
        yield f"### {each.number}. {each.step.action}"
        if each.step.thought:
            yield _fenced(each.step.thought)
        yield _fenced(f"{shown(each.step.action_input)}\n-> {cut_middle(each.observation, _LONGEST_OBSERVATION)}")


def _to_check(session: Session, verdict: Verdict | None) -> Iterator[str]:
    if verdict is None:
        yield "nothing was accepted: the changes are a draft"
        return
    for change in verdict.evaluation_changes:
        yield f"the evaluation differs from the starter's: {change}"
    for doubt in verdict.doubts:
        yield f"{doubt}. The agent's answer: {doubt.answer or 'none'}"
    yield from verdict.remarks
    for change in verdict.setting_changes:
        yield f"a setting differs from the starter's: {change}"
    for part in verdict.in_starter:
        yield f"nothing was changed for the part {part!a}; check whether the starter already contains it"
    for path, lines in verdict.never_ran.items():
        yield f"changed lines in {path} that never ran: {', '.join(map(str, lines[:20]))}"
    yield "compare the parts below with the method's text; a run shows that lines ran, not that they are correct"
    if session.baseline.metric is not None and verdict.metric is not None:
        yield "the metric was measured in one run before and one run after; judging the change takes more seeds"


def _places(session: Session, verdict: Verdict | None) -> Iterator[str]:
    named = {place.part.strip().lower(): place for place in verdict.places} if verdict else {}
    for part in session.parts:
        place = named.get(part.strip().lower())
        if place is None or place.file not in session.workspace.files:
            yield f"### {part}\n\nno location was given"
            continue
        lines = session.workspace.text(place.file).splitlines()[place.start_line - 1 : place.end_line][:80]
        where = f"{place.file}, lines {place.start_line}-{place.end_line}"
        yield f"### {part}\n\n{where}\n\n{_fenced(numbered(lines, place.start_line))}"


def _fenced(text: str) -> str:
    return "````\n" + text.replace("````", "` ` ` `") + "\n````"
