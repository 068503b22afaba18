"""Builds the derived files of a generation from bundles, in one pass over them."""

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import ExitStack, closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from xkg.embeddings.base import Embedder, encode_documents
from xkg.errors import StoreError
from xkg.model import Ablation, Paper, PaperBundle
from xkg.store.bundles import BundleFile
from xkg.store.concepts.citations import works_and_citations
from xkg.store.concepts.linking import OPEN, OPEN_PAIR, Concept, RowLink, concept, link
from xkg.store.graph_store import Decisions
from xkg.store.index_entries import Entry, searched_entries, vector_text
from xkg.store.indexes.catalogue_writer import CatalogueWriter
from xkg.store.indexes.text import TextWriter
from xkg.store.indexes.vectors import VectorsInfo, build, neighbours
from xkg.store.local import graph_rows
from xkg.store.local.generation import BASE, CATALOGUE, GRAPH, TEXT, VECTORS, Generation
from xkg.store.local.generations import Built
from xkg.store.local.read_layers import open_catalogue, open_vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from xkg.store.indexes.catalogue import Catalogue
    from xkg.store.local.ladybug import GraphWriter
    from xkg.store.local.read_layers import LayeredCatalogue

_ENCODED_AT_ONCE = 500


def build_files(
    folder: Path,
    stored: Iterable[tuple[PaperBundle, BundleFile]],
    embedder: Callable[[str], Embedder],
    previous: Generation | None,
    decisions: Decisions,
    ablations: Iterable[Ablation] = (),
    *,
    rows: Path | None,
) -> Built:
    """Fills the empty `folder` with catalogue, text index and vectors, and also with the graph if there is a folder of
    `rows`. `rows` then gets the rows of every paper (`xkg.store.local.graph_rows`).

    Vectors of texts in `previous` are reused; `embedder` is called, with the model that they must share, only if others
    are missing. Techniques of different papers are linked by names, vectors and `decisions`; the graph gets the
    `ablations` of visible techniques. Raises `OSError`, `RuntimeError` or `sqlite3.Error` if the files cannot be
    written."""
    (folder / TEXT).mkdir()
    texts: list[str] = []
    hashes: list[bytes] = []
    concepts: list[Concept] = []
    model, matrix, info = "", None, None
    with CatalogueWriter(folder / CATALOGUE) as catalogue, ExitStack() as stack:
        writer = stack.enter_context(graph_writer(folder)) if rows is not None else None
        papers: list[Paper] = []
        text = TextWriter(folder / TEXT)
        for bundle, file in stored:
            indexed = index_paper(catalogue, text, bundle, file)
            if writer is not None and rows is not None:
                own = None if previous is None else graph_rows.read(rows, file)
                if own is None:
                    own = graph_rows.rows_of(bundle, indexed.visible)
                    graph_rows.write(rows, file, own)
                writer.add_rows(own)
                papers.append(bundle.paper)
            texts += indexed.texts
            hashes += indexed.hashes
            concepts += indexed.concepts
        text.close()
        links: list[RowLink] = []
        if texts:
            model, matrix = _vectors(texts, hashes, embedder, previous, catalogue)
            info = build(folder / VECTORS, matrix)
            links = _links(folder / VECTORS, info, matrix, concepts, decisions)
        catalogue.name(concepts)
        catalogue.link(links)
        catalogue.cite()
        catalogue.close()
        counts: dict[str, int] = {}
        if writer is not None:
            writer.cite(works_and_citations(papers))
            shown = {concept.id for concept in concepts if not concept.hidden}
            for edge in links:
                if edge.how != OPEN_PAIR:
                    writer.same_concept(concepts[edge.first].id, concepts[edge.second].id, edge.score, edge.how)
            for ablation in ablations:
                if ablation.technique in shown:
                    writer.ablation(ablation)
            counts = writer.load(folder / GRAPH)
    finish_text(folder)
    counts["vectors"] = len(texts)
    counts["papers"] = catalogue.papers
    return Built(model, 0 if matrix is None else int(matrix.shape[1]), info, counts)


class IndexedPaper(NamedTuple):
    """A paper's visible techniques, and the vector text with its hash for each searchable technique."""

    visible: list[Entry]
    texts: list[str]
    hashes: list[bytes]
    concepts: list[Concept]


def index_paper(catalogue: CatalogueWriter, text: TextWriter, bundle: PaperBundle, file: BundleFile) -> IndexedPaper:
    """Adds a paper to the catalogue and the text index."""
    paper = catalogue.papers
    searched = searched_entries(bundle)
    texts: list[str] = [vector_text(entry) for entry in searched]
    hashes = [hashlib.sha256(text.encode("utf-8")).digest() for text in texts]
    rows = catalogue.add(bundle, file, list(zip(searched, hashes, strict=True)))
    for row, entry in zip(rows, searched, strict=True):
        text.add(row, paper, entry)
    concepts = [concept(row, paper, entry) for row, entry in zip(rows, searched, strict=True)]
    visible = [entry for entry in searched if entry.technique.hidden is None]
    return IndexedPaper(visible, texts, hashes, concepts)


@contextmanager
def graph_writer(folder: Path) -> "Iterator[GraphWriter]":
    """A writer whose files stay in `folder` until the context ends."""
    from xkg.store.local.ladybug import GraphWriter

    scratch = folder / "scratch"
    scratch.mkdir()
    with closing(GraphWriter(scratch)) as writer:
        yield writer
    shutil.rmtree(scratch)


def finish_text(folder: Path) -> None:
    """Removes Tantivy's lock files from the text index, and gives its files the permissions of the catalogue."""
    for lock in (folder / TEXT).glob(".tantivy-*.lock"):
        lock.unlink()
    for path in (folder / TEXT).iterdir():
        shutil.copymode(folder / CATALOGUE, path)  # Tantivy creates files with mode 0600


def _links(
    path: Path, info: VectorsInfo, matrix: "NDArray[np.float32]", concepts: list[Concept], decisions: Decisions
) -> list[RowLink]:
    import numpy as np

    papers = np.array([c.paper for c in concepts])
    return link(concepts, matrix, neighbours(path, info, matrix, papers, OPEN), decisions)


def _vectors(
    texts: list[str],
    hashes: list[bytes],
    embedder: Callable[[str], Embedder],
    previous: Generation | None,
    catalogue: CatalogueWriter,
) -> "tuple[str, NDArray[np.float32]]":
    """The model, and each text's vector in order; the codes of their words go into the catalogue."""
    import numpy as np

    rows: dict[bytes, list[int]] = {}
    for row, sha256 in enumerate(hashes):
        rows.setdefault(sha256, []).append(row)

    def store_codes(codes: Iterable[tuple[bytes, bytes]]) -> None:
        catalogue.words((row, of) for sha256, of in codes if of for row in rows[sha256])

    reused: dict[bytes, NDArray[np.float32]] = {}
    model = previous.manifest.model if previous else ""
    if previous is not None:
        reused, codes = _stored(previous, rows.keys())
        store_codes(codes.items())
    missing = {sha256: texts[own[0]] for sha256, own in rows.items() if sha256 not in reused}
    if missing:
        source = embedder(model)
        model = source.model
        # Codes are larger than vectors: those of a million techniques would not fit into memory.
        remaining = iter(missing)
        while keys := list(islice(remaining, _ENCODED_AT_ONCE)):
            encoded = encode_documents(source, [missing[sha256] for sha256 in keys])
            store_codes(zip(keys, encoded.codes, strict=True))
            reused.update(zip(keys, np.ascontiguousarray(encoded.vectors, dtype=np.float32), strict=True))
    return model, np.stack([reused[sha256] for sha256 in hashes])


def _stored(previous: Generation, wanted: Set[bytes]) -> "tuple[dict[bytes, NDArray[np.float32]], dict[bytes, bytes]]":
    """Vectors and codes by the hash of their text, from an undamaged generation with exact vectors."""
    info = previous.manifest.vectors
    if info is None or info.kind != "exact":
        return {}, {}
    try:
        previous.verify(CATALOGUE, VECTORS, BASE)
    except StoreError:
        return {}, {}
    catalogue = open_catalogue(previous)
    try:
        rows = {sha256: row for sha256, row in catalogue.texts() if sha256 in wanted}
        return stored_vectors(previous, info, catalogue, rows)
    finally:
        catalogue.close()


def stored_vectors(
    previous: Generation, info: VectorsInfo, catalogue: "Catalogue | LayeredCatalogue", rows: Mapping[bytes, int]
) -> "tuple[dict[bytes, NDArray[np.float32]], dict[bytes, bytes]]":
    """Vectors and codes by the hash of their text; `rows` maps hashes to rows. Empty if vectors are not exact."""
    vectors = open_vectors(previous, info, catalogue).exact_rows(list(rows.values())) if rows else None
    if vectors is None:
        return {}, {}
    codes = catalogue.codes(rows.values())
    return (
        dict(zip(rows, vectors, strict=True)),
        {sha256: codes[row] for sha256, row in rows.items() if row in codes},
    )
