"""Resolves references to papers by arXiv id, DOI or title, for `CITES` edges. Cited works that are not in the graph
become `CitedWork` nodes. References with no id and only a fragment of a title are dropped.

Title comparisons ignore case, punctuation, spaces and LaTeX, because bibliographies often lose colons, hyphens and
capitals protected by braces ("B ayesian"). Several works may have the same short title ("Deep Learning"), so a short
title only matches if an author matches too."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from xkg.model import Paper, Reference, paper_id, slug
from xkg.store.concepts.names import spelt
from xkg.text.titles import is_title

# Number of letters and digits, which corresponds to about four words.
_SHORTEST_TITLE = 20
_FORMATTING = re.compile(r"\\(?:emph|text\w+|math\w+|bf|it|rm|sc|tt|sf|em|ensuremath)\b|\\[^a-zA-Z]")
_NOT_ASCII_WORD = re.compile("[^a-z0-9]+")
_SUBTITLE = re.compile(r":\s+|\s[-–—]+\s")
_DOI = re.compile(r"10\.[0-9]{4,9}/\S+")
_ARXIV = re.compile(r"(?:[0-9]{4}\.[0-9]{4,5}|(?<![a-z-])[a-z-]++(?:\.[a-z]{2})?/[0-9]{7})(?!\d)", re.I | re.ASCII)


@dataclass(frozen=True)
class Work:
    """A cited work that is not in the graph, as described by the first reference to it."""

    id: str
    title: str
    arxiv_id: str | None
    year: int | None


class Citations(NamedTuple):
    """Cited works that are not in the graph, and all citations as pairs (citing, cited)."""

    works: list[Work]
    edges: list[tuple[str, str]]


def works_and_citations(papers: Iterable[Paper]) -> Citations:
    """Returns the cited works that are not in the graph, in id order, and the citations as sorted, distinct pairs
    (citing, cited). Papers never cite themselves."""
    index = PaperIndex(sorted(papers, key=lambda paper: paper.id))
    edges: set[tuple[str, str]] = set()
    missing: list[tuple[str, _Citation]] = []
    by_title: dict[str, str] = {}
    for paper in index.papers:
        own = _title(paper.title)
        for reference in paper.references or ():
            citation = _Citation(reference, _title(reference.title), _ids(reference))
            target = paper.id if citation.title == own else index.resolve(citation)
            if target is None:
                missing.append((paper.id, citation))
                if citation.ids and len(citation.title) >= _SHORTEST_TITLE:
                    # An arXiv id takes precedence over a DOI, regardless of the order of papers.
                    by_title[citation.title] = min(by_title.get(citation.title, citation.ids[0]), citation.ids[0])
            elif target != paper.id:
                edges.add((paper.id, target))
    works: dict[str, Work] = {}
    for citing, citation in missing:
        if citation.ids:
            work = by_title[citation.title] if len(citation.title) >= _SHORTEST_TITLE else citation.ids[0]
        elif citation.title and is_title(citation.reference.title or ""):
            work = by_title.setdefault(citation.title, "title:" + slug(citation.reference.title or ""))
        else:
            continue
        # A work with a short title may have the same id as a different paper in the graph.
        if work not in index:
            if work not in works:
                arxiv_id = work.removeprefix("arxiv:") if work.startswith("arxiv:") else None
                works[work] = Work(work, citation.reference.title or "", arxiv_id, citation.reference.year)
            edges.add((citing, work))
    return Citations([works[work] for work in sorted(works)], sorted(edges))


class _Citation(NamedTuple):
    reference: Reference
    title: str
    ids: list[str]


class PaperIndex:
    """The graph's papers in id order, with lookups by id, title or part of a title."""

    def __init__(self, papers: Iterable[Paper]) -> None:
        self.papers = papers = list(papers)
        self._ids = {paper.id: paper for paper in papers}
        self._titles: dict[str, Paper] = {}
        parts: dict[str, list[Paper]] = {}
        for paper in papers:
            if paper.arxiv_id:
                self._ids.setdefault(paper_id("", _arxiv(paper.arxiv_id)), paper)
            self._titles.setdefault(_title(paper.title), paper)
            for part in _parts(paper.title):
                parts.setdefault(part, []).append(paper)
        self._parts = {part: found[0] for part, found in parts.items() if len(found) == 1}

    def resolve(self, citation: _Citation) -> str | None:
        """Returns the cited paper's id, or None if it is not in the graph."""
        for known in citation.ids:
            if known in self._ids:
                return self._ids[known].id
        paper = self._by_title(citation)
        if paper is None or (paper.arxiv_id and citation.ids and citation.ids[0].startswith("arxiv:")):
            return None  # papers with different arXiv ids are different, even if their titles match
        return paper.id

    def _by_title(self, citation: _Citation) -> Paper | None:
        paper = self._titles.get(citation.title)
        if paper is not None:
            telling = len(citation.title) >= _SHORTEST_TITLE
            return paper if telling or _names_author(citation.reference, paper) else None
        if citation.title in self._parts:
            return self._parts[citation.title]
        return next((self._titles[p] for p in _parts(citation.reference.title or "") if p in self._titles), None)

    def __contains__(self, paper: str) -> bool:
        return paper in self._ids


def _ids(reference: Reference) -> list[str]:
    if not (reference.doi or reference.arxiv_id):
        return []
    doi = _DOI.search(reference.doi or "")
    arxiv_id = _arxiv(reference.arxiv_id or "")
    found = [paper_id("", arxiv_id)] if arxiv_id else []
    return found if doi is None else list(dict.fromkeys([*found, paper_id("", None, doi[0])]))


def _arxiv(text: str) -> str:
    match = _ARXIV.search(text.strip())
    return match[0] if match else ""


def _title(title: str | None) -> str:
    """Normalises a title by removing everything that varies between bibliographies."""
    plain = title or ""
    if "\\" in plain:
        plain = _FORMATTING.sub(" ", plain)
    if plain.isascii():  # a fast path, because nearly all titles are ASCII
        return _NOT_ASCII_WORD.sub("", plain.lower())
    plain = unicodedata.normalize("NFKD", spelt(plain))
    return "".join(re.findall(r"[^\W_]+", "".join(c for c in plain if not unicodedata.combining(c)).casefold()))


def _parts(title: str) -> list[str]:
    """Returns the title without its subtitle, and the subtitle. Either part is omitted if it is too short to be a
    title."""
    pieces = _SUBTITLE.split(title, maxsplit=1)
    return [part for part in map(_title, pieces if len(pieces) > 1 else ()) if len(part) >= _SHORTEST_TITLE]


def _names_author(reference: Reference, paper: Paper) -> bool:
    words = " ".join(paper.authors[:1]).partition(",")[0].split()
    surname = _title(words[-1]) if words else ""
    cited_text = _title(f"{reference.cited_as or ''} {reference.text or ''}")
    return len(surname) > 2 and surname in cited_text
