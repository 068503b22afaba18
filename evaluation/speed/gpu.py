"""Compares GPU and CPU: `python -m evaluation.speed.gpu [--texts N] [--rows N]`, or `make bench-gpu`.

Needs an NVIDIA GPU with its driver, the extras `gpu` (for the index) and `st` (for embedding) instead of `cpu`, and the
weights of all-MiniLM-L6-v2. Missing parts are reported, and then only the CPU is measured. Vectors of the index are
generated: unit length, 384 dimensions, in clusters. The CPU embeds at most 1,000 of the texts."""

import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from evaluation.generated.paper import ACTS, ADJECTIVES, NOUNS, VERBS
from evaluation.inputs.command import run_command
from xkg.config import EmbeddingSettings
from xkg.embeddings.factory import make_embedder
from xkg.errors import EmbeddingError
from xkg.store.indexes import gpu

if TYPE_CHECKING:
    from numpy.typing import NDArray

CPU_TEXTS = 1000
DIMENSION = 384
QUERIES = 1000
PROBES = 32


class Row(NamedTuple):
    """One measurement; None if it could not be made."""

    name: str
    cpu: float | None
    gpu: float | None
    unit: str


class Search(NamedTuple):
    """Milliseconds per query, alone and in one call with all others, and recall@10 relative to exact search."""

    alone: float | None
    together: float | None
    recall: float | None


def abstracts(count: int, seed: int = 0) -> list[str]:
    """Different texts of 120 to 220 words."""
    rng = random.Random(seed)
    words = [*ADJECTIVES, *NOUNS, *ACTS, *VERBS, "the", "of", "a", "and", "we", "which", "is", "by", "for", "with"]
    return [" ".join(rng.choices(words, k=rng.randint(120, 220))) + f" {n}." for n in range(count)]


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def clustered(count: int, clusters: int = 1000, seed: int = 0) -> "NDArray[np.float32]":
    """Rows of unit length around shared centres."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((clusters, DIMENSION), dtype=np.float32)
    rows = centres[rng.integers(clusters, size=count)]
    rows += rng.standard_normal(rows.shape, dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def embedding(texts: list[str], missing: list[str]) -> list[Row]:
    """Texts per second with the default runtime and with sentence-transformers on a GPU, and the difference of their
    vectors."""
    default = make_embedder(EmbeddingSettings())
    few = texts[:CPU_TEXTS]
    default.embed(few[:1])
    cpu = len(few) / seconds(lambda: default.embed(few))
    rate = difference = None
    try:
        import torch

        if not torch.cuda.is_available():
            raise EmbeddingError("torch finds no GPU with a driver")
        other = make_embedder(EmbeddingSettings(provider="sentence-transformers"))
        difference = float(np.abs(other.embed(few) - default.embed(few)).max())  # also loads the kernels
        rate = len(texts) / seconds(lambda: other.embed(texts))
    except ImportError:
        missing.append("no embedding on a GPU: torch is not installed (extra st)")
    except EmbeddingError as error:
        missing.append(f"no embedding on a GPU: {error}")
    return [
        Row(f"embedding of abstracts ({len(few):,} on CPU, {len(texts):,} on GPU)", cpu, rate, "texts/s"),
        Row("largest difference between their vectors", None, difference, ""),
    ]


def index(count: int, missing: list[str]) -> list[Row]:
    """Builds and searches indexes, exact and with inverted lists of 16-bit numbers as in
    `xkg.store.indexes.vectors`."""
    import faiss

    vectors = clustered(count)
    rng = np.random.default_rng(1)
    queries = vectors[rng.choice(count, size=min(QUERIES, count), replace=False)]
    lists = max(1, min(int(4 * count**0.5), count // 39))
    factory = f"IVF{lists},SQ8"

    def empty() -> Any:
        return faiss.index_factory(DIMENSION, factory, faiss.METRIC_INNER_PRODUCT)

    exact: Any = faiss.IndexFlatIP(DIMENSION)
    exact.add(vectors)
    compact = empty()

    def build_on_cpu() -> None:
        compact.train(vectors)
        compact.add(vectors)

    built = seconds(build_on_cpu)
    compact.nprobe = min(PROBES, lists)
    on_cpu = {"exact": exact, factory: compact}
    on_gpu: dict[str, Any] = {}
    built_on_gpu = None
    reason = gpu.missing_gpu()
    if reason is None:
        resources = faiss.StandardGpuResources()
        gpu.filled(empty(), vectors[: 39 * lists])  # loads the kernels
        filled: list[Any] = []
        built_on_gpu = seconds(lambda: filled.append(gpu.filled(empty(), vectors)))
        filled[0].nprobe = min(PROBES, lists)
        for name, source in (("exact", exact), (factory, filled[0])):
            on_gpu[name] = faiss.index_cpu_to_gpu(resources, 0, source)
    else:
        missing.append(f"no index on a GPU: {reason} (extra gpu)")

    rows = [Row(f"build of {factory}, {count:,} vectors, with the way back to CPU", built, built_on_gpu, "s")]
    truth = exact.search(queries, 10)[1]
    for name, on_host in on_cpu.items():
        cpu = _search(on_host, queries, truth)
        device = _search(on_gpu[name], queries, truth) if name in on_gpu else Search(None, None, None)
        rows += [
            Row(f"{name}, one query at a time", cpu.alone, device.alone, "ms"),
            Row(f"{name}, {len(queries):,} queries at once", cpu.together, device.together, "ms each"),
            Row(f"{name}, recall@10", cpu.recall, device.recall, ""),
        ]
    return rows


def _search(index: Any, queries: "NDArray[np.float32]", truth: "NDArray[np.int64]") -> Search:
    index.search(queries[:8], 10)
    few = queries[:100]
    alone = 1000 * seconds(lambda: [index.search(query[None], 10) for query in few]) / len(few)
    together = 1000 * seconds(lambda: index.search(queries, 10)) / len(queries)
    found = index.search(queries, 10)[1]
    shared = sum(len(set(a) & set(b)) for a, b in zip(truth.tolist(), found.tolist(), strict=True))
    return Search(alone, together, shared / truth.size)


def table(rows: list[Row]) -> Table:
    made = Table(title="CPU and GPU")
    for name in ("measured", "CPU", "GPU", "unit"):
        made.add_column(name, justify="right" if name in ("CPU", "GPU") else "left")
    for row in rows:
        made.add_row(row.name, *("-" if v is None else f"{v:,.4g}" for v in (row.cpu, row.gpu)), row.unit)
    return made


def main(*, texts: int = 100_000, rows: int = 1_000_000) -> None:
    missing: list[str] = []
    measured = [*embedding(abstracts(texts), missing), *index(rows, missing)]
    console = Console()
    console.print(table(measured))
    for line in missing:
        console.print(line)


if __name__ == "__main__":
    run_command(main)
