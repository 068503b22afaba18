"""Measures how well techniques are located in code: `python -m evaluation.places GOLD…` (evaluation/gold/places).

A gold file contains JSON lines {technique, definition, equation, main, paper, repository, places}, where `places` are
{reader, file, start, end}. If a technique has several places, any of them counts as right. Two readers labelled `open`
and `closed` independently. A single reader labelled the other files before seeing any output. A technique without
places is not in the repository. Each technique is located separately, as with `xkg locate`. With `--together`, all
techniques for a repository are located at once, as in a build.

A symbol is right if it shares a line with a labelled place. The columns `place` @1 and @5 show how often the first
symbol, or any of the first five symbols, is right. `lines` @1 and @5 are computed in the same way from only the lines
in the symbols' focus. For the first symbol whose focus is right, `share` is the fraction of the focus that belongs to
the labelled place (median and mean). `certain` is the fraction of techniques whose first symbol is certain. Of these
techniques, `right` is the fraction whose first symbol is right. Of the techniques whose first symbol is right, `called`
is the fraction whose first symbol is certain. `--names` searches by name alone, without the definition."""

import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evaluation.inputs.command import run_command
from xkg.build.code.codebase import Codebase
from xkg.build.code.repository import parse_repository
from xkg.build.grounding.ground import ground
from xkg.build.grounding.index.block_index import BlockIndex
from xkg.build.grounding.index.identifier_words import content_stems
from xkg.build.grounding.index.symbol_index import SymbolIndex
from xkg.build.repositories.checkout import fetch_repository
from xkg.embeddings.base import Embedder
from xkg.embeddings.cache import CachedEmbedder
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.errors import InputError, XkgError
from xkg.model import Location, Technique

CACHE = Path("storage/cache")
_CUT = 5
_LARGER = 40
"""A repository with more source files than this counts as larger."""

Lines = frozenset[tuple[str, int]]


@dataclass(frozen=True)
class Labelled:
    """A technique with the lines of its places, as (file, line) pairs."""

    technique: Technique
    repository: str
    main: bool
    places: Lines


@dataclass(frozen=True)
class Answer:
    """Up to five places that a method found for one technique. `whole` contains all lines of each place, and `focus`
    contains the lines in its focus. `certain` says whether the first place is certain."""

    whole: tuple[Lines, ...]
    focus: tuple[Lines, ...]
    certain: bool = False


@dataclass(frozen=True)
class Figures:
    """Fractions (0 to 1) over `count` techniques. `share` is (median, mean), or NaN if there are no hits. `right` is
    NaN if no place is certain."""

    count: int
    place_at: tuple[float, float]
    lines_at: tuple[float, float]
    share: tuple[float, float]
    certain: float
    right: float
    called: float

    def __str__(self) -> str:
        values = (*self.place_at, *self.lines_at, *self.share, self.certain, self.right, self.called)
        return f"{self.count:5d}" + "".join(f"{value:9.2f}" for value in values)


def gold_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read_places(path: Path) -> list[Labelled]:
    """Returns the techniques in a gold file. Raises `ValueError` or `KeyError` for a line not in the format described
    above."""
    found = []
    for number, row in enumerate(gold_rows(path)):
        formula = f" $${row['equation']}$$" if row["equation"] else ""
        found.append(
            Labelled(
                technique=Technique(
                    id=f"{path.stem}#{number}", name=row["technique"], definition=row["definition"] + formula
                ),
                repository=row["repository"],
                main=row["main"],
                places=frozenset().union(*(lines_of(at["file"], at["start"], at["end"]) for at in row["places"])),
            )
        )
    return found


def lines_of(path: str, first: int, last: int) -> Lines:
    return frozenset((path, line) for line in range(first, last + 1))


def figures(answers: Sequence[tuple[Labelled, Answer]]) -> Figures:
    hits = [(gold, next((lines for lines in answer.focus if lines & gold.places), None)) for gold, answer in answers]
    shares = [len(lines & gold.places) / len(lines) for gold, lines in hits if lines]

    def rate(of: Callable[[Answer], Sequence[Lines]], cut: int) -> float:
        return statistics.fmean(any(lines & gold.places for lines in of(answer)[:cut]) for gold, answer in answers)

    right = [bool(answer.whole and answer.whole[0] & gold.places) for gold, answer in answers]
    certain = [first for first, (_, answer) in zip(right, answers, strict=True) if answer.certain]
    return Figures(
        count=len(answers),
        place_at=(rate(lambda a: a.whole, 1), rate(lambda a: a.whole, _CUT)),
        lines_at=(rate(lambda a: a.focus, 1), rate(lambda a: a.focus, _CUT)),
        share=(statistics.median(shares), statistics.fmean(shares)) if shares else (float("nan"), float("nan")),
        certain=len(certain) / len(answers),
        right=statistics.fmean(certain) if certain else float("nan"),
        called=sum(certain) / sum(right) if any(right) else float("nan"),
    )


@dataclass(frozen=True)
class Searched:
    codebase: Codebase
    index: BlockIndex

    def answer(self, locations: Sequence[Location], *, certain: bool = False) -> Answer:
        """Returns the lines covered by these locations in this repository."""
        symbols = {source.symbol.id: source.symbol for source in self.codebase.symbols().values()}
        spans = [symbols[location.symbol] for location in locations[:_CUT]]
        return Answer(
            whole=tuple(lines_of(symbol.path, symbol.start_line, symbol.end_line) for symbol in spans),
            focus=tuple(
                frozenset().union(*(lines_of(symbol.path, at.start_line, at.end_line) for at in location.focus))
                for symbol, location in zip(spans, locations, strict=False)
            ),
            certain=certain,
        )


def bm25(labelled: Labelled, searched: Searched) -> Answer:
    """Ranks symbols by BM25 over name and definition: a baseline without thresholds or focus."""
    text = f"{labelled.technique.name}. {labelled.technique.definition}"
    ranked = list(searched.index.symbols.search(dict.fromkeys(content_stems(text), 1.0)))[:_CUT]
    answer = searched.answer([Location(technique="", symbol=s, score=0.0, rank=1) for s in ranked])
    return Answer(whole=answer.whole, focus=answer.whole)


def measure(
    labelled: Sequence[Labelled], searched: Searched, embedder: Embedder, together: bool
) -> list[tuple[Labelled, Answer]]:
    """Yields each technique for one repository, with the places found for it. Raises `EmbeddingError`."""
    batches = [labelled] if together else [[one] for one in labelled]
    answers = []
    for batch in batches:
        techniques = [one.technique for one in batch]
        found = ground(techniques, searched.codebase, embedder, index=searched.index)
        for one in batch:
            places = found.of(one.technique.id)
            certain = bool(places) and not places[0].doubtful
            answers.append((one, searched.answer(places, certain=certain)))
    return answers


def main(gold: Sequence[Path], *, mirrors: Path | None = None, together: bool = False, names: bool = False) -> None:
    labelled = [one for path in gold for one in read_places(path)]
    if names:
        labelled = [replace(one, technique=one.technique.model_copy(update={"definition": ""})) for one in labelled]
    CACHE.mkdir(parents=True, exist_ok=True)
    embedder = CachedEmbedder(OnnxEmbedder, CACHE / "embeddings.sqlite")
    repositories: dict[str, Searched] = {}
    ours: list[tuple[Labelled, Answer]] = []
    plain: list[tuple[Labelled, Answer]] = []
    for name in dict.fromkeys(one.repository for one in labelled):
        codebase = open_codebase(name, mirrors)
        repositories[name] = searched = Searched(codebase, BlockIndex(SymbolIndex(codebase)))
        own = [one for one in labelled if one.repository == name]
        ours += measure(own, searched, embedder, together)
        plain += [(one, bm25(one, searched)) for one in own]
        files, blocks = len(searched.codebase.modules), len(searched.index.blocks)
        print(f"{name}: {files} files, {blocks} blocks, {len(own)} techniques")
    here, absent = ([pair for pair in ours if bool(pair[0].places) is present] for present in (True, False))
    plain = [pair for pair in plain if pair[0].places]
    print(f"\n{'':24}count  place@1        5  lines@1        5    share     mean  certain    right   called")
    larger = {name for name, one in repositories.items() if len(one.codebase.modules) >= _LARGER}
    for title, answers in (("xkg", here), ("BM25", plain)):
        for kind, chosen in (
            ("all", answers),
            ("main", [pair for pair in answers if pair[0].main]),
            ("larger", [pair for pair in answers if pair[0].repository in larger]),
        ):
            if chosen:
                print(f"{title + ', ' + kind:24}{figures(chosen)}")
    if absent:
        certain = sum(answer.certain for _, answer in absent)
        print(f"techniques not in the repository: {certain} of {len(absent)} certain")
    foreign = [
        measure([one], repositories[name], embedder, together=False)[0][1].certain
        for one in labelled
        for name in [other for other in repositories if other != one.repository][:1]
    ]
    if foreign:
        print(f"techniques searched for in unrelated repositories: {sum(foreign)} of {len(foreign)} certain")


def open_codebase(name: str, mirrors: Path | None) -> Codebase:
    """Opens a repository (URL@commit). If `mirrors` is given, reads the repository from that folder, which contains
    repositories as OWNER+NAME/repo. Raises `XkgError`."""
    source = name
    if mirrors is not None:
        address, _, commit = name.rpartition("@")
        folder = mirrors / address.removeprefix("https://github.com/").replace("/", "+") / "repo"
        source = f"{folder / '.git' if (folder / '.git').exists() else folder}@{commit}"
    try:
        return parse_repository(fetch_repository(source, CACHE))
    except XkgError as error:
        raise InputError(f"{error} (pass a folder of clones with --mirrors)") from error


if __name__ == "__main__":
    run_command(main)
