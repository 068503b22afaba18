"""Builds a generation's derived files from bundles, either from scratch or as a changed copy of an earlier generation's
files.

The graph is always a new database (`xkg.store.local.ladybug`), loaded from the stored rows for all papers."""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from xkg.embeddings.base import Embedder, encode_documents
from xkg.errors import StoreError
from xkg.model import Ablation, PaperBundle
from xkg.store import bundles
from xkg.store.bundles import BundleFile
from xkg.store.concepts import decisions
from xkg.store.concepts.citations import Citations, works_and_citations
from xkg.store.concepts.linking import OPEN_PAIR, Concept, concept
from xkg.store.graph_store import Decisions
from xkg.store.index_entries import entries, searched_entries, vector_text
from xkg.store.indexes.catalogue import Catalogue
from xkg.store.indexes.catalogue_writer import CatalogueWriter
from xkg.store.indexes.text import TextWriter
from xkg.store.indexes.vectors import VectorIndex, VectorsInfo, build, edited
from xkg.store.local import graph_rows
from xkg.store.local.concept_links import LinkedConcepts
from xkg.store.local.generation import CATALOGUE, GRAPH, TEXT, VECTORS, Generation
from xkg.store.local.generations import Built

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SMALL = 2000
"""Number of techniques that can be indexed from scratch in a second or two."""
SHARE = 0.25
"""Maximum fraction of techniques that may be added or removed before everything is reindexed. Without reindexing, the
text index's statistics include removed techniques, and the lists in a compressed vector index are not retrained."""
_ENCODED_AT_ONCE = 500


def reusable(root: Path, opened: Generation | None, known: Mapping[str, BundleFile]) -> Generation | None:
    """Returns `opened` if its indexes can be copied and updated for the bundles in `known`, otherwise None.
    The indexes must be intact. If anything changes, the indexes must also be large and must have changed little since
    they were built."""
    if opened is None:
        return None
    try:
        opened.verify(CATALOGUE, VECTORS, TEXT)
    except StoreError:
        return None
    new, gone = _changes(opened, known)
    count, changed = opened.manifest.counts["vectors"], opened.manifest.changed
    if not new and not gone:
        return opened
    if count <= SMALL:
        return None
    with closing(Catalogue(opened.folder / CATALOGUE)) as catalogue:
        changed += len(catalogue.rows_of(catalogue.paper_numbers(gone).values()))
    for paper in new:
        if changed <= SHARE * count:
            changed += len(_read(root, known, paper).techniques)
    return opened if changed <= SHARE * count else None


def _changes(start: Generation | None, known: Mapping[str, BundleFile]) -> tuple[list[str], list[str]]:
    """Returns the papers to add to `start`, and the papers to remove from it. Changed papers are in both lists."""
    before = {} if start is None else start.manifest.bundles
    new = [paper for paper in sorted(known) if known[paper] != before.get(paper)]
    return new, [paper for paper, file in before.items() if known.get(paper) != file]


def _read(root: Path, known: Mapping[str, BundleFile], paper: str) -> PaperBundle:
    return bundles.read(root / "bundles" / known[paper].name, paper)


def build_files(
    root: Path,
    folder: Path,
    known: Mapping[str, BundleFile],
    settled: Decisions,
    embedder: Callable[[str], Embedder],
    *,
    start: Generation | None,
    previous: Generation | None = None,
    rows: Path | None = None,
    go_on: Callable[[], None] = lambda: None,
) -> Built:
    """Fills the empty `folder` with a catalogue, a text index and vectors for the bundles in `known`, which are in the
    graph's folder `root`. If `start` is given (see `reusable`), changes a copy of its files. The new papers' graph rows
    are written to `rows`.

    Vectors are reused for texts that are already in `previous`. If other vectors are missing, `embedder` is called with
    the model that all vectors must share. Techniques from different papers are linked by names, vectors and the
    decisions in `settled`. `go_on` is called before each paper and each batch of texts, and may raise an error to stop.

    Raises `CorruptStoreError` if a bundle is damaged, and `OSError`, `RuntimeError` or `sqlite3.Error` if the files
    cannot be written."""
    new, gone = _changes(start, known)
    if start is None:
        (folder / TEXT).mkdir()
    else:
        _copy(start, folder)
    texts: list[str] = []
    hashes: list[bytes] = []
    concepts: list[Concept] = []
    gone_rows: list[int] = []
    with CatalogueWriter(folder / CATALOGUE) as catalogue:
        text = TextWriter(folder / TEXT)
        if start is not None:
            numbers, gone_rows = catalogue.remove(gone)
            text.remove(numbers)
        first = catalogue.rows
        for paper_id in new:
            go_on()
            bundle, file = _read(root, known, paper_id), known[paper_id]
            paper, searched = catalogue.papers, searched_entries(bundle)
            own = [vector_text(entry) for entry in searched]
            own_hashes = [hashlib.sha256(each.encode("utf-8")).digest() for each in own]
            added = catalogue.add(bundle, file, list(zip(searched, own_hashes, strict=True)))
            for row, entry in zip(added, searched, strict=True):
                text.add(row, paper, entry)
                concepts.append(concept(row, paper, entry))
            texts += own
            hashes += own_hashes
            if rows is not None:
                visible = [entry for entry in searched if entry.technique.hidden is None]
                graph_rows.write(rows, file, graph_rows.rows_of(bundle, visible))
        text.close()
        catalogue.name(concepts)
        model, matrix = _vectors(first, texts, hashes, embedder, previous, catalogue, go_on)
        catalogue.close()
    finish_text(folder)
    before = 0 if start is None else start.manifest.counts["vectors"]
    built = Built(
        model=model if start is None else start.manifest.model,
        dimension=0 if matrix is None else int(matrix.shape[1]),
        vectors=_write_vectors(folder, start, gone_rows, first, matrix),
        counts={"vectors": before - len(gone_rows) + len(texts)},
        changed=0 if start is None else start.manifest.changed + len(texts) + len(gone_rows),
    )
    with closing(Catalogue(folder / CATALOGUE)) as finished:
        if built.vectors is None:
            return built
        index = VectorIndex(folder / VECTORS, built.vectors)
        linked = LinkedConcepts(finished, index, lambda: embedder(built.model), settled)
        own_rows: list[int] = []
        if start is None:
            links = linked.links(concepts, matrix, whole=True)
        else:
            decided = {*decisions.read(root, start.manifest.decisions).values()} ^ {*settled.values()}
            own_rows, links = linked.links_again(concepts, matrix, decided)
    with CatalogueWriter(folder / CATALOGUE) as catalogue:
        catalogue.unlink(own_rows)
        catalogue.link(links)
        catalogue.close()
    return built if start is None else replace(built, dimension=start.manifest.dimension)


def add_citations(folder: Path) -> Citations:
    """Adds the citations between all papers to the catalogue in `folder`."""
    with closing(Catalogue(folder / CATALOGUE)) as catalogue:
        citations = works_and_citations(catalogue.papers())
    with CatalogueWriter(folder / CATALOGUE) as writer:
        writer.cite(citations.edges)
        writer.close()
    return citations


def add_graph(
    root: Path,
    folder: Path,
    rows: Path,
    known: Mapping[str, BundleFile],
    citations: Citations,
    ablations: Iterable[Ablation],
) -> None:
    """Adds the graph to `folder`, in which all other files have been built. The graph includes the `ablations` of
    visible techniques. Rows that are not stored in `rows` are built from bundles. Raises `CorruptStoreError` if a
    bundle is damaged, and the same errors as `build_files`."""
    from xkg.store.local.ladybug import GraphWriter

    with closing(Catalogue(folder / CATALOGUE)) as catalogue:
        links = catalogue.links()
        views = [(ablation, catalogue.technique(ablation.technique)) for ablation in ablations]
    scratch = folder / "scratch"
    scratch.mkdir()
    with closing(GraphWriter(scratch)) as writer:
        for paper, file in sorted(known.items()):
            found = graph_rows.read(rows, file)
            if found is None:
                bundle = _read(root, known, paper)
                found = graph_rows.rows_of(bundle, list(entries(bundle)))
                graph_rows.write(rows, file, found)
            writer.add_rows(found)
        writer.cite(citations)
        for link in links:
            if link.how != OPEN_PAIR:
                writer.same_concept(link.first, link.second, link.score, link.how)
        for ablation, view in views:
            if view is not None and view.technique.hidden is None:
                writer.ablation(ablation)
        writer.load(folder / GRAPH)
    shutil.rmtree(scratch)


def _copy(start: Generation, folder: Path) -> None:
    """Copies the catalogue and the text index from `start` to `folder`. Raises `CorruptStoreError` if these files are
    damaged, because a copy of a damaged file would get a new, valid hash."""
    start.verify(CATALOGUE, VECTORS, TEXT)
    shutil.copy(start.folder / CATALOGUE, folder / CATALOGUE)
    (folder / TEXT).mkdir()
    for path in (start.folder / TEXT).iterdir():
        # Tantivy replaces its lists of files and never modifies other files.
        (shutil.copy if path.suffix == ".json" else _link)(path, folder / TEXT / path.name)


def _write_vectors(
    folder: Path, start: Generation | None, removed: list[int], first: int, matrix: "NDArray[np.float32] | None"
) -> VectorsInfo | None:
    """Writes the vectors in `matrix`, whose rows start at `first`, and the vectors in `start` except for the rows in
    `removed`. Returns None if there are no vectors."""
    import numpy as np

    if start is None or start.manifest.vectors is None:
        return None if matrix is None else build(folder / VECTORS, matrix)
    old, dimension = start.manifest.vectors, start.manifest.dimension
    if matrix is None and not removed:
        _link(start.folder / VECTORS, folder / VECTORS)
        return old
    added = np.empty((0, dimension), np.float32) if matrix is None else matrix
    return edited(start.folder / VECTORS, old, folder / VECTORS, removed, first, added)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def finish_text(folder: Path) -> None:
    """Removes Tantivy's lock files from the text index and gives its files the same permissions as the catalogue."""
    for lock in (folder / TEXT).glob(".tantivy-*.lock"):
        lock.unlink()
    for path in (folder / TEXT).iterdir():
        shutil.copymode(folder / CATALOGUE, path)  # Tantivy creates files with mode 0600


def _vectors(
    first: int,
    texts: list[str],
    hashes: list[bytes],
    embedder: Callable[[str], Embedder],
    previous: Generation | None,
    catalogue: CatalogueWriter,
    go_on: Callable[[], None],
) -> "tuple[str, NDArray[np.float32] | None]":
    """Returns the model and the vectors for the texts, whose rows start at `first`, or None if there are no texts. Adds
    word codes to the catalogue."""
    import numpy as np

    model = previous.manifest.model if previous else ""
    if not texts:
        return model, None
    rows: dict[bytes, list[int]] = {}
    for row, sha256 in enumerate(hashes, first):
        rows.setdefault(sha256, []).append(row)

    def store_codes(codes: Iterable[tuple[bytes, bytes]]) -> None:
        catalogue.words((row, of) for sha256, of in codes if of for row in rows[sha256])

    reused: dict[bytes, NDArray[np.float32]] = {}
    if previous is not None:
        reused, codes = _stored(previous, rows.keys())
        store_codes(codes.items())
    missing = {sha256: texts[own[0] - first] for sha256, own in rows.items() if sha256 not in reused}
    if missing:
        source = embedder(model)
        model = source.model
        # Encode in batches, because the codes for a million techniques would not fit into memory.
        remaining = iter(missing)
        while keys := list(islice(remaining, _ENCODED_AT_ONCE)):
            go_on()
            encoded = encode_documents(source, [missing[sha256] for sha256 in keys])
            store_codes(zip(keys, encoded.codes, strict=True))
            reused.update(zip(keys, np.ascontiguousarray(encoded.vectors, dtype=np.float32), strict=True))
    return model, np.stack([reused[sha256] for sha256 in hashes])


def _stored(previous: Generation, wanted: Set[bytes]) -> "tuple[dict[bytes, NDArray[np.float32]], dict[bytes, bytes]]":
    """Returns vectors and codes from an earlier generation, keyed by their text's hash. Both mappings are empty if the
    generation is damaged or has no exact vectors."""
    info = previous.manifest.vectors
    if info is None or info.kind != "exact":
        return {}, {}
    try:
        previous.verify(CATALOGUE, VECTORS)
    except StoreError:
        return {}, {}
    with closing(Catalogue(previous.folder / CATALOGUE)) as catalogue:
        rows = catalogue.rows_of_texts(wanted)
        codes = catalogue.codes(rows.values())
    vectors = VectorIndex(previous.folder / VECTORS, info).vectors(list(rows.values()))
    return (
        dict(zip(rows, vectors, strict=True)),
        {sha256: codes[row] for sha256, row in rows.items() if row in codes},
    )
