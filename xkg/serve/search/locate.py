"""Locates a technique in a repository, the lines to edit or ablate: stored ones, relocated in a working copy, or found
by searching it."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from xkg.errors import UnknownIdError
from xkg.model import LineRange, Location, Symbol, Technique, paper_of
from xkg.serve.answers.lookup import place_of
from xkg.serve.answers.references import technique_id
from xkg.serve.answers.types import LocateAnswer, LocatedPlace, Place, SearchAnswer
from xkg.serve.search.calibration import FITS
from xkg.store.graph_store import Snapshot

if TYPE_CHECKING:
    from xkg.build.grounding.working_copy import WorkingCopy
    from xkg.embeddings.base import Embedder

_NAME_WORDS = 12
_ROWS = 5
_SHARE_OF_BEST = 0.5
_CODE = re.compile(r"@[0-9a-f]{12}$")
_ID = re.compile(r"(arxiv|doi|title):[^#]+#.")
_CLAUSE = re.compile(r"[.:;,?!]\s+|(?<!\s)\s++[-–—]\s+")


def locate(
    snapshot: Snapshot | None,
    text: str,
    most: int,
    copy: "WorkingCopy | None",
    search: Callable[[str, int], SearchAnswer],
    embedder: "Callable[[], Embedder]",
) -> LocateAnswer:
    """The places of a technique of the graph (by id, exact name or alias), or of what a text describes, best first, at
    most `k`; none where nothing is well founded.

    In a working copy, stored places are found again (`relocate`); where none is left, or none was stored, the copy is
    searched (`ground`). Without one, a text is answered with the stored places of the techniques that it fits.
    `snapshot` is None for an empty graph, which needs a copy. Raises `UnknownIdError` for an id that is not here, and
    what `search` and `embedder` raise."""
    text = " ".join(text.split())
    techniques = named(snapshot, text) if snapshot is not None else []
    if snapshot is not None and techniques:
        known = Known(snapshot, techniques)
        places, searched, note = known.in_graph() if copy is None else known.in_copy(copy, embedder)
    elif copy is not None:
        places, note = _search_copy([as_technique(text)], ["text"], copy, embedder())
        places = [place.model_copy(update={"technique": None}) for place in places]
        searched, note = str(copy), note if places else f"{_NOTHING}; say it in other words, or name a technique"
    else:
        assert snapshot is not None
        places, note = _by_text(snapshot, search(text, _ROWS))
        searched = "stored places of the techniques that fit the text"
    places = ranked(places)
    cut = f"{len(places) - most} weaker places; ask for a larger k" if len(places) > most else ""
    return LocateAnswer(query=text, locations=tuple(places[:most]), searched=searched, note=note, cut=cut)


_NOTHING = "nothing in this folder does it clearly"
_DOUBTFUL = "none of these places is well founded: read before you edit"


def named(snapshot: Snapshot, text: str) -> list[str]:
    """The ids of the techniques that a reference (`xkg.serve.answers.references`, to code too) or a name means: all of
    this name. Raises `UnknownIdError` for what can only be an id."""
    if ids := list(snapshot.named(text)):
        return ids
    try:
        return [technique_id(snapshot, _CODE.sub("", text))]
    except UnknownIdError:
        if _ID.match(text):
            raise
        return []


def as_technique(text: str) -> Technique:
    """A text as a technique: its first clause is the name, where that is short enough to be one."""
    name = _CLAUSE.split(text, maxsplit=1)[0]
    if len(name.split()) > _NAME_WORDS:
        name = " ".join(name.split()[:_NAME_WORDS])
    return Technique(id="text", name=name, definition=text if name != text else "")


def ranked(places: Sequence[LocatedPlace]) -> list[LocatedPlace]:
    """Best first, each once, and no whole file of which a part is a place: an ablation edits lines."""
    parts = {(p.repository, p.path) for p in places if p.symbol != p.path}
    unique: dict[tuple[str, str, int, int], LocatedPlace] = {}
    for place in sorted(places, key=lambda p: -p.score):
        if place.symbol != place.path or (place.repository, place.path) not in parts:
            unique.setdefault((place.repository, place.path, place.start_line, place.end_line), place)
    return list(unique.values())


class Known:
    """Techniques of the graph, with their papers."""

    def __init__(self, snapshot: Snapshot, techniques: Sequence[str]) -> None:
        self._techniques = techniques
        self._bundles = {paper: snapshot.bundle(paper) for paper in dict.fromkeys(map(paper_of, techniques))}

    def in_graph(self) -> tuple[list[LocatedPlace], str, str]:
        """Stored places, what was searched, and a note."""
        if places := self.stored(self._techniques):
            return places, "stored places", ""
        if places := self.stored(self._components()):
            return places, "stored places", "no place of it is stored: these are the places of its components"
        return [], "stored places", "the graph stores no place of it; name the folder of a repository to search that"

    def in_copy(self, copy: "WorkingCopy", embedder: "Callable[[], Embedder]") -> tuple[list[LocatedPlace], str, str]:
        """Places in a working copy, what was searched, and a note."""
        places, missing = self._relocated(self._techniques, copy)
        if places:
            note = f"{missing} of {missing + len(places)} stored places are gone from this folder" if missing else ""
            return places, str(copy), note
        why = f"all {missing} stored places are gone from this folder" if missing else "the graph stores no place of it"
        for paper, bundle in self._bundles.items():
            own = [t for t in self._techniques if paper_of(t) == paper]
            visible = [t for t in bundle.techniques if t.hidden is None or t.id in own]
            retrieved, doubt = _search_copy(visible, own, copy, embedder())
            places += retrieved
        if places:
            return places, str(copy), f"{why}; these were found by searching it" + (f"; {doubt}" if doubt else "")
        places, _ = self._relocated(self._components(), copy)
        if places:
            return places, str(copy), f"{why}; these are the places of its components"
        return [], str(copy), f"{why}, and {_NOTHING}"

    def stored(self, techniques: Sequence[str]) -> list[LocatedPlace]:
        places = []
        for bundle in self._bundles.values():
            symbols = {symbol.id: symbol for symbol in bundle.symbols}
            for location in bundle.locations:
                if location.technique in techniques:
                    place = place_of(bundle, location.symbol, location.score, location.focus)
                    places.append(_located(place, location, location.score, "stored", symbols))
        return places

    def _components(self) -> list[str]:
        """Everything below the techniques in the hierarchy that is shown."""
        below = set(self._techniques)
        for bundle in self._bundles.values():
            below |= {t.id for t in bundle.techniques if t.parent in below and t.hidden is None}  # a preorder walk
        return sorted(below - set(self._techniques))

    def _relocated(self, techniques: Sequence[str], copy: "WorkingCopy") -> tuple[list[LocatedPlace], int]:
        """Places in the copy, and how many stored ones it lacks."""
        from xkg.build.grounding.relocate import moved_focus, relocate

        places, missing = [], 0
        for bundle in self._bundles.values():
            locations = [location for location in bundle.locations if location.technique in techniques]
            wanted = {location.symbol for location in locations}
            for repository in bundle.repositories:
                stored = [s for s in bundle.symbols if s.repository == repository.id]
                symbols = {s.id: s for s in stored if s.id in wanted}
                matches = relocate(list(symbols.values()), stored, copy.codebase) if symbols else {}
                missing += len(symbols) - len(matches)
                for location in locations:
                    if (match := matches.get(location.symbol)) is not None:
                        old, new = symbols[location.symbol], match.symbol
                        same = (old.path, old.start_line, old.end_line) == (new.path, new.start_line, new.end_line)
                        score, source = location.score * match.likeness, "stored" if same else "moved"
                        focus = moved_focus(location.focus, old, new)
                        places.append(_located(_in(copy, new, focus), location, score, source, symbols))
        return places, missing


def _search_copy(
    techniques: Sequence[Technique], wanted: Sequence[str], copy: "WorkingCopy", embedder: "Embedder"
) -> tuple[list[LocatedPlace], str]:
    """Where the copy does the wanted ones of a paper's techniques, and a note where that is doubtful."""
    from xkg.build.grounding.ground import ground

    symbols = {source.symbol.id: source.symbol for source in copy.codebase.symbols().values()}
    grounding = ground(techniques, copy.codebase, embedder, index=copy.index)
    locations = [location for location in grounding.locations if location.technique in wanted]
    sure = {location.technique for location in locations}.difference(grounding.doubtful)
    places = [_located(_in(copy, symbols[at.symbol], at.focus), at, at.score, "retrieved", symbols) for at in locations]
    return places, _DOUBTFUL if places and not sure else ""


def _by_text(snapshot: Snapshot, answer: SearchAnswer) -> tuple[list[LocatedPlace], str]:
    """The stored places of the techniques that a text fits, and a note."""
    pairs = [(row.id, row.score) for row in answer.rows]
    pairs += [(relative.id, relative.score or 0.0) for row in answer.rows for relative in row.relatives]
    scores = {technique: score for technique, score in pairs if score >= FITS}
    if not scores:
        return [], "no technique in the graph fits; name the folder of a repository to search that"
    places = [
        place.model_copy(update={"score": round(place.score * scores[str(place.technique)], 4)})
        for place in Known(snapshot, list(scores)).stored(list(scores))
    ]
    if not places:
        return (
            [],
            "the graph stores no place of the techniques that fit; name the folder of a repository to search that",
        )
    least = _SHARE_OF_BEST * max(place.score for place in places)
    return [place for place in places if place.score >= least], ""


def _in(copy: "WorkingCopy", symbol: Symbol, focus: Sequence[LineRange]) -> Place:
    return Place(
        repository=str(copy.folder),
        commit=copy.codebase.repository.commit,
        path=symbol.path,
        start_line=symbol.start_line,
        end_line=symbol.end_line,
        symbol=symbol.qualified_name or symbol.path,
        score=None,
        focus=tuple(focus),
    )


def _located(
    place: Place, location: Location, score: float, source: str, symbols: Mapping[str, Symbol]
) -> LocatedPlace:
    """`symbols` has the twins of the location, as far as they are there."""
    twins = [symbols[twin] for twin in location.twins if twin in symbols]
    fields = {
        **place.model_dump(),
        "score": round(score, 4),
        "technique": location.technique,
        "source": source,
        "twins": [f"{twin.path}:{twin.start_line}-{twin.end_line}" for twin in twins],
        "doubtful": location.doubtful,
    }
    return LocatedPlace.model_validate(fields)
