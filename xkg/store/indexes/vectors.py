"""Builds and searches a generation's vector index. The search is exact if an exact search is fast enough. Larger
indexes use inverted lists of 16-bit numbers.

Cosine similarity is the inner product of unit vectors. See Johnson, Douze and Jégou, "Billion-scale similarity search
with GPUs", IEEE Transactions on Big Data 7(3), 2021 (FAISS). Files are memory-mapped and therefore shared between
processes. A mapped index must never be extended, because that would crash the process.

An exact index is an array in NumPy's own format, because multiplying by one matrix does not require a 66 MB library.
FAISS is therefore optional, and is only used for graphs with more than `EXACT_UP_TO` techniques."""

import logging
import threading
from collections.abc import Sequence
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from xkg.errors import MissingExtraError, install_extra
from xkg.value import Value

if TYPE_CHECKING:
    # NumPy is only imported for types, because opening a graph reads `VectorsInfo` but does not need arrays.
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger(__name__)

EXACT_UP_TO = 20_000
RECALL_GOAL = 0.995
"""Target for recall@10. The target is higher than the 0.99 promised in the documentation, because recall varies between
queries. With 8-bit codes alone, recall@10 was 0.987 for 200,000 vectors."""
_RECALL_QUERIES = 400
_SUMMED = 4
_TRUTH_BLOCK = 50_000
_TRAINED_ON = 64
"""Number of training vectors per list. With FAISS's default of 256, indexing a million vectors took minutes."""
_RECALL_AT = 10
_FEW_ROWS = 2000
_BLOCK = 1024
_SAMPLE = 500
# Cosines vary slightly with the order of additions and the precision of numbers.
SLACK = 0.01


class VectorsInfo(Value):
    """How an index was built. `recall` is the recall@10 of searches in `probes` lists for sums of the index's own
    vectors, compared with an exact search. `holes` lists the rows removed from an exact index."""

    kind: Literal["exact", "ivf-fp16"]
    probes: int = 0
    recall: float = 1.0
    holes: tuple[int, ...] = ()


EXACT = VectorsInfo(kind="exact")


def build(path: Path, vectors: "NDArray[np.float32]", *, exact_up_to: int = EXACT_UP_TO) -> VectorsInfo:
    """Builds an index over rows of unit length and writes it to disk. The vector in row i gets the number i. The index
    is exact if FAISS is not installed.

    If there are more than `exact_up_to` rows, the number of lists to search is increased until searches for sums of
    four vectors reach a recall@10 of `RECALL_GOAL`. If this recall cannot be reached, the index is exact. A sum of
    vectors simulates a paraphrased query, which is not close to any single vector. For a million vectors, searching 27
    lists had a recall of 1.00 for the vectors themselves and 0.995 for sums of two. The recall was only 0.93 for
    questions and 0.95 for sums of four. With 80 lists, recall increased to 0.993 for questions and 0.995 for sums of
    four."""
    import numpy as np

    count, dimension = vectors.shape
    index: Any = None
    info = EXACT
    if count > exact_up_to and not util.find_spec("faiss"):
        log.warning(
            "searching %s techniques compares every vector; to search faster, %s", count, install_extra("faiss")
        )
    elif count > exact_up_to:
        faiss = _faiss()
        lists = max(1, min(int(4 * count**0.5), count // 39))
        index = faiss.index_factory(dimension, f"IVF{lists},SQfp16", faiss.METRIC_INNER_PRODUCT)
        index.cp.max_points_per_centroid = _TRAINED_ON
        index.train(vectors)
        index.add(vectors)
        rng = np.random.default_rng(0)
        drawn = vectors[rng.choice(count, size=(_SUMMED, min(_RECALL_QUERIES, count // _SUMMED)), replace=False)]
        queries = drawn.sum(axis=0)
        queries /= np.linalg.norm(queries, axis=1, keepdims=True)
        truth = nearest_rows(vectors, queries)
        probes = min(8, lists)
        while True:
            index.nprobe = probes
            recall = _recall(truth, index.search(queries, _RECALL_AT)[1])
            if recall >= RECALL_GOAL or probes >= lists:
                break
            probes = min(probes + probes // 4, lists)
        info = VectorsInfo(kind="ivf-fp16", probes=probes, recall=round(recall, 4)) if recall >= RECALL_GOAL else EXACT
    if info.kind == "exact":
        _save(path, vectors)
    else:
        faiss.write_index(index, str(path))
    return info


def edited(
    source: Path, info: VectorsInfo, target: Path, removed: Sequence[int], first: int, added: "NDArray[np.float32]"
) -> VectorsInfo:
    """Writes a changed copy of an index. The rows in `removed` are omitted, and the vectors in `added` are appended,
    starting at row `first`. The lists in a compressed index are not retrained."""
    import numpy as np

    if info.kind == "exact":
        remaining = np.load(source, mmap_mode="r", allow_pickle=False)[:first]
        _save(target, np.concatenate([remaining, added]) if len(added) else remaining)
        holes = sorted(row for row in {*info.holes, *removed} if row < first)
        return info.model_copy(update={"holes": tuple(holes)})
    faiss = _faiss()
    index: Any = faiss.read_index(str(source))
    index.remove_ids(faiss.IDSelectorBatch(np.array(removed, dtype=np.int64)))
    if len(added):
        index.add_with_ids(added, np.arange(first, first + len(added)))
    faiss.write_index(index, str(target))
    return info


def _save(path: Path, vectors: "NDArray[np.float32]") -> None:
    import numpy as np

    with path.open("wb") as file:  # given a file name, NumPy would append a suffix
        np.save(file, np.ascontiguousarray(vectors, dtype=np.float32), allow_pickle=False)


def _faiss() -> Any:
    try:
        import faiss
    except ModuleNotFoundError as error:
        raise MissingExtraError("faiss", "the vector index of this graph") from error
    return faiss


def nearest_rows(vectors: "NDArray[np.float32]", queries: "NDArray[np.float32]") -> "NDArray[np.int64]":
    """Returns the ten rows nearest to each query. The search is exact, but processes the rows in blocks, because there
    may be millions of rows."""
    import numpy as np

    best = np.empty((len(queries), 0), np.float32)
    rows = np.empty((len(queries), 0), np.int64)
    for start in range(0, len(vectors), _TRUTH_BLOCK):
        products = queries @ vectors[start : start + _TRUTH_BLOCK].T
        numbers = np.broadcast_to(np.arange(start, start + products.shape[1]), products.shape)
        best, rows = np.concatenate([best, products], axis=1), np.concatenate([rows, numbers], axis=1)
        order = np.argpartition(-best, min(_RECALL_AT, best.shape[1]) - 1, axis=1)[:, :_RECALL_AT]
        best, rows = np.take_along_axis(best, order, axis=1), np.take_along_axis(rows, order, axis=1)
    return rows


def _recall(truth: "NDArray[np.int64]", found: "NDArray[np.int64]") -> float:
    shared = sum(len(set(want) & set(have)) for want, have in zip(truth.tolist(), found.tolist(), strict=True))
    return shared / truth.size


def neighbours_of(
    rows: "NDArray[np.int64]", found: "NDArray[np.int64]", scores: "NDArray[np.float32]", groups: "NDArray[np.int64]"
) -> list[tuple[int, int]]:
    """Returns pairs of rows i < j in different groups that are mutual nearest neighbours. This means that no other row
    in j's group is nearer to i, and no other row in i's group is nearer to j. If rows are equally near, the lowest is
    chosen. `rows`, `found` and `scores` are parallel arrays that contain a row, a nearby row in any group, and their
    similarity. `rows` must cover entire groups. `groups` maps each row to its group."""
    import numpy as np

    other = groups[rows] != groups[found]
    rows, found, scores = rows[other], found[other], scores[other]
    both = np.concatenate([rows, found]), np.concatenate([found, rows])
    _, once = np.unique(both[0] * len(groups) + both[1], return_index=True)
    best = _nearest(both[0][once], both[1][once], np.concatenate([scores, scores])[once], groups)
    return _mutual(best, len(groups))


def _nearest(
    rows: "NDArray[np.int64]", found: "NDArray[np.int64]", scores: "NDArray[np.float32]", groups: "NDArray[np.int64]"
) -> "NDArray[np.int64]":
    import numpy as np

    order = np.lexsort((found, -np.round(scores, 4), groups[found], rows))
    rows, found = rows[order], found[order]
    first = np.ones(len(rows), dtype=bool)
    first[1:] = (rows[1:] != rows[:-1]) | (groups[found][1:] != groups[found][:-1])
    nearest: NDArray[np.int64] = rows[first] * len(groups) + found[first]
    return nearest


def _mutual(pairs: "NDArray[np.int64]", count: int) -> list[tuple[int, int]]:
    import numpy as np

    mutual = pairs[np.isin(pairs % count * count + pairs // count, pairs)]
    return [(int(p) // count, int(p) % count) for p in mutual if p // count < p % count]


def _places(mask: "NDArray[np.bool_]") -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Equivalent to `np.nonzero`, but forty times as fast for sparse masks."""
    import numpy as np

    rows, columns = np.divmod(np.flatnonzero(mask), mask.shape[1])
    return rows, columns


class VectorIndex:
    """Searches a finished index. Thread-safe. Raises `MissingExtraError` if the index is compressed and FAISS is not
    installed."""

    def __init__(self, path: Path, info: VectorsInfo) -> None:
        import numpy as np

        self._numpy = np
        self._info = info
        self._exact: NDArray[np.float32] | None = None
        if info.kind == "exact":
            self._exact = np.load(path, mmap_mode="r", allow_pickle=False)
            self._rows = np.arange(len(self._exact))
            if info.holes:
                self._rows = np.delete(self._rows, info.holes)
        else:
            self._faiss: Any = _faiss()
            self._index: Any = self._faiss.read_index(str(path), self._faiss.IO_FLAG_MMAP_IFC)
        self._sample: NDArray[np.float32] | None = None
        self._turn = threading.Lock()

    def __len__(self) -> int:
        return int(self._index.ntotal) if self._exact is None else len(self._rows)

    def search(
        self, vector: "NDArray[np.float32]", k: int, rows: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        """Returns up to `k` rows and their cosine similarities, best first. If `rows` is given, only those rows are
        considered."""
        if rows is not None and not rows:
            return []
        if self._exact is not None:
            return self._among_all(self._numpy.asarray(vector, dtype=self._numpy.float32), k, rows)
        query = self._numpy.ascontiguousarray(vector, dtype=self._numpy.float32).reshape(1, -1)
        if rows is not None and len(rows) <= _FEW_ROWS:
            return self._among(query[0], k, rows)
        selector = None
        if rows is not None:
            selector = self._faiss.IDSelectorBatch(self._numpy.asarray(rows, dtype=self._numpy.int64))
        # If there is a filter, the nearest lists may contain few or none of the rows that pass it.
        share = 1 if rows is None else len(self) // len(rows) + 1
        probes = min(self._info.probes * share, self._index.nlist)
        parameters = self._faiss.SearchParametersIVF(sel=selector, nprobe=probes)
        scores, found = self._index.search(query, min(k, len(self)), params=parameters)
        if rows is not None and (found[0] >= 0).sum() < min(k, len(rows)):
            parameters = self._faiss.SearchParametersIVF(sel=selector, nprobe=self._index.nlist)
            scores, found = self._index.search(query, min(k, len(self)), params=parameters)
        ranked = sorted(zip((-scores[0]).tolist(), found[0].tolist(), strict=True))
        return [(row, -score) for score, row in ranked if row >= 0]

    def _among_all(self, vector: "NDArray[np.float32]", k: int, rows: Sequence[int] | None) -> list[tuple[int, float]]:
        """Searches an exact index. Rows with equal scores are returned in row order."""
        np = self._numpy
        assert self._exact is not None
        if rows is not None:
            numbers = np.unique(np.asarray(rows, dtype=np.int64))
            cosines = self._exact[numbers] @ vector
        else:
            numbers, cosines = self._rows, self._exact @ vector
            cosines = cosines[self._rows] if self._info.holes else cosines
        if 0 < k < len(cosines):
            near = np.flatnonzero(cosines >= np.partition(cosines, -k)[-k])
            numbers, cosines = numbers[near], cosines[near]
        best = np.argsort(-cosines, kind="stable")[:k]
        return list(zip(numbers[best].tolist(), cosines[best].tolist(), strict=True))

    def _among(self, vector: "NDArray[np.float32]", k: int, rows: Sequence[int]) -> list[tuple[int, float]]:
        """Searches only the given rows. For a few rows, reading them is faster than looking for them in all lists."""
        cosines = self.vectors(rows) @ vector
        best = self._numpy.argsort(-cosines, kind="stable")[:k]
        return [(rows[place], float(cosines[place])) for place in best.tolist()]

    def exact_rows(self, rows: Sequence[int]) -> "NDArray[np.float32] | None":
        """Returns the vectors for `rows` with full precision, or None if the index stores only 16-bit numbers."""
        return None if self._exact is None else self._exact[self._numpy.asarray(rows, dtype=self._numpy.int64)]

    def within(
        self, vectors: "NDArray[np.float32]", at_least: float
    ) -> "tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]":
        """Returns pairs (index into `vectors`, row) with a cosine of at least `at_least`, and the cosines. Compressed
        indexes may miss a few pairs."""
        np = self._numpy
        if self._exact is None:
            parameters = self._faiss.SearchParametersIVF(nprobe=self._info.probes)
            limits, scores, found = self._index.range_search(vectors, at_least, params=parameters)
            return np.repeat(np.arange(len(vectors)), np.diff(limits.astype(np.int64))), found, scores
        parts = []
        for start in range(0, len(self._exact), _BLOCK):
            products = vectors @ self._exact[start : start + _BLOCK].T
            numbers, found = _places(products >= at_least)
            parts.append((numbers, found + start, products[numbers, found]))
        numbers, found, scores = (np.concatenate(column) for column in zip(*parts, strict=True))
        there = np.isin(found, self._info.holes, invert=True)
        return numbers[there], found[there], scores[there]

    def vectors(self, rows: Sequence[int]) -> "NDArray[np.float32]":
        """Returns the vectors for `rows`, which are rounded if only 16-bit numbers are stored."""
        exact = self.exact_rows(rows)
        if exact is not None:
            return exact
        with self._turn:
            self._index.set_direct_map_type(self._faiss.DirectMap.Hashtable)
        result: NDArray[np.float32] = self._index.reconstruct_batch(self._numpy.asarray(rows, dtype=self._numpy.int64))
        return result

    def background(self, vector: "NDArray[np.float32]") -> tuple[float, float]:
        """Returns the mean and standard deviation of the cosines between a unit vector and a fixed sample of the
        index's vectors."""
        if not len(self):
            return 0.0, 0.0
        if self._sample is None:
            self._sample = self._drawn()
        cosines = self._sample @ vector
        return float(cosines.mean()), float(cosines.std())

    def _drawn(self) -> "NDArray[np.float32]":
        rng = self._numpy.random.default_rng(0)
        chosen = self._numpy.sort(rng.choice(len(self), size=min(_SAMPLE, len(self)), replace=False))
        if self._exact is not None:
            sample: NDArray[np.float32] = self._exact[self._rows[chosen]]
            return sample
        # A mapped index cannot look up rows, so the rows are converted to positions in its lists.
        lists = self._index.invlists
        ends = self._numpy.cumsum([lists.list_size(number) for number in range(self._index.nlist)])
        found = self._numpy.empty((len(chosen), self._index.d), dtype=self._numpy.float32)
        for place, number in enumerate(chosen.tolist()):
            own = int(self._numpy.searchsorted(ends, number, side="right"))
            start = int(ends[own - 1]) if own else 0
            self._index.reconstruct_from_offset(own, number - start, self._faiss.swig_ptr(found[place]))
        return found
