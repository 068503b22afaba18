"""Resolves references to papers, techniques and code by id, unique name, or short id.

A technique's short id is the end of its path, such as `entropy-minimization-objective`. If the end of the path is
ambiguous, the short id starts with the beginning of the paper's title and `#`: `tent#entropy-minimization-objective`. A
code id consists of its technique's id, `@`, and the code's digest."""

import re
from collections.abc import Sequence

from xkg import model
from xkg.errors import AmbiguousIdError, UnknownIdError
from xkg.model import paper_of, slug
from xkg.serve.answers.types import short
from xkg.store.graph_store import Snapshot
from xkg.store.index_entries import searched_entries
from xkg.store.unknown_id import nearest
from xkg.text.arxiv_id import arxiv_id
from xkg.text.doi import canonical_doi

NEAREST = 50
"""Number of techniques to retrieve when searching for papers similar to an unknown title."""

_ID = re.compile(r"(?:arxiv|doi|title):")
_DIGEST = re.compile(r"@[0-9a-f]{12}$")
_TITLE_WORDS = 3
_LISTED = 5
_NAMED = 3
_WORD = re.compile(r"\w+")


def paper_id(snapshot: Snapshot, reference: str) -> str:
    """Returns the id of the paper that `reference` refers to. A reference can be:

    - an id (for arXiv also a number or URL, in any version; also a DOI URL)
    - a title or the start of a title, ignoring case, spaces and punctuation
    - the name of a method that only one paper has

    Raises `UnknownIdError`, which lists the nearest papers, and `AmbiguousIdError`."""
    wanted = reference.strip()
    found = snapshot.called(wanted)
    if not found and (arxiv_id(wanted) or canonical_doi(wanted)):
        wanted = model.paper_id("", doi=wanted)
        found = snapshot.called(wanted)
    found = found or _proposing(snapshot, wanted)
    if len(found) == 1:
        return found[0]
    if found:
        ids = [short_paper(snapshot, paper) for paper in found[:_LISTED]]
        message = f"{len(found)} papers have this title; use one of these ids: {', '.join(ids)}"
        raise AmbiguousIdError(message, ids)
    near = _nearest_papers(snapshot, wanted)
    if not near:
        snapshot.require_paper(wanted)
    headings = snapshot.headings(near)
    listed = "; ".join(f"{short_paper(snapshot, p)} ({short(headings[p].title, 80)})" for p in headings)
    raise UnknownIdError(f"no paper {quoted(wanted)} in this graph; nearest: {listed}", near)


def _nearest_papers(snapshot: Snapshot, wanted: str) -> list[str]:
    """Returns papers whose titles contain all words in a reference, then papers with similarly spelled ids, then papers
    on the same subject. Papers on the same subject are ordered by the number of shared words."""
    alike = nearest(wanted, snapshot.paper_ids())
    if _ID.match(wanted):
        return alike
    words = set(_WORD.findall(wanted.casefold()))
    subject = list(dict.fromkeys(paper_of(hit.id) for hit in snapshot.find_text(wanted, NEAREST)))
    shared = {
        paper: len(words & set(_WORD.findall(heading.title.casefold())))
        for paper, heading in snapshot.headings(subject).items()
    }
    kin = sorted(shared, key=lambda paper: -shared[paper])
    whole = [paper for paper in kin if words and shared[paper] == len(words)]
    return list(dict.fromkeys([*whole, *alike, *kin]))[:_NAMED]


def technique_id(snapshot: Snapshot, reference: str) -> str:
    """Returns the full id of a technique, given its id, short id or name. If a paper has several techniques with this
    name, returns the first one with code, or the first one if none has code. Raises `UnknownIdError`, which lists the
    nearest techniques, and `AmbiguousIdError` if several papers have a technique with this name."""
    wanted = reference.strip()
    if wanted.startswith("#"):  # plans abbreviate technique ids to `#…`
        raise UnknownIdError(f"{quoted(wanted)} is only the end of an id; put the paper's id before it")
    try:
        return snapshot.technique(wanted).technique.id
    except UnknownIdError:
        found = _matching(snapshot, wanted)
        if not found:
            near = _nearest_techniques(snapshot, wanted)
            if not near:
                raise
            ids = list(short_ids(snapshot, near).values())
            message = f"no technique {quoted(wanted)} in this graph; nearest: {', '.join(ids)}"
            raise UnknownIdError(message, ids) from None
    papers = dict.fromkeys(map(paper_of, found))
    if len(papers) > 1:
        ids = list(short_ids(snapshot, found[:_LISTED]).values())
        message = f"{len(papers)} papers have a technique {quoted(wanted)}; use one of these ids: {', '.join(ids)}"
        raise AmbiguousIdError(message, ids)
    facts = snapshot.facts(found)
    return next((t for t in found if t in facts and facts[t].language), found[0])


def _nearest_techniques(snapshot: Snapshot, wanted: str) -> list[str]:
    """Returns techniques similar to a text. If the text starts with a paper's id, only that paper's techniques with
    similar paths are returned. If no path is similar, returns the paper's first few techniques. Returns an empty list
    for a hidden technique."""
    paper, mark, path = wanted.rpartition("#")
    if not mark:
        return [hit.id for hit in snapshot.find_text(wanted, _NAMED)]
    own = paper_id(snapshot, paper)
    if any(technique.id == f"{own}#{path}" for technique in snapshot.bundle(own).techniques):
        return []
    paths = [technique.partition("#")[2] for technique in snapshot.technique_ids(own)]
    return [f"{own}#{near}" for near in nearest(path, paths) or paths[:_NAMED]]


def code_id(snapshot: Snapshot, reference: str) -> str:
    """Returns the full id for a code id. The technique in the code id may be any reference that `technique_id` accepts.
    Raises `UnknownIdError` if the code is unknown or has been replaced by newer code."""
    wanted = reference.strip()
    start = wanted.rfind("@")
    if start == 0:
        raise UnknownIdError(f"{quoted(wanted)} is only the end of an id; put the technique's id before it")
    technique = technique_id(snapshot, wanted[:start])
    code = snapshot.technique(technique).code
    whole = f"{technique}{wanted[start:]}"
    if code is not None and code.id != whole:
        current = short_ids(snapshot, [technique])[technique] + code.id[code.id.rfind("@") :]
        raise UnknownIdError(f"no code {quoted(wanted)} in this graph; its technique has {current}", [current])
    return whole


def is_code(reference: str) -> bool:
    return bool(_DIGEST.search(reference.strip()))


def resolved(snapshot: Snapshot, references: Sequence[str]) -> tuple[str, ...]:
    """Resolves references to paper and technique ids. Code resolves to its technique's id. Unknown references are
    returned unchanged."""
    return tuple(_resolved(snapshot, _DIGEST.sub("", reference.strip())) for reference in references)


def _resolved(snapshot: Snapshot, reference: str) -> str:
    if list(snapshot.called(reference)) == [reference]:
        return reference
    for resolve in (technique_id, paper_id):
        try:
            return resolve(snapshot, reference)
        except UnknownIdError:
            continue
    return reference


def short_ids(snapshot: Snapshot, techniques: Sequence[str]) -> dict[str, str]:
    """Returns the shortest unambiguous reference for each technique."""
    papers: dict[str, str] = {}
    return {technique: _short(snapshot, technique, papers) for technique in techniques}


def _short(snapshot: Snapshot, technique: str, papers: dict[str, str]) -> str:
    paper, _, path = technique.partition("#")
    end = path.rpartition("/")[2]
    named = snapshot.named(end)
    if named == [technique]:
        return end
    if paper not in papers:
        papers[paper] = short_paper(snapshot, paper, before_mark=True)
    own = [t.partition("#")[2] for t in named if paper_of(t) == paper]
    names = path.split("/")
    for start in range(len(names) - 1, -1, -1):
        end = "/".join(names[start:])
        if ([p for p in own if p == end] or [p for p in own if p.endswith(f"/{end}")]) == [path]:
            return f"{papers[paper]}#{end}"
    return f"{papers[paper]}#{path}"


def short_paper(snapshot: Snapshot, paper: str, *, before_mark: bool = False) -> str:
    """Returns the shortest unambiguous reference to a paper. This is its id or, if the id is derived from the title,
    the title up to a colon or its first three or more words. `before_mark` means that `#` will follow, so the
    reference cannot be mistaken for a technique."""
    if not paper.startswith("title:"):
        return paper
    heading = snapshot.headings([paper]).get(paper)
    words = paper.partition(":")[2].split("-")
    head = slug(heading.title.partition(":")[0]) if heading and ":" in heading.title else ""
    starts = [head] if head and head.count("-") < _TITLE_WORDS - 1 else []
    starts += ["-".join(words[:count]) for count in range(min(_TITLE_WORDS, len(words)), len(words))]

    def refers(start: str) -> bool:
        return list(snapshot.called(start, 2)) == [paper] and (before_mark or not snapshot.named(start))

    return next(filter(refers, starts), paper)


def _proposing(snapshot: Snapshot, name: str) -> list[str]:
    """Returns the papers that have a technique with this name. If the technique is the main method of some papers,
    returns only those papers. If several papers are returned, the name is ambiguous."""
    named = snapshot.named(name)
    own = dict.fromkeys(paper_of(t) for t in named if "/" not in t.partition("#")[2])
    return list(own or dict.fromkeys(map(paper_of, named)))


def _matching(snapshot: Snapshot, reference: str) -> list[str]:
    """Returns the techniques that match a name or short id exactly. If there are none, returns the techniques that
    match another form of the name."""
    paper, mark, path = reference.rpartition("#")
    end = path.rpartition("/")[2]
    if mark:
        own = paper_id(snapshot, paper)
        whole = f"{own}#{path}"
        techniques = [entry.technique.id for entry in searched_entries(snapshot.bundle(own))]
        return [whole] if whole in techniques else [t for t in techniques if t.endswith("/" + path)]
    named = list(snapshot.named(reference))
    if "/" in path and not named:
        return [t for t in snapshot.named(end) if t.endswith(("#" + path, "/" + path))]
    exact = [t for t in named if t.rpartition("#")[2].rpartition("/")[2] == slug(reference)]
    return exact or named


def quoted(text: str) -> str:
    """Renders a reference for an error message, shortened and with invisible characters escaped."""
    return repr(short(text, 120))
