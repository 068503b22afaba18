"""Measures how long it takes to push and pull one paper in a library of many. Also compares pulling many papers with
rsync and `xkg import`.

    python -m evaluation.speed.library [--papers 10000] [--whole 1000] [--rounds 3]

The index contains `--papers` papers, of which `--whole` papers have a bundle, code and vectors
(`evaluation.generated`). One paper is pulled over HTTP on this machine. All papers with a bundle are pulled from the
folder together. rsync copies the whole library, and `import` indexes the same bundles from files, with all vectors in
its cache. Times for many papers are medians over several rounds. Each round measures all methods."""

import hashlib
import http.server
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from evaluation.generated.graph import SeededVectors, bundle
from evaluation.inputs.command import run_command
from xkg.commands.graph.contents import export_graphs, import_graphs
from xkg.commands.library.pull import pull
from xkg.commands.library.push import push
from xkg.config import EmbeddingSettings, LlmSettings, Settings
from xkg.embeddings.base import EncodedText
from xkg.embeddings.cache import CachedEmbedder
from xkg.library.heads import Change, add
from xkg.library.layout import Package, Row, Version, path_of
from xkg.library.open import open_place
from xkg.library.packages import pack, parts_of
from xkg.library.state import Seen
from xkg.model import PaperBundle
from xkg.store import bundles
from xkg.store.local.store import EmbeddedStore

_WHOLE = "Generated whole"
"""A name that occurs only in papers with a bundle."""


class Took(NamedTuple):
    """Wall seconds, and the CPU seconds used by this process and the programs that it ran."""

    wall: float
    processor: float

    def __str__(self) -> str:
        return f"{self.wall:.2f} s ({self.processor:.2f} s of processor)"


class SeededWords(SeededVectors):
    """Adds word codes, which need more space than vectors."""

    def encode(self, texts: Sequence[str]) -> list[EncodedText]:
        encoded = []
        for text, vector in zip(texts, self.embed(texts), strict=True):
            words = tuple(dict.fromkeys(re.findall(r"\w+", text.lower())))
            codes = b"".join(hashlib.shake_128(word.encode()).digest(self.dimension // 8) for word in words)
            encoded.append(EncodedText(vector, words, np.frombuffer(codes, np.uint8).reshape(len(words), -1)))
        return encoded


def main(*, papers: int = 10_000, whole: int = 1000, rounds: int = 3) -> None:
    table = Table("what", "figure", title=f"{papers:,} papers, {whole:,} of them whole")
    with tempfile.TemporaryDirectory(prefix="xkg-library-") as folder:
        for what, figure in measured(Path(folder), papers, whole, rounds):
            print(f"{what}: {figure}", flush=True)
            table.add_row(what, figure)
    Console(width=110).print(table)


def measured(folder: Path, papers: int, whole: int, rounds: int) -> Iterator[tuple[str, str]]:
    library = folder / "library"
    packed, added = fill(folder, library, papers, whole)
    yield "first push: packages, index", f"{packed:.1f} s, {added}"
    writer = graph(folder / "writer", papers + 1)
    yield "push of one", str(seconds(lambda: push(writer, str(library))))
    with served(library) as (address, asked):
        reader = settings(folder / "reader")
        yield "pull of one", str(seconds(lambda: pull(reader, address, [f"title:generated-{papers + 1}"])))
        *small, package = asked
        yield "requests beside its package", f"{len(small)}, {sum(size for _, size in small) / 1e3:.0f} KB"
        yield "its package", f"{package[1] / 1e3:.0f} KB"
    pulls, copies, imports = list[Took](), list[Took](), list[Took]()
    for number in range(rounds):
        here = folder / str(number)
        pulled, imported = settings(here / "pulled"), settings(here / "imported")
        pulls.append(seconds(partial(pull, pulled, str(library), topic=_WHOLE)))
        export_graphs(pulled, (), here / "bundles", "bundle")
        imported.kg.mkdir()
        shutil.copy(pulled.kg / "embeddings.sqlite", imported.kg)
        copy = ["rsync", "-a", f"{library}/", str(here / "copy")]
        copies.append(seconds(partial(subprocess.run, copy, check=True)))
        imports.append(seconds(partial(import_graphs, imported, here / "bundles")))
        shutil.rmtree(here)
    for what, took in (("pull of many", pulls), ("rsync of the library", copies), ("import of its papers", imports)):
        yield what, str(Took(*map(statistics.median, zip(*took, strict=True))))


def fill(folder: Path, library: Path, papers: int, whole: int) -> tuple[float, Took]:
    """Creates the library. Returns the seconds taken by the packages and by the index."""
    place, changes, packed = open_place(str(library), folder), [], 0.0
    with (
        CachedEmbedder(SeededWords, folder / "filling.sqlite", SeededVectors.model) as vectors,
        Seen(folder, "filling") as seen,
    ):
        for number in range(papers):
            paper = licensed(number) if number < whole else None
            began = time.perf_counter()
            data = b"" if paper is None else pack(parts_of(paper, (), (), vectors))
            package = Package(name=hashlib.sha256(data).hexdigest(), size=len(data))
            place.write(path_of(package.name), data)
            packed += time.perf_counter() - began
            content = package.name if paper is None else bundles.sha256(paper)
            names = () if paper is None else (_WHOLE, *(each.name for each in paper.techniques))
            row = Row(
                paper=f"title:generated-{number}",
                title=f"A title of number {number}" if paper is None else paper.paper.title,
                versions=(Version(content=content, packages=(package,), pushed="2026-01-01T00:00:00+00:00"),),
                names=names,
            )
            changes.append(Change(row=row))
        return packed, seconds(lambda: add(place, changes, seen))


def licensed(number: int) -> PaperBundle:
    paper = bundle(number)
    repositories = tuple(each.model_copy(update={"license": "MIT"}) for each in paper.repositories)
    return paper.model_copy(update={"repositories": repositories})


def settings(kg: Path) -> Settings:
    """Returns settings whose model cannot be loaded, so that embedding any text would end the run."""
    return Settings(kg=kg, llm=LlmSettings(model="none"), embedding=EmbeddingSettings(model=SeededVectors.model))


def graph(kg: Path, number: int) -> Settings:
    with CachedEmbedder(SeededWords, kg / "embeddings.sqlite", SeededVectors.model) as vectors:
        store = EmbeddedStore(kg, lambda: vectors)
        store.publish([licensed(number)])
        store.close()
    return settings(kg)


def seconds(work: Callable[[], object]) -> Took:
    began, times = time.perf_counter(), sum(os.times()[:4])
    work()
    return Took(time.perf_counter() - began, sum(os.times()[:4]) - times)


@contextmanager
def served(library: Path) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """Serves a folder over HTTP. Yields the address, and a list to which each requested path is added with its size in
    bytes."""
    asked: list[tuple[str, int]] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = library / self.path.lstrip("/")
            asked.append((self.path, path.stat().st_size if path.is_file() else 0))
            super().do_GET()

        def log_message(self, *_: Any) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(library))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


if __name__ == "__main__":
    run_command(main)
