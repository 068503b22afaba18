"""Fully checks a stored graph, for `xkg index check`."""

from contextlib import closing
from pathlib import Path
from typing import Any

from xkg.errors import StoreError
from xkg.store import ablations, bundles
from xkg.store.concepts import decisions
from xkg.store.indexes.catalogue import Catalogue
from xkg.store.indexes.text import TextIndex
from xkg.store.indexes.vectors import VectorIndex
from xkg.store.local import generation
from xkg.store.local.generation import CATALOGUE, GRAPH, REBUILD, TEXT, VECTORS, Generation


def problems(root: Path, model: str | None = None) -> list[str]:
    """Checks the bundles, the file hashes, the counts in the indexes, and the embedding `model`. Returns one line for
    each problem."""
    try:
        opened = generation.open_current(root)
    except StoreError as error:
        return [str(error)]
    if opened is None:
        return []
    with opened:
        found = _bundle_problems(root, opened)
        manifest = opened.manifest
        try:
            decisions.read(root, manifest.decisions)
            ablations.read(root, manifest.ablations)
        except StoreError as error:
            found.append(str(error))
        broken = False
        for name in manifest.files:
            try:
                opened.verify(name)
            except StoreError as error:
                found.append(str(error))
                broken = True
        if model is not None and manifest.model not in ("", model):
            found.append(
                f"the vectors were computed with model {manifest.model!r}, but {model!r} is configured; {REBUILD}"
            )
        return found if broken else found + _count_problems(opened)


def _bundle_problems(root: Path, opened: Generation) -> list[str]:
    found = []
    for paper, file in opened.manifest.bundles.items():
        try:
            bundle = bundles.read(root / "bundles" / file.name, paper)
        except StoreError as error:
            found.append(str(error))
        else:
            if bundle.paper.id != paper:
                found.append(f"bundle file {file.name} contains paper {bundle.paper.id!r}, not {paper!r}; {REBUILD}")
    return found


def _count_problems(opened: Generation) -> list[str]:
    manifest = opened.manifest
    with closing(Catalogue(opened.folder / CATALOGUE)) as catalogue:
        in_catalogue = catalogue.counts()
    info = manifest.vectors
    vectors = None if info is None else len(VectorIndex(opened.folder / VECTORS, info))
    techniques = in_catalogue["technique"]
    counted = {
        "papers in the manifest": (len(manifest.bundles), in_catalogue["paper"]),
        "text documents": (len(TextIndex(opened.folder / TEXT)), techniques),
        "techniques in the graph": (manifest.counts.get("Technique", 0), in_catalogue["shown"]),
        "code in the graph": (manifest.counts.get("Code", 0), in_catalogue["code"]),
    }
    if vectors is not None:
        counted["vectors"] = (vectors, techniques)
    counted |= {
        f"{table} rows in the graph": (rows, manifest.counts.get(table, 0))
        for table, rows in _graph_counts(opened.folder / GRAPH).items()
    }
    return [f"{what}: {have}, expected {want}; {REBUILD}" for what, (have, want) in counted.items() if have != want]


def _graph_counts(path: Path) -> dict[str, int]:
    import ladybug

    with ladybug.Database(path, read_only=True) as database, ladybug.Connection(database) as connection:
        counts = {}
        nodes = ("Paper", "CitedWork", "Technique", "Code", "Symbol", "Repository", "Finding", "Resource", "Ablation")
        for table in nodes:
            result: Any = connection.execute(f"MATCH (n:{table}) RETURN count(*)")
            counts[table] = int(result.get_next()[0])
        return counts
