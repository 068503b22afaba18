"""Collects candidates for a curation from the target's citations, paper indexes and a model's web search."""

from collections.abc import Callable, Sequence

from xkg.build.curation.citations import mentions
from xkg.build.curation.curated_set import CoreTechnique, Mention
from xkg.build.curation.guide import Guide, UncitedWork
from xkg.build.curation.identify import identify
from xkg.build.curation.ranking import weight_of_use
from xkg.build.paper.document import Document
from xkg.build.sources.paper_index import FoundPaper, PaperIndex
from xkg.build.techniques.definitions import Reader
from xkg.build.techniques.section_roles import Part
from xkg.errors import InputError
from xkg.model import Reference
from xkg.text.arxiv_id import arxiv_id
from xkg.text.doi import canonical_doi
from xkg.text.titles import title_similarity
from xkg.text.unicode import printable_line
from xkg.value import Value

SAME = 0.9
"""Minimum similarity for two titles to be treated as the same paper."""
_FOUND = 8


class Candidate(Value):
    """A paper that may be worth building. `use` is the weight of the target's citations of the paper, or 0 if there are
    none. `suggested` is the suggestion from a model's web search."""

    title: str
    reference: Reference | None = None
    found: FoundPaper | None = None
    identified: str = ""
    mentions: tuple[Mention, ...] = ()
    use: float = 0.0
    suggested: UncitedWork | None = None


def references(reader: Reader, parts: Sequence[Part]) -> list[Candidate]:
    return [
        Candidate(
            title=reference.title or (reference.text or "")[:200],
            reference=reference,
            mentions=tuple(found),
            use=weight_of_use(found),
        )
        for reference, found in zip(reader.document.references, mentions(reader, parts), strict=True)
    ]


def found_by_search(
    known: Sequence[Candidate], document: Document, indexes: Sequence[PaperIndex], note: Callable[[str], None]
) -> list[Candidate]:
    """Searches for the target's title in the first index that answers. Returns the papers that are not known yet."""
    for index in sorted(indexes, key=lambda each: each.is_slow):
        try:
            found = index.search(document.title, _FOUND)
        except InputError as error:
            note(f"could not search {index.name}: {error}")
            continue
        how = f"found by searching {index.name} for the title"
        new = [Candidate(title=paper.title, found=paper, identified=how) for paper in found if paper.arxiv_id]
        return _new(new, known, document)
    return []


def suggested_by_model(
    guide: Guide,
    techniques: Sequence[CoreTechnique],
    known: Sequence[Candidate],
    document: Document,
    indexes: Sequence[PaperIndex],
    note: Callable[[str], None],
) -> list[Candidate]:
    """Returns new papers that the model finds on the web and that an index also lists."""
    works = guide.uncited(document, techniques, [candidate.title for candidate in known])
    references = [
        Reference(
            title=printable_line(work.title),
            arxiv_id=known_id.number if (known_id := arxiv_id(work.arxiv_id or "")) is not None else None,
            doi=canonical_doi(work.doi or ""),
        )
        for work in works
    ]
    new = [
        Candidate(
            title=paper.title if paper is not None else reference.title or "",
            found=paper,
            identified=f"{guide.model} found it on the web; {how}",
            suggested=work,
        )
        for work, reference, (paper, how) in zip(works, references, identify(references, indexes, note), strict=True)
    ]
    return _new(new, known, document)


def _new(found: Sequence[Candidate], known: Sequence[Candidate], document: Document) -> list[Candidate]:
    """Removes duplicates, the target and known papers from `found`."""
    ids = {candidate.found.arxiv_id for candidate in known if candidate.found is not None}
    titles = [document.title, *(candidate.title for candidate in known)]
    new: list[Candidate] = []
    for candidate in found:
        number = candidate.found.arxiv_id if candidate.found is not None else None
        is_known = number is not None and number in ids
        if not is_known and all(title_similarity(candidate.title, title) < SAME for title in titles):
            new.append(candidate)
            ids.add(number)
            titles.append(candidate.title)
    return new
