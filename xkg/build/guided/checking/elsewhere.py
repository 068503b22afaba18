"""Before it is said that a repository does not do what a definition says: does it, in lines that were not compared?"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from xkg.build.grounding.repository_lines import FoundLines, Shown
from xkg.build.guided.checking.debug import CUT, Debugged
from xkg.build.guided.checking.fidelity import compared_sources
from xkg.build.guided.definition_statements import statements_of
from xkg.build.guided.draft import Draft, prompt
from xkg.build.similarity.fidelity import share
from xkg.errors import AnswerError, EmbeddingError
from xkg.llm.client import AnswerType, Ask
from xkg.model import Departure, Fault, Fidelity
from xkg.value import Value

Search = Callable[[str, Sequence[str], Shown, Sequence[str]], Sequence[FoundLines]]
"""Lines of a repository for a technique's name and statements: first what is left out of what is shown, then others,
first those whose symbols are named like these (ids)."""

_MOST_DEPARTURES = 8
# The question for the departures of a draft, and one for what its revision is said to depart in.
_MOST_QUESTIONS = 2
_LEFT_OUT = ", left out of the lines compared so far"
_NUMBER = re.compile(r"\[(\d++)\]")


class Found(AnswerType):
    """Whether other lines do what a statement says; `belongs` is whether a module of the technique should, too."""

    statement: int
    verdict: Literal["does", "otherwise", "not"]
    lines: tuple[int, ...]
    belongs: bool
    remark: str


class Searched(AnswerType):
    statements: tuple[Found, ...]


class _Known(Value):
    """What is known of a departure: the model's answer, and the lines that it means."""

    found: Found
    lines: tuple[FoundLines, ...]

    @property
    def remark(self) -> str:
        """What the lines do, with their places."""
        return f"{' '.join(self.found.remark.split())} ({', '.join(each.place for each in self.lines)})"

    def is_needed(self, kind: str) -> bool:
        """Whether code with a departure of this kind should follow these lines: what it does in another way than they
        do, and what it lacks and belongs to it."""
        if self.found.verdict == "does":
            return self.found.belongs or kind in ("differs", "added")
        return self.found.verdict == "otherwise" and self.found.belongs and kind in ("absent", "added")


class Corrected(Value):
    """A draft with further lines that do what was missed, its fidelity, and what its documentation says wrongly of the
    repository, one per entry."""

    state: Debugged
    fidelity: Fidelity | None
    untrue: tuple[str, ...] = ()


class Elsewhere:
    """Corrects the departures of one technique's drafts, with one question for all of a draft. Without a `search`
    that works, or without a usable answer, departures stay as they are: found in the lines that were compared."""

    def __init__(self, search: Search | None, ask: Ask) -> None:
        self._search = search
        self._ask = ask
        self._known: dict[tuple[str, str], _Known] = {}
        self._questions = 0

    def corrected(self, state: Debugged, fidelity: Fidelity | None) -> Corrected:
        """What holds of the departures once the rest of the repository has been looked at. What it does as the
        definition says is no departure of code that does so, too; of other code it is a fault (`missing`), unless it is
        left to whoever uses the technique. Raises `ModelUnavailableError` and `BudgetError` as `ask` does."""
        if fidelity is None or not fidelity.departures:
            return Corrected(state=state, fidelity=fidelity)
        self._look_for(state.draft, fidelity.departures)
        departures: list[Departure] = []
        faults = list(fidelity.faults or ())
        second: list[FoundLines] = []
        untrue: list[str] = []
        draft = state.draft
        for departure in fidelity.departures:
            known = self._of(departure)
            verdict = known.found.verdict if known is not None else "not"
            # What was compared with these lines, too, is another departure of the same statement.
            if known is None or verdict == "not" or _has_lines(state.draft, known.lines):
                departures.append(departure.model_copy(update={"searched": known is not None}))
                continue
            second += known.lines if known.is_needed(departure.kind) else ()
            if verdict == "does" and departure.kind == "added":
                draft = _no_longer_added(draft, departure.statement)
                untrue.append(
                    f"“{departure.statement}” is no addition to the repository, which does it: {known.remark}"
                )
                continue
            if known.is_needed(departure.kind):
                how = "do" if verdict == "does" else "do in another way"
                faults.append(Fault(kind="missing", remark=f"what other lines of the repository {how}: {known.remark}"))
            departures.append(_with_place(departure, known))
        draft = with_second_places(draft, second)
        update: dict[str, object] = {"departures": tuple(departures)}
        if draft.excerpt != state.draft.excerpt:
            update["share"] = max(fidelity.share, share(draft.implementation, draft.excerpt, draft.scope))
        if fidelity.faults is not None:
            update["faults"] = tuple(faults)
        return Corrected(
            state=state.model_copy(update={"draft": draft}),
            fidelity=fidelity.model_copy(update=update),
            untrue=tuple(untrue),
        )

    def _of(self, departure: Departure) -> _Known | None:
        """What is known of a statement, whatever a revision is said to do with it."""
        exact = self._known.get((departure.statement, departure.kind))
        others = (known for (statement, _), known in self._known.items() if statement == departure.statement)
        return exact or next(others, None)

    def _look_for(self, draft: Draft, departures: Sequence[Departure]) -> None:
        unknown = [each for each in departures if self._of(each) is None][:_MOST_DEPARTURES]
        if unknown and self._questions < _MOST_QUESTIONS:
            self._questions += 1
            self._known |= self._asked(draft, unknown)

    def _asked(self, draft: Draft, asked: Sequence[Departure]) -> dict[tuple[str, str], _Known]:
        if self._search is None:
            return {}
        statements = tuple(dict.fromkeys(each.statement for each in asked))
        try:
            lines = tuple(self._search(draft.name, statements, _shown(draft), draft.sources))
        except EmbeddingError:
            return {}
        none = Found(statement=0, verdict="not", lines=(), belongs=False, remark="")
        if not lines:
            return {(each.statement, each.kind): _Known(found=none, lines=()) for each in asked}
        inputs = {
            "technique": f"{draft.name}:\n{draft.definition}",
            "departures": "\n".join(
                f"[{n}] {each.statement}\n    Compared so far: {each.kind_in_words}: {each.remark}"
                for n, each in enumerate(asked, start=1)
            ),
            "lines": "\n\n".join(
                f"[{n}] {each.place}{_LEFT_OUT if each.left_out else ''}\n{each.text}"
                for n, each in enumerate(lines, start=1)
            ),
        }

        def check(answer: Searched) -> str | None:
            return next(_complaints(answer, len(asked), len(lines)), None)

        try:
            answer = self._ask(prompt("elsewhere"), Searched, inputs, about=draft.name, check=check)
        except AnswerError:
            return {}
        return {
            (each.statement, each.kind): _Known(found=found, lines=tuple(lines[n - 1] for n in found.lines))
            for found in answer.statements
            for each in [asked[found.statement - 1]]
        }


def _shown(draft: Draft) -> Shown:
    """What the check was shown of the repository."""
    compared = compared_sources(draft)
    # lines that the check reads in the module instead are known to it, too
    own = compared if compared.endswith(CUT) else draft.own_excerpt or draft.excerpt
    return Shown(text=f"{own}\n{draft.beside}", symbols=draft.partly, gaps=draft.gaps)


def _with_place(departure: Departure, known: _Known) -> Departure:
    """A departure of code that does not what other lines do, or does it as these do not."""
    if known.found.verdict == "does" or departure.kind == "absent":
        how = "" if known.found.verdict == "does" else "in another way: "
        return departure.model_copy(update={"kind": "elsewhere", "remark": f"{how}{known.remark}", "searched": True})
    remark = f"{departure.remark}; other lines do it in another way: {known.remark}"
    return departure.model_copy(update={"remark": remark, "searched": True})


def _no_longer_added(draft: Draft, statement: str) -> Draft:
    """The draft without its author's words that the source lines lack a statement of the definition."""
    statements = statements_of(draft.definition)
    number = statements.index(statement) + 1 if statement in statements else 0
    declared = tuple(
        each for each in draft.declared if (found := _NUMBER.match(each)) is None or int(found[1]) != number
    )
    others = {name: tuple(n for n in numbers if n != number) for name, numbers in draft.by_definition.items()}
    by_definition = {name: numbers for name, numbers in others.items() if numbers}
    return draft.model_copy(update={"declared": declared, "by_definition": by_definition})


def _has_lines(draft: Draft, lines: Sequence[FoundLines]) -> bool:
    own = draft.own_excerpt or draft.excerpt
    return all(f"# --- {each.place}\n" in own for each in lines)


def with_second_places(draft: Draft, lines: Sequence[FoundLines]) -> Draft:
    """The draft with further lines among those that it is compared with, each once."""
    own = draft.own_excerpt or draft.excerpt
    fresh = [each for each in dict.fromkeys(lines) if not _has_lines(draft, [each])]
    if not fresh:
        return draft
    added = "".join(f"\n# --- {each.place}\n{each.text}\n" for each in fresh)
    longer = f"{own.rstrip()}\n{added}"
    return draft.model_copy(
        update={
            "own_excerpt": longer if draft.own_excerpt else "",
            "excerpt": longer + draft.excerpt[len(own) :],
            "second_places": tuple(dict.fromkeys([*draft.second_places, *(each.symbol for each in fresh)])),
        }
    )


def _complaints(answer: Searched, statements: int, lines: int) -> Iterator[str]:
    numbers = sorted(found.statement for found in answer.statements)
    if numbers != list(range(1, statements + 1)):
        yield f"statements: answer for each from 1 to {statements} once; the answer has {numbers}"
    for found in answer.statements:
        if unknown := [n for n in found.lines if not 1 <= n <= lines]:
            yield f"statements: of {found.statement}, there are no lines {unknown[0]}; there are 1 to {lines}"
        elif found.verdict != "not" and not (found.lines and found.remark.strip()):
            yield (
                f"statements: {found.statement} is '{found.verdict}' without lines or remark: say which, and what they "
                "do"
            )
