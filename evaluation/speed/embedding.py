"""Speed of the default embedder on this machine: `python -m evaluation.speed.embedding [THREADS]`.

Starts are those of fresh processes with files in the page cache, compared with a bare interpreter's. Texts per second
are over 1,000 texts of an abstract's length (120 to 220 words). The figures of the cache are for the same texts, all
cached."""

import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

from rich.console import Console
from rich.table import Table

from evaluation.generated.paper import ACTS, ADJECTIVES, NOUNS, VERBS
from evaluation.inputs.command import run_command
from xkg.embeddings.cache import CachedEmbedder
from xkg.embeddings.onnx import OnnxEmbedder

QUERY = "restore a small random share of the weights to the checkpoint"
_START = f"""
import time
began = time.perf_counter()
from xkg.embeddings.onnx import OnnxEmbedder
embedder = OnnxEmbedder(threads=THREADS)
loaded = time.perf_counter()
embedder.embed([{QUERY!r}])
print(loaded - began, time.perf_counter() - loaded)
"""


def abstracts(count: int = 1000, seed: int = 0) -> list[str]:
    """Different texts of 120 to 220 words."""
    rng = random.Random(seed)
    words = [*ADJECTIVES, *NOUNS, *ACTS, *VERBS, "the", "of", "a", "and", "we", "which", "is", "by", "for", "with"]
    return [" ".join(rng.choices(words, k=rng.randint(120, 220))) + f" {n}." for n in range(count)]


def starts(threads: int, repeats: int = 5) -> tuple[float, float, float, float]:
    """Medians over fresh processes, in seconds: a bare interpreter's whole run; import and load; the first embedding;
    and the whole run with one embedding."""
    bare, load, first, whole = [], [], [], []
    for _ in range(repeats):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        bare.append(time.perf_counter() - began)
        began = time.perf_counter()
        code = _START.replace("THREADS", str(threads))
        output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
        whole.append(time.perf_counter() - began)
        a, b = output.split()
        load.append(float(a))
        first.append(float(b))
    return median(bare), median(load), median(first), median(whole)


def main() -> None:
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    bare, load, first, whole = starts(threads)
    embedder = OnnxEmbedder(threads=threads)
    single = []
    for n in range(300):
        began = time.perf_counter()
        embedder.embed([f"{QUERY} {n}"])
        single.append(time.perf_counter() - began)
    texts = abstracts()
    began = time.perf_counter()
    embedder.embed(texts)
    throughput = len(texts) / (time.perf_counter() - began)
    with tempfile.TemporaryDirectory() as folder:
        with CachedEmbedder(lambda: embedder, Path(folder) / "cache.sqlite") as cached:
            cached.embed(texts)
        with CachedEmbedder(lambda: embedder, Path(folder) / "cache.sqlite") as cached:
            began = time.perf_counter()
            cached.embed(texts)
            known = len(texts) / (time.perf_counter() - began)
    percentiles = quantiles(single, n=20)
    table = Table(title=f"all-MiniLM-L6-v2, {threads} threads")
    table.add_column("measured")
    table.add_column("value", justify="right")
    for name, value in (
        ("bare interpreter, start to end", f"{bare:.3f} s"),
        ("import and load in a fresh process", f"{load:.3f} s"),
        ("first embedding after that", f"{first * 1000:.1f} ms"),
        ("fresh process with one embedding, start to end", f"{whole:.3f} s"),
        ("single query, p50", f"{percentiles[9] * 1000:.1f} ms"),
        ("single query, p95", f"{percentiles[18] * 1000:.1f} ms"),
        ("1,000 abstracts", f"{throughput:.0f} texts/s"),
        ("1,000 abstracts that the cache knows", f"{known:.0f} texts/s"),
        ("peak memory", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB"),
    ):
        table.add_row(name, value)
    Console().print(table)


if __name__ == "__main__":
    run_command(main)
