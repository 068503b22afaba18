"""Renders a paper for a coding agent as pairs of a technique and its complete code, in build order.

If the budget is too small, tests are omitted first, then the longest pairs, so that as many pairs as possible are
included."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate

from xkg.llm.prices import tokens
from xkg.model import Code, Level
from xkg.serve.answers.quoting import fenced, quoted
from xkg.serve.context.fitting import Step, document, reach, room
from xkg.serve.context.parts import Chosen, CodeForm, inline

_HEAD, _PAIRS, _UNFIT, _WITHOUT = range(4)


@dataclass(frozen=True)
class Pair:
    """A technique and its code. `text` excludes the test. `place` is the position in the build order. `name` is the
    line to show if the pair is too long."""

    technique: str
    place: int
    name: str
    text: str
    test: str


def implementation(
    chosen: Chosen, budget_tokens: int, form: CodeForm, raw: Mapping[str, str], why_not: str
) -> tuple[str, tuple[str, ...], str]:
    """Returns the Markdown, the included techniques in build order, and the last line, which lists what was omitted.
    `raw` maps code ids to raw lines, and `why_not` is the reason why any raw lines are missing. Raises `InputError` if
    the budget is too small."""
    pairs, without = _pairs(chosen, form, raw)
    shortest = sorted(pairs, key=lambda pair: (len(pair.text), pair.place))
    with_code = "code" in chosen.include
    head = chosen.head("Code of the paper" if with_code else "Techniques of the paper")
    steps = [Step("head", (_HEAD,), f"{head}\n\n{_ORDERED}" + f" {_EXPLAINED[form]}" * with_code)]
    steps += [Step("pair", (_PAIRS, pair.place, 0), pair.text) for pair in shortest]
    tests = sum(bool(pair.test) for pair in pairs)

    def left_out(pairs_in: int, names_in: int = 0, tests_in: int = 0) -> str:
        missed = len(pairs) - pairs_in
        what = "pairs" if with_code else "techniques"
        parts = [f"{missed} of {len(pairs)} {what}" + f", {missed - names_in} of them unnamed" * (names_in < missed)]
        parts = parts if missed else []
        parts += [_counted(tests - tests_in, "test")] if tests > tests_in else []
        rendered = f"{_counted(len(without), 'technique')} {_WITHOUT_CODE[form]}" + f" ({why_not})" * bool(why_not)
        parts += [rendered] if without else []
        return f"\nLeft out: {'; '.join(parts) or 'nothing'}."

    # Pairs that are too long are listed by name. The names take up at most a quarter of the budget.
    characters = room(budget_tokens)
    named = list(accumulate((len(pair.name) + 1 for pair in reversed(shortest)), initial=len(_TOO_LONG)))

    def rest(done: int) -> int:
        missed = len(pairs) - (done - 1) if done > 1 else 0
        return len(left_out(done - 1)) + (min(characters // 4, named[missed]) if missed else 0)

    done = reach(steps, characters, rest)
    fitting, missed = shortest[: done - 1], sorted(shortest[done - 1 :], key=lambda pair: pair.place)
    steps = steps[:done]
    steps += [Step("name", (_UNFIT, n), _TOO_LONG * (n == 0) + pair.name) for n, pair in enumerate(missed)]
    if without:
        names = "; ".join(map(chosen.name, without))
        steps.append(Step("without", (_WITHOUT, 0), f"\n## Techniques {_WITHOUT_CODE[form]}\n\n- {names}"))
    for n, technique in enumerate(chosen.hidden if with_code and "techniques" in chosen.include else (), start=1):
        title = "\n## Components without code\n\n" * (n == 1)
        steps.append(Step("hidden", (_WITHOUT, n), title + chosen.without_code(technique)))
    steps += [Step("test", (_PAIRS, pair.place, 1), pair.test) for pair in fitting if pair.test]

    def last(reached: int) -> str:
        groups = [step.group for step in steps[:reached]]
        return left_out(groups.count("pair"), groups.count("name"), groups.count("test"))

    reached = reach(steps, characters, lambda n: len(last(n)))
    in_order = sorted(fitting, key=lambda pair: pair.place)
    text = document(steps[:reached], last(reached))
    return text, tuple(pair.technique for pair in in_order), last(reached).strip()


def _pairs(chosen: Chosen, form: CodeForm, raw: Mapping[str, str]) -> tuple[list[Pair], list[str]]:
    """Returns the pairs in build order, and the techniques that have no code in the requested form."""
    if "code" not in chosen.include:
        defined = [t for t in chosen.order if "techniques" in chosen.include and chosen.by_id[t].definition.strip()]
        return [_pair(chosen, t, n, _definition(chosen, t), "") for n, t in enumerate(defined)], []
    pairs, without = [], []
    for n, technique in enumerate(chosen.order):
        code = chosen.code.get(technique)
        text = None if code is None else _text(code, form, raw)
        if code is None or text is None:
            without.append(technique)
            continue
        lines = [_title(chosen, technique) + f" [{code.standing}]" * (form != "raw"), ""]
        others = chosen.uses[technique] if "techniques" in chosen.include else ()
        facts = [f"Uses: {chosen.names(others)}"] if others else []
        facts += [f"Packages: {', '.join(inline(name, 60) for name in code.versions)}"] if code.packages else []
        lines += [". ".join(facts) + ".", ""] if facts else []
        lines += [*_departures(code), ""] if code.departures and form != "raw" else []
        if "techniques" in chosen.include and chosen.by_id[technique].definition.strip():
            lines += [quoted(chosen.by_id[technique].definition), ""]
        lines.append(fenced(text, code.language))
        test = "\nTest:\n\n" + fenced(code.test, code.language) if code.test.strip() and form != "raw" else ""
        pairs.append(_pair(chosen, technique, n, "\n".join(lines), test))
    return pairs, without


def _departures(code: Code) -> list[str]:
    return ["Differs from the paper:", ""] + [
        f"- {inline(each.kind_in_words, 200)}: {inline(each.statement, 160)} ({inline(each.remark, 200)})"
        for each in code.departures
    ]


def _pair(chosen: Chosen, technique: str, place: int, text: str, test: str) -> Pair:
    name = f"- {chosen.name(technique)} {chosen.key(technique)}, {tokens(text):,} tokens"
    return Pair(technique, place, name, text, test)


def _title(chosen: Chosen, technique: str) -> str:
    return f"\n## {chosen.name(technique)} {chosen.key(technique)}"


def _definition(chosen: Chosen, technique: str) -> str:
    return f"{_title(chosen, technique)}\n\n{quoted(chosen.by_id[technique].definition)}"


def _text(code: Code, form: CodeForm, raw: Mapping[str, str]) -> str | None:
    match form:
        case "raw":
            return raw.get(code.id)
        case "rewritten":
            return code.implementation if code.implementation.strip() else None
        case "verified":
            return code.implementation if code.level.rank >= Level.EXECUTED.rank else None


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


_ORDERED = "In build order (dependencies first)."
_TOO_LONG = "\n## Too long for this budget; request these by id\n\n"
_EXPLAINED: dict[CodeForm, str] = {
    "raw": "Code: the repository lines from which the graph's code was generated, unchanged.",
    "rewritten": "Levels of the code are in brackets: none, parsed, imported, executed, tested or faithful.",
    "verified": "The tests of all code here have run; levels are in brackets: executed, tested or faithful.",
}
_WITHOUT_CODE: dict[CodeForm, str] = {
    "raw": "without lines in the repository",
    "rewritten": "without code",
    "verified": "without code whose test has run",
}
