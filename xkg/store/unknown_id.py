"""Creates the error for an id that is not in the graph. The error gives the reason, or lists the nearest ids."""

import difflib
import re
from collections.abc import Sequence
from heapq import nsmallest
from typing import Literal, Protocol

from xkg.errors import UnknownIdError
from xkg.model import PaperBundle, paper_of

NEAREST = 3
LIST_PAPERS = "list_papers lists the papers"
_COMPARED = 5000
_CLOSEST = 100
_PIECE = 3
_LONGEST = 200
_ALIKE = 0.6
_SCHEME = re.compile(r"^(?:arxiv|doi|title):")


class Known(Protocol):
    """Looks up ids in a graph. `paper_bundle` is None if the paper does not exist or cannot be read."""

    def paper_ids(self) -> Sequence[str]: ...
    def technique_ids(self, paper: str) -> Sequence[str]: ...
    def paper_bundle(self, paper: str) -> PaperBundle | None: ...
    def named(self, name: str) -> Sequence[str]: ...


def unknown_id(kind: Literal["paper", "technique", "code"], wanted: str, known: Known) -> UnknownIdError:
    """Returns the error for an id that is hidden or not in the graph."""
    quoted = repr(wanted[:120])
    papers = known.paper_ids()
    if not papers:
        return UnknownIdError(f"no {kind} {quoted}: this graph is empty; build or import a paper first")
    owner = paper_of(wanted)
    bundle = None if kind == "paper" else known.paper_bundle(owner)
    technique = wanted.rpartition("@")[0] if kind == "code" else wanted
    if bundle is not None:
        reason = next((t.hidden for t in bundle.techniques if t.id == technique), None)
        if reason is not None:
            return UnknownIdError(f"{kind} {quoted} is hidden: {reason}; export the paper's bundle to see it")
    inside = () if kind == "paper" else known.technique_ids(owner)
    if kind == "paper" or inside:
        near = nearest(wanted, inside or papers)
    else:  # do not suggest papers in place of a technique
        near = list(known.named(technique.rpartition("/")[2]))[:NEAREST]
    if not near:
        return UnknownIdError(f"no {kind} {quoted} in this graph, nor any similar one: {LIST_PAPERS}")
    return UnknownIdError(f"no {kind} {quoted} in this graph; nearest: {', '.join(near)}", near)


def nearest(wanted: str, ids: Sequence[str]) -> list[str]:
    """Returns the ids that are most similar to a reference or start with it, best first."""
    own = _without_scheme(wanted)[:_LONGEST]
    if not own:
        return []
    words = len(own.split("-"))
    compare = difflib.SequenceMatcher(b=own)
    scored: list[tuple[float, str]] = []
    for each in _sharing(own, ids[:_COMPARED]):
        path = _without_scheme(each)[:_LONGEST]
        best = _ALIKE if path.startswith(own) else 0.0
        for form in {path, path[: len(own)], "-".join(path.split("-")[:words]), path.rpartition("/")[2]}:
            compare.set_seq1(form)
            best = max(best, compare.ratio())
        if best >= _ALIKE:
            scored.append((best, each))
    return [each for _, each in sorted(scored, key=lambda found: (-found[0], found[1]))[:NEAREST]]


def _sharing(own: str, ids: Sequence[str]) -> list[str]:
    """Returns the ids that have the most character trigrams in common with a reference. Comparing all ids in full would
    take seconds."""
    pieces = _pieces(own)
    shared = ((len(pieces & _pieces(_without_scheme(each)[:_LONGEST])), each) for each in ids)
    return [each for _, each in nsmallest(_CLOSEST, (found for found in shared if found[0]), key=lambda x: -x[0])]


def _pieces(text: str) -> set[str]:
    return {text[start : start + _PIECE] for start in range(max(1, len(text) - _PIECE + 1))}


def _without_scheme(reference: str) -> str:
    return "-".join(_SCHEME.sub("", reference.strip().casefold()).split())
