"""The front matter of a paper: identifiers, year, names of persons."""

import re

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
    r"google|deepmind|meta\b|microsoft|openai|amazon|faculty|group|team|equal|contribut|correspond|http|street|road|\bai\b|"
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
    """The year in a copyright line, a proceedings line or the name of the conference's style file."""
    match = _VENUE.search(text)
    return int(next(group for group in match.groups() if group)) if match else None


def first_year(number: str | None) -> int | None:
    """The year in a new-style arXiv id (`2006.10726` → 2020)."""
    match = re.fullmatch(r"([0-9]{2})(?:0[1-9]|1[0-2])\.[0-9]{4,5}", number or "")
    return 2000 + int(match[1]) if match else None


def is_person(text: str) -> bool:
    words = text.split()
    if not 2 <= len(words) <= 5 or _INSTITUTION.search(text) or "@" in text:
        return False
    return all(word.lower() in _PARTICLES or (word[0].isupper() and bool(_NAME_WORD.fullmatch(word))) for word in words)
