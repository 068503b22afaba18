"""Writes the next generation as a layer above the previous base, at a cost proportional to the changes.

The base is shared by hard links if the file system has them. Rows of changed papers are dead in the base and new in the
layer. The links of two papers depend only on these two (`xkg.store.concepts.linking`), so only pairs with a changed
paper, and pairs with changed decisions, are linked again."""

import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from xkg.embeddings.base import Embedder, encode_documents
from xkg.errors import ModelMismatchError
from xkg.model import Ablation, PaperBundle, paper_of
from xkg.store import bundles
from xkg.store.bundles import BundleFile
from xkg.store.concepts.citations import works_and_citations
from xkg.store.concepts.linking import OPEN, OPEN_PAIR, Concept, RowLink, concept, link
from xkg.store.graph_store import Decision, Decisions
from xkg.store.index_entries import Entry, entries, vector_text
from xkg.store.indexes.catalogue import Catalogue
from xkg.store.indexes.catalogue_writer import CatalogueWriter
from xkg.store.indexes.text import TextWriter
from xkg.store.indexes.vectors import EXACT, SLACK, VectorIndex, VectorsInfo, build, neighbours, neighbours_of
from xkg.store.local import graph_rows
from xkg.store.local.build_files import finish_text, graph_writer, index_paper, stored_vectors
from xkg.store.local.generation import BASE, CATALOGUE, GRAPH, TEXT, VECTORS, Generation, Layers
from xkg.store.local.generations import Built
from xkg.store.local.graph_rows import PaperRows
from xkg.store.local.read_layers import LayeredCatalogue, LayeredVectors, open_catalogue

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def size(generation: Generation) -> int:
    """The number of rows above the base, dead ones included, plus the dead rows of the base."""
    layers = generation.manifest.layers
    return 0 if layers is None else layers.rows - layers.base_rows + layers.dead_rows


def rows_of(generation: Generation, papers: Iterable[str]) -> int:
    """The number of techniques of these papers in a generation."""
    catalogue = open_catalogue(generation)
    try:
        return len(catalogue.rows_of(catalogue.paper_numbers(papers).values()))
    finally:
        catalogue.close()


def unchanged(folder: Path, start: Generation) -> Built:
    """Fills the empty `folder` with the content of `start`, except the graph."""
    manifest = start.manifest
    for name in manifest.files:
        if name == GRAPH:
            continue
        (folder / name).parent.mkdir(exist_ok=True)
        _link(start.folder / name, folder / name)
    return Built(manifest.model, manifest.dimension, manifest.vectors, manifest.counts, manifest.layers)


def add_layer(
    folder: Path,
    start: Generation,
    changed: Sequence[tuple[PaperBundle, BundleFile]],
    removed: Iterable[str],
    embedder: Callable[[], Embedder],
    decisions: Decisions,
    decided: Iterable[Decision],
) -> Built:
    """Fills the empty `folder` with the content of `start`, except the graph, with papers `changed` (added or replaced)
    and `removed`.

    `decisions` are all valid decisions, `decided` the new and the no longer valid ones. `embedder` is called if changed
    papers have new texts. `start` must have vectors. Raises `ModelMismatchError` if they are of another model, and the
    errors of `build_files`."""
    import numpy as np

    manifest = start.manifest
    before, info = manifest.layers, manifest.vectors
    if info is None:
        raise ValueError("a layer needs a base with vectors")
    source = _Source(embedder, manifest.model)
    _share(start, folder)
    rows, papers = manifest.counts["vectors"], manifest.counts["papers"]
    layers = before or Layers(base_rows=rows, base_papers=papers, rows=rows, papers=papers, dead=(), dead_rows=0)
    earlier = open_catalogue(start)
    try:
        gone = list(earlier.paper_numbers({*removed, *(bundle.paper.id for bundle, _ in changed)}).values())
        gone_rows = set(earlier.rows_of(gone))
        retained_links = (
            [] if before is None else [x for x in earlier.row_links() if gone_rows.isdisjoint((x.first, x.second))]
        )
        dead_rows = layers.dead_rows + sum(row < layers.base_rows for row in gone_rows)
        replaced = earlier.rows_of(earlier.paper_numbers(bundle.paper.id for bundle, _ in changed).values())
        known, known_codes = stored_vectors(start, info, earlier, earlier.texts_of(replaced))
    finally:
        earlier.close()
    texts: list[str] = []
    hashes: list[bytes] = []
    concepts: list[Concept] = []
    text = TextWriter(folder / TEXT)
    if gone:
        text.remove(gone)
    with CatalogueWriter(folder / CATALOGUE, rows=layers.rows, papers=layers.papers) as catalogue:
        catalogue.remove(number for number in gone if number >= layers.base_papers)
        for bundle, file in changed:
            indexed = index_paper(catalogue, text, bundle, file)
            texts += indexed.texts
            hashes += indexed.hashes
            concepts += indexed.concepts
        catalogue.name(concepts)
        catalogue.close()
        layers = Layers(
            base_rows=layers.base_rows,
            base_papers=layers.base_papers,
            rows=catalogue.rows,
            papers=catalogue.papers,
            dead=tuple(sorted({*layers.dead, *(number for number in gone if number < layers.base_papers)})),
            dead_rows=dead_rows,
        )
    text.close()
    finish_text(folder)
    new = {sha256: text for sha256, text in zip(hashes, texts, strict=True) if sha256 not in known}
    if new:
        encoded = encode_documents(source(), list(new.values()))
        known |= dict(zip(new, np.ascontiguousarray(encoded.vectors, dtype=np.float32), strict=True))
        known_codes |= dict(zip(new, encoded.codes, strict=True))
    matrix = np.stack([known[sha256] for sha256 in hashes]) if hashes else None
    _write_vectors(start, folder, matrix)
    layer_links = _LayerLinks(folder, info, layers, source, decisions)
    try:
        fresh = layer_links.links_of(concepts, matrix) if matrix is not None else []
        redone = {}
        for pair in layer_links.decided_anew(decided, {bundle.paper.id for bundle, _ in changed}):
            ends, redone[pair] = layer_links.links_between(pair)
            retained_links = [x for x in retained_links if not {x.first, x.second} <= ends]
    finally:
        layer_links.close()
    with CatalogueWriter(folder / CATALOGUE) as catalogue:
        codes_of = ((c.row, known_codes.get(sha256)) for c, sha256 in zip(concepts, hashes, strict=True))
        catalogue.words((row, codes) for row, codes in codes_of if codes)
        catalogue.relink([*retained_links, *fresh, *chain.from_iterable(redone.values())], redone)
        catalogue.close()
    counts = {
        "vectors": manifest.counts["vectors"] - len(gone_rows) + len(texts),
        "papers": manifest.counts["papers"] - len(gone) + len(changed),
    }
    return Built(manifest.model, manifest.dimension, info, counts, layers)


def _share(start: Generation, folder: Path) -> None:
    """Puts the base of `start`, its text index and a copy of its upper layer into `folder`."""
    layered = start.manifest.layers is not None
    (folder / BASE).mkdir()
    for name in (CATALOGUE, VECTORS):
        _link(start.folder / (BASE + name if layered else name), folder / BASE / name)
    (folder / TEXT).mkdir()
    for path in (start.folder / TEXT).iterdir():
        # Tantivy replaces its lists of files, and never changes other files.
        (shutil.copy if path.suffix == ".json" else _link)(path, folder / TEXT / path.name)
    if layered:
        shutil.copy(start.folder / CATALOGUE, folder / CATALOGUE)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _write_vectors(start: Generation, folder: Path, matrix: "NDArray[np.float32] | None") -> None:
    import numpy as np

    parts = [] if matrix is None else [matrix]
    if (start.manifest.layers is not None) and (start.folder / VECTORS).exists():
        earlier = VectorIndex(start.folder / VECTORS, EXACT)
        upper = earlier.exact_rows(range(len(earlier)))
        assert upper is not None
        parts.insert(0, upper)
    if parts:
        rows = np.concatenate(parts)
        build(folder / VECTORS, rows, exact_up_to=len(rows))


def add_graph(
    folder: Path,
    built: Built,
    rows: Path,
    bundle_folder: Path,
    known: Mapping[str, BundleFile],
    ablations: Iterable[Ablation],
) -> Built:
    """Adds the graph to a `folder` whose other files are `built`, from the stored `rows` of its papers; missing rows
    are built from bundles. Raises `CorruptStoreError` for a damaged bundle, and the errors of `build_files`."""
    catalogue = Catalogue(folder / CATALOGUE) if built.layers is None else LayeredCatalogue(folder, built.layers)
    try:
        citations = works_and_citations(catalogue.papers())
        pairs = [(link.first, link.second, link.score, link.how) for link in catalogue.links() if link.how != OPEN_PAIR]
        views = [(ablation, catalogue.technique(ablation.technique)) for ablation in ablations]
        numbers = catalogue.paper_numbers(known)
    finally:
        catalogue.close()
    with graph_writer(folder) as writer:
        for paper, file in sorted(known.items()):
            writer.add_rows(_rows_of(rows, bundle_folder, paper, file))
        writer.cite(citations)
        for pair in pairs:
            writer.same_concept(*pair)
        for ablation, view in views:
            if view is not None and view.technique.hidden is None:
                writer.ablation(ablation)
        counts = writer.load(folder / GRAPH)
    layers = built.layers
    if layers is not None and not layers.cited:
        with CatalogueWriter(folder / CATALOGUE) as own:
            own.cite_pairs((numbers[a], numbers[b]) for a, b in citations.edges if b in numbers)
            own.close()
        layers = layers.model_copy(update={"cited": True})
    return replace(built, counts={**counts, **built.counts}, layers=layers)


def _rows_of(rows: Path, bundle_folder: Path, paper: str, file: BundleFile) -> PaperRows:
    found = graph_rows.read(rows, file)
    if found is None:
        bundle = bundles.read(bundle_folder / file.name, paper)
        found = graph_rows.rows_of(bundle, list(entries(bundle)))
        graph_rows.write(rows, file, found)
    return found


class _Source:
    """Creates the embedder once, when it is first needed."""

    def __init__(self, embedder: Callable[[], Embedder], model: str) -> None:
        self._make = embedder
        self._model = model
        self._embedder: Embedder | None = None

    def __call__(self) -> Embedder:
        if self._embedder is None:
            self._embedder = self._make()
            if self._embedder.model != self._model:
                raise ModelMismatchError(
                    f"the base was made with embedding model {self._model!r}, not {self._embedder.model!r}"
                )
        return self._embedder


class _LayerLinks:
    """Links the papers of the upper layer, in a `folder` that is complete except for its links."""

    def __init__(
        self, folder: Path, info: VectorsInfo, layers: Layers, embedder: Callable[[], Embedder], decisions: Decisions
    ) -> None:
        self._catalogue = LayeredCatalogue(folder, layers)
        self._vectors = LayeredVectors(folder, info, layers, self._catalogue)
        self._layers = layers
        self._embedder = embedder
        self._decisions = decisions

    def close(self) -> None:
        self._catalogue.close()

    def links_of(self, concepts: Sequence[Concept], matrix: "NDArray[np.float32]") -> list[RowLink]:
        """The links of all techniques of some papers, with each other and with all others."""
        import numpy as np

        catalogue = self._catalogue
        numbers, near_rows, scores = self._vectors.within(matrix, OPEN - SLACK)
        own = np.array([c.row for c in concepts], dtype=np.int64)
        groups = np.full(self._layers.rows, -1, dtype=np.int64)
        for row, paper in catalogue.row_papers(np.unique(np.concatenate([own, near_rows])).tolist()):
            groups[row] = paper
        near = neighbours_of(own[numbers], near_rows, scores, groups)
        partners = {row for pair in near for row in pair}
        for terse in (False, True):
            forms = {form for c in concepts for form in (c.names.terse if terse else c.names.telling)}
            partners.update(row for row, _ in catalogue.sharing(forms, terse=terse))
        ids = {c.id for c in concepts}
        pairs = [(decision.first, decision.second) for decision in self._decisions.values()]
        partners.update(catalogue.rows({end for pair in pairs if not ids.isdisjoint(pair) for end in pair}).values())
        others = self._concepts(partners - set(own.tolist()))
        known = [*concepts, *(c for c, _ in others)]
        vectors = np.concatenate([matrix, self._vectors_of(others)]) if others else matrix
        return self._link(known, vectors, near, frozenset(c.paper for c in concepts))

    def decided_anew(self, decided: Iterable[Decision], but: set[str]) -> list[tuple[str, str]]:
        """Pairs of papers, in id order, with a decision about them; pairs in `but` are omitted."""
        wanted = {(paper_of(decision.first), paper_of(decision.second)) for decision in decided}
        here = self._catalogue.paper_numbers({paper for pair in wanted for paper in pair}).keys() - but
        return sorted(pair for pair in wanted if here >= set(pair))

    def links_between(self, papers: tuple[str, str]) -> tuple[set[int], list[RowLink]]:
        """All rows of two papers, and the links between them."""
        import numpy as np

        both = self._concepts(self._catalogue.rows_of(self._catalogue.paper_numbers(papers).values()))
        concepts = [c for c, _ in both]
        rows = [c.row for c in concepts]
        if not both:
            return set(), []
        vectors = self._vectors_of(both)
        near = neighbours(Path(), EXACT, vectors, np.array([c.paper for c in concepts]), OPEN)
        return set(rows), self._link(concepts, vectors, [(rows[a], rows[b]) for a, b in near], None)

    def _concepts(self, rows: Iterable[int]) -> list[tuple[Concept, Entry]]:
        return [(concept(row, paper, entry), entry) for row, paper, entry in self._catalogue.entries(rows)]

    def _vectors_of(self, known: Sequence[tuple[Concept, Entry]]) -> "NDArray[np.float32]":
        exact = self._vectors.exact_rows([c.row for c, _ in known])
        return self._embedder().embed([vector_text(entry) for _, entry in known]) if exact is None else exact

    def _link(
        self,
        concepts: Sequence[Concept],
        vectors: "NDArray[np.float32]",
        near: Iterable[tuple[int, int]],
        among: frozenset[int] | None,
    ) -> list[RowLink]:
        """`link` for concepts in any rows and order."""
        order = sorted(range(len(concepts)), key=lambda n: concepts[n].row)
        rows = [concepts[n].row for n in order]
        place = {row: n for n, row in enumerate(rows)}
        together = [replace(concepts[n], row=place[concepts[n].row]) for n in order]
        links = link(together, vectors[order], [(place[a], place[b]) for a, b in near], self._decisions, among)
        return [replace(edge, first=rows[edge.first], second=rows[edge.second]) for edge in links]
