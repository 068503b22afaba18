"""Parses headings in any markup, including numbers and run-in headings, and builds the section tree."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from xkg.build.paper.document import Section

_NUMBER = re.compile(
    r"(?:(?P<named>Appendix|Section|Chapter|Supplement(?:ary)?)\s+(?P<of>[A-Z]|\d{1,2})(?:\s*[.:—–-]+\s*|\s+|$)"
    r"|(?P<digits>\d{1,2}(?:\.\d{1,2})*)(?:[.:)]\s*|\s+)(?=\D|$)"
    r"|(?P<letter>[A-Z](?:\.\d{1,2})+)(?:[.:)]\s*|\s+)"
    r"|(?P<single>[A-Z])[.:)]\s+"
    r"|(?P<roman>(?:X{0,2}(?:IX|IV|V?I{1,3}|V)|X{1,2}))\.\s+)"
)
KNOWN_TITLE = re.compile(
    r"(?i)(?:abstract|introduction|related works?|background|preliminaries|methods?|methodology|experiments?|results"
    r"|discussion|conclusions?|references|bibliography|acknowledge?ments?|appendi(?:x|ces)|limitations|evaluation)$"
)
"""Matches the titles of sections that most papers have."""
REFERENCES = re.compile(r"(?i)^(references|bibliography|literature cited|works cited|literature)\W*$")
_APPENDIX = re.compile(r"(?i)^(appendi(x|ces)|supplement(ary|al)?\b.*|technical appendi(x|ces))\W*$")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading found in the text. `title` is readable text and includes the number unless `number` is set."""

    title: str
    level: int
    start: int
    body_start: int
    number: str | None = None
    appendix: bool = False


def split_number(title: str) -> tuple[str | None, str]:
    """Returns ("3.1", "Algorithm") for "3.1. Algorithm", and (None, title) for a heading without a number."""
    match = _NUMBER.match(title)
    if match is None:
        return None, title
    rest = title[match.end() :].strip()
    number = match["of"] or match["digits"] or match["letter"] or match["single"] or match["roman"]
    if not rest:
        return (number, title) if match["named"] else (None, title)
    return number, rest


def normalised(title: str) -> str:
    """Reduces a title to its case-folded letters and digits for comparison."""
    return " ".join(re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", title).casefold()))


def is_references(title: str) -> bool:
    return bool(REFERENCES.match(split_number(title)[1].strip()))


def numbered(headings: Iterable[Heading]) -> list[Heading]:
    """Splits each heading into number and title. A heading with a two-part number is a subsection, regardless of its
    markup. If a numbered heading changes level, the unnumbered headings after it shift by the same amount."""
    out: list[Heading] = []
    shift = 0
    in_appendix = False
    for heading in headings:
        number, title = (heading.number, heading.title) if heading.number else split_number(heading.title)
        level = heading.level
        if level < 4:
            lettered = number is not None and len(number) == 1 and number.isalpha() and _follows_roman(number, out)
            if number is not None:
                depth = number.count(".") + 1 + lettered
                shift = level - depth
                level = depth
            else:
                level = level - shift if shift > 0 else level
            letter = number is not None and number[0].isalpha() and not lettered and not _is_roman(number, out)
            named = _APPENDIX.match(title) is not None
            in_appendix = in_appendix or heading.appendix or letter or named
            if any(is_references(h.title) for h in out[-1:]):
                in_appendix = True
        out.append(
            replace(
                heading,
                title=re.sub(r"(?<=[^\s.A-Z])\.$", "", title),
                number=number,
                level=min(max(level, 1), 4),
                appendix=heading.appendix or in_appendix,
            )
        )
    return out


def _follows_roman(letter: str, before: Sequence[Heading]) -> bool:
    """Returns whether a letter numbers a subsection, as in IEEE style, where sections have Roman numerals."""
    last = next((h for h in reversed(before) if h.level < 4 and h.number), None)
    if last is None or last.appendix:
        return False
    if last.level == 1:
        return letter == "A" and re.fullmatch(r"[IVX]+", last.number or "") is not None
    return last.number is not None and len(last.number) == 1 and ord(letter) == ord(last.number) + 1


def _is_roman(number: str, before: Sequence[Heading]) -> bool:
    if not re.fullmatch(r"[IVX]+", number):
        return False
    if number == "I":
        return all(h.number is None for h in before)
    return any(h.number in ("I", "V") for h in before if h.number)


def repeats_title(heading: str, title: str, *, once: bool = True) -> bool:
    """Returns whether a heading repeats the paper's title or a long prefix of the title."""
    whole, name = normalised(title), normalised(heading)
    return bool(name) and (name == whole or (whole.startswith(name + " ") and name.count(" ") >= (3 if once else 2)))


def without_running_heads(headings: Sequence[Heading], title: str) -> list[Heading]:
    """Removes page headers. A page header is an unnumbered heading that repeats the paper's title or its first words. A
    single subsection may have the same name as the paper."""
    count: dict[str, int] = {}
    for heading in headings:
        count[normalised(heading.title)] = count.get(normalised(heading.title), 0) + 1

    def runs(heading: Heading) -> bool:
        once = count[normalised(heading.title)] == 1
        return heading.level < (2 if once else 4) and repeats_title(heading.title, title, once=once)

    return [heading for heading in headings if not runs(heading)]


def tree(headings: Sequence[Heading], end: int) -> tuple[Section, ...]:
    """Nests the sections by level, in order. The last section ends at `end`."""
    ends: list[int] = [end] * len(headings)
    parents: list[int | None] = []
    open_at: list[int] = []
    for index, heading in enumerate(headings):
        while open_at and headings[open_at[-1]].level >= heading.level:
            ends[open_at.pop()] = heading.start
        parents.append(open_at[-1] if open_at else None)
        open_at.append(index)
    children: list[list[Section]] = [[] for _ in headings]
    top: list[Section] = []
    for index in range(len(headings) - 1, -1, -1):
        heading = headings[index]
        section = Section(
            title=heading.title,
            level=heading.level,
            start=heading.start,
            body_start=min(heading.body_start, ends[index]),
            end=ends[index],
            number=heading.number,
            appendix=heading.appendix,
            children=tuple(reversed(children[index])),
        )
        parent = parents[index]
        (top if parent is None else children[parent]).append(section)
    return tuple(reversed(top))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SMALL = _words("""
    a an and as at but by for from in into nor of off on onto or over per s the to up via vs with without under
    using between through
""")
_NOT_FIRST = _words("""
    we our this these those it its they there here in on for if when while as to by since because although however
    moreover furthermore finally first second third firstly secondly thirdly lastly then thus hence therefore note
    let consider suppose assume given recall see use i you he she that what which who each all both some any one
    given specifically similarly additionally next now also so straightforwardly intuitively formally proof theorem
    lemma proposition corollary definition remark assumption claim figure fig table algorithm step q a eq equation
    copyright proceedings correspondence
""")
_FINITE = _words("""
    is are was were be been has have had can could may might will would shall should must does do did cannot show
    shows shown provide provides gives give achieve achieves require requires yield yields makes make we our us i
    means allows allow uses denotes consists follows that which whose who because requries
""")
_DETERMINER = _words("""
    the a an this that these those many several all each both more most our its their no
""")
_STOP = re.compile(r"\$[^$\n]{1,80}\$|(?P<stop>[.?])(?=[ \t]+\S)")
_ABBREVIATION = re.compile(
    r"(?:\b(?:[Ee]qs?|[Ee]qns?|[Ff]igs?|[Ss]ecs?|[Tt]ab|vs|al|cf|w\.r\.t|i\.i\.d|i\.e|e\.g|approx|no|resp|St|Dr)|[\s.(-][a-zA-Z])$"
)
_LONGEST_RUN_IN = 110


def run_in(text: str, start: int, end: int) -> tuple[str, int] | None:
    """Returns the run-in heading at the start of a paragraph ("Batch Step. This step …") and the offset of the text
    after the heading. Returns None for a plain sentence, caption, theorem or proof. Mathpix drops bold type, so
    headings must be recognised without markup. A run-in heading must look like a noun phrase: all its words are
    capitalised, or it has only a few words and no finite verb. At least one sentence must follow the heading."""
    if not (text[start].isupper() or text[start].isdigit()):
        return None
    for match in _STOP.finditer(text, start, min(end, start + _LONGEST_RUN_IN)):
        title = text[start : match.start()]
        if match["stop"] is None or title.count("(") != title.count(")") or _ABBREVIATION.search(title):
            continue
        after = match.end() + len(text[match.end() : end]) - len(text[match.end() : end].lstrip())
        if end - after < 40 or not _follows_sentence(text, after) or not is_noun_phrase(title):
            return None
        if text[after] == "$" and len(title.split()) < 2:
            return None
        return title + ("?" if match["stop"] == "?" else ""), after
    return None


def _follows_sentence(text: str, at: int) -> bool:
    return bool(re.compile(r"[A-Z$(\"“'‘0-9\\\[]").match(text, at))


def is_noun_phrase(title: str) -> bool:
    """Returns whether `title` reads like a heading rather than a sentence."""
    bare = re.sub(r"\$[^$]*\$", "x", title)
    words = re.findall(r"[^\W_]+(?:[-'’/][^\W_]+)*", bare)
    if not words or len(words) > 12 or re.search(r"\(.{0,80}\b(?:19|20)\d\d", title):
        return False
    if re.match(r"(?:[QA]:|\(?\d+[).]|https?:)", title) or (len(words[-1]) == 1 and "," in title):
        return False
    first, lower = words[0].lower(), [word.lower() for word in words]
    if first in _NOT_FIRST:
        return False
    capital = [w for w in words[1:] if w[0].isupper() or w[0].isdigit() or len(w) == 1]
    content = [w for w in words[1:] if w.lower() not in _SMALL]
    if len(words) > 1 and content and all(w[0].isupper() or not w[0].isalpha() or len(w) == 1 for w in content):
        return not (len(capital) == 0 and len(words) > 4)
    if len(words) > 7 or "," in title or first in ("the", "a", "an") or any(word in _FINITE for word in lower[1:]):
        return False
    return not any(word in _DETERMINER for word in lower[1:3]) or lower[1] in _SMALL
