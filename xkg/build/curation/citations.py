"""Finds where and how a paper cites each of its references."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence

from xkg.build.curation.curated_set import Mention
from xkg.build.paper.latex.bibliography import citations as latex_citations
from xkg.build.techniques.definitions import Reader
from xkg.build.techniques.section_roles import Part, Role, part_at
from xkg.model import Reference

_YEAR = re.compile(r"(?<![\d.])((?:19|20)\d\d)([a-z]?(?:\s?[,;]\s?[a-z]\b){0,5}+)(?![\d.]\d)")
_NUMBERS = re.compile(r"\[(\d{1,3}(?:\s?[,;–-]\s?\d{1,3}){0,40})\]")
_LONGEST_GAP = 90  # characters between a surname and the year
_LONGEST_SENTENCE = 600
_BIBLIOGRAPHY = re.compile(r"(?i)references|bibliography|literature cited")


def mentions(reader: Reader, parts: Sequence[Part]) -> list[list[Mention]]:
    """Returns the mentions of each reference in reading order. Each sentence counts as at most one mention."""
    document = reader.document
    end = _end_of_text(reader)
    if document.format == "latex":
        numbers = {reference.key: n for n, reference in enumerate(document.references) if reference.key}
        cited = [(at, [numbers[key] for key in keys if key in numbers]) for at, keys in latex_citations(document.text)]
    else:
        cited = list(_author_year(document.text[:end], document.references))
        by_number = list(_numbered(document.text[:end], len(document.references)))
        cited = max(cited, by_number, key=lambda found: len({n for _, each in found for n in each}))
    starts = [sentence.start for sentence in reader.sentences]
    sentences: dict[int, list[tuple[int, list[int]]]] = defaultdict(list)
    for at, numbers_there in cited:
        if numbers_there and at < end:
            sentences[bisect_right(starts, at) - 1].append((at, numbers_there))
    found: list[list[Mention]] = [[] for _ in document.references]
    for index, places in sentences.items():
        together = {n for _, numbers_there in places for n in numbers_there}
        mention = _mention(reader, parts, index, places[0][0], len(together))
        for n in sorted(together):
            found[n].append(mention)
    return found


def _end_of_text(reader: Reader) -> int:
    walk = reader.document.walk()
    return next((s.start for s in reversed(walk) if _BIBLIOGRAPHY.match(s.title)), len(reader.document.text))


def _mention(reader: Reader, parts: Sequence[Part], index: int, at: int, together: int) -> Mention:
    sentence = reader.sentences[index] if index >= 0 else None
    near = sentence is not None and at < sentence.end + 400
    part = part_at(parts, at)
    role = part.role if part is not None else (reader.role(index) if index >= 0 else Role.ABSTRACT)
    return Mention(
        section=part.title if part is not None else "",
        role=role.value,
        sentence=sentence.text[:_LONGEST_SENTENCE] if sentence is not None and near else "",
        together=together,
    )


def _numbered(text: str, count: int) -> Iterator[tuple[int, list[int]]]:
    for match in _NUMBERS.finditer(text):
        numbers: list[int] = []
        for first, last in re.findall(r"(\d+)(?:\s?[–-]\s?(\d+))?", match[1]):
            numbers += range(int(first), min(int(last or first), count) + 1)
        yield match.start(), [n - 1 for n in numbers if 1 <= n <= count]


def _author_year(text: str, references: Sequence[Reference]) -> Iterator[tuple[int, list[int]]]:
    of_year: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
    for n, reference in enumerate(references):
        surname = first_surname(reference)
        if reference.year and surname:
            letter = re.search(rf"{reference.year}([a-z])\b", reference.text or "")
            of_year[str(reference.year)].append((n, surname, letter[1] if letter else ""))
    before = 0
    for match in _YEAR.finditer(text):
        window = text[max(before, match.start() - _LONGEST_GAP) : match.start()]
        before = match.end()
        places = [(window.rfind(surname), n, letter) for n, surname, letter in of_year.get(match[1], ())]
        last = max((at for at, _, _ in places), default=-1)
        if last >= 0:
            same = [(n, letter) for at, n, letter in places if at == last]
            exact = [n for n, letter in same if letter and letter in match[2]] or [n for n, _ in same]
            yield match.start(), exact


def first_surname(reference: Reference) -> str:
    """Returns the first author's surname, or '' if the entry does not begin with a name."""
    text = reference.cited_as or reference.text or ""
    if reference.cited_as:
        return re.split(r" (?:et al|and)\b|[,(&]", text)[0].strip()
    head = re.split(r",| and |&|(?<=[^\W\d_]{2})\.\s|:", text[:120])[0].strip()
    words = head.split()
    if not words or not words[0][0].isalpha() or len(words) > 5:
        return ""
    followed_by_initials = re.match(r",\s{0,3}(?:[^\W\d_]\.|[^\W\d_][^\W\d_]?\.)", text[len(head) :])
    return head if followed_by_initials or len(words) == 1 else words[-1]
