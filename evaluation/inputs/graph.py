"""Reads the graph to be measured: a folder created by `xkg build` or `import`, or files (bundles, or the peer's
format)."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from xkg.commands.graph.contents import import_graphs
from xkg.commands.graph.open import chosen_papers, open_store
from xkg.config import Settings, load
from xkg.errors import InputError
from xkg.model import PaperBundle
from xkg.sandbox.evidence.static_checks import check_parsed
from xkg.serve.service import Service
from xkg.store.exchange import graph_files, import_files, read_file


@dataclass(frozen=True)
class MeasuredGraph:
    """The papers in a graph. `settings` are the settings for opening the graph, or None for files. `problems` lists
    unreadable files, one line each."""

    path: Path
    bundles: tuple[PaperBundle, ...]
    problems: tuple[str, ...]
    settings: Settings | None

    @property
    def imported(self) -> bool:
        return all(bundle.paper.origin == "import" for bundle in self.bundles)


def check_graph(graph: Path) -> None:
    """Raises `XkgError` unless the folder contains a servable graph with at least one paper."""
    service = Service(load(kg=graph))
    try:
        service.papers()
    finally:
        service.close()


def shared() -> Path:
    return Path(os.environ.get("XKG_SHARED") or Path(__file__).parents[3] / "shared")


@contextmanager
def graph_or_shared(kg: Path | None) -> Iterator[Path]:
    """Yields the folder of a graph with papers. If `kg` is None, imports the shared graphs into a temporary folder.
    Raises `XkgError`."""
    with tempfile.TemporaryDirectory() as folder:
        if kg is None:
            kg = Path(folder) / "kg"
            import_graphs(Settings(kg=kg), shared() / "peer-graphs")
        check_graph(kg)
        yield kg


def read_graph(path: Path, papers: Sequence[str] = ()) -> MeasuredGraph:
    """Reads the given papers (ids or titles), or all papers if `papers` is empty. Raises `InputError` if `path`
    contains no graph or no such paper, and `XkgError` if a stored graph cannot be opened."""
    if (path / "bundles").is_dir():
        settings = load(kg=path)
        with open_store(settings) as store, store.snapshot() as snapshot:
            bundles = [snapshot.bundle(paper) for paper in chosen_papers(store, snapshot, papers)]
        return MeasuredGraph(path, tuple(bundles), (), settings)
    if path.is_file():
        found, problems = [read_file(path, check_parsed)], list[str]()
    else:
        found, problems = import_files(graph_files(path), check_parsed)
    if papers:
        by_name = {name: bundle for bundle in found for name in (bundle.paper.id, bundle.paper.title)}
        if missing := [paper for paper in papers if paper not in by_name]:
            raise InputError(
                f"{path}: contains no paper {missing[0]}; pass the id or full title of a paper that it contains"
            )
        found = list({by_name[paper].paper.id: by_name[paper] for paper in papers}.values())
    if not found:
        raise InputError(f"{path}: contains no readable paper ({problems[0] if problems else 'it is empty'})")
    return MeasuredGraph(path, tuple(found), tuple(problems), None)
