"""Where the cross-references of a paper lead: from "see Lemma B.3" or "details in Appendix C" to the passages there."""

import re
from collections.abc import Iterable, Iterator, Mapping

from xkg.build.guided.reading.passages import Passages
from xkg.build.paper.document import Document, Section

# Mathpix writes "Lemma B. 3"; LaTeX leaves a tie between the two.
_NUMBER = r"([A-Z](?:\.[ ]?\d{1,3}){0,3}|\d{1,3}(?:\.[ ]?\d{1,3}){0,3})(?![\w.]{0,20}\d)"
_STATEMENT = re.compile(
    rf"\b(Lemma|Theorem|Proposition|Corollary|Definition|Assumption|Condition|Algorithm|Procedure)[ ~]{{1,3}}{_NUMBER}"
)
_APPENDIX = re.compile(rf"\b(?:Appendix|Appendices|App\.|Supplement|Section|Sec\.|§)[ ~]{{0,3}}{_NUMBER}")
_EQUATION = re.compile(
    r"\b(?:Equations?|Eqs?\.|Eqn\.)[ ~]{0,3}\(?(\d{1,3})\)?(?:(?:,| and| or|–|-)[ ~]{0,3}\(?(\d{1,3})\)?)?"
)
_NUMBERED = re.compile(r"\$ \((\d{1,3})\)(?!\w)")


def referenced(numbers: Iterable[int], passages: Passages) -> list[frozenset[int]]:
    """What the passages of these numbers refer to, in their order, as numbers of passages: the one in which a lemma,
    algorithm or the like is stated, or an equation stands, and those of a part of the appendix. Other sections are near
    enough to be found without, and what is referred to and not there is left out."""
    stated, equations = _statements(passages), _equations(passages)
    appendix = dict(_appendix(passages.document))
    found: dict[frozenset[int], None] = {}
    for number in dict.fromkeys(numbers):
        text = passages[number].text
        for match in _STATEMENT.finditer(text):
            target = stated.get((match[1], _plain(match[2])))
            if target is not None and target != number:
                found.setdefault(frozenset((target,)))
        for match in _EQUATION.finditer(text):
            for name in match.groups():
                target = equations.get(name or "")
                if target is not None and target != number:
                    found.setdefault(frozenset((target,)))
        for match in _APPENDIX.finditer(text):
            section = appendix.get(_plain(match[1]))
            if section is None or section.start <= passages[number].start < section.end:
                continue
            inside = frozenset(p.number for p in passages.listed if section.start <= p.start < section.end)
            if inside:
                found.setdefault(inside)
    return list(found)


def _statements(passages: Passages) -> Mapping[tuple[str, str], int]:
    """The passage that states each lemma, algorithm and the like: the one that begins with its name and number."""
    found: dict[tuple[str, str], int] = {}
    for passage in passages.listed:
        if match := _STATEMENT.match(passage.text.lstrip("*# ")):
            found.setdefault((match[1], _plain(match[2])), passage.number)
    return found


def _equations(passages: Passages) -> Mapping[str, int]:
    """The passage in which each numbered equation stands."""
    found: dict[str, int] = {}
    for passage in passages.listed:
        for match in _NUMBERED.finditer(passage.text):
            found.setdefault(match[1], passage.number)
    return found


def _appendix(document: Document) -> Iterator[tuple[str, Section]]:
    """The parts of the appendix by their numbers, which a LaTeX source leaves to the compiler: A, B, … in order."""

    def below(section: Section, number: str) -> Iterator[tuple[str, Section]]:
        yield number, section
        for n, child in enumerate((c for c in section.children if c.level < 4), start=1):
            yield from below(child, _plain(child.number) if child.number else f"{number}.{n}")

    letters = iter("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    for section in document.sections:
        if section.appendix and (number := _plain(section.number or "") or next(letters, "")):
            yield from below(section, number)


def _plain(number: str) -> str:
    return number.replace(" ", "").strip(".")
