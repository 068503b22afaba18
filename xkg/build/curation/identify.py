"""Finds the papers that references point to. Searches first by arXiv id, then by DOI, and finally by title."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from xkg.build.curation.citations import first_surname
from xkg.build.sources.paper_index import FoundPaper, PaperIndex
from xkg.errors import InputError
from xkg.model import Reference, paper_id
from xkg.text.titles import title_similarity

ALIKE = 0.9
"""Minimum similarity for a title from an index to match a reference (`title_similarity`)."""

_DOUBTFUL = 0.5
"""Below this similarity, the id and the title in an entry belong to different papers."""

_YEARS = 3
"""Maximum number of years between preprint and publication, unless the authors are known to match."""


class Identified(NamedTuple):
    """The result of identifying a reference. `paper` is None if no index contains the reference. `how` says how the
    paper was found, or describes the closest match."""

    paper: FoundPaper | None
    how: str


def identify(
    references: Sequence[Reference], indexes: Sequence[PaperIndex], note: Callable[[str], None]
) -> list[Identified]:
    """Returns the arXiv papers for these references, in the same order. `note` receives a line for each index that does
    not answer; the others are still queried."""
    found: list[Identified | None] = [None] * len(references)
    nearest: list[tuple[float, str]] = [(0.0, "")] * len(references)
    silent: list[str] = []
    for index in indexes:
        try:
            _by_ids(references, found, index)
            _by_titles(references, found, nearest, index)
        except InputError as error:
            silent.append(index.name)
            note(f"{index.name} was not searched for all references: {error}")
    doubt = f"{' and '.join(silent)} could not be searched" if silent else ""
    if silent and len(silent) == len(indexes):
        return [each or Identified(None, doubt) for each in found]
    return [
        each or Identified(None, "; ".join(filter(None, (_unknown(reference, near), doubt))))
        for each, reference, near in zip(found, references, nearest, strict=True)
    ]


def _by_ids(references: Sequence[Reference], found: list[Identified | None], index: PaperIndex) -> None:
    ids = {n: r.arxiv_id for n, r in enumerate(references) if found[n] is None and r.arxiv_id}
    dois = {n: r.doi.lower() for n, r in enumerate(references) if found[n] is None and n not in ids and r.doi}
    papers = list(index.by_arxiv_ids(list(ids.values()))) if ids else []
    by_id = {paper.arxiv_id: paper for paper in papers}
    for n, arxiv_id in ids.items():
        paper = by_id.get(arxiv_id)
        alike = title_similarity(references[n].title or "", paper.title) if paper is not None else 0.0
        if paper is not None and (references[n].title is None or alike >= _DOUBTFUL):
            found[n] = Identified(paper, f"the entry contains arXiv:{arxiv_id}")
    of_doi = list(index.by_dois(list(dois.values()))) if dois else []
    by_doi = {paper_id("", None, paper.doi): paper for paper in of_doi if paper.doi}
    by_doi |= {paper_id("", paper.arxiv_id): paper for paper in of_doi if paper.arxiv_id}
    for n, doi in dois.items():
        named = by_doi.get(paper_id("", None, doi))
        if named is not None and named.arxiv_id is not None:
            found[n] = Identified(named, f"the entry has the DOI {doi}, found in {index.name}")


def _by_titles(
    references: Sequence[Reference],
    found: list[Identified | None],
    nearest: list[tuple[float, str]],
    index: PaperIndex,
) -> None:
    open_ones = {n: r.title for n, r in enumerate(references) if found[n] is None and r.title}
    papers = index.by_titles(list(open_ones.values())) if open_ones else ()
    for n, title in open_ones.items():
        for paper in papers:
            alike = title_similarity(title, paper.title)
            if alike > nearest[n][0]:
                nearest[n] = (alike, paper.title)
            if alike >= ALIKE and paper.arxiv_id is not None and _agrees(references[n], paper):
                found[n] = Identified(paper, f"found in {index.name} by title, similarity {alike:.2f}")
                break


def _agrees(reference: Reference, paper: FoundPaper) -> bool:
    """Returns whether the authors or the year confirm that a paper with this title is the cited one. Titles are not
    unique: several papers are called "Deep Learning"."""
    surname = first_surname(reference)
    if surname and paper.authors:
        return surname.split()[-1].casefold() in paper.authors[0].casefold()
    return reference.year is None or paper.year is None or abs(reference.year - paper.year) <= _YEARS


def _unknown(reference: Reference, near: tuple[float, str]) -> str:
    if reference.title is None:
        return "its title cannot be separated from the rest of the entry"
    if near[0] >= _DOUBTFUL:
        return f"no paper on arXiv has this title; the closest match (similarity {near[0]:.2f}) is {near[1][:150]}"
    return "no paper on arXiv has this title"
