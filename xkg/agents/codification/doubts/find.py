"""Raises doubts about a faultless answer, and matches them with the agent's replies."""

from collections.abc import Sequence

from xkg.agents.codification.doubts.effects import effects
from xkg.agents.codification.doubts.properties import failed_properties
from xkg.agents.codification.prompting.answers import DoubtAnswer
from xkg.agents.codification.session import Session
from xkg.agents.codification.verdict import Doubt, Verdict
from xkg.agents.workspace.command import RunResult

_LEAST_WORDS = 5


def doubted(
    session: Session, verdict: Verdict, result: RunResult, answers: Sequence[DoubtAnswer], last: Verdict | None
) -> Verdict:
    """Adds doubts to a verdict. If the `last` verdict already contained a doubt, the earlier reply still counts. A
    failed property check without a reply is a fault."""
    found = effects(session, result)
    failed = failed_properties(session)
    doubts = [*_same_metric(session, verdict), *_printed(session, result), *found.doubts, *failed]
    earlier = {str(each): each.answer for each in (last.doubts if last else ())}
    said = {each.about.strip().lower(): each.answer for each in answers if len(each.answer.split()) >= _LEAST_WORDS}
    replies = [said.get(each.about.lower()) or earlier.get(str(each), "") for each in doubts]
    doubts = [each.model_copy(update={"answer": reply}) for each, reply in zip(doubts, replies, strict=True)]
    checks = {each.about for each in failed}
    return verdict.model_copy(
        update={
            "doubts": tuple(doubts),
            "faults": tuple(str(each) for each in doubts if each.about in checks and not each.answer),
            "remarks": (*verdict.remarks, *found.notes),
        }
    )


def _same_metric(session: Session, verdict: Verdict) -> list[Doubt]:
    if session.baseline.metric is None or verdict.metric != session.baseline.metric:
        return []
    return [Doubt(about="the metric", text=f"it equals the starter's to the last digit ({verdict.metric!r})")]


def _printed(session: Session, result: RunResult) -> list[Doubt]:
    workspace = session.workspace
    changed = session.reader.printed_changes(workspace.texts(0), workspace.texts(), session.task.parsed_metric)
    doubts = [Doubt(about=name, text=text) for name, text in changed.items()]
    path, line = result.printed or ("", 0)
    if line in workspace.changed_lines().get(path, ()):
        doubts.append(Doubt.at(path, line, line, "this changed line, or code that it calls, printed the metric"))
    return doubts
