"""Decides whether a repository is a paper's own. Uses the repository's README, description, dates, size and origin.

Each fact counts for or against ownership and becomes a line that a person can check. The repository must be tied to
both the paper and its authors, because others may also implement and cite the paper. If the facts are inconclusive, a
language model decides, or the question is left open."""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Literal, NamedTuple

from xkg.build.curation.repository_links import Role
from xkg.build.paper.latex import bibtex
from xkg.build.sources.github import RepositoryFacts
from xkg.text.plural import plural
from xkg.text.titles import title_similarity
from xkg.text.unicode import printable_line

OFFICIAL, FOREIGN = 5.0, 1.0
"""A repository with at least `OFFICIAL` points is the paper's own, and one with at most `FOREIGN` points is not."""

_ALIKE = 0.9
_HEADING = re.compile(r"(?m)^\s{0,3}(?:#{1,3}[ \t]+([^\n]{3,300})$|<h[1-3][^>\n]{0,100}>([^<\n]{3,300})</h)")
_ARXIV = re.compile(r"(?ai)(?:arxiv\.org/(?:abs|pdf|html)/|arxiv[:\s./]{1,3})(\d{4}\.\d{4,5})")
_UNOFFICIAL = re.compile(r"(?i)\bun-?official\b|\bnot (?:the|an) official\b|\bthird[- ]party implementations?\b")
_COPY = re.compile(
    r"(?i)\bre-?implement\w*|\bre-?produc(?:e|ing|tion)s? (?:of|the results)\b|\bported? (?:of|from)\b|"
    r"\b(?:my|minimal|simple|another|clean|community)\s(?:\w+\s){0,3}implementations?\b|"
    r"\bimplementations? of (?:popular|various|several|many|different|state-of-the-art)\b"
)
_OFFICIAL = re.compile(
    r"(?i)(?<!un)(?<!un-)\bofficial\b[^.\n]{0,60}\b(?:code|implementation|repositor|release|pytorch|jax|source)|"
    r"\b(?:code|repository|source)\b[^.\n]{0,40}\b(?:for|of|from|accompan\w+)\b[^.\n]{0,60}\bpapers?\b|"
    r"\b(?:code|implementation|project)\b[^.\n]{0,100}\bour\b[^.\n]{0,30}\b(?:papers?|work|method)\b|"
    r"\bour (?:papers?|work|method|neurips|icml|iclr|cvpr)\b|"
    r"\b(?:if you (?:find|use) (?:this|our)|please (?:cite|consider citing) (?:our|this|us))\b"
)
_COLLECTION = re.compile(
    r"(?i)\bawesome\b|\bcurated list\b|\bpaper (?:list|notes|reading)\b|\bpapers with code\b|\bsurvey of\b"
)
_MANY_PAPERS = 8
_BEFORE, _AFTER, _LATE = 400, 720, 1300  # days before and after the paper's first version
_LARGE_KB = 1_000_000


class PaperIdentity(NamedTuple):
    """The details that identify a paper in a README. `published` is the date of the paper's first version
    (YYYY-MM-DD)."""

    title: str
    authors: Sequence[str]
    arxiv_id: str | None
    published: str | None


class Verdict(NamedTuple):
    """The verdict on a repository. `official` is None if the points are inconclusive. `evidence` has one line per fact,
    with its points.

    `wants_author` is True if the repository is tied to the paper and its committers might reveal a link to the authors.
    """

    official: bool | None
    points: float
    evidence: tuple[str, ...]
    wants_author: bool = False


def judge(facts: RepositoryFacts, paper: PaperIdentity, link: Role | None = None) -> Verdict:
    """Judges a repository. `link` is the repository's role in the paper, or None if the paper does not mention it."""
    found = [*_named(link), *_identity(facts, paper), *_against(facts, paper)]
    points = sum(value for value, _, _ in found)
    names_it = any(tie in ("paper", "both") for _, tie, _ in found)
    of_authors = any(tie in ("authors", "both") for _, tie, _ in found)
    official: bool | None = None
    if facts.commit is None and facts.size_kb in (0, None) and not facts.readme:
        official, found = False, [*found, (0.0, "", "it is empty")]
    elif points >= OFFICIAL and names_it and of_authors:
        official = True
    elif points <= FOREIGN or not names_it:
        official = False
    lines = tuple(f"{value:+.0f} {printable_line(line)}" if value else printable_line(line) for value, _, line in found)
    return Verdict(official, points, lines, official is not True and names_it and points > FOREIGN)


_Fact = tuple[float, Literal["", "paper", "authors", "both"], str]
"""A fact, as (points, link, evidence). The link is what the fact ties the repository to: this paper, its authors, both
or neither."""


def _named(link: str | None) -> Iterator[_Fact]:
    if link == "own":
        yield 5, "both", "the paper says that this is its code"
    elif link == "named":
        yield 1, "paper", "the paper mentions it"


def _identity(facts: RepositoryFacts, paper: PaperIdentity) -> Iterator[_Fact]:
    readme = facts.readme
    headings = [(match[1] or match[2]).strip() for match in _HEADING.finditer(readme[:20_000])][:10]
    titled = [text for text in (*headings[:3], facts.description) if text and _holds_title(text, paper.title)]
    if titled:
        yield 3, "both", f"its heading or description is the paper's title: {titled[0][:120]}"
    elif _holds_title(readme[:40_000], paper.title):
        yield 2, "paper", "its README contains the paper's title"
    entries = [entry.fields.get("title", "") for entry in bibtex.entries(readme[-60_000:])[:20]]
    if any(_is_title(title, paper.title) for title in entries):
        own = len([title for title in entries if title]) <= 3
        yield (2 if own else 1), "paper", "its README asks readers to cite the paper (BibTeX)"
    elif named := [title for title in entries if title]:
        yield -3, "", f"its README asks readers to cite another paper: {named[0][:120]}"
    ids = {match[1] for match in _ARXIV.finditer(readme[:200_000])}
    if paper.arxiv_id is not None and paper.arxiv_id in ids:
        few = len(ids) <= 4
        yield (
            (2 if few else 1),
            "paper",
            f"its README links to arXiv:{paper.arxiv_id}" + ("" if few else f", one of {len(ids)} papers"),
        )
    if _OFFICIAL.search(readme[:8000]) or _OFFICIAL.search(facts.description):
        yield 2, "authors", "it calls itself the code for a paper"
    if _is_named_after(facts, paper.title):
        yield 1, "paper", "it is named after the method in the title"
    if name := _author_as_owner(facts, paper.authors):
        yield 2, "authors", f"its owner's name resembles the name of the author {name}"
    if names := _authors_among(facts.committers, paper.authors):
        yield 3, "authors", f"the author {names[0]} has committed to it"
    if (days := _days(paper.published, facts.created)) is not None and -_BEFORE <= days <= _AFTER:
        when = f"created {plural(abs(days), 'day')} {'after' if days >= 0 else 'before'} the paper's first version"
        # Only the authors know the title before the paper is public.
        yield (2, "authors", when) if days < 0 else (1, "", when)


def _against(facts: RepositoryFacts, paper: PaperIdentity) -> Iterator[_Fact]:
    opening = facts.description + "\n" + facts.readme[:4000]
    ours = _OFFICIAL.search(facts.readme[:8000]) or _OFFICIAL.search(facts.description)
    # Authors also mention re-implementations of their earlier work or of baselines.
    if match := _UNOFFICIAL.search(opening) or (None if ours else _COPY.search(opening)):
        yield -4, "", f"it calls itself a copy of the work: {match.group()}"
    if facts.source is not None:
        yield -3, "", f"it is a fork of {facts.source}"
    ids = {match[1] for match in _ARXIV.finditer(facts.readme[:200_000])}
    if len(ids) > _MANY_PAPERS or _COLLECTION.search(facts.full_name.replace("-", " ") + "\n" + opening[:1500]):
        yield -3, "", f"it is about many papers ({len(ids)} on arXiv)"
    days = _days(paper.published, facts.created)
    if days is not None and days > _LATE:
        yield -2, "", f"created {days / 365:.0f} years after the paper"
    if facts.size_kb is not None and facts.size_kb > _LARGE_KB:
        yield 0, "", f"it is large: {facts.size_kb / 1e6:.1f} GB"


def _holds_title(text: str, title: str) -> bool:
    """Returns whether the text contains the title. For a long title, the part before or after its colon is enough."""
    if len(title.split()) < 3 and len(title) < 16:
        return title_similarity(text, title) >= _ALIKE
    return bool(_letters(title)) and _letters(title) in _letters(text)


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())


def _author_as_owner(facts: RepositoryFacts, authors: Sequence[str]) -> str | None:
    owner = _letters(facts.full_name.partition("/")[0])
    for author in authors[:30]:
        words = [_letters(word) for word in author.split()]
        words = [word for word in words if word]
        if len(words) < 2:
            continue
        first, last = words[0], words[-1]
        joined = (first + last, last + first, first[0] + last, last + first[0])
        if (len(last) >= 4 and last in owner) or owner in joined or (len(first) >= 5 and first in owner):
            return author
    return None


def _is_title(one: str, other: str) -> bool:
    """Returns whether two titles are equal. Ignores whether adjacent words are written as one."""
    return _letters(one) == _letters(other) or title_similarity(one, other) >= _ALIKE


def _is_named_after(facts: RepositoryFacts, title: str) -> bool:
    """Returns whether the repository is named after the title. The name may be the part before the colon, or
    consecutive words of the title."""
    words = re.sub(r"[\W_]+", " ", facts.full_name.partition("/")[2]).casefold().split()
    head, colon, _ = title.partition(":")
    in_title = " ".join(re.findall(r"[^\W_]+", title.casefold()))
    within = f" {' '.join(words)} " in f" {in_title} "
    return bool(words) and ((bool(colon) and "".join(words) == _letters(head)) or (len(words) > 1 and within))


def _authors_among(committers: Sequence[str], authors: Sequence[str]) -> list[str]:
    """Returns the authors who are among the committers. Matches last names, plus first names or initials."""
    known = {(words[0], words[-1]) for name in committers if len(words := _name_words(name)) > 1}
    found = []
    for author in authors[:60]:
        words = _name_words(author)
        if len(words) < 2:
            continue
        if any(last == words[-1] and _same_first(first, words[0]) for first, last in known):
            found.append(author)
    return found


def _same_first(one: str, other: str) -> bool:
    return one == other if len(one) > 1 and len(other) > 1 else one[0] == other[0]


def _name_words(name: str) -> list[str]:
    return [word for word in (_letters(part) for part in name.split()) if word]


def _days(first: str | None, second: str | None) -> int | None:
    try:
        return (date.fromisoformat(second or "") - date.fromisoformat(first or "")).days
    except ValueError:
        return None
