"""Finds the title, year and identifiers in the readable text of one bibliography entry.

Bibliography styles differ mainly in how the list of authors ends. The list may end with a quotation mark, a year,
initials ("Blei, D. M. Title. Venue, 2017.") or the first full stop."""

import re

from xkg.build.paper.author_lists import authors_end
from xkg.build.paper.front_matter import ARXIV, DOI
from xkg.model import Reference
from xkg.text.titles import is_title

# A quotation within a title has words before and after it.
_QUOTED = re.compile(r"(?:^|(?<=[^\w\s]\s)|(?<=[^\w\s]))[“\"]([^“”\"]{8,400})(?:(?<=[,.?!])[”\"]|[”\"](?!\s[a-z]))")
_YEAR = r"(?:1[89]|20)\d\d[a-z]?"
_YEAR_AFTER_AUTHORS = re.compile(
    rf"^.{{2,600}}?(?:[\s.,]\(|[.,]\s)(?P<year>{_YEAR})(?:,? [A-Z][a-z]+(?: \d+)?)?\)?[.:,]\s+(?=\S)"
)
_VENUE_AND_PAGES = re.compile(r"(?:^|[^,]{1,300}+,\s)\d{1,4}+,\s(?:[A-Z]\s?)?\d{1,7}$")
_SENTENCE_END = re.compile(r"[.?!](?=\s|$)")
_NO_END = re.compile(
    r"(?:\b(?:vs|e\.g|i\.e|cf|no|vol|St|Dr|Jr|Prof|et al|approx|resp|ed|eds)|(?:^|[\s.\-])[A-Z]|[A-Z]\.-[a-z])$"
)
_VENUE_START = re.compile(
    r"[\"“(]?(?:[A-Z0-9]|arXiv|doi|http|URL|in\s|bioRxiv|medRxiv|ar\s?xiv|pages?\s|pp\.|vol(?:ume|\.)\s|preprint\b|"
    r"[a-z]+(?:\s[a-z]+){0,4},\s\d)"
)
_LETTER_OF_TITLE = re.compile(r"\b(?:in|for|of|using|with)\s[A-Z]$")  # "in R" ends a title, but "and J." does not
_TRAILING = re.compile(rf"(?:[,.]?\s*\(?{_YEAR}\)?|[,.]?\s*\[[^\]]{{1,40}}\])\s*$")
_LEADING = re.compile(r"^\s*(?:\[[^\]]{1,40}\]|\(?\d{1,3}[.)](?=\s)|[-*•])\s*")
_NOISE = re.compile(
    r"(?i)https?://\S+|arxiv\S*(?:\s+preprint)?(?:\s+arxiv)?\S*|\b10\.\d{4,9}/\S+|\b\d++\s*+[-–:]\s*+\d++(?:\s*+[-–]\s*+\d++)?"
)
_LINK = re.compile(r"(?i)(?:URL|https?:|doi|pp\.|ISSN|ISBN|arXiv)")
_LONGEST = 4000


def reference_from_text(text: str, key: str | None = None) -> Reference:
    """Parses the text of a bibliography entry. The title is None if the entry's style is not recognised."""
    clean = " ".join(text[:_LONGEST].split())
    clean = _LEADING.sub("", clean)
    arxiv_id, doi = arxiv_of(clean), doi_of(clean)
    return Reference(title=title_of(clean), text=clean, key=key, arxiv_id=arxiv_id, doi=doi, year=year_of(clean))


def arxiv_of(text: str) -> str | None:
    match = ARXIV.search(text) or re.search(r"\b(?P<id>(?:physics|cs|math|stat|hep-[a-z]+|cond-mat)/\d{7})\b", text)
    return match["id"] if match else None


def doi_of(text: str) -> str | None:
    """Returns the DOI in a text, or None. Removes a space at a line break only if the DOI clearly continues after
    it."""
    match = DOI.search(text)
    if match is None:
        return None
    doi = match[1].rstrip(".)]")
    rest = text[match.start(1) + len(doi) :]
    if more := re.match(r"(?:\s([a-z]{2,8})(?=\.))?\.\s*(\d+)\s*\.?\s*(?:$|URL|http)", rest):
        doi = f"{doi}{more[1] or ''}.{more[2]}"
    return doi if len(doi) > 8 else None


def year_of(text: str) -> int | None:
    """Returns the year in parentheses after the authors, or else the last year-like number that is not a page, volume
    or identifier."""
    bare = _NOISE.sub(" ", text)
    early = re.match(rf"^.{{2,300}}?\(({_YEAR})\)", bare)
    years = re.findall(rf"(?<![\d/.])({_YEAR})(?![\d/])", bare)
    year = early[1] if early else (years[-1] if years else None)
    return int(year[:4]) if year else None


def title_of(text: str) -> str | None:
    quoted = _QUOTED.search(text)
    if quoted and (quoted.start() > 5 or len(quoted[1].split()) > 2):
        return _clean(quoted[1])
    start = _title_start(text)
    if start is None:
        return None
    return _clean(text[start : _title_end(text, start)])


def _title_start(text: str) -> int | None:
    if (end := authors_end(text)) is not None:
        return end
    ends = _sentences(text)
    year = _YEAR_AFTER_AUTHORS.match(text)
    if year and not any(end < year.start("year") - 2 for end in ends):
        return year.end()
    if ends and ends[0] < len(text) - 3:
        return ends[0] + 1 + (len(text[ends[0] + 1 :]) - len(text[ends[0] + 1 :].lstrip()))
    return None if "," in text else 0


def _sentences(text: str) -> list[int]:
    return [
        m.start()
        for m in _SENTENCE_END.finditer(text)
        if m.group() == "." and not _NO_END.search(text[max(0, m.start() - 12) : m.start()])
    ]


def _title_end(text: str, start: int) -> int:
    for match in _SENTENCE_END.finditer(text, start):
        before = text[max(start, match.start() - 12) : match.start()]
        if match.group() == "." and _NO_END.search(before) and not _LETTER_OF_TITLE.search(before):
            continue
        rest = text[match.end() :].lstrip()
        if not rest or _VENUE_START.match(rest):
            return match.start() + (match.group() != ".")
    return len(text)


def _clean(title: str) -> str | None:
    title = _TRAILING.sub("", title.strip().rstrip(".,;:")).strip().strip("“”\"'").rstrip(".,;:")
    title = re.sub(r"[.,]?\s*(?:URL\s+)?https?:.*$", "", re.sub(r"\s+", " ", title))
    if _LINK.match(title) or _VENUE_AND_PAGES.match(title) or not is_title(title):
        return None
    return title if len(title) <= 400 else None
