"""Locates the lines of a technique in a repository, for editing or ablation. The lines are stored in the graph,
relocated in a working copy, or found by search."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from xkg.embeddings.base import Embedder
from xkg.errors import UnknownIdError
from xkg.model import LineRange, Location, Symbol, Technique, paper_of
from xkg.serve.answers.lookup import lines_of, place_of
from xkg.serve.answers.references import technique_id
from xkg.serve.answers.types import LocateAnswer, LocatedPlace, Place, SearchAnswer
from xkg.serve.search.calibration import FITS
from xkg.store.graph_store import Snapshot

if TYPE_CHECKING:
    from xkg.build.grounding.working_copy import WorkingCopy

_NAME_WORDS = 12
_ROWS = 5
_MEANS = 0.9  # 98 % of texts with at least this search score refer to the technique
_CODE = re.compile(r"@[0-9a-f]{12}$")
_ID = re.compile(r"(arxiv|doi|title):[^#]+#.")
_CLAUSE = re.compile(r"[.:;,?!]\s+|(?<!\s)\s++[-–—]\s+")


def locate(
    snapshot: Snapshot | None,
    text: str,
    most: int,
    copy: "WorkingCopy | None",
    search: Callable[[str, int], SearchAnswer],
    embedder: Callable[[], Embedder],
) -> LocateAnswer:
    """Returns up to `most` places, best first, for a technique in the graph (given by id, exact name or alias) or for a
    description. The answer is empty if nothing matches.

    For a description, returns the places of matching techniques. In a working copy, stored places are matched to the
    current code (`relocate`). The working copy is also searched (`ground`) if the text is a description, or if stored
    places are missing or have changed. If the graph is empty, `snapshot` is None and `copy` is required. Raises
    `UnknownIdError` if an id is unknown, and any error from `search` and `embedder`."""
    text = " ".join(text.split())
    techniques = named(snapshot, text) if snapshot is not None else []
    searched = "stored locations" if copy is None else str(copy)
    if snapshot is not None and techniques:
        places, note = Known(snapshot, techniques).places(copy, embedder)
    else:
        fits = _fitting(search(text, _ROWS)) if snapshot is not None else {}
        places = _by_text(snapshot, fits, copy) if snapshot is not None and fits else []
        if copy is not None:
            places += _searched(text, max(fits.values(), default=0.0), copy, embedder())
        else:
            searched += " of the techniques that fit the text"
        note = "" if places else _NOTHING if copy is not None else f"{_NO_FIT}; {_NAME_FOLDER}"
    places = ranked(places)
    if places and not any(place.confidence == "certain" for place in places):
        note = "; ".join(filter(None, (note, _UNCERTAIN)))
    cut = f"{len(places) - most} weaker locations; pass a larger k" if len(places) > most else ""
    return LocateAnswer(query=text, locations=tuple(places[:most]), searched=searched, note=note, cut=cut)


_NOTHING = "nothing in this folder matches the text; rephrase it, or use a technique's name"
_UNCERTAIN = "none of these locations is certain; read the lines before you edit"
_NO_FIT = "no technique that fits has a location in the graph"
_NAME_FOLDER = "to search a repository, pass its folder"


def named(snapshot: Snapshot, text: str) -> list[str]:
    """Returns the ids of all techniques that match a name or a reference to a technique or code
    (`xkg.serve.answers.references`). Raises `UnknownIdError` if an id is unknown."""
    if ids := list(snapshot.named(text)):
        return ids
    try:
        return [technique_id(snapshot, _CODE.sub("", text))]
    except UnknownIdError:
        if _ID.match(text):
            raise
        return []


def as_technique(text: str) -> Technique:
    """Turns a description into a technique, named after the description's first clause (shortened if necessary)."""
    name = _CLAUSE.split(text, maxsplit=1)[0]
    if len(name.split()) > _NAME_WORDS:
        name = " ".join(name.split()[:_NAME_WORDS])
    return Technique(id="text", name=name, definition=text if name != text else "")


def ranked(places: Sequence[LocatedPlace]) -> list[LocatedPlace]:
    """Returns the distinct places, best first. A whole file is omitted if a place within the file was also found,
    because that place is more useful for an ablation."""
    parts = {(p.repository, p.path) for p in places if p.symbol != p.path}
    unique: dict[tuple[str, str, int, int], LocatedPlace] = {}
    for place in sorted(places, key=lambda p: -p.score):
        if place.symbol != place.path or (place.repository, place.path) not in parts:
            unique.setdefault((place.repository, place.path, place.start_line, place.end_line), place)
    return list(unique.values())


class Known:
    """Finds the places in repositories where techniques in the graph are implemented."""

    def __init__(self, snapshot: Snapshot, techniques: Sequence[str]) -> None:
        self._techniques = techniques
        self._bundles = {paper: snapshot.bundle(paper) for paper in dict.fromkeys(map(paper_of, techniques))}

    def places(self, copy: "WorkingCopy | None", embedder: Callable[[], Embedder]) -> tuple[list[LocatedPlace], str]:
        """Returns the places of the techniques, and a note. If there are none, returns the places of the techniques'
        components."""
        places, missing, changed = self.stored(self._techniques, copy)
        note = "" if places else "the graph contains no location of this technique"
        if missing:
            note = f"{missing} of {missing + len(places)} stored locations are missing from this folder"
        if copy is not None and (changed or not places):
            known = {(place.path, place.start_line, place.end_line) for place in places}
            found = self._retrieved(copy, embedder())
            places += [at for at in found if (at.path, at.start_line, at.end_line) not in known]
            note = "; ".join(filter(None, (note, "the folder was also searched" if places else "")))
        if not places and (components := self.stored(self._components(), copy)[0]):
            return components, f"{note}; its components' locations are listed instead"
        return places, note if places or copy is not None else f"{note}; {_NAME_FOLDER}"

    def stored(self, techniques: Sequence[str], copy: "WorkingCopy | None") -> tuple[list[LocatedPlace], int, bool]:
        """Returns the stored places, matched to the current code if there is a working copy. Also returns the number of
        places that are missing from the copy, and whether any place is missing or has changed."""
        from xkg.build.grounding.relocate import moved_focus, relocate

        places, missing, changed = list[LocatedPlace](), 0, False
        for bundle in self._bundles.values():
            located = [location for location in bundle.locations if location.technique in techniques]
            symbols = {symbol.id: symbol for symbol in bundle.symbols}
            if copy is None:
                for at in located:
                    place = place_of(bundle, at.symbol, at.score, at.focus)
                    places.append(_located(place, at, at.score, "stored", symbols))
                continue
            for repository in bundle.repositories:
                every = [s for s in bundle.symbols if s.repository == repository.id]
                wanted = {at.symbol for at in located}
                matches = relocate([s for s in every if s.id in wanted], every, copy.codebase) if wanted else {}
                for at in located:
                    old = symbols[at.symbol]
                    if old.repository != repository.id:
                        continue
                    if (match := matches.get(at.symbol)) is None:
                        missing, changed = missing + 1, True
                        continue
                    new = match.symbol
                    changed = changed or match.likeness < 1
                    same = (old.path, old.start_line, old.end_line) == (new.path, new.start_line, new.end_line)
                    focus = moved_focus(at.focus, old, new)
                    source = "stored" if same else "moved"
                    places.append(_located(_in(copy, new, focus), at, at.score * match.likeness, source, symbols))
        return places, missing, changed

    def _retrieved(self, copy: "WorkingCopy", embedder: Embedder) -> list[LocatedPlace]:
        places = []
        for paper, bundle in self._bundles.items():
            own = [t for t in self._techniques if paper_of(t) == paper]
            visible = [t for t in bundle.techniques if t.hidden is None or t.id in own]
            places += _search_copy(visible, own, copy, embedder)
        return places

    def _components(self) -> list[str]:
        """Returns all visible techniques below these techniques in the hierarchy."""
        below = set(self._techniques)
        for bundle in self._bundles.values():
            below |= {t.id for t in bundle.techniques if t.parent in below and t.hidden is None}  # parents come first
        return sorted(below - set(self._techniques))


def _search_copy(
    techniques: Sequence[Technique], wanted: Sequence[str], copy: "WorkingCopy", embedder: Embedder
) -> list[LocatedPlace]:
    """Searches the copy for a paper's techniques, and returns the places of the `wanted` techniques."""
    from xkg.build.grounding.ground import ground

    symbols = {source.symbol.id: source.symbol for source in copy.codebase.symbols().values()}
    grounding = ground(techniques, copy.codebase, embedder, index=copy.index)
    return [
        _located(_in(copy, symbols[at.symbol], at.focus), at, at.score, "retrieved", symbols)
        for at in grounding.locations
        if at.technique in wanted
    ]


def _fitting(answer: SearchAnswer) -> dict[str, float]:
    """Returns the techniques that fit a description, with the probability that the description refers to each."""
    pairs = [(row.id, row.score) for row in answer.rows]
    pairs += [(relative.id, relative.score or 0.0) for row in answer.rows for relative in row.relatives]
    return {technique: score for technique, score in pairs if score >= FITS}


def _by_text(snapshot: Snapshot, fits: Mapping[str, float], copy: "WorkingCopy | None") -> list[LocatedPlace]:
    places, _, _ = Known(snapshot, list(fits)).stored(list(fits), copy)
    return [_weighed(place, fits[str(place.technique)]) for place in places]


def _searched(text: str, meant: float, copy: "WorkingCopy", embedder: Embedder) -> list[LocatedPlace]:
    """Returns the places in the copy that match a description. The description need not refer to a technique in the
    graph. `meant` is the probability that it does."""
    places = _search_copy([as_technique(text)], ["text"], copy, embedder)
    return [_weighed(place.model_copy(update={"technique": None}), 1 - meant) for place in places]


def _weighed(place: LocatedPlace, likely: float) -> LocatedPlace:
    confidence = "doubtful" if place.confidence == "certain" and likely < _MEANS else place.confidence
    return place.model_copy(update={"score": round(place.score * likely, 4), "confidence": confidence})


def _in(copy: "WorkingCopy", symbol: Symbol, focus: Sequence[LineRange]) -> Place:
    return lines_of(symbol, str(copy.folder), copy.codebase.repository.commit, None, focus)


def _located(
    place: Place, location: Location, score: float, source: str, symbols: Mapping[str, Symbol]
) -> LocatedPlace:
    """`symbols` are the existing symbols, by id."""
    twins = [symbols[twin] for twin in location.twins if twin in symbols]
    fields = {
        **place.model_dump(),
        "score": round(score, 4),
        "technique": location.technique,
        "source": source,
        "twins": [f"{twin.path}:{twin.start_line}-{twin.end_line}" for twin in twins],
        "confidence": location.confidence,
    }
    return LocatedPlace.model_validate(fields)
