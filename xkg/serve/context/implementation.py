"""Renders a paper for a coding agent as (technique, complete code) pairs in build order.

If the budget is too small, tests are omitted first, then the longest pairs, so that as many pairs as possible are
included."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from xkg.llm.prices import tokens
from xkg.model import Code, Level
from xkg.serve.answers.quoting import fenced, quoted
from xkg.serve.context.parts import Chosen, CodeForm, Step, document, inline, reach, room
from xkg.text.plural import plural

_HEAD, _PAIRS, _WITHOUT = range(3)
_MOST_NAMED = 10
"""Maximum number of omitted techniques to name in the last line."""


@dataclass(frozen=True)
class Pair:
    """A technique and its code. `text` excludes the test. `place` is the position in the build order. If the budget is
    too small for the pair, only `name` is shown."""

    technique: str
    place: int
    name: str
    text: str
    test: str


def implementation(
    chosen: Chosen, budget_tokens: int, form: CodeForm, raw: Mapping[str, str], why_not: str
) -> tuple[str, tuple[str, ...], str]:
    """Returns the Markdown, the included techniques in build order, and the last line, which lists what was omitted.
    `raw` maps code ids to raw lines, and `why_not` says why raw lines are missing, if any are. Raises `InputError` if
    the budget is too small."""
    pairs, without = _pairs(chosen, form, raw)
    shortest = sorted(pairs, key=lambda pair: (len(pair.text), pair.place))
    with_code = "code" in chosen.include
    head = chosen.head("Code of the paper" if with_code else "Techniques of the paper")
    steps = [Step("head", (_HEAD,), f"{head}\n\n{_ORDERED}" + f" {_EXPLAINED[form]}" * with_code)]
    steps += [Step("pair", (_PAIRS, pair.place, 0), pair.text) for pair in shortest]
    for n, technique in enumerate(chosen.hidden if with_code and "techniques" in chosen.include else ()):
        title = "\n## Components without code\n\n" * (n == 0)
        steps.append(Step("hidden", (_WITHOUT, n), title + chosen.without_code(technique)))
    tests = [Step("test", (_PAIRS, pair.place, 1), pair.test) for pair in shortest if pair.test]
    steps += tests

    def left_out(reached: int) -> str:
        groups = Counter(step.group for step in steps[:reached])
        parts = []
        if missed := shortest[groups["pair"] :]:
            what = "pairs" if with_code else "techniques"
            parts.append(f"{len(missed)} of {len(pairs)} {what}{_named([pair.name for pair in missed])}")
        if groups["test"] < len(tests):
            parts.append(plural(len(tests) - groups["test"], "test"))
        if without:
            why = f" ({why_not})" if why_not else ""
            names = _named([chosen.name(technique) for technique in without])
            parts.append(f"{plural(len(without), 'technique')} {_WITHOUT_CODE[form]}{why}{names}")
        return f"\nLeft out: {'; '.join(parts) or 'nothing'}."

    reached = reach(steps, room(budget_tokens), lambda n: len(left_out(n)))
    fitting = {step.place[1] for step in steps[:reached] if step.group == "pair"}
    text = document(steps[:reached], left_out(reached))
    return text, tuple(pair.technique for pair in pairs if pair.place in fitting), left_out(reached).strip()


def _named(names: list[str]) -> str:
    return f": {', '.join(names[:_MOST_NAMED])}{', …' * (len(names) > _MOST_NAMED)}"


def _pairs(chosen: Chosen, form: CodeForm, raw: Mapping[str, str]) -> tuple[list[Pair], list[str]]:
    """Returns the pairs in build order, and the techniques that have no code in the requested form."""
    if "code" not in chosen.include:
        defined = [t for t in chosen.order if "techniques" in chosen.include and chosen.by_id[t].definition.strip()]
        texts = [f"{_title(chosen, t)}\n\n{quoted(chosen.by_id[t].definition)}" for t in defined]
        return [_pair(chosen, t, n, text, "") for n, (t, text) in enumerate(zip(defined, texts, strict=True))], []
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
    return Pair(technique, place, f"{chosen.key(technique)} ({tokens(text):,} tokens)", text, test)


def _title(chosen: Chosen, technique: str) -> str:
    return f"\n## {chosen.name(technique)} {chosen.key(technique)}"


def _text(code: Code, form: CodeForm, raw: Mapping[str, str]) -> str | None:
    match form:
        case "raw":
            return raw.get(code.id)
        case "rewritten":
            return code.implementation if code.implementation.strip() else None
        case "verified":
            return code.implementation if code.level.rank >= Level.EXECUTED.rank else None


_ORDERED = "In build order (dependencies first)."
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
