"""Extracts the identifiers, year and author names from a paper's front matter."""

import re
import unicodedata
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from xkg.text.arxiv_id import arxiv_id

ARXIV = re.compile(
    r"(?ai)(?:arxiv(?:\.org)?\s{0,5}+(?:preprint)?\s{0,5}+[:/]?\s{0,5}+(?:arxiv:|abs/|pdf/)?\s{0,5}+|eprint\s{0,5}+[:=]\s{0,5}+)"
    r"(?P<id>\d{4}\.\d{4,5}|[a-z-]{2,10}(?:\.[A-Z]{2})?/\d{7})(?!\d)"
)
DOI = re.compile(r"(?<![\w.])(10\.[0-9]{4,9}/[^\s\"<>{}$|\\,;]{1,200})")
_VENUE = re.compile(
    r"(?i)(?:copyright\s+(?:\(c\)\s*|©\s*)?|(?:neurips|nips|icml|iclr|cvpr|aaai|acl|emnlp|eccv|iccv|aistats|colm|tmlr|uai|corl|naacl|ijcai|kdd)"
    r"[_\s-]?(?:conference)?[_\s-]?)((?:19|20)\d\d)(?!\d)|PMLR\s+\d+[:,]\s*(?:\d+[-–]\d+,\s*)?((?:19|20)\d\d)"
    r"|\((?:neurips|nips|icml|iclr)\s+((?:19|20)\d\d)\)"
)
_INSTITUTION = re.compile(
    r"(?i)universi|institut|department|school|laborator|\blabs?\b|college|academy|centre|center|research|inc\b|corp|"
    r"google|deepmind|meta\b|microsoft|openai|amazon|fa[ck]ult|group|team|student|equal|contribut|correspond|http|street|road|\bai\b|"
    r"\b(?:univ|uc|eth|epfl|tech|inria|cnrs|csail|nvidia)\b"
)
_PARTICLES = frozenset(
    ("van", "von", "de", "der", "den", "del", "della", "di", "da", "dos", "du", "la", "le", "el", "al", "bin", "ibn",
     "ter", "ten", "y", "e", "st", "jr", "jr.", "iii", "ii",)
)  # fmt: skip
_NAME_WORD = re.compile(r"[^\W\d_][^\W\d_'’.\-]*(?:[-'’][^\W\d_]+)*\.?-?(?:[^\W\d_]\.)*")


def arxiv_id_in(text: str) -> str | None:
    match = ARXIV.search(text)
    known = arxiv_id(match["id"]) if match else None
    return known.number if known is not None else None


def doi_in(text: str) -> str | None:
    match = re.search(r"(?i)(?:doi[:\s.{]|acmDOI\s*\{|doi\.org/)\s{0,5}" + DOI.pattern, text)
    return match[1].rstrip(".)]") if match else None


def venue_year(text: str) -> int | None:
    """Returns the year of the venue, from a copyright line, a proceedings line or the name of a conference style
    file."""
    match = _VENUE.search(text)
    return int(next(group for group in match.groups() if group)) if match else None


def first_year(number: str | None) -> int | None:
    """Returns the year in a new-style arXiv id (`2006.10726` → 2020)."""
    match = re.fullmatch(r"([0-9]{2})(?:0[1-9]|1[0-2])\.[0-9]{4,5}", number or "")
    return 2000 + int(match[1]) if match else None


def is_person(text: str) -> bool:
    words = text.split()
    if not 2 <= len(words) <= 5 or _INSTITUTION.search(text) or "@" in text:
        return False
    return all(word.lower() in _PARTICLES or (word[0].isupper() and bool(_NAME_WORD.fullmatch(word))) for word in words)


NOBODY = re.compile(
    r"(?i)(?:anonymous|first|second|third|fourth|corresponding) authors?|author (?:name|one|two|three)|another author"
    r"|no author given|paper search|(?:paper|submission) id|作者名?"
    # from the templates of NeurIPS, ICLR and ICML
    r"|.*hippocampus|natalia cerebro|amelie p\. amygdale|ji q\. ren|yevgeny lenet"
    r"|\w+ (?:\w\. )?(?:zzzz|yyyy|vvvvv|saoeu|rrrr|yasehe|iasoh|eueu|xxxx|pppp)"
)
_MAIL = re.compile(r"[(<\[]?(?:\{[^{}@]{0,300}\}|[^\s@,;(<\[{}]{1,80})\s?@[^\s@,;)>\]]{1,80}[)>\]]?")
# Digits and symbols next to a name refer to affiliations and notes.
_POINTERS = re.compile(r"(?:[\d⁰¹²³⁴-⁹*∗⋆★†‡§¶‖#]+[\s,]{0,3})+(?:[a-z](?=[\s,]|$))?")
_APART = re.compile(r"[,;|·•&—\n，、；]|(?:^|(?<=\s))(?:and|AND)(?=\s|$)|\s{2,}")
_GRADE = re.compile(
    r"(?i)(?:(?:graduate|student|senior|life|associate|affiliate)\s)*(?:member|fellow)|ieee|acm|osa|siam"
    r"|ph\.?\s?d\.?|m\.?d\.?"
)
_ASIDE = re.compile(r"(?i)\([^()]{0,200}\)|^\W*(?:authors?\s*:|by\b\s*:?)")  # an affiliation or a row label
_SUFFIX = re.compile(r",\s*(?=(?:[JS]r|I{2,3}|IV)(?![\w-]))")  # a suffix that belongs to the preceding name
_AND = re.compile(r"\s(?:y|e|et|und|en|og|och)\s")
_WORDS_OF_TWO = 4
_LONGEST_PAIR = 200


@dataclass(frozen=True)
class FrontRow:
    """A line of text between the title and the body. Superscript symbols are replaced with `*` or `†`. `look` is the
    row's font, and `apart` is True if there is a gap above it."""

    text: str
    look: Hashable = ""
    apart: bool = False


def listed_authors(rows: Sequence[FrontRow]) -> tuple[str, ...]:
    """Returns the authors from rows of names, either in a list or in blocks with a name above its affiliation. Returns
    () if there are none, or if names and other words cannot be told apart."""
    names: list[str] = []
    first: FrontRow | None = None
    above = "other"
    for row, below in pairwise((*_whole_names(rows), FrontRow("", apart=True))):
        pieces, heads = may_be_names(row.text), row.apart and (not below.apart or _INSTITUTION.search(below.text))
        if not pieces:
            above = "mail" if "@" in row.text else above
        elif not all(map(is_person, pieces)):
            above = "mail" if "@" in row.text else "other"
        elif first is None or (row.look == first.look and (above in ("names", "mail") or heads)):
            if len(pieces) > 1 and "," not in row.text and any(map(_may_be_two, pieces)):
                return ()
            several = len(pieces) > 1 or "@" in row.text or _POINTERS.search(row.text) is not None
            first, above = first or row, "names" if several else "name"
            names += pieces
        elif above in ("names", "name") and not row.apart:
            return ()  # the words may be two names, or a name and a location
        else:
            above = "other"
    return tuple(name for name in dict.fromkeys(names) if not NOBODY.fullmatch(name))


def _whole_names(rows: Sequence[FrontRow]) -> Iterator[FrontRow]:
    """Merges each row that continues a name into the row above."""
    before: FrontRow | None = None
    for row in rows:
        if before is not None and not row.apart and row.look == before.look and _is_cut(before.text, row.text):
            before = replace(before, text=_joined(before.text, row.text))
            continue
        if before is not None:
            yield before
        before = row
    if before is not None:
        yield before


def _is_cut(text: str, following: str) -> bool:
    """Returns whether a name is split across two rows, that is, whether joining them leaves fewer words that are not
    names."""
    broken = text.endswith("-")
    if (following.isupper() and not broken) or not any(map(is_person, may_be_names(text))):  # "MIT" is not a name
        return False
    return broken or _others(_joined(text, following)) < _others(text) + _others(following)


def _joined(text: str, following: str) -> str:
    return text + ("" if text.endswith("-") else " ") + following


def _others(text: str) -> int:
    return sum(not is_person(piece) for piece in may_be_names(text))


def may_be_names(text: str) -> list[str]:
    """Returns the parts of a row that may be names."""
    text = _ASIDE.sub(" ", _MAIL.sub("\n", unicodedata.normalize("NFC", text)))  # an accent may be a separate character
    split = _APART.split(_SUFFIX.sub(" ", _POINTERS.sub("\n", text)))
    bare = (re.sub(r"(?<=[^\W\d_]{2})(?<![JS]r)\.$", "", piece.strip(" :–—-[]{}<>^")) for piece in split)
    kept = (piece for piece in bare if re.search(r"[^\W\d_]{2}", piece) and not _GRADE.fullmatch(piece))
    return [name for piece in kept for name in _two_names(piece)]


def _two_names(piece: str) -> list[str]:
    """Splits text at the word for "and" in another language if both sides are names. "Ortega y Gasset" is a single
    name."""
    for word in _AND.finditer(piece[:_LONGEST_PAIR]):
        pair = [piece[: word.start()], piece[word.end() :]]
        if all(map(is_person, pair)):
            return pair
    return [piece]


def in_order(text: str) -> list[str]:
    """Converts names such as "Lee, Ann and Cho, Bo" to the usual order, and any other text to an empty list."""
    names = []
    for part in filter(str.strip, re.split(r"[;&\n]|\s(?:and|AND)\s", text)):
        pair = [each.strip() for each in part.split(",")]
        name = " ".join(reversed(pair))
        whole = [each for each in pair if is_person(each) and each[0].isupper() and each[-1] != "."]
        if len(pair) != 2 or whole or not is_person(name):
            return []
        names.append(name)
    return names


def _may_be_two(name: str) -> bool:
    words = name.split()
    return len(words) >= _WORDS_OF_TWO and all(len(w.strip(".")) > 1 and w.lower() not in _PARTICLES for w in words)
