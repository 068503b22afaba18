"""The error for an id that is not in the graph: the reason, or the nearest ids."""

import difflib
from collections.abc import Sequence
from typing import Literal, Protocol

from xkg.errors import UnknownIdError
from xkg.model import PaperBundle, paper_of

_COMPARED = 5000


class Known(Protocol):
    """The ids of a graph. `paper_bundle` is None for a paper that is not there, or cannot be read."""

    def paper_ids(self) -> Sequence[str]: ...
    def technique_ids(self, paper: str) -> Sequence[str]: ...
    def paper_bundle(self, paper: str) -> PaperBundle | None: ...
    def named(self, name: str) -> Sequence[str]: ...


def unknown_id(kind: Literal["paper", "technique", "code"], wanted: str, known: Known) -> UnknownIdError:
    """The error for an id that is not in the graph, or hidden there."""
    quoted = ascii(wanted[:120])
    papers = known.paper_ids()
    if not papers:
        return UnknownIdError(f"no {kind} {quoted}: this graph is empty, build or import a paper first")
    owner = paper_of(wanted)
    bundle = None if kind == "paper" else known.paper_bundle(owner)
    if bundle is not None:
        technique = wanted.rpartition("@")[0] if kind == "code" else wanted
        reason = next((t.hidden for t in bundle.techniques if t.id == technique), None)
        if reason is not None:
            return UnknownIdError(f"{kind} {quoted} is hidden: {reason}; export the paper's bundle to see it")
    inside = () if kind == "paper" else known.technique_ids(owner)
    candidates = inside or papers
    near = difflib.get_close_matches(wanted, candidates[:_COMPARED], n=3, cutoff=0.3) or list(candidates[:3])
    if kind == "technique" and not inside:
        near = list(known.named(wanted.rpartition("/")[2]))[:3] or near
    return UnknownIdError(f"no {kind} {quoted} in this graph; nearest: {', '.join(near)}")
