"""Passages of a paper that name a procedure and that no definition of its techniques covers: formulas with a named left
side, statements, heads, and sentences in which the authors say what they do, in the method or to judge it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xkg.build.grounding.index.identifier_words import stems
from xkg.build.guided.reading.passages import Passage, Passages
from xkg.build.techniques.section_roles import Role, role_of_title
from xkg.model import Technique

MOST = 14
_LONGEST = 350
_LONGEST_LEFT_SIDE = 40
# The share of a sentence's words that one definition has, or of a head's that a name or definition has.
_COVERED = 0.45
_ROLES = frozenset({Role.METHOD, Role.APPLICATION, Role.DETAILS})
# Parts with older algorithms, bounds, baselines and measures of quality.
_BESIDE = frozenset({Role.BACKGROUND, Role.THEORY, Role.EXPERIMENTS})
_DONE = (
    r"use|adopt|employ|apply|follow|propose|introduce|define|compute|calculate|estimate|initiali[sz]e|select|choose|search|"
    r"optimi[sz]e|refine|combine|tune|approximate|generali[sz]e|replace|restrict|penali[sz]e|normali[sz]e|fit|regress|"
    r"cluster|transform|simulate|generate|split|measure|test|quantify|inspect|evaluate|compare"
)
_STEP = re.compile(
    rf"\b[Ww]e\s(?:(?:also|then|first|further|instead|finally|additionally|therefore|next|now|can)\s)?(?:{_DONE})\b"
    r"|\b(?:grid search|line search|early stopping|burn-in|stopping (?:rule|criterion)|convergence criterion|"
    r"first stage|second stage|two[- ]stages?|baselines?|(?:error|upper|lower) bounds?|"
    r"(?:is|are) (?:then )?(?:initiali[sz]ed|optimi[sz]ed|refined|selected|computed|clustered|measured))\b"
)
_PROOF = re.compile(r"\s*+(?:Proof|Sketch|Remark|Example)\b", re.IGNORECASE)
_RELATION = re.compile(
    r"\\(?:equiv|coloneqq|triangleq|doteq|leftarrow|gets|propto|approx|sim|le|leq|ge|geq)(?![A-Za-z])|:?="
)
_LAYOUT = re.compile(
    r"\\(?:left|right|displaystyle|limits|nonumber|quad|qquad|bigl?|bigr?|Bigl?|Bigr?|[,;:!> ])(?![A-Za-z])"
    r"|\\(?:begin|end|label|tag)\s{0,3}\{[^{}]{0,80}\}|[\s{}&~]|\\\\"
)
_FONT = re.compile(
    r"\\(?:math\w{1,10}|boldsymbol|bm|text\w{0,6}|operatorname\*?|vec|hat|tilde|bar|rm|bf|cal)(?![A-Za-z])"
)
_ARGUMENT = re.compile(r"[(\[][^()\[\]]{0,60}[)\]]|\|.{0,40}$")
_LETTER = re.compile(r"[A-Za-z]")


@dataclass(frozen=True)
class Uncovered:
    """A passage, and what of it is covered by no definition."""

    passage: int
    text: str


def uncovered(passages: Passages, techniques: Sequence[Technique]) -> list[Uncovered]:
    """At most fourteen in reading order, none that a technique cites; where there are more, formulas and statements
    come before heads, these before steps of the method, these before sentences of other parts, and of each those with
    the least in common with a definition."""
    described = [frozenset(stems(f"{t.name} {' '.join(t.aliases)} {t.definition}")) for t in techniques]
    formulas = _normal(" ".join(t.definition for t in techniques))
    cited = set(passages.at([excerpt for t in techniques for excerpt in t.excerpts]))
    found: dict[int, tuple[int, float, list[str]]] = {}
    for rank, shared, number, text in [
        *_equations(passages, formulas),
        *_statements(passages, described),
        *_heads(passages, described, [frozenset(stems(" ".join((t.name, *t.aliases)))) for t in techniques]),
        *_steps(passages, described),
    ]:
        if number in cited:
            continue
        _, _, texts = found.setdefault(number, (rank, shared, []))
        if text not in texts and sum(map(len, texts)) + len(text) <= _LONGEST + 100:
            texts.append(text)
    best = sorted(found, key=lambda number: (*found[number][:2], number))[:MOST]
    return [Uncovered(number, " […] ".join(found[number][2])) for number in sorted(best) if found[number][2]]


_Found = Iterator[tuple[int, float, int, str]]  # rank, share of its words that a definition has, passage, text


def _equations(passages: Passages, formulas: str) -> _Found:
    """Numbered equations whose left side no definition has."""
    for equation in passages.document.equations:
        left = left_side(equation.latex) if equation.numbers else ""
        if not left or left in formulas:
            continue
        place = _passage_at(passages, equation.start)
        if place is not None and place.role in (*_ROLES, *_BESIDE) and not _PROOF.match(place.text):
            body = " ".join(equation.latex.split())
            body = f"${body}$" if len(body) <= _LONGEST // 2 else f"a formula for ${left_latex(equation.latex)}$"
            before = next((p.text for p in place.pieces if p.spans[0][0] <= equation.start < p.spans[-1][1]), "")
            words = before.partition("$")[0].strip()[-_LONGEST // 3 :]
            yield 0, 0.0, place.number, f"{words} {body}".strip()


def _statements(passages: Passages, described: Sequence[frozenset[str]]) -> _Found:
    """Definitions, conditions, theorems."""
    for passage in passages.listed:
        if passage.kind == "statement" and passage.role is not Role.BACK and not _PROOF.match(passage.text):
            shared = _shared(passage.text, described)
            if shared < _COVERED:
                yield 0, shared, passage.number, _cut(passage.text)


def _shared(text: str, described: Sequence[frozenset[str]]) -> float:
    """The largest share of a text's words that one definition has; 1 for a text without words."""
    words = frozenset(stems(text))
    return max((len(words & each) for each in described), default=0) / len(words) if words else 1.0


def _passage_at(passages: Passages, offset: int) -> Passage | None:
    around = [p for p in passages.listed if any(a <= offset < b for piece in p.pieces for a, b in piece.spans)]
    return around[0] if around else None


def _heads(passages: Passages, described: Sequence[frozenset[str]], named: Sequence[frozenset[str]]) -> _Found:
    """Heads with what follows: run-in heads and deep ones of the method with words that no definition has, and of any
    part those that do not say what kind of part it is and have words that no name has."""
    everything = frozenset().union(*described)
    seen: set[int] = set()
    for passage in passages.listed:
        part = passage.part
        if part is None or id(part) in seen:
            continue
        seen.add(id(part))
        is_step = part.role in _ROLES and (part.run_in or part.level >= 4)
        names = part.parent is not None and part.role in (*_BESIDE, *_ROLES, Role.RELATED)
        if is_step or (names and role_of_title(part.title) is None):
            words = frozenset(stems(part.title))
            covered = everything if is_step else max(named, key=lambda each: len(words & each), default=frozenset())
            if words - covered:
                shared = len(words & covered) / len(words)
                text = passage.pieces[0].text if is_step else passage.text
                yield 1, shared, passage.number, _cut(f"{part.title}: {text}")


def _steps(passages: Passages, described: Sequence[frozenset[str]]) -> _Found:
    """Sentences that say what the authors do."""
    for passage in passages.listed:
        if passage.role not in (*_ROLES, *_BESIDE) or passage.kind not in ("text", "statement", "footnote"):
            continue
        for i, piece in enumerate(passage.pieces):
            if _STEP.search(piece.text) and not _PROOF.match(passage.text):
                shared = _shared(piece.text, described)
                if shared < _COVERED:
                    follow = "" if passage.role in _ROLES else " ".join(p.text for p in passage.pieces[i + 1 :])
                    text = _cut(f"{piece.text} {follow}".rstrip())
                    yield 2 if passage.role in _ROLES else 3, shared, passage.number, text


def left_latex(latex: str) -> str:
    """What stands before the relation of an equation, as the paper writes it."""
    match = _RELATION.search(latex)
    return " ".join(latex[: match.start()].split()) if match else ""


def left_side(latex: str) -> str:
    """What an equation defines, as `_normal` writes it and without its arguments; empty where that is no short symbol
    of a letter."""
    match = _RELATION.search(latex)
    if match is None:
        return ""
    left = _normal(latex[: match.start()])
    left = _ARGUMENT.sub("", left)
    return left if left and len(left) <= _LONGEST_LEFT_SIDE and _LETTER.search(left) else ""


def _normal(latex: str) -> str:
    """LaTeX without layout, fonts and braces."""
    return _LAYOUT.sub("", _FONT.sub("", latex))


def _cut(text: str) -> str:
    """The beginning of a text, up to a whole word, and to the last whole formula."""
    if len(text) <= _LONGEST:
        return text
    start = text[:_LONGEST].rpartition(" ")[0]
    if start.count("$") % 2:
        start = start.rpartition("$")[0].rstrip()
    return f"{start} …"
