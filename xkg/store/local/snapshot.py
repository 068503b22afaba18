"""Reads a generation. Each file's hash is checked before the file is used."""

import difflib
import functools
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from xkg.embeddings.base import EncodedText
from xkg.errors import CorruptStoreError, ModelMismatchError, QueryFailedError
from xkg.model import Code, Paper, PaperBundle, paper_of
from xkg.store import bundles
from xkg.store.change_feed import Position
from xkg.store.concepts.names import names
from xkg.store.graph_store import Background, Coverage, Hit, TechniqueView
from xkg.store.indexes.catalogue import Catalogue
from xkg.store.indexes.late_interaction import interaction, name_coverage
from xkg.store.local.generation import CATALOGUE, GRAPH, REBUILD, TEXT, VECTORS, Generation
from xkg.store.unknown_id import unknown_id

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from xkg.store.cypher.process import QueryProcess
    from xkg.store.indexes.text import TextIndex
    from xkg.store.indexes.vectors import VectorIndex

_Index = TypeVar("_Index")
_hit = functools.partial(tuple.__new__, Hit)  # faster than calling `Hit`, which matters for hundreds of hits
_LONGEST_NAME = 200
_ALIKE = 0.8
_CHOICES = 16
"""Number of selections of papers for which the techniques are cached. A selection by year can contain a third of all
papers."""


class EmbeddedSnapshot(Catalogue):
    """Implements `xkg.store.graph_store.Snapshot` for a locked generation, or for an empty graph (generation 0).

    Opening a snapshot takes a few milliseconds. Indexes, FAISS and Tantivy are loaded by the first search that needs
    them."""

    def __init__(self, root: Path, opened: Generation | None) -> None:
        self._root = root
        self._opened = opened
        self._loading = threading.RLock()
        self._vectors: VectorIndex | None = None
        self._text: TextIndex | None = None
        self._queries: QueryProcess | None = None
        self._papers: list[Paper] | None = None
        self._numbers = functools.lru_cache(_CHOICES)(self._paper_numbers)
        self._chosen = functools.lru_cache(_CHOICES)(self._technique_rows)
        self.generation = 0
        self.current = True
        if opened is not None:
            opened.verify(CATALOGUE)
            at = opened.manifest.position
            self.generation = opened.manifest.number if at is None else at.counter
        super().__init__(opened.folder / CATALOGUE if opened is not None else None)

    def close(self) -> None:
        with self._loading:
            if self._queries is not None:
                self._queries.close()
            super().close()
            if self._opened is not None:
                self._opened.close()
            self._vectors = self._text = None

    def verify_again(self) -> None:
        """Raises `CorruptStoreError` if an open file has been damaged since it was verified."""
        if self._opened is not None:
            self._opened.verify_again()

    @property
    def position(self) -> Position | None:
        """Returns the graph state that this generation is a copy of, or None if it is not a copy."""
        return self._opened.manifest.position if self._opened else None

    def papers(self) -> list[Paper]:
        """Returns all papers in id order, without cited works."""
        with self._loading:
            if self._papers is None:
                self._papers = super().papers()
            return [*self._papers]

    def require_paper(self, paper: str) -> None:
        """Raises `UnknownIdError` if there is no such paper."""
        if self.paper_file(paper) is None:
            raise unknown_id("paper", paper, self)

    def bundle(self, paper: str) -> PaperBundle:
        name = self.paper_file(paper)
        if name is None:
            raise unknown_id("paper", paper, self)
        return bundles.read(self._root / "bundles" / name, paper)

    def technique(self, technique: str) -> TechniqueView:
        found = super().technique(technique)
        if found is None:
            raise unknown_id("technique", technique, self)
        return found

    def techniques(self, ids: Sequence[str]) -> Sequence[TechniqueView]:
        return [self.technique(technique) for technique in ids]

    def code(self, code: str) -> Code:
        found = super().code(code)
        if found is None:
            raise unknown_id("code", code, self)
        return found

    def named(self, name: str) -> list[str]:
        forms = names(name if len(name) <= _LONGEST_NAME else "")
        found = super().named(name)
        for terse, own in enumerate((forms.telling, forms.terse)):
            others = self.ids(row for row, _ in self.sharing(own, terse=bool(terse)))
            # Order by paper, because rows are in the order in which papers were added.
            found += [other for _, other in sorted(others.items(), key=lambda item: (paper_of(item[1]), item[0]))]
        return list(dict.fromkeys(found))

    def find_text(self, query: str, k: int, papers: Sequence[str] = ()) -> Sequence[Hit]:
        """Returns techniques ranked by BM25. Raises `UnknownIdError` if a paper is not in the graph."""
        if self._opened is None or k < 1:
            return []
        numbers = self._numbers(tuple(papers)) if papers else None
        return self._hits(self.text_index().search(query, k, numbers))

    def find_code(self, query: str, k: int, papers: Sequence[str] = ()) -> Sequence[Hit]:
        """Returns techniques whose code resembles the code in a query. Raises `UnknownIdError` if a paper is not in the
        graph."""
        if self._opened is None or k < 1:
            return []
        numbers = self._numbers(tuple(papers)) if papers else None
        return self._hits(self.text_index().search_code(query, k, numbers))

    def spelled(self, word: str) -> str | None:
        if self._opened is None:
            return None
        return next(iter(difflib.get_close_matches(word, self.spellings(word), 1, _ALIKE)), None)

    def find_vector(self, vector: "NDArray[np.float32]", k: int, papers: Sequence[str] = ()) -> Sequence[Hit]:
        """Returns techniques ranked by cosine similarity to a unit vector. Raises `ModelMismatchError` if the vector
        has the wrong length, and `UnknownIdError` if a paper is not in the graph."""
        if self._opened is None or k < 1:
            return []
        rows = self._chosen(tuple(papers)) if papers else None
        manifest = self._opened.manifest
        if manifest.vectors is None:
            return []
        if vector.size != manifest.dimension:
            raise ModelMismatchError(
                f"the query vector has {vector.size} dimensions, but the index for model {manifest.model!r} has "
                f"{manifest.dimension}; use that model, or {REBUILD}"
            )
        return self._hits(self.vector_index().search(vector, k, rows))

    def matched(self, query: str, ids: Sequence[str]) -> tuple[dict[str, float], float]:
        if self._opened is None:
            return {}, 0.0
        rows = self.rows(ids)
        found, total = self.text_index().matched(query, list(rows.values()))
        return {technique: found.get(row, 0.0) for technique, row in rows.items()}, total

    def interaction(self, reading: EncodedText, ids: Sequence[str]) -> dict[str, float]:
        if self._opened is None or not reading.words:
            return {}
        rows = self.rows(ids)
        codes = self.codes(rows.values())
        known = {technique: codes[row] for technique, row in rows.items() if row in codes}
        return interaction(reading, known, self.text_index().rarity)

    def name_coverage(self, reading: EncodedText, ids: Sequence[str]) -> dict[str, Coverage]:
        if not reading.words:
            return {}
        rows = self.rows(ids)
        codes = self.codes(rows.values())
        known = [technique for technique, row in rows.items() if row in codes]
        names = {view.technique.id: view.technique.name for view in self.techniques(known)}
        return name_coverage(reading, {technique: codes[rows[technique]] for technique in known}, names)

    def background(self, vector: "NDArray[np.float32]") -> Background:
        if self._opened is None or self._opened.manifest.vectors is None:
            return Background(0.0, 0.0, 0)
        index = self.vector_index()
        return Background(*index.background(vector), len(index))

    def vectors(self, ids: Sequence[str]) -> "dict[str, NDArray[np.float32]]":
        if self._opened is None or self._opened.manifest.vectors is None:
            return {}
        rows = self.rows(ids)
        return dict(zip(rows, self.vector_index().vectors(list(rows.values())), strict=True)) if rows else {}

    def vector_index(self) -> "VectorIndex":
        """Returns the vector index. The first call verifies and maps its file."""
        from xkg.store.indexes.vectors import VectorIndex

        with self._loading:
            if self._vectors is None:
                info = self._opened.manifest.vectors if self._opened else None
                if info is None:
                    raise ValueError("this generation has no vectors")
                self._vectors = self._load(VECTORS, lambda folder: VectorIndex(folder / VECTORS, info))
            return self._vectors

    def graph_file(self) -> Path | None:
        """Returns this generation's LadybugDB file after verifying it. Open the file read-only, and only while the
        snapshot is open."""
        if self._opened is None or GRAPH not in self._opened.manifest.files:
            return None
        self._opened.verify(GRAPH)
        return self._opened.folder / GRAPH

    def queries(self) -> "QueryProcess":
        """Returns the process that runs Cypher on this generation. The first query starts the process. Raises
        `QueryFailedError` if the graph is empty."""
        from xkg.store.cypher.process import QueryProcess

        with self._loading:
            if self._queries is None:
                graph = self.graph_file()
                if graph is None:
                    raise QueryFailedError("this graph is empty; build or import a paper first")
                self._queries = QueryProcess(graph)
            return self._queries

    def text_index(self) -> "TextIndex":
        """Returns the text index. The first call verifies and opens it."""
        from xkg.store.indexes.text import TextIndex

        with self._loading:
            if self._text is None:
                self._text = self._load(TEXT, lambda folder: TextIndex(folder / TEXT))
            return self._text

    def _load(self, name: str, read: Callable[[Path], _Index]) -> _Index:
        assert self._opened is not None
        self._opened.verify(name)
        try:
            return read(self._opened.folder)
        except (RuntimeError, ValueError, OSError) as error:
            reason = str(error).splitlines()[0]
            raise CorruptStoreError(f"{self._opened.folder / name} cannot be read ({reason}); {REBUILD}") from error

    def _paper_numbers(self, papers: tuple[str, ...]) -> list[int]:
        numbers = self.paper_numbers(papers)
        for paper in papers:
            if paper not in numbers:
                raise unknown_id("paper", paper, self)
        return list(numbers.values())

    def _technique_rows(self, papers: tuple[str, ...]) -> list[int]:
        return self.rows_of(self._numbers(papers))

    def _hits(self, found: Sequence[tuple[int, float]]) -> list[Hit]:
        if not found:
            return []
        rows, scores = zip(*found, strict=True)
        ids = self.ids(rows)
        return list(map(_hit, zip(map(ids.__getitem__, rows), scores, strict=True)))

    def paper_bundle(self, paper: str) -> PaperBundle | None:
        name = self.paper_file(paper)
        try:
            return None if name is None else bundles.read(self._root / "bundles" / name)
        except CorruptStoreError:
            return None
