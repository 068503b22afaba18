"""Creates a graph of any size whose techniques are perturbed from real techniques, as a generation that `xkg serve` can
open.

    python -m evaluation.generated.perturbed_graph --folder DIR [--from GRAPHS] [--techniques 1000000]

GRAPHS is a folder of graph files. Without GRAPHS, generated papers are perturbed. A copy of a paper keeps the shape of
its hierarchy and the beginning of its code. A fifth of the words are replaced with other words from the source papers.
Each definition contains a sentence from another technique's definition, and most names contain a word from another
technique's name. Vectors and word codes are also perturbed, because embedding a million texts takes hours. Each vector
is mixed with two other vectors and some noise. Paper n is the same in graphs of all sizes.

Only the files that a server needs are written: the catalogue, text index and vectors, as for Neo4j. Techniques are not
linked, because the number of links would grow quadratically with so many similar papers."""

import functools
import hashlib
import random
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from evaluation.generated.graph import bundles as generated_bundles
from evaluation.inputs.command import run_command
from xkg.embeddings.base import Embedder, encode_documents
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.errors import InputError
from xkg.model import Code, Paper, PaperBundle, Reference, Technique, code_id, slug
from xkg.sandbox.evidence.static_checks import check_parsed
from xkg.store import bundles
from xkg.store.bundles import BundleFile
from xkg.store.concepts.citations import works_and_citations
from xkg.store.index_entries import Entry, entries, vector_text
from xkg.store.indexes.catalogue_writer import CatalogueWriter
from xkg.store.indexes.text import TextWriter
from xkg.store.indexes.vectors import VectorsInfo, build
from xkg.store.local.build_files import finish_text
from xkg.store.local.generation import CATALOGUE, TEXT, VECTORS
from xkg.store.local.generations import Built, Generations
from xkg.store.peer_format import read_peer

OTHER_WORDS = 0.2
UNCHANGED_NAMES = 0.1
"""A tenth of the techniques keep their name, because real papers also share some technique names."""
SECOND, THIRD, NOISE = 0.5, 0.3, 0.5
"""The weights of two other techniques and of noise in a perturbed vector, whose cosine to the original vector is near
0.8."""
REFERENCES = 10
CODE_CHARACTERS = 2000
VECTORS_FILE = "vectors.npy"
"""Stored alongside the generations, so that the index can be checked against it."""
GENERATED = 40
_WORD = re.compile(r"([A-Za-z]{4,})")
_NO_CODES = np.empty((0, 0), np.uint8)


@dataclass(frozen=True)
class Source:
    """The source material: papers with their visible techniques, the techniques' unit vectors, and all words in the
    papers."""

    papers: tuple[PaperBundle, ...]
    visible: tuple[tuple[Entry, ...], ...]
    first: tuple[int, ...]
    """For each paper, the row of its first technique."""
    vectors: NDArray[np.float32]
    codes: tuple[NDArray[np.uint8], ...]
    """For each technique, an array with one code per word; the arrays are empty if the model has no word codes."""
    all_codes: NDArray[np.uint8]
    model: str
    words: tuple[str, ...]
    sentences: tuple[str, ...]
    names: tuple[str, ...]


def source(papers: Iterable[PaperBundle], embedder: Embedder) -> Source:
    """Reads and embeds the source material. Papers without techniques are left out."""
    visible_papers = [(bundle, tuple(entries(_shortened(bundle)))) for bundle in papers]
    visible_papers = [(bundle, visible) for bundle, visible in visible_papers if visible]
    flat = [entry for _, visible in visible_papers for entry in visible]
    definitions = [entry.technique.definition for entry in flat]
    read = encode_documents(embedder, [vector_text(entry) for entry in flat])
    width = -(-embedder.dimension // 8) if any(read.codes) else 0
    codes = [np.frombuffer(of, np.uint8).reshape(-1, width) if width else _NO_CODES for of in read.codes]
    return Source(
        papers=tuple(bundle for bundle, _ in visible_papers),
        visible=tuple(visible for _, visible in visible_papers),
        first=tuple(int(n) for n in np.cumsum([0, *(len(visible) for _, visible in visible_papers)])[:-1]),
        vectors=read.vectors,
        codes=tuple(codes),
        all_codes=np.concatenate(codes),
        model=embedder.model,
        words=tuple(word for definition in definitions for word in _WORD.findall(definition)),
        sentences=tuple(s for d in definitions for s in re.split(r"(?<=\.)\s+", d) if 20 < len(s) < 400),
        names=tuple(entry.technique.name for entry in flat),
    )


def _shortened(bundle: PaperBundle) -> PaperBundle:
    code = [
        c.model_copy(update={"implementation": _first(c.implementation), "test": "", "claims": {}}) for c in bundle.code
    ]
    return bundle.model_copy(update={"code": tuple(code)})


def _first(text: str) -> str:
    return text if len(text) <= CODE_CHARACTERS else text[:CODE_CHARACTERS].rpartition("\n")[0] + "\n"


def graph_files(folder: Path | None) -> Iterator[PaperBundle]:
    """Returns the papers in a folder of graph files, or generated papers."""
    if folder is None:
        return generated_bundles(GENERATED)
    return (read_peer(path, check_parsed) for path in sorted(folder.glob("*.json")))


def perturbed(of: Source, number: int) -> PaperBundle:
    words = random.Random(number)
    place = number % len(of.papers)
    original, visible = of.papers[place], of.visible[place]
    title = f"{_renamed(words, of, original.paper.title)}, {number}"
    own = f"title:{slug(title)}"
    ids: dict[str, str] = {}
    techniques: list[Technique] = []
    code: list[Code] = []
    for order, entry in enumerate(visible):
        old = entry.technique
        name = old.name if words.random() < UNCHANGED_NAMES else _renamed(words, of, old.name)
        parent = None if old.parent is None else ids[old.parent]
        ids[old.id] = f"{own}#{slug(name)}-{order}" if parent is None else f"{parent}/{slug(name)}-{order}"
        definition = f"{_reworded(words, of, old.definition)} {words.choice(of.sentences)}"
        techniques.append(
            old.model_copy(update={"id": ids[old.id], "parent": parent, "name": name, "definition": definition})
        )
        if entry.code is not None:
            its = entry.code
            identity = code_id(ids[old.id], its.implementation, its.test)
            documentation = _reworded(words, of, its.documentation)
            code.append(
                its.model_copy(update={"id": identity, "technique": ids[old.id], "documentation": documentation})
            )
    paper = Paper(
        id=own,
        title=title,
        abstract=_reworded(words, of, original.paper.abstract),
        authors=original.paper.authors,
        year=1990 + words.randrange(36),
        references=tuple(Reference(title=perturbed_title(of, words.randrange(number + 1))) for _ in range(REFERENCES)),
        origin="import",
        built_at="2026-01-01T00:00:00Z",
    )
    return PaperBundle(paper=paper, techniques=tuple(techniques), code=tuple(code))


def perturbed_vectors(of: Source, number: int) -> NDArray[np.float32]:
    """Returns the vectors for the techniques in paper `number`, in order."""
    rng = np.random.default_rng(number)
    place = number % len(of.papers)
    count = len(of.visible[place])
    rows = slice(of.first[place], of.first[place] + count)
    noise = rng.standard_normal((count, of.vectors.shape[1]), dtype=np.float32)
    others = of.vectors[rng.integers(len(of.vectors), size=(2, count))]
    return _unit(of.vectors[rows] + SECOND * others[0] + THIRD * others[1] + NOISE * _unit(noise))


def perturbed_codes(of: Source, number: int) -> list[bytes]:
    """Returns the word codes for the techniques in paper `number`, in order. A fraction `OTHER_WORDS` of the codes
    comes from other techniques, and an eighth of all signs are flipped."""
    rng = np.random.default_rng(number)
    place = number % len(of.papers)
    found = []
    for own in of.codes[of.first[place] : of.first[place] + len(of.visible[place])]:
        unchanged = rng.random((len(own), 1)) >= OTHER_WORDS
        words = np.where(unchanged, own, of.all_codes[rng.integers(max(1, len(of.all_codes)), size=len(own))])
        noise = rng.integers(256, size=(3, *words.shape), dtype=np.uint8)
        found.append((words ^ (noise[0] & noise[1] & noise[2])).tobytes())
    return found


def perturbed_title(of: Source, number: int) -> str:
    return f"{_renamed(random.Random(number), of, of.papers[number % len(of.papers)].paper.title)}, {number}"


def publish(folder: Path, of: Source, techniques: int) -> int:
    """Creates a graph with about this many techniques in `folder`, and returns its generation number."""
    generations = Generations(folder, wait=1.0, check=lambda _: None)
    known: dict[str, BundleFile] = {}
    with generations.writing() as current:
        return generations.publish(
            current, lambda place: _fill(place, generations.bundles, of, techniques, known), known, ""
        )


def _fill(folder: Path, bundle_folder: Path, of: Source, techniques: int, known: dict[str, BundleFile]) -> Built:
    papers = papers_of(of, techniques)
    with ProcessPoolExecutor(1, get_context("spawn")) as beside:
        text = beside.submit(index_text, folder, of, papers)
        vectors = beside.submit(index_vectors, folder, bundle_folder.parent / VECTORS_FILE, of, papers)
        counts = write_catalogue(folder, bundle_folder, of, papers, known)
        text.result()
        finish_text(folder)
        info = vectors.result()
    return Built(of.model, of.vectors.shape[1], info, counts)


def papers_of(of: Source, techniques: int) -> int:
    """Returns the number of papers needed for this many techniques."""
    rounds, rest = divmod(techniques, len(of.vectors))
    return rounds * len(of.papers) + next((n for n, rows in enumerate(of.first) if rows >= rest), len(of.papers))


def write_catalogue(
    folder: Path, bundle_folder: Path, of: Source, papers: int, known: dict[str, BundleFile]
) -> dict[str, int]:
    """Writes bundles into `bundle_folder` and the catalogue into `folder`. Returns the counts for the manifest."""
    added: list[Paper] = []
    with CatalogueWriter(folder / CATALOGUE) as catalogue:
        for number in range(papers):
            bundle = perturbed(of, number)
            known[bundle.paper.id] = file = bundles.write(bundle_folder, bundle, durable=False)
            visible = list(entries(bundle))
            hashes = [hashlib.sha256(vector_text(entry).encode()).digest() for entry in visible]
            rows = catalogue.add(bundle, file, list(zip(visible, hashes, strict=True)))
            catalogue.words((row, codes) for row, codes in zip(rows, perturbed_codes(of, number), strict=True) if codes)
            added.append(bundle.paper)
        total = catalogue.rows
        catalogue.cite(works_and_citations(added).edges)
        catalogue.close()
    return {"vectors": total, "papers": papers}


def index_text(folder: Path, of: Source, papers: int) -> None:
    (folder / TEXT).mkdir()
    text = TextWriter(folder / TEXT)
    row = 0
    for number in range(papers):
        for entry in entries(perturbed(of, number)):
            text.add(row, number, entry)
            row += 1
    text.close()


def index_vectors(folder: Path, vectors_file: Path, of: Source, papers: int) -> VectorsInfo:
    """Writes the vector index, and writes the vectors themselves to `vectors_file`. Returns a description of how the
    index was built."""
    rows = all_vectors(of, papers)
    np.save(vectors_file, rows)
    return build(folder / VECTORS, rows)


def all_vectors(of: Source, papers: int) -> NDArray[np.float32]:
    """Returns the vectors for the first papers, one per row (1.5 KB per technique)."""
    rounds, rest = divmod(papers, len(of.papers))
    count = rounds * len(of.vectors) + sum(map(len, of.visible[:rest]))
    rows = np.empty((count, of.vectors.shape[1]), np.float32)
    at = 0
    for number in range(papers):
        own = perturbed_vectors(of, number)
        rows[at : at + len(own)] = own
        at += len(own)
    return rows


def _renamed(words: random.Random, of: Source, name: str) -> str:
    """Returns a name with a word from another technique's name. The word either replaces a word of the name or is put
    before it."""
    other = words.choice(words.choice(of.names).split())
    parts = name.split()
    if len(parts) > 2:
        parts[words.randrange(len(parts))] = other
    else:
        parts.insert(0, other)
    return " ".join(parts)


def _reworded(words: random.Random, of: Source, text: str) -> str:
    """Replaces a fraction `OTHER_WORDS` of the words in a text."""
    parts, places = _parts(text)
    parts = parts[:]
    for _ in range(int(OTHER_WORDS * len(places))):
        parts[places[int(words.random() * len(places))]] = of.words[int(words.random() * len(of.words))]
    return "".join(parts)


@functools.cache
def _parts(text: str) -> tuple[list[str], list[int]]:
    """Splits text into words and separators, and also returns the indices of the words."""
    parts = _WORD.split(text)
    return parts, [place for place, part in enumerate(parts) if place % 2]


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit.astype(np.float32)


def main(
    *,
    folder: Annotated[Path, typer.Option(help="folder for the graph; it must not contain one yet")],
    graphs: Annotated[Path | None, typer.Option("--from", help="folder of graph files to perturb")] = None,
    techniques: int = 1_000_000,
) -> None:
    if (folder / "CURRENT").exists():
        raise InputError(f"{folder} already contains a graph")
    number = publish(folder, source(graph_files(graphs), OnnxEmbedder()), techniques)
    print(f"generation {number} in {folder}")


if __name__ == "__main__":
    run_command(main)
