"""The model's part of fidelity, after the static share: does the implementation follow definition and source lines, and
do these two agree? Where paper and repository part, that is a departure: no fault of the code, and never unsaid."""

from collections.abc import Iterator, Sequence
from typing import Literal

from xkg.build.guided.checking.compared_lines import compared_lines
from xkg.build.guided.checking.component_use import named
from xkg.build.guided.checking.debug import room_for
from xkg.build.guided.checking.shown_module import shown_module
from xkg.build.guided.definition_statements import numbered, statements_of, unanswered
from xkg.build.guided.draft import Draft, prompt
from xkg.build.similarity.fidelity import is_enough, omitted, unmatched, written_by_definition
from xkg.llm.client import AnswerType, Ask
from xkg.model import Departure, Fault, Fidelity, Level
from xkg.sandbox.evidence.levels import Proof

# Comments describe answers here: a docstring would be sent with every question, whose prompt says the same.

_MOST_STATEMENTS = 15
_MOST_LEFT_OUT = 10
_STATEMENT = 100
_LONGEST_REMARK = 400
# How often an answer is sent back for statements of the definition that it says nothing of.
_REMINDERS = 2


class FaultFound(AnswerType):
    kind: Literal["missing", "foreign", "beyond", "unrelated"]
    remark: str


# How definition, source lines and module agree in a statement of the definition, or in a part of one.
class Compared(AnswerType):
    statement: int
    verdict: Literal["same", "differs", "added", "absent", "fault", "none"]
    remark: str


# The comparison by the statements of the definition, then the faults; none where the module is faithful.
class Verdict(AnswerType):
    compared: str
    statements: tuple[Compared, ...]
    faults: tuple[FaultFound, ...]


def judge_fidelity(
    draft: Draft, definition: str, proof: Proof, share: float, ask: Ask, *, whatever_share: bool = False
) -> Fidelity:
    """The share, with the faults that the model finds. The model is asked only about a draft with a proven test and,
    without `whatever_share`, a sufficient share; otherwise `faults` is None. Raises as `ask` does."""
    outside = written_by_definition(draft.implementation, draft.excerpt, draft.scope) if draft.by_definition else 0.0
    if proof.evidence.level.rank < Level.TESTED.rank or not (whatever_share or is_enough(share, outside)):
        return Fidelity(share=share)
    statements = statements_of(draft.definition)
    inputs = {
        "definition": f"{draft.name}:\n{numbered(draft.definition)}" if statements else definition,
        "declared": "\n".join(draft.declared),
        "implementation": shown_module(draft),
        "uncalled": "\n".join(f"- {name}" for name in (*draft.uncalled, *draft.absent)),
        "unmatched": listed_unmatched(draft),
        "left_out": _listed_left_out(draft),
        "configuration": draft.configuration,
        "sources": compared_sources(draft),
        "beside": draft.beside,
    }
    reminders = 0

    def check(answer: Verdict) -> str | None:
        nonlocal reminders
        objection = _fault_of(answer)
        if objection is None and reminders < _REMINDERS:
            objection = _statement_fault(answer, draft.definition)
            reminders += objection is not None
        return objection

    answer = ask(prompt("fidelity"), Verdict, inputs, about=draft.name, check=check)
    faults = tuple(Fault(kind=fault.kind, remark=" ".join(fault.remark.split())) for fault in answer.faults)
    return Fidelity(
        share=share,
        by_definition=_accepted(draft, answer),
        faults=(*faults, *_left_out_components(draft, definition, faults)),
        statements=len(statements) if answer.statements else None,
        departures=tuple(_departures(answer, statements)),
    )


def compared_sources(draft: Draft) -> str:
    """The source lines that a draft's own statements are compared with, as much as fits into a prompt."""
    module = shown_module(draft)
    return room_for(compared_lines(draft.own_excerpt or draft.excerpt, module), module, draft.beside)


def _accepted(draft: Draft, answer: Verdict) -> float:
    """The share of statements that the definition asks for and the lines lack, as far as the comparison agrees with the
    module's author: each statement of the definition that they were written for has the verdict "added"."""
    added = {each.statement for each in answer.statements if each.verdict == "added"}
    agreed = {name: numbers for name, numbers in draft.by_definition.items() if added.issuperset(numbers)}
    scope = draft.model_copy(update={"by_definition": agreed}).scope
    return written_by_definition(draft.implementation, draft.excerpt, scope) if agreed else 0.0


def _departures(answer: Verdict, statements: Sequence[str]) -> Iterator[Departure]:
    """Where paper and repository part, in the order of the definition."""
    for each in sorted(answer.statements, key=lambda each: each.statement):
        kind = each.verdict
        if (kind == "differs" or kind == "absent" or kind == "added") and 0 < each.statement <= len(statements):
            yield Departure(kind=kind, statement=statements[each.statement - 1], remark=" ".join(each.remark.split()))


def _statement_fault(answer: Verdict, definition: str) -> str | None:
    """What is wrong with the comparison by statements, in words for the model; None where nothing is."""
    if gap := unanswered([each.statement for each in answer.statements], definition):
        return gap
    for each in answer.statements:
        if each.verdict in ("differs", "added", "absent") and not each.remark.strip():
            return f"statements: {each.statement} is {each.verdict!r} without a remark; say in one line what and where"
    if any(each.verdict == "fault" for each in answer.statements) and not answer.faults:
        return "a statement has the verdict 'fault', and no fault is listed; list it, or change the verdict"
    return None


def _left_out_components(draft: Draft, definition: str, found: tuple[Fault, ...]) -> list[Fault]:
    """A fault for each component that the definition names and the module leaves out unexplained, where the model finds
    none: the same technique may take it as an argument, but not where the repository's lines call it."""
    remarks = " ".join(fault.remark for fault in found)
    names = [name for name in named(draft.unexplained, definition) if not named([name], remarks)]
    return [Fault(kind="missing", remark=f"it does not call {name}, which the definition names") for name in names]


def listed_unmatched(draft: Draft, *, by_definition: bool = True) -> str:
    """The statements of a draft's own without a counterpart in their source lines, one per line; without
    `by_definition` not those that its author wrote from the definition."""
    scope = draft.scope
    found = unmatched(draft.implementation, draft.excerpt, scope)
    found = found if by_definition else [each for each in found if each.line not in scope.by_definition]
    lines = [f"- line {statement.line}: {statement.text[:_STATEMENT]}" for statement in found[:_MOST_STATEMENTS]]
    more = len(found) - _MOST_STATEMENTS
    return "\n".join([*lines, *([f"- and {more} more"] if more > 0 else [])])


def _listed_left_out(draft: Draft) -> str:
    found = omitted(draft.implementation, draft.excerpt, _MOST_LEFT_OUT, draft.scope)
    return "\n".join(f"- {statement.text[:_STATEMENT]}" for statement in found)


def _fault_of(answer: Verdict) -> str | None:
    for fault in answer.faults:
        if not fault.remark.strip():
            return f"a fault of kind {fault.kind} has no remark; say in one line what it is and where"
        if len(fault.remark) > _LONGEST_REMARK:
            return f"the remark `{fault.remark[:60]}…` is too long; say it in one line"
    return None
