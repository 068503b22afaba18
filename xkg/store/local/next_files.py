"""The files of a store's next generation: a layer above the current base if little changed, otherwise a full rebuild.
The graph is loaded from the rows of all papers either way."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from xkg.errors import CorruptStoreError
from xkg.model import Ablation, PaperBundle
from xkg.store import bundles
from xkg.store.bundles import BundleFile
from xkg.store.concepts import decisions
from xkg.store.graph_store import Decision
from xkg.store.local import graph_rows
from xkg.store.local.build_files import build_files
from xkg.store.local.generation import BASE, CATALOGUE, TEXT, VECTORS, Generation
from xkg.store.local.generations import Built
from xkg.store.local.write_layers import add_graph, add_layer, rows_of, size, unchanged

if TYPE_CHECKING:
    from xkg.embeddings.base import Embedder

SMALL = 2000
"""The number of techniques that a full rebuild indexes in about a second."""
SHARE = 0.25
MOST = 20_000
"""The maximum size of a layer, including the dead rows of its base: this share of the base, and this number of rows.
Beyond it, everything is rebuilt, at about five times the cost of the layer's papers."""
MOST_DECIDED = 1000
"""The maximum number of changed decisions, each of which links two papers again."""


def next_files(
    folder: Path,
    root: Path,
    start: Generation | None,
    known: Mapping[str, BundleFile],
    decided: str,
    ablations: Iterable[Ablation],
    embedder: "Callable[[str], Embedder]",
) -> Built:
    """Fills the empty `folder` with the files derived from the bundles `known` and the decisions file `decided` of the
    graph in `root`. `start` is the current generation; None rebuilds everything. Raises `CorruptStoreError` and the
    errors of `build_files`."""
    settled = decisions.read(root, decided)
    rows = root / graph_rows.FOLDER
    rows.mkdir(exist_ok=True)
    if start is not None and start.manifest.vectors is not None and _base_rows(start) > SMALL:
        earlier = decisions.read(root, start.manifest.decisions)
        changed_decisions = {*earlier.values()} ^ {*settled.values()}
        before = start.manifest.bundles
        removed = before.keys() - known.keys()
        changed = _changed(root, start, known, removed)
        if changed is not None and len(changed_decisions) <= MOST_DECIDED and _sound(start):
            built = _layer(folder, start, changed, removed, embedder, settled, changed_decisions)
            return add_graph(folder, built, rows, root / "bundles", known, ablations)
    stored = ((bundles.read(root / "bundles" / file.name, paper), file) for paper, file in sorted(known.items()))
    return build_files(folder, stored, embedder, start, settled, ablations, rows=rows)


def _layer(
    folder: Path,
    start: Generation,
    changed: list[tuple[PaperBundle, BundleFile]],
    removed: Iterable[str],
    embedder: "Callable[[str], Embedder]",
    settled: Mapping[tuple[str, str, str], Decision],
    decided: Iterable[Decision],
) -> Built:
    if not (changed or removed or decided):
        return unchanged(folder, start)
    return add_layer(folder, start, changed, removed, lambda: embedder(start.manifest.model), settled, decided)


def _base_rows(start: Generation) -> int:
    layers = start.manifest.layers
    return layers.base_rows if layers else start.manifest.counts["vectors"]


def _changed(
    root: Path, start: Generation, known: Mapping[str, BundleFile], removed: Iterable[str]
) -> list[tuple[PaperBundle, BundleFile]] | None:
    """The papers that changed since `start`; None if a layer cannot hold the changes."""
    room = min(SHARE * _base_rows(start), MOST) - size(start)
    before = start.manifest.bundles
    changed = []
    for paper, file in sorted(known.items()):
        if before.get(paper) != file:
            bundle = bundles.read(root / "bundles" / file.name, paper)
            room -= len(bundle.techniques)
            if room < 0:
                return None
            changed.append((bundle, file))
    gone = {*removed, *(bundle.paper.id for bundle, _ in changed)} & before.keys()
    return changed if rows_of(start, gone) <= room else None


def _sound(start: Generation) -> bool:
    """Whether the files that a layer shares are unchanged."""
    try:
        start.verify(CATALOGUE, VECTORS, TEXT, BASE)
    except CorruptStoreError:
        return False
    return True
