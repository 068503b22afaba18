"""Implements `xkg diff`, which compares two generations, folders of exported bundles, papers, or a library with the
graph."""

from collections.abc import Iterator
from pathlib import Path

from xkg.commands.graph.open import chosen_papers, open_store
from xkg.config import Settings
from xkg.errors import InputError
from xkg.library.fetch import fetch
from xkg.library.places import shown
from xkg.model import PaperBundle
from xkg.sandbox.evidence.static_checks import check_parsed
from xkg.store.bundle_changes import PaperChange, paper_change
from xkg.store.exchange import graph_files, import_files, read_file
from xkg.store.graph_store import GraphStore
from xkg.value import Value

Pair = tuple[PaperBundle | None, PaperBundle | None]


class DiffResult(Value):
    """The papers that differ between two states. `first` and `second` describe the states."""

    first: str
    second: str
    papers: tuple[PaperChange, ...]

    def __str__(self) -> str:
        if not self.papers:
            return f"{self.first} and {self.second} contain the same papers"
        ends = f"{self.first} -> {self.second}: {len(self.papers)} paper{'s' * (len(self.papers) > 1)} changed"
        return "\n".join([ends, *map(str, self.papers)])


def diff(
    settings: Settings, first: str | None = None, second: str | None = None, *, library: str | None = None
) -> DiffResult:
    """Compares two states. A state is a generation number, a folder or file of exported bundles, or the id or title of
    a paper in the graph. `second` is the newer state, by default the current graph. If no state is given, compares the
    current generation with the previous one. If `library` is not None, compares the library's version of the paper
    `first` with the graph's version.

    Raises `InputError` if the two states cannot be compared, `StoreError` if a generation is no longer stored, and
    `UnknownIdError` if a paper is unknown."""
    if library is not None and (first is None or second is not None):
        raise InputError("specify the paper to compare with the library's version: xkg diff PAPER --library PLACE")
    with open_store(settings) as store:
        if library is not None and first is not None:
            [here] = _bundles(store, first)
            pairs: Iterator[Pair] = iter([(fetch(settings.kg, library, here.paper.id), here)])
            names = (f"{shown(library)} (claimed levels)", "the current graph")
        elif _is_number(first) and _is_number(second):
            pairs = store.differences(_number(first), _number(second))
            names = (_generation(first, "the previous generation"), _generation(second, "the current generation"))
        elif first is not None and not _is_number(first) and (second is None or not _is_number(second)):
            pairs, names = _of_bundles(store, first, second), (first, second or "the current graph")
        else:
            raise InputError("pass either two generations, or papers and exported bundles")
        changes = [paper_change(before, after) for before, after in pairs]
    return DiffResult(first=names[0], second=names[1], papers=tuple(each for each in changes if not each.is_empty))


def _of_bundles(store: GraphStore, first: str, second: str | None) -> Iterator[Pair]:
    olds = _bundles(store, first)
    if second is None:
        with store.snapshot() as snapshot:
            present = {paper.id for paper in snapshot.papers()}
        known = {bundle.paper.id: bundle for bundle in olds}
        if not Path(first).exists():
            raise InputError(
                f"specify a second paper to compare {first} with, or a folder that contains its exported bundle"
            )
        for paper in sorted(known.keys() & present):
            yield known[paper], _stored(store, paper)
        return
    news = _bundles(store, second)
    if len(olds) == len(news) == 1:
        yield olds[0], news[0]
        return
    before, after = ({bundle.paper.id: bundle for bundle in side} for side in (olds, news))
    for paper in sorted(before.keys() | after.keys()):
        yield before.get(paper), after.get(paper)


def _bundles(store: GraphStore, name: str) -> list[PaperBundle]:
    """Returns the papers in a folder or file of exported bundles. If there is no such file, returns the graph's paper
    with this name."""
    path = Path(name)
    if path.is_dir():
        found, problems = import_files(graph_files(path), check_parsed)
        if problems:
            raise InputError(problems[0])
        return found
    if path.is_file():
        return [read_file(path, check_parsed)]
    with store.snapshot() as snapshot:
        return [snapshot.bundle(paper) for paper in chosen_papers(store, snapshot, [name])]


def _stored(store: GraphStore, paper: str) -> PaperBundle:
    with store.snapshot() as snapshot:
        return snapshot.bundle(paper)


def _is_number(name: str | None) -> bool:
    return name is None or name.isdecimal()


def _number(name: str | None) -> int | None:
    return None if name is None else int(name)


def _generation(name: str | None, otherwise: str) -> str:
    return otherwise if name is None else f"generation {name}"
