"""Finds a target paper's core techniques, and up to ten papers with repositories that help to implement them, best
first."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from xkg.build.curation.blacklist_guard import BlacklistGuard
from xkg.build.curation.candidates import SAME, Candidate, found_by_search, references, suggested_by_model
from xkg.build.curation.curated_set import ChosenRepository, CoreTechnique, CuratedPaper, CuratedSet
from xkg.build.curation.guide import Guide, UncitedWork
from xkg.build.curation.identify import identify
from xkg.build.curation.ownership import PaperIdentity
from xkg.build.curation.ranking import rank
from xkg.build.curation.reference_titles import with_titles
from xkg.build.curation.repository_links import RepositoryLink, links_in, links_of
from xkg.build.curation.repository_search import RepositoriesFound, RepositorySearch
from xkg.build.paper.document import Document
from xkg.build.sources.paper_index import FoundPaper, PaperIndex
from xkg.build.techniques.definitions import read
from xkg.build.techniques.extract import extract
from xkg.embeddings.base import Embedder
from xkg.errors import InputError
from xkg.text.titles import title_similarity
from xkg.text.unicode import printable_line

MOST_PAPERS = 10
_REFERENCES, _TRIED, _TEXTS = 40, 60, 3
_TECHNIQUES = 6
_CITED_PER_FOUND = 3
_FOUND_TRIED = 10


@dataclass(frozen=True)
class Sources:
    """The services that a curation uses. `indexes` contains paper indexes, best first.

    `text` returns the text of a paper, or raises `InputError` if there is no text. `text` is called only for papers
    whose abstract mentions no repository."""

    indexes: Sequence[PaperIndex]
    repositories: RepositorySearch
    embedder: Embedder
    text: Callable[[str], Document] | None = None
    note: Callable[[str], None] = field(default=lambda _: None)


def curate(
    document: Document,
    identity: str,
    sources: Sources,
    *,
    most: int = MOST_PAPERS,
    guard: BlacklistGuard | None = None,
    guide: Guide | None = None,
) -> CuratedSet:
    """Returns the papers around a target, except those that `guard` refuses.

    A `guide` determines the techniques and chooses the papers. A guide whose model can search the web also finds works
    that the target does not cite. An index or host that does not answer is skipped and mentioned in the notes.

    Raises `InputError` if the target has no techniques. May also raise `EmbeddingError`."""
    notes: list[str] = []

    def note(line: str) -> None:
        if line not in notes:
            notes.append(line)
            sources.note(line)

    document = with_titles(document, guide) if guide is not None else document
    reader, parts = read(document)
    by_model = guide.techniques(document, reader) if guide is not None else None
    techniques = by_model or core_techniques(document, identity)
    if not techniques:
        raise InputError(f"no technique was found in {document.title or identity}, so there is nothing to curate")
    cited = references(reader, parts)
    candidates = _identified(cited, techniques, document, sources, note)
    candidates += found_by_search(candidates, document, sources.indexes, note)
    if guide is not None:
        candidates += suggested_by_model(guide, techniques, candidates, document, sources.indexes, note)
    by_facts = _ranked(candidates, techniques, document, sources.embedder)
    chosen = _chosen(by_facts, techniques, document, guide) if guide is not None else None
    ranked = _looked_up(chosen, sources, note) if chosen else _in_turn(by_facts)
    papers: list[CuratedPaper] = []
    dropped: list[CuratedPaper] = []
    texts = _Texts(sources, note)
    left = {"reference": _TRIED, "search": _FOUND_TRIED, "model": _FOUND_TRIED}
    for candidate, paper in ranked:
        found = candidate.found
        reason = paper.dropped or _unusable(candidate, document, guard)
        if reason is None and len(papers) >= most:
            reason = f"{most} papers rank before it" if most > 1 else "1 paper ranks before it"
        if reason is None and not left[paper.origin]:
            reason = "it ranks below the papers whose repositories were searched for"
        if reason is None and found is not None:
            left[paper.origin] -= 1
            searched = _repositories(found, candidate.suggested, guide, sources, texts)
            paper = paper.model_copy(update={"repositories": searched.repositories})
            if paper.repository is None:
                reason = _without_repository(paper, searched.unanswered)
            elif guard is not None:
                reason = _copy(guard, paper.repository)
        if reason is None:
            papers.append(paper)
        else:
            dropped.append(paper.model_copy(update={"dropped": reason}))
    return CuratedSet(
        target=identity,
        title=document.title,
        techniques=techniques,
        papers=tuple(papers),
        dropped=tuple(dropped),
        by=guide.model if guide is not None and chosen else None,
        notes=tuple(notes),
    )


def _unusable(candidate: Candidate, document: Document, guard: BlacklistGuard | None) -> str | None:
    """Returns the reason why a paper cannot be in the set, whatever its rank, or None if it can."""
    found = candidate.found
    if found is None or found.arxiv_id is None:
        return f"it was not found on arXiv: {candidate.identified}"
    if guard is not None and (named := guard.paper(found.arxiv_id, found.doi, found.title)) is not None:
        return named
    return "it is the target itself" if _is_target(found, document) else None


def core_techniques(document: Document, identity: str) -> tuple[CoreTechnique, ...]:
    """Returns the techniques extracted from the target's structure. Techniques near the top of the hierarchy come
    first."""
    found = [technique for technique in extract(document, identity).techniques if technique.hidden is None]
    first = sorted(found, key=lambda technique: technique.depth)[:_TECHNIQUES]
    return tuple(
        CoreTechnique(
            name=technique.name,
            definition=technique.definition[:1000],
            why=f"section {technique.excerpts[0].section!r}" if technique.excerpts else "",
        )
        for technique in first
    )


def _identified(
    cited: Sequence[Candidate],
    techniques: Sequence[CoreTechnique],
    document: Document,
    sources: Sources,
    note: Callable[[str], None],
) -> list[Candidate]:
    """Identifies the papers behind the top-ranked references. The other references keep their rank."""
    order = [candidate for candidate, _ in _ranked(cited, techniques, document, sources.embedder)]
    references = [candidate.reference for candidate in order if candidate.reference is not None]
    quick = [index for index in sources.indexes if not index.is_slow]
    papers = [
        *identify(references[:_REFERENCES], sources.indexes, note),
        *identify(references[_REFERENCES:], quick, note),
    ]
    return [
        candidate.model_copy(update={"found": paper.paper, "identified": paper.how})
        for candidate, paper in zip(order, papers, strict=True)
    ]


def _ranked(
    candidates: Sequence[Candidate], techniques: Sequence[CoreTechnique], document: Document, embedder: Embedder
) -> list[tuple[Candidate, CuratedPaper]]:
    subject = f"{document.title}. {document.abstract}"
    scores = rank([_text(c) for c in candidates], [c.use for c in candidates], techniques, subject, embedder)
    both = [
        (
            candidate,
            CuratedPaper(
                title=candidate.title,
                origin=_origin(candidate),
                technique=techniques[score.technique].name,
                score=round(score.score, 4),
                scores={"use": round(score.use, 4), "nearness": round(score.nearness, 4)},
                identified=candidate.identified,
                why=_why(candidate),
                mentions=candidate.mentions,
            ).model_copy(update=_identity(candidate.found) if candidate.found is not None else {}),
        )
        for candidate, score in zip(candidates, scores, strict=True)
    ]
    return sorted(both, key=lambda pair: (-pair[1].score, pair[1].title))


def _chosen(
    ranked: Sequence[tuple[Candidate, CuratedPaper]],
    techniques: Sequence[CoreTechnique],
    document: Document,
    guide: Guide,
) -> list[tuple[Candidate, CuratedPaper]]:
    """Returns the papers that the model chose, in the model's order and with its reasons. All other papers follow and
    are marked as dropped. Returns an empty list if the model returns no answer."""
    # Candidates found by a model come first, because not all fit in the prompt.
    ranked = sorted(ranked, key=lambda pair: pair[0].suggested is None)
    ranked = sorted(ranked, key=lambda pair: pair[0].reference is None and pair[0].found is None)
    choices = guide.choose(document, techniques, [paper for _, paper in ranked])
    if not choices:
        return []
    order = [
        (
            ranked[choice.candidate][0],
            ranked[choice.candidate][1].model_copy(
                update={"technique": techniques[choice.technique].name, "why": choice.why}
            ),
        )
        for choice in choices
    ]
    taken = {choice.candidate for choice in choices}
    reason = f"{guide.model} preferred other papers"
    return order + [
        (candidate, paper.model_copy(update={"dropped": reason}))
        for n, (candidate, paper) in enumerate(ranked)
        if n not in taken
    ]


def _looked_up(
    ranked: Sequence[tuple[Candidate, CuratedPaper]], sources: Sources, note: Callable[[str], None]
) -> list[tuple[Candidate, CuratedPaper]]:
    """Looks up the papers for lower-ranked references that the model chose."""
    open_ones = [
        (n, candidate.reference)
        for n, (candidate, paper) in enumerate(ranked)
        if candidate.found is None and candidate.reference is not None and paper.dropped is None
    ]
    found = identify([reference for _, reference in open_ones], sources.indexes, note)
    complete = list(ranked)
    for (n, _), identified in zip(open_ones, found, strict=True):
        candidate, paper = ranked[n]
        named = candidate.model_copy(update={"found": identified.paper, "identified": identified.how})
        update: dict[str, object] = {"identified": identified.how}
        if identified.paper is not None:
            update |= _identity(identified.paper)
        complete[n] = named, paper.model_copy(update=update)
    return complete


def _identity(found: FoundPaper) -> dict[str, object]:
    """Returns the fields of a `CuratedPaper` that an index provides."""
    return {
        "title": found.title,
        "arxiv_id": found.arxiv_id,
        "authors": found.authors,
        "published": found.published,
        "source": found.source,
    }


def _in_turn(ranked: Sequence[tuple[Candidate, CuratedPaper]]) -> list[tuple[Candidate, CuratedPaper]]:
    """Returns the references, with a found paper inserted after every `_CITED_PER_FOUND` of them. Because a search
    always finds something, an inserted paper must be at least as similar to the target as half of the references. Found
    papers that are only as similar as a quarter of the references come last. All other found papers are dropped."""
    cited = [pair for pair in ranked if pair[0].reference is not None]
    found = [pair for pair in ranked if pair[0].reference is None]
    found.sort(key=lambda pair: -pair[1].scores["nearness"])
    nearness = sorted(paper.scores["nearness"] for _, paper in cited) or [0.0]
    middle, least = nearness[len(nearness) // 2], nearness[len(nearness) // 4]
    near = deque(pair for pair in found if pair[1].scores["nearness"] >= middle)
    order: list[tuple[Candidate, CuratedPaper]] = []
    for count, pair in enumerate(cited, start=1):
        order.append(pair)
        if count % _CITED_PER_FOUND == 0 and near:
            order.append(near.popleft())
    rest = [pair for pair in found if pair[1].scores["nearness"] < middle]
    far = "it is less similar to the target than three quarters of the target's references"
    return [
        *order,
        *near,
        *(
            (candidate, paper if paper.scores["nearness"] >= least else paper.model_copy(update={"dropped": far}))
            for candidate, paper in rest
        ),
    ]


def _text(candidate: Candidate) -> str:
    around = " ".join(mention.sentence for mention in candidate.mentions if mention.together <= 3)
    abstract = candidate.found.abstract if candidate.found is not None else ""
    return f"{candidate.title}. {abstract[:700]} {around[:700]}"


def _origin(candidate: Candidate) -> Literal["reference", "search", "model"]:
    if candidate.suggested is not None:
        return "model"
    return "search" if candidate.reference is None else "reference"


def _why(candidate: Candidate) -> str:
    if candidate.suggested is not None:
        return f"{candidate.identified}: {printable_line(candidate.suggested.why)[:300]}"
    if candidate.reference is None:
        return candidate.identified
    count = len(candidate.mentions)
    if not count:
        return "it is in the bibliography, but no sentence that cites it was found"
    sections = list(dict.fromkeys(mention.section or mention.role for mention in candidate.mentions))
    alone = sum(mention.together == 1 for mention in candidate.mentions)
    times = ("once, alone" if alone else "once, with others") if count == 1 else f"{count} times, {alone} of them alone"
    return f"cited {times}, in: {', '.join(sections)[:200]}"


def _is_target(found: FoundPaper, document: Document) -> bool:
    same = found.arxiv_id == document.arxiv_id and found.arxiv_id is not None
    return same or title_similarity(found.title, document.title) >= SAME


class _Texts:
    """Looks for repositories in the texts of at most `_TEXTS` candidates, because fetching a text from arXiv takes ten
    seconds."""

    def __init__(self, sources: Sources, note: Callable[[str], None]) -> None:
        self._sources, self._note, self._left = sources, note, _TEXTS

    def links(self, found: FoundPaper) -> Sequence[RepositoryLink]:
        if self._sources.text is None or found.arxiv_id is None or not self._left:
            return ()
        self._left -= 1
        try:
            return links_of(self._sources.text(found.arxiv_id))
        except InputError as error:
            self._note(f"could not read the text of {found.title[:80]!r} to find its repository: {error}")
            return ()


def _repositories(
    found: FoundPaper, suggested: UncitedWork | None, guide: Guide | None, sources: Sources, texts: _Texts
) -> RepositoriesFound:
    paper = PaperIdentity(found.title, found.authors, found.arxiv_id, found.published)
    named = links_in(f"{found.abstract}\n{found.comment}")
    if suggested is not None and guide is not None:
        words = f"{guide.model} found it on the web"
        named += [each._replace(role="suggested", words=words) for each in links_in(suggested.repository or "")[:1]]
    return sources.repositories.of(paper, named, lambda: texts.links(found))


def _copy(guard: BlacklistGuard, repository: ChosenRepository) -> str | None:
    """Returns the reason for refusing a repository as a copy. Also refuses repositories that cannot be compared with
    the blacklist."""
    try:
        return guard.fetched(repository.url, repository.commit)
    except InputError as error:
        return f"{repository.url} cannot be compared with blacklisted repositories: {error}"


def _without_repository(paper: CuratedPaper, unanswered: str | None) -> str:
    if not paper.repositories:
        return f"could not search for its repository: {unanswered}" if unanswered else "no repository was found for it"
    likeliest = paper.repositories[0]
    why = "; ".join(likeliest.evidence)[:300]
    unclear = likeliest.is_official is None
    open_one = (
        "it is unclear whether it is the paper's own:" if unclear else "none is the paper's own; the most likely is"
    )
    return f"{open_one} {likeliest.url} ({why})"
