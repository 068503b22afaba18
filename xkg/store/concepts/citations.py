"""`CITES`: which paper a reference means, by arXiv id, DOI, or title; one that is not in the graph becomes a stub.

Titles are compared without case, punctuation, spaces and LaTeX, since bibliographies lose the colon, the hyphen, or
the capital that a brace kept ("B ayesian"). A short title names several works ("Deep Learning"), so it needs an author
of the paper beside it.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from xkg.model import Paper, Reference, paper_id, slug
from xkg.store.concepts.names import spelt

# In letters and digits: some four words.
_SHORTEST_TITLE = 20
_FORMATTING = re.compile(r"\\(?:emph|text\w+|math\w+|bf|it|rm|sc|tt|sf|em|ensuremath)\b|\\[^a-zA-Z]")
_NOT_ASCII_WORD = re.compile("[^a-z0-9]+")
_SUBTITLE = re.compile(r":\s+|\s[-–—]+\s")
_ARXIV_DOI = re.compile(r"10\.48550/arxiv\.(.+)", re.I)
_DOI = re.compile(r"10\.[0-9]{4,9}/\S+")
_ARXIV = re.compile(r"(?:[0-9]{4}\.[0-9]{4,5}|(?<![a-z-])[a-z-]++(?:\.[a-z]{2})?/[0-9]{7})(?!\d)", re.I | re.ASCII)


@dataclass(frozen=True)
class Stub:
    """A cited paper that is not here, by the first reference to it."""

    id: str
    title: str
    arxiv_id: str | None
    year: int | None


def cited(papers: Iterable[Paper]) -> tuple[list[Stub], list[tuple[str, str]]]:
    """The stubs, by id, and the edges (citing, cited), each once, ordered. No paper cites itself."""
    held = Held(sorted(papers, key=lambda paper: paper.id))
    edges: set[tuple[str, str]] = set()
    missing: list[tuple[str, _Cited]] = []
    by_title: dict[str, str] = {}
    for paper in held.papers:
        own = _title(paper.title)
        for reference in paper.references or ():
            one = _Cited(reference, _title(reference.title), _ids(reference))
            known = paper.id if one.title == own else held.meant(one)
            if known is None:
                missing.append((paper.id, one))
                if one.ids and len(one.title) >= _SHORTEST_TITLE:
                    # An arXiv id comes before any DOI, whoever cites first.
                    by_title[one.title] = min(by_title.get(one.title, one.ids[0]), one.ids[0])
            elif known != paper.id:
                edges.add((paper.id, known))
    stubs: dict[str, Stub] = {}
    for citing, one in missing:
        if one.ids:
            stub = by_title[one.title] if len(one.title) >= _SHORTEST_TITLE else one.ids[0]
        elif one.title:
            stub = by_title.setdefault(one.title, "title:" + slug(one.reference.title or ""))
        else:
            continue
        # The id of a short title can be that of a paper here, which it need not mean.
        if stub not in held:
            if stub not in stubs:
                arxiv_id = stub.removeprefix("arxiv:") if stub.startswith("arxiv:") else None
                stubs[stub] = Stub(stub, one.reference.title or "", arxiv_id, one.reference.year)
            edges.add((citing, stub))
    return [stubs[stub] for stub in sorted(stubs)], sorted(edges)


def among(edges: Iterable[tuple[str, str]], paper: str) -> tuple[set[str], set[str]]:
    """Of edges (citing, cited) the papers that one cites, and those that cite it."""
    ends = [edge for edge in edges if paper in edge]
    return {cited for citing, cited in ends if citing == paper}, {citing for citing, cited in ends if cited == paper}


def meant(paper: Paper, held: "Held") -> list[str]:
    """Ids of the papers of `held` that one of them cites, each once, in order."""
    own = _title(paper.title)
    cites = (_Cited(reference, _title(reference.title), _ids(reference)) for reference in paper.references or ())
    known = {held.meant(one) for one in cites if one.title != own}
    return sorted(other for other in known if other is not None and other != paper.id)


class _Cited(NamedTuple):
    """A reference with its title as it is compared, and its ids, an arXiv id first."""

    reference: Reference
    title: str
    ids: list[str]


class Held:
    """The papers of the graph, in id order, by what a reference may say of them."""

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

    def meant(self, one: _Cited) -> str | None:
        """The id of the paper that a reference means, None where it is not here."""
        for known in one.ids:
            if known in self._ids:
                return self._ids[known].id
        paper = self._by_title(one)
        if paper is None or (paper.arxiv_id and one.ids and one.ids[0].startswith("arxiv:")):
            return None  # two arXiv ids are two papers, whatever their titles
        return paper.id

    def _by_title(self, one: _Cited) -> Paper | None:
        paper = self._titles.get(one.title)
        if paper is not None:
            telling = len(one.title) >= _SHORTEST_TITLE
            return paper if telling or _names_author(one.reference, paper) else None
        if one.title in self._parts:
            return self._parts[one.title]
        return next((self._titles[p] for p in _parts(one.reference.title or "") if p in self._titles), None)

    def __contains__(self, paper: str) -> bool:
        return paper in self._ids


def _ids(reference: Reference) -> list[str]:
    """Ids that a reference gives, the arXiv id first."""
    if not (reference.doi or reference.arxiv_id):
        return []
    doi = _DOI.search(reference.doi or "")
    of_arxiv = _ARXIV_DOI.match(doi[0]) if doi else None
    arxiv_id = _arxiv(reference.arxiv_id or "") or (_arxiv(of_arxiv[1]) if of_arxiv else "")
    found = [paper_id("", arxiv_id)] if arxiv_id else []
    return found if doi is None or of_arxiv else [*found, paper_id("", None, doi[0])]


def _arxiv(text: str) -> str:
    """The arXiv id in a text, without version; '' where there is none."""
    match = _ARXIV.search(text.strip())
    return match[0] if match else ""


def _title(title: str | None) -> str:
    """What is left of a title when everything that bibliographies vary is gone."""
    plain = title or ""
    if "\\" in plain:
        plain = _FORMATTING.sub(" ", plain)
    if plain.isascii():  # nearly all are, and there are tens of thousands
        return _NOT_ASCII_WORD.sub("", plain.lower())
    plain = unicodedata.normalize("NFKD", spelt(plain))
    return "".join(re.findall(r"[^\W_]+", "".join(c for c in plain if not unicodedata.combining(c)).casefold()))


def _parts(title: str) -> list[str]:
    """A title without its subtitle, and the subtitle alone, where they are long enough to be a title."""
    pieces = _SUBTITLE.split(title, maxsplit=1)
    return [part for part in map(_title, pieces if len(pieces) > 1 else ()) if len(part) >= _SHORTEST_TITLE]


def _names_author(reference: Reference, paper: Paper) -> bool:
    words = " ".join(paper.authors[:1]).partition(",")[0].split()
    surname = _title(words[-1]) if words else ""
    said = _title(f"{reference.cited_as or ''} {reference.text or ''}")
    return len(surname) > 2 and surname in said
