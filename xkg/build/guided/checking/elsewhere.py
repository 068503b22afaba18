"""Before it is said that a repository does not do what a definition says: does it, in lines that were not compared?"""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from xkg.build.grounding.statement_search import FoundLines
from xkg.build.guided.checking.debug import Debugged
from xkg.build.guided.draft import Draft, prompt
from xkg.build.similarity.fidelity import share
from xkg.errors import AnswerError, EmbeddingError
from xkg.llm.client import AnswerType, Ask
from xkg.model import Departure, Fault, Fidelity
from xkg.value import Value

Search = Callable[[str, Sequence[str], str, Sequence[str]], Sequence[FoundLines]]
"""Lines of a repository for a technique's name and statements, without what is shown already, first those whose
symbols are named like these (ids)."""

_MOST_DEPARTURES = 8


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


class Elsewhere:
    """Corrects the departures of one technique's drafts, with one question for all of them. Without a `search`
    that works, or without a usable answer, departures stay as they are: found in the lines that were compared."""

    def __init__(self, search: Search | None, ask: Ask) -> None:
        self._search = search
        self._ask = ask
        self._known: dict[tuple[str, str], _Known] | None = None

    def corrected(self, state: Debugged, fidelity: Fidelity | None) -> tuple[Debugged, Fidelity | None]:
        """The draft with lines that do what was missed, and fidelity without departures that do not hold. What the
        repository does and the module should do, too, is a fault (`missing`). Raises `ModelUnavailableError` and
        `BudgetError` as `ask` does."""
        if fidelity is None or not fidelity.departures:
            return state, fidelity
        if self._known is None:
            self._known = self._asked(state.draft, fidelity.departures)
        departures: list[Departure] = []
        faults = list(fidelity.faults or ())
        second: list[FoundLines] = []
        for departure in fidelity.departures:
            known = self._known.get((departure.statement, departure.kind))
            if known is None:
                departures.append(departure)
                continue
            does = known.found.verdict == "does"
            places = ", ".join(each.place for each in known.lines)
            remark = f"{' '.join(known.found.remark.split())} ({places})"
            if does and (known.found.belongs or departure.kind == "added"):
                second += known.lines
            if does and departure.kind == "added":
                continue
            if does and known.found.belongs:
                faults.append(Fault(kind="missing", remark=f"what other lines of the repository do: {remark}"))
            if does:
                corrected = {"kind": "elsewhere", "remark": remark, "searched": True}
                departures.append(departure.model_copy(update=corrected))
            else:
                departures.append(departure.model_copy(update={"searched": True}))
        draft = with_second_places(state.draft, second)
        update: dict[str, object] = {"departures": tuple(departures)}
        if draft != state.draft:
            update["share"] = max(fidelity.share, share(draft.implementation, draft.excerpt, draft.scope))
        if fidelity.faults is not None:
            update["faults"] = tuple(faults)
        return state.model_copy(update={"draft": draft}), fidelity.model_copy(update=update)

    def _asked(self, draft: Draft, departures: Sequence[Departure]) -> dict[tuple[str, str], _Known]:
        asked = departures[:_MOST_DEPARTURES]
        if self._search is None:
            return {}
        statements = tuple(dict.fromkeys(each.statement for each in asked))
        shown = f"{draft.own_excerpt or draft.excerpt}\n{draft.beside}"
        try:
            lines = tuple(self._search(draft.name, statements, shown, draft.sources))
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
            "lines": "\n\n".join(f"[{n}] {each.place}\n{each.text}" for n, each in enumerate(lines, start=1)),
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


def with_second_places(draft: Draft, lines: Sequence[FoundLines]) -> Draft:
    """The draft with further lines among those that it is compared with, each once."""
    own = draft.own_excerpt or draft.excerpt
    fresh = [each for each in dict.fromkeys(lines) if f"# --- {each.place}\n" not in own]
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
        elif found.verdict == "does" and not (found.lines and found.remark.strip()):
            yield f"statements: {found.statement} is 'does' without lines or remark: say which, and what they do"
