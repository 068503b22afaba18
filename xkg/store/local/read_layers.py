"""Reads a generation of two layers: a base shared with earlier generations, and the changes since.

A paper is in one of them: the base's papers in `Layers.dead` are removed, or are in the layer above. The text index is
one whole, since Tantivy has its own layers (segments with deletions) with common statistics."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from xkg.model import Code, Paper, paper_of
from xkg.store.concepts.linking import RowLink
from xkg.store.graph_store import Facts, Heading, Link, PaperLine, TechniqueView
from xkg.store.index_entries import Entry
from xkg.store.indexes.catalogue import Catalogue, name_key
from xkg.store.indexes.vectors import EXACT, VectorIndex, VectorsInfo
from xkg.store.local.generation import BASE, CATALOGUE, VECTORS, Generation, Layers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def open_catalogue(opened: Generation) -> "Catalogue | LayeredCatalogue":
    """The catalogue of a generation of one or two layers."""
    if opened.manifest.layers is None:
        return Catalogue(opened.folder / CATALOGUE)
    return LayeredCatalogue(opened.folder, opened.manifest.layers)


def open_vectors(
    opened: Generation, info: VectorsInfo, catalogue: "Catalogue | LayeredCatalogue"
) -> "VectorIndex | LayeredVectors":
    """The vectors of a generation; `info` describes its base or only layer."""
    if opened.manifest.layers is None or isinstance(catalogue, Catalogue):
        return VectorIndex(opened.folder / VECTORS, info)
    return LayeredVectors(opened.folder, info, opened.manifest.layers, catalogue)


class LayeredCatalogue:
    """`Catalogue` over two layers: each method answers like one layer with the content of both."""

    def __init__(self, folder: Path, layers: Layers) -> None:
        self._layers = layers
        self._base = Catalogue(folder / BASE / CATALOGUE)
        self._above = Catalogue(folder / CATALOGUE)
        self._dead_numbers = frozenset(layers.dead)
        self._dead = frozenset(self._base.paper_ids_of(layers.dead))
        self._papers_above = frozenset(self._above.paper_ids())

    def close(self) -> None:
        self._base.close()
        self._above.close()

    def papers(self) -> list[Paper]:
        base = [paper for paper in self._base.papers() if paper.id not in self._dead]
        return sorted(base + self._above.papers(), key=lambda paper: paper.id)

    def paper_lines(self) -> list[PaperLine]:
        base = [line for line in self._base.paper_lines() if line.id not in self._dead]
        return sorted(base + self._above.paper_lines(), key=lambda line: line.id)

    def paper_count(self) -> int:
        return self._base.paper_count() - len(self._dead) + len(self._papers_above)

    def called(self, words: str, most: int) -> list[str]:
        base = [paper for paper in self._base.called(words, most + len(self._dead)) if paper not in self._dead]
        found = sorted(base + self._above.called(words, most))
        titles = self.headings(found)
        same = [paper for paper in found if name_key(titles[paper].title) == name_key(words)]
        return (same or found)[:most]

    def headings(self, ids: Iterable[str]) -> dict[str, Heading]:
        wanted = list(ids)
        below = self._base.headings(paper for paper in wanted if paper not in self._dead)
        found = below | self._above.headings(wanted)
        return {paper: found[paper] for paper in wanted if paper in found}

    def of_years(self, first: int | None, last: int | None) -> list[str]:
        base = [paper for paper in self._base.of_years(first, last) if paper not in self._dead]
        return sorted(base + self._above.of_years(first, last))

    def citations_of(self, paper: str) -> tuple[set[str], set[str]] | None:
        """`Catalogue.citations_of` over both layers; None if the upper layer has no citations (it has either all or
        none)."""
        if not self._layers.cited:
            return None
        numbers = self.paper_numbers([paper])
        if not numbers:
            return set(), set()
        cited, citing = self._above.cited_numbers(numbers[paper])
        return {*self.paper_ids_of(cited)}, {*self.paper_ids_of(citing)}

    def paper_ids_of(self, numbers: Iterable[int]) -> list[str]:
        below, above = self._split(numbers, self._layers.base_papers)
        return self._base.paper_ids_of(below) + self._above.paper_ids_of(above)

    def paper_file(self, paper: str) -> str | None:
        return self._layer(paper).paper_file(paper)

    def technique(self, technique: str) -> TechniqueView | None:
        return self._layer(paper_of(technique)).technique(technique)

    def code(self, code: str) -> Code | None:
        return self._layer(paper_of(code)).code(code)

    def facts(self, ids: Iterable[str]) -> dict[str, Facts]:
        wanted = list(ids)
        below = [technique for technique in wanted if paper_of(technique) not in self._dead]
        return self._base.facts(below) | self._above.facts(wanted)

    def named(self, name: str) -> list[str]:
        base = [technique for technique in self._base.named(name) if paper_of(technique) not in self._dead]
        return sorted(base + self._above.named(name), key=paper_of)

    def spellings(self, word: str) -> list[str]:
        return self._base.spellings(word) + self._above.spellings(word)

    def ids(self, rows: Iterable[int]) -> dict[int, str]:
        below, above = self._split(rows, self._layers.base_rows)
        return self._base.ids(below) | self._above.ids(above)

    def paper_numbers(self, papers: Iterable[str]) -> dict[str, int]:
        wanted = list(papers)
        return {
            **self._base.paper_numbers(paper for paper in wanted if paper not in self._dead),
            **self._above.paper_numbers(wanted),
        }

    def rows_of(self, papers: Iterable[int]) -> list[int]:
        below, above = self._split(papers, self._layers.base_papers)
        return self._base.rows_of(set(below) - self._dead_numbers) + self._above.rows_of(above)

    def technique_ids(self, paper: str) -> list[str]:
        return self._layer(paper).technique_ids(paper)

    def paper_ids(self) -> list[str]:
        return sorted({*self._base.paper_ids()} - self._dead | self._papers_above)

    def links(self) -> list[Link]:
        return self._links(self._base.links(), self._above.row_links())

    def links_of(self, ids: Iterable[str]) -> list[Link]:
        wanted = list(ids)
        rows = {*self.rows(wanted).values()}
        above = [link for link in self._above.row_links() if link.first in rows or link.second in rows]
        return self._links(self._base.links_of(wanted), above)

    def _links(self, below: Iterable[Link], above: Sequence[RowLink]) -> list[Link]:
        redone = self._above.relinked()
        found = []
        for link in below:
            papers = paper_of(link.first), paper_of(link.second)
            if self._dead.isdisjoint(papers) and papers not in redone:
                found.append(link)
        ids = self.ids({row for link in above for row in (link.first, link.second)})
        found += [Link(first=ids[x.first], second=ids[x.second], score=x.score, how=x.how) for x in above]  # type: ignore[arg-type]
        return sorted(found, key=lambda link: (link.first, link.second))

    def rows(self, ids: Iterable[str]) -> dict[str, int]:
        wanted = list(ids)
        below = [technique for technique in wanted if paper_of(technique) not in self._dead]
        return self._base.rows(below) | self._above.rows(wanted)

    def codes(self, rows: Iterable[int]) -> dict[int, bytes]:
        below, above = self._split(rows, self._layers.base_rows)
        return self._base.codes(below) | self._above.codes(above)

    # --- for the next layer -------------------------------------------------------------------------------------------

    def dead_rows(self) -> list[int]:
        """Rows of the base that are removed or replaced."""
        return self._base.rows_of(self._layers.dead)

    def rows_above(self) -> list[int]:
        return self._above.all_rows()

    def row_papers(self, rows: Iterable[int]) -> list[tuple[int, int]]:
        below, above = self._split(rows, self._layers.base_rows)
        base = [found for found in self._base.row_papers(below) if found[1] not in self._dead_numbers]
        return base + self._above.row_papers(above)

    def entries(self, rows: Iterable[int]) -> list[tuple[int, int, Entry]]:
        below, above = self._split(rows, self._layers.base_rows)
        return self._base.entries(below) + self._above.entries(above)

    def sharing(self, forms: Iterable[str], *, terse: bool) -> list[tuple[int, int]]:
        wanted = list(forms)
        base = [found for found in self._base.sharing(wanted, terse=terse) if found[1] not in self._dead_numbers]
        return base + self._above.sharing(wanted, terse=terse)

    def row_links(self) -> list[RowLink]:
        """The links of the upper layer."""
        return self._above.row_links()

    def texts(self) -> list[tuple[bytes, int]]:
        dead = {*self.dead_rows()}
        return [found for found in self._base.texts() if found[1] not in dead] + self._above.texts()

    def texts_of(self, rows: Iterable[int]) -> dict[bytes, int]:
        below, above = self._split(rows, self._layers.base_rows)
        return self._base.texts_of(below) | self._above.texts_of(above)

    def counts(self) -> dict[str, int]:
        dead = self._base.counts_of(self._layers.dead)
        above = self._above.counts()
        return {name: count - dead[name] + above[name] for name, count in self._base.counts().items()}

    # ------------------------------------------------------------------------------------------------------------------

    def _layer(self, paper: str) -> Catalogue:
        """The only layer that can contain the paper."""
        return self._above if paper in self._dead or paper in self._papers_above else self._base

    @staticmethod
    def _split(numbers: Iterable[int], boundary: int) -> tuple[list[int], list[int]]:
        below: list[int] = []
        above: list[int] = []
        for number in numbers:
            (below if number < boundary else above).append(number)
        return below, above


class LayeredVectors:
    """`VectorIndex` over two layers, of which the upper one is exact."""

    def __init__(self, folder: Path, info: VectorsInfo, layers: Layers, catalogue: LayeredCatalogue) -> None:
        import numpy as np

        self._numpy = np
        self._start = layers.base_rows
        self._base = VectorIndex(folder / BASE / VECTORS, info, catalogue.dead_rows())
        self._above: VectorIndex | None = None
        self._visible = np.ones(layers.rows, dtype=bool)
        self._visible[catalogue.dead_rows()] = False
        self._visible[self._start :] = False
        self._visible[catalogue.rows_above()] = True
        if layers.rows > layers.base_rows:
            hidden = np.flatnonzero(~self._visible[self._start :])
            self._above = VectorIndex(folder / VECTORS, EXACT, hidden.tolist())

    def __len__(self) -> int:
        return int(self._visible.sum())

    def search(
        self, vector: "NDArray[np.float32]", k: int, rows: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        """See `VectorIndex.search`."""
        below = None if rows is None else [row for row in rows if row < self._start]
        hits = self._base.search(vector, k, below)
        if self._above is not None:
            above = None if rows is None else [row - self._start for row in rows if row >= self._start]
            hits += [(row + self._start, score) for row, score in self._above.search(vector, k, above)]
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:k]

    def within(
        self, vectors: "NDArray[np.float32]", at_least: float
    ) -> "tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]":
        """`VectorIndex.within` without hidden rows."""
        np = self._numpy
        numbers, found, scores = self._base.within(vectors, at_least)
        if self._above is not None:
            more, above, cosines = self._above.within(vectors, at_least)
            numbers, scores = np.concatenate([numbers, more]), np.concatenate([scores, cosines])
            found = np.concatenate([found, above + self._start])
        visible = self._visible[found]
        return numbers[visible], found[visible], scores[visible]

    def exact_rows(self, rows: Sequence[int]) -> "NDArray[np.float32] | None":
        """See `VectorIndex.exact_rows`."""
        base = self._base.exact_rows([row for row in rows if row < self._start])
        return None if base is None else self._with_above(rows, base)

    def vectors(self, rows: Sequence[int]) -> "NDArray[np.float32]":
        """See `VectorIndex.vectors`."""
        return self._with_above(rows, self._base.vectors([row for row in rows if row < self._start]))

    def background(self, vector: "NDArray[np.float32]") -> tuple[float, float]:
        """`VectorIndex.background` of the base alone, since the upper layer is small."""
        return self._base.background(vector)

    def _with_above(self, rows: Sequence[int], base: "NDArray[np.float32]") -> "NDArray[np.float32]":
        """The vectors of `rows`; `base` are the vectors of the rows in the lower layer."""
        import numpy as np

        wanted = np.asarray(rows, dtype=np.int64)
        above = wanted >= self._start
        result: NDArray[np.float32] = np.empty((len(wanted), base.shape[1]), dtype=np.float32)
        result[~above] = base
        if self._above is not None and above.any():
            result[above] = self._above.exact_rows((wanted[above] - self._start).tolist())
        return result
