"""Asks a model whether a module follows the definition and the source lines, and whether these two agree.

Differences between the paper and the repository are always reported as departures, not as faults in the code."""

import difflib
from collections.abc import Iterable, Iterator, Sequence

from xkg.build.guided.checking.compared_lines import unrepeated
from xkg.build.guided.checking.components import own_module
from xkg.build.guided.code_answers import CodeAnswer, Compared, FaultFound, Shared, Verdict
from xkg.build.guided.definition_statements import numbered, statements_of
from xkg.build.guided.draft import Draft, prompt
from xkg.build.guided.lookup import Lookup
from xkg.build.similarity.fidelity import omitted, unmatched, written_by_definition
from xkg.llm.client import Ask, More
from xkg.model import Departure, Fault, Fidelity

_MOST_STATEMENTS = 15
_MOST_LEFT_OUT = 10
_STATEMENT = 100
_LONGEST_REMARK = 400
_CONTEXT = 6  # lines shown around a change


def review(drafts: Sequence[Draft], ask: Ask, lookup: Lookup, shared: Shared) -> list[Fidelity]:
    """Returns the fidelity of each draft. The caller sets the shares. The reviewer may first look at other places in
    the repository. Raises the same errors as `ask`."""
    looked = "\n".join(dict.fromkeys(part for draft in drafts for part in draft.looked))
    known = "\n".join([shared.inputs["code"], shared.inputs["components"], looked])
    numbers = [shared.numbers[draft.technique] for draft in drafts]
    described = (_described(n, draft, known) for n, draft in zip(numbers, drafts, strict=True))
    inputs = {**shared.inputs, "looked": looked, "modules": "\n\n".join(described)}

    def check(answer: CodeAnswer) -> str | More | None:
        return lookup.more(answer) or _fault_of_review(answer, numbers)

    answer = ask(prompt("fidelity"), CodeAnswer, inputs, about=", ".join(draft.name for draft in drafts), check=check)
    verdicts = {verdict.technique: verdict for verdict in answer.verdicts}
    found: list[Fidelity] = []
    for n, draft in zip(numbers, drafts, strict=True):
        departures = _departures(verdicts[n].statements, draft, searched=draft.searched or lookup.searched)
        found.append(_fidelity(draft, 0.0, verdicts[n], departures))
    return found


def _described(n: int, draft: Draft, known: str) -> str:
    others = {
        "Author": draft.declared,
        "Not called": [f"- {name}" for name in (*draft.uncalled, *draft.absent)],
        "Only here": listed_unmatched(draft).splitlines(),
        "Not here": _listed_left_out(draft).splitlines(),
    }
    lines = [f"## {n}. {draft.name}", unrepeated(own_module(draft), known, "the code").strip("\n")]
    lines += ["\n".join([f"{head}:", *found]) for head, found in others.items() if found]
    return "\n".join(lines)


def review_of_change(before: Draft, fidelity: Fidelity, draft: Draft, share: float, ask: Ask) -> Fidelity:
    """Returns the fidelity of a revised draft. The question contains only the changes. Raises the same errors as
    `ask`."""
    statements = statements_of(draft.definition)
    numbers = {statement: n for n, statement in enumerate(statements, start=1)}
    found = [f"- {fault.kind}: {fault.remark}" for fault in fidelity.faults or ()]
    found += [f"- statement {numbers.get(d.statement, '?')}, {d.kind}: {d.remark}" for d in fidelity.departures]
    found += ["- too many statements have no counterpart in the repository's lines"] * (not fidelity.is_enough)
    inputs = {
        "definition": f"{draft.name}:\n{numbered(draft.definition)}",
        "found": "\n".join(found),
        "difference": _difference(before.implementation, draft.implementation),
        "unmatched": listed_unmatched(draft),
    }
    answer = ask(prompt("recheck"), Verdict, inputs, about=draft.name, check=_fault_of)
    judged = {each.statement for each in answer.statements}
    kept = [d for d in fidelity.departures if numbers.get(d.statement) not in judged]
    return _fidelity(draft, share, answer, [*kept, *_departures(answer.statements, draft, searched=draft.searched)])


def _fidelity(draft: Draft, share: float, answer: Verdict, departures: Iterable[Departure]) -> Fidelity:
    found = [
        FaultFound(
            kind="missing" if c.verdict == "narrower" else "foreign", remark=f"statement {c.statement}: {c.remark}"
        )
        for c in answer.statements
        if c.verdict in ("narrower", "wrong")
    ]
    faults = tuple(Fault(kind=each.kind, remark=" ".join(each.remark.split())) for each in (*found, *answer.faults))
    order = {statement: n for n, statement in enumerate(statements_of(draft.definition))}
    ordered = tuple(sorted(departures, key=lambda each: order.get(each.statement, 0)))
    return Fidelity(
        share=share,
        by_definition=_accepted(draft, ordered),
        faults=faults,
        statements=len(order) if answer.statements else None,
        departures=ordered,
    )


def _difference(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=_CONTEXT, lineterm="")
    return "\n".join(list(lines)[2:])


def _accepted(draft: Draft, departures: Sequence[Departure]) -> float:
    """Returns the fraction of the module's statements written from the definition alone. A statement counts only if
    every definition statement that it implements has the verdict "added" in the review."""
    statements = statements_of(draft.definition)
    by_hand = {each.statement for each in departures if each.kind == "added"}
    added = {n for n, text in enumerate(statements, start=1) if text in by_hand}
    agreed = {name: numbers for name, numbers in draft.by_definition.items() if added.issuperset(numbers)}
    scope = draft.model_copy(update={"by_definition": agreed}).scope
    return written_by_definition(draft.implementation, draft.excerpt, scope) if agreed else 0.0


def _departures(compared: Sequence[Compared], draft: Draft, *, searched: bool) -> Iterator[Departure]:
    statements = statements_of(draft.definition)
    for each in compared:
        kind = each.verdict
        if kind == "same" or kind == "narrower" or kind == "wrong" or not 0 < each.statement <= len(statements):
            continue
        yield Departure(
            kind=kind,
            statement=statements[each.statement - 1],
            remark=" ".join(each.remark.split()),
            searched=searched or kind == "elsewhere",
        )


def listed_unmatched(draft: Draft, *, by_definition: bool = True) -> str:
    """Returns the draft's own statements without a counterpart in their source lines, one per line. If `by_definition`
    is False, omits those that the author wrote from the definition."""
    scope = draft.scope
    found = unmatched(draft.implementation, draft.excerpt, scope)
    found = found if by_definition else [each for each in found if each.line not in scope.by_definition]
    lines = [f"- {statement.text[:_STATEMENT]}" for statement in found[:_MOST_STATEMENTS]]
    more = len(found) - _MOST_STATEMENTS
    return "\n".join([*lines, *([f"- and {more} more"] if more > 0 else [])])


def _listed_left_out(draft: Draft) -> str:
    found = omitted(draft.implementation, draft.excerpt, _MOST_LEFT_OUT, draft.scope)
    return "\n".join(f"- {statement.text[:_STATEMENT]}" for statement in found)


def _fault_of_review(answer: CodeAnswer, modules: Sequence[int]) -> str | None:
    numbers = [verdict.technique for verdict in answer.verdicts]
    if sorted(numbers) != sorted(modules):
        return f"give one verdict for each module: {modules}; the answer has {numbers}"
    return next(filter(None, map(_fault_of, answer.verdicts)), None)


def _fault_of(answer: Verdict) -> str | None:
    for fault in answer.faults:
        if not fault.remark.strip():
            return f"a fault of kind {fault.kind} has no remark; say in one line what it is and where"
        if len(fault.remark) > _LONGEST_REMARK:
            return f"the remark `{fault.remark[:60]}…` is too long; keep it to one line"
    return None
