"""Passages of a paper's method that no definition of its techniques covers: formulas with a named left side, run-in
heads, and sentences in which the authors say what they do."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xkg.build.grounding.index.identifier_words import stems
from xkg.build.guided.reading.passages import Passage, Passages
from xkg.build.techniques.section_roles import Role
from xkg.model import Technique

MOST = 12
_LONGEST = 350
_LONGEST_LEFT_SIDE = 40
# The share of a sentence's words that one definition has, or of a head's that a name or definition has.
_COVERED = 0.45
_ROLES = frozenset({Role.METHOD, Role.APPLICATION, Role.DETAILS})
_STEP = re.compile(
    r"\b[Ww]e\s(?:(?:also|then|first|further|instead|finally|additionally|therefore|next|now)\s)?"
    r"(?:use|adopt|employ|apply|follow|propose|introduce|define|compute|estimate|initiali[sz]e|select|choose|search|"
    r"optimi[sz]e|refine|combine|tune|approximate|generali[sz]e|replace|restrict|penali[sz]e|normali[sz]e)\b"
    r"|\b(?:grid search|line search|early stopping|burn-in|stopping (?:rule|criterion)|convergence criterion|"
    r"first stage|second stage|two-stage|"
    r"(?:is|are) (?:then )?(?:initiali[sz]ed|optimi[sz]ed|refined|selected|computed))\b"
)
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
    """At most twelve, formulas before heads before sentences where there are more, in reading order."""
    described = [frozenset(stems(f"{t.name} {' '.join(t.aliases)} {t.definition}")) for t in techniques]
    formulas = _normal(" ".join(t.definition for t in techniques))
    found: dict[int, tuple[int, list[str]]] = {}
    for rank, number, text in [
        *_equations(passages, formulas),
        *_heads(passages, described),
        *_steps(passages, described),
    ]:
        _, texts = found.setdefault(number, (rank, []))
        if text not in texts and sum(map(len, texts)) + len(text) <= _LONGEST:
            texts.append(text)
    best = sorted(found, key=lambda number: (found[number][0], number))[:MOST]
    return [Uncovered(number, " […] ".join(found[number][1])) for number in sorted(best) if found[number][1]]


def _equations(passages: Passages, formulas: str) -> Iterator[tuple[int, int, str]]:
    """Numbered equations of the method whose left side no definition has."""
    for equation in passages.document.equations:
        left = left_side(equation.latex) if equation.numbers else ""
        if not left or left in formulas:
            continue
        place = _passage_at(passages, equation.start)
        if place is not None and place.role in (*_ROLES, Role.BACKGROUND):
            body = " ".join(equation.latex.split())[: _LONGEST // 2]
            before = next((p.text for p in place.pieces if p.spans[0][0] <= equation.start < p.spans[-1][1]), "")
            words = before.partition("$")[0].strip()[-_LONGEST // 3 :]
            yield 0, place.number, f"{words} ${body}$".strip()


def _passage_at(passages: Passages, offset: int) -> Passage | None:
    around = [p for p in passages.listed if any(a <= offset < b for piece in p.pieces for a, b in piece.spans)]
    return around[0] if around else None


def _heads(passages: Passages, described: Sequence[frozenset[str]]) -> Iterator[tuple[int, int, str]]:
    """Run-in heads of the method, with the sentence that follows."""
    everything = frozenset().union(*described)
    seen: set[int] = set()
    for passage in passages.listed:
        part = passage.part
        if part is None or id(part) in seen or not (part.run_in or part.level >= 4) or part.role not in _ROLES:
            continue
        seen.add(id(part))
        words = frozenset(stems(part.title))
        if words and len(words & everything) < len(words):
            yield 1, passage.number, f"{part.title}: {_cut(passage.pieces[0].text)}"


def _steps(passages: Passages, described: Sequence[frozenset[str]]) -> Iterator[tuple[int, int, str]]:
    """Sentences that say what the authors do."""
    for passage in passages.listed:
        if passage.role not in _ROLES or passage.kind not in ("text", "statement", "footnote"):
            continue
        for piece in passage.pieces:
            words = frozenset(stems(piece.text))
            if _STEP.search(piece.text) and words:
                shared = max((len(words & each) for each in described), default=0)
                if shared < _COVERED * len(words):
                    yield 2, passage.number, _cut(piece.text)


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
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
