"""How well techniques are located in code, next to three baselines: `python -m evaluation.grounding GOLD…`.

A gold file has JSON lines {technique, definition?, parent?, repository, file, start, end}. `repository` is anything
that `xkg build --repo` accepts, `parent` the name of another technique of the file. Several lines for one technique are
equally right places; one with `file` null says that the technique is not in the repository. A symbol is right if it
shares at least half of its lines and half of the place's with the place. All rankings are cut after five.

`grounding` gets all techniques of the file at once, as a build does; `locate` is asked for each alone, as a text.

Lines: `P lines` is the share of an answer's lines that are in a place, over techniques with an answer. `R lines` is the
largest share of a place's lines that the answer contains, 0 without an answer. `@1` is over the first symbol, `@5` over
all five together; `focus` uses only the focus lines of a symbol.

`--graph DIR`: how much of the places a build of these repositories covers, with its stored places and its code nodes.
`--json` and `--against` work as everywhere; intervals are over repositories."""

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn, Protocol

from evaluation.inputs.command import run_command
from evaluation.inputs.graph import read_graph
from evaluation.lines import coverage
from evaluation.lines.overlap import Lines as LineSet
from evaluation.lines.overlap import precision, recall, span, together
from evaluation.metrics import mean_reciprocal_rank, overlap, recall_at, reciprocal_rank
from evaluation.results.document import Results, mean_figure
from evaluation.results.table import add_options, conclude, read_earlier
from xkg.build.code.codebase import Codebase
from xkg.build.code.repository import parse_repository
from xkg.build.grounding.ground import Grounding, ground
from xkg.build.grounding.index.identifier_words import content_stems
from xkg.build.grounding.index.symbol_index import SymbolIndex, rendering
from xkg.build.grounding.working_copy import WorkingCopy
from xkg.build.repositories.checkout import fetch_repository
from xkg.embeddings.base import Embedder
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.errors import InputError
from xkg.fusion import reciprocal_rank_fusion
from xkg.model import Location, Technique, unique_slugs
from xkg.serve.answers.types import LocatedPlace
from xkg.serve.search.locate import locate

_CUT = 5

Place = tuple[str, int, int]


@dataclass(frozen=True)
class Gold:
    """One file's techniques on one repository; `places` by technique id, empty if the code is not there."""

    repository: str
    techniques: tuple[Technique, ...]
    places: Mapping[str, tuple[Place, ...]]


def read_gold(path: Path) -> list[Gold]:
    """One `Gold` per repository, in file order. Raises `InputError` for an unreadable file and a line that is not as
    described above."""
    try:
        return _read_gold(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); correct its path") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: is no gold of places ({type(error).__name__}: {error}); correct it") from error


def _read_gold(path: Path) -> list[Gold]:
    rows: dict[str, dict[str, list[dict[str, object]]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            row = json.loads(line)
            rows.setdefault(row["repository"], {}).setdefault(row["technique"], []).append(row)
    found = []
    for repository, by_name in rows.items():
        ids = {name: f"{path.stem}#{slug}" for name, slug in zip(by_name, unique_slugs(by_name), strict=True)}
        found.append(
            Gold(
                repository=repository,
                techniques=tuple(
                    Technique(
                        id=ids[name],
                        name=name,
                        definition=str(same[0].get("definition") or ""),
                        parent=ids.get(str(same[0].get("parent"))),
                    )
                    for name, same in by_name.items()
                ),
                places={
                    ids[name]: tuple((str(r["file"]), _line(r["start"]), _line(r["end"])) for r in same if r["file"])
                    for name, same in by_name.items()
                },
            )
        )
    return found


def _line(value: object) -> int:
    if not isinstance(value, int):
        raise ValueError(f"a line number is expected, not {value!r}")
    return value


class Lines(Protocol):
    """A symbol, or an answer's place."""

    @property
    def path(self) -> str: ...
    @property
    def start_line(self) -> int: ...
    @property
    def end_line(self) -> int: ...


def is_right(found: Lines, places: Sequence[Place]) -> bool:
    """Whether the found symbol is one of the places."""
    return any(
        found.path == path and overlap((found.start_line, found.end_line), (first, last)) >= 0.5
        for path, first, last in places
    )


def baselines(gold: Gold, codebase: Codebase, embedder: Embedder) -> dict[str, dict[str, list[str]]]:
    """Technique → symbols by the three baselines: BM25 over name and definition, vectors, and both fused."""
    index = SymbolIndex(codebase)
    able = list(index.entries)
    symbols = embedder.embed([rendering(index.entries[symbol]) for symbol in able])
    found: dict[str, dict[str, list[str]]] = {"BM25": {}, "vectors": {}, "fused": {}}
    for technique in gold.techniques:
        text = f"{technique.name}. {technique.definition}"
        lexical = list(index.search(dict.fromkeys(content_stems(text), 1.0)))
        cosine = symbols @ embedder.embed([text])[0]
        vectors = [able[i] for i in sorted(range(len(able)), key=lambda i: (-cosine[i], able[i]))]
        found["BM25"][technique.id] = lexical
        found["vectors"][technique.id] = vectors
        found["fused"][technique.id] = [s for s, _ in reciprocal_rank_fusion([lexical[:200], vectors[:200]])]
    return found


def located(gold: Gold, codebase: Codebase, embedder: Embedder) -> dict[str, tuple[LocatedPlace, ...]]:
    """Technique → the answer of `locate` for its name and definition, in a repository without a graph."""

    def no_graph(*_: object) -> NoReturn:
        raise AssertionError("a text in a working copy is not searched in the graph")

    copy = WorkingCopy(Path(), codebase)
    return {
        technique.id: locate(
            None, f"{technique.name}. {technique.definition}", _CUT, copy, no_graph, lambda: embedder
        ).locations
        for technique in gold.techniques
    }


def line_scores(answers: Mapping[str, Sequence[LineSet]], gold: Gold) -> dict[str, dict[str, float]]:
    """Precision and recall in lines by technique, of the first answer and of all together. `answers` are ranked, at
    most five per technique. A technique without an answer has no precision."""
    scores: dict[str, dict[str, float]] = {}
    for technique, ranked in answers.items():
        places = [span(*place) for place in gold.places[technique]]
        for cut in (1, _CUT):
            answer = together(ranked[:cut])
            share = precision(answer, places)
            scores.setdefault(f"P lines@{cut}", {})
            if share is not None:
                scores[f"P lines@{cut}"][technique] = share
            scores.setdefault(f"R lines@{cut}", {})[technique] = recall(answer, places)
    return scores


def _row(name: str, rankings: Sequence[Sequence[bool]], note: str = "") -> str:
    values = [recall_at(k, rankings) for k in (1, 3, 5)] + [mean_reciprocal_rank(rankings)]
    return f"  {name:<22}" + "".join(f"{value:9.3f}" for value in values) + f"   {note}"


@dataclass(frozen=True)
class Measured:
    """One repository's rankings by method, and scores by method and name, one number per technique."""

    rankings: dict[str, list[list[bool]]]
    scores: dict[str, dict[str, float]]


def measure(gold: Gold, embedder: Embedder, say: Callable[[str], None] = print) -> Measured:
    """Prints one repository's tables."""
    codebase = parse_repository(fetch_repository(gold.repository, Path("storage/cache")))
    symbols = {symbol.symbol.id: symbol.symbol for symbol in codebase.symbols().values()}
    there = [t for t in gold.techniques if gold.places[t.id]]
    missing = [t for t in gold.techniques if not gold.places[t.id]]

    def rankings(of: Callable[[str], Sequence[str]]) -> list[list[bool]]:
        return [[is_right(symbols[s], gold.places[t.id]) for s in of(t.id)[:_CUT]] for t in there]

    plain = baselines(gold, codebase, embedder)
    started = time.perf_counter()
    grounding = ground(gold.techniques, codebase, embedder)
    seconds = time.perf_counter() - started
    result = {name: rankings(lambda t, name=name: plain[name][t]) for name in plain}  # type: ignore[misc]
    result["grounding"] = rankings(lambda t: _symbols(grounding, t))
    answers = located(gold, codebase, embedder)
    result["locate"] = [[is_right(place, gold.places[t.id]) for place in answers[t.id]] for t in there]
    say(f"{gold.repository}: {len(codebase.modules)} files, {len(symbols)} symbols, {len(gold.techniques)} techniques")
    say(f"  {'':<22}{'R@1':>9}{'R@3':>9}{'R@5':>9}{'MRR':>9}")
    for name, ranked in result.items():
        say(_row(name, ranked))
    certain = {at.technique for at in grounding.locations if not at.doubtful}
    called, wrongly = (sum(t.id in certain for t in group) for group in (there, missing))
    say(f"  certain {called} of {len(there)}, {wrongly} of {len(missing)} that are not there; {seconds:.1f} s")
    whole = {symbol.id: span(symbol.path, symbol.start_line, symbol.end_line) for symbol in symbols.values()}
    lines = {name: {t.id: [whole[s] for s in plain[name][t.id][:_CUT]] for t in there} for name in plain}
    lines["grounding"] = {t.id: [whole[s] for s in _symbols(grounding, t.id)[:_CUT]] for t in there}
    lines["grounding, focus"] = {
        t.id: [_focus(at, symbols[at.symbol].path) or whole[at.symbol] for at in grounding.of(t.id)[:_CUT]]
        for t in there
    }
    lines["locate"] = {t.id: [span(p.path, p.start_line, p.end_line) for p in answers[t.id]] for t in there}
    scores: dict[str, dict[str, float]] = {}
    for name, ranked in result.items():
        scores[f"{name}: MRR"] = {t.id: reciprocal_rank(row) for t, row in zip(there, ranked, strict=True)}
        scores[f"{name}: R@1"] = {t.id: float(any(row[:1])) for t, row in zip(there, ranked, strict=True)}
    say(f"  {'':<22}{'P lines@1':>11}{'R lines@1':>11}{'P lines@5':>11}{'R lines@5':>11}")
    for name, by_technique in lines.items():
        of_method = line_scores(by_technique, gold)
        say(f"  {name:<22}" + "".join(f"{_mean(values):11.3f}" for values in of_method.values()))
        scores |= {f"{name}: {measure}": values for measure, values in of_method.items()}
    say("")
    return Measured(result, scores)


def _mean(values: Mapping[str, float]) -> float:
    return sum(values.values()) / len(values) if values else float("nan")


def _focus(location: Location, path: str) -> LineSet:
    return together(span(path, at.start_line, at.end_line) for at in location.focus)


def covered(golds: Sequence[Gold], graph: Path, say: Callable[[str], None] = print) -> dict[str, dict[str, float]]:
    """The share of each place that a build covers, one number per place. Prints the repositories that the graph does
    not have."""
    bundles = read_graph(graph).bundles
    scores: dict[str, dict[str, float]] = {}
    for gold in golds:
        marked = [
            coverage.MarkedTechnique(t.id, t.name, tuple(span(*place) for place in gold.places[t.id]))
            for t in gold.techniques
            if gold.places[t.id]
        ]
        bundle = coverage.bundle_of(marked, bundles)
        if bundle is None:
            say(f"{gold.repository}: no paper of {graph} has its files")
            continue
        for name, values in coverage.scores(marked, bundle).items():
            scores.setdefault(name, {}).update(values)
    return scores


def _symbols(grounding: Grounding, technique: str) -> list[str]:
    return [location.symbol for location in grounding.of(technique)]


def foreign(golds: Sequence[Gold], embedder: Embedder, say: Callable[[str], None] = print) -> None:
    """Prints how many techniques are certain in the other papers' repositories, where almost none should be."""
    codebases = [parse_repository(fetch_repository(g.repository, Path("storage/cache"))) for g in golds]
    located = total = 0
    for i, gold in enumerate(golds):
        for j, codebase in enumerate(codebases):
            if i != j:
                located += sum(not at.doubtful for at in ground(gold.techniques, codebase, embedder).locations)
                total += len(gold.techniques)
    if total:
        say(f"techniques on foreign repositories: {located} of {total} certain ({located / total:.0%})")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m evaluation.grounding",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("gold", nargs="+", type=Path)
    parser.add_argument("--repository", help="read this one instead of the one that the file names, as from a mirror")
    parser.add_argument("--graph", type=Path, help="a graph that was built from these repositories")
    add_options(parser)
    options = parser.parse_args(arguments)
    read_earlier(options, "grounding")
    golds = [gold for path in options.gold for gold in read_gold(path)]
    if options.repository:
        golds = [replace(gold, repository=options.repository) for gold in golds]
    if options.graph is not None:
        read_graph(options.graph)  # before the slow steps
    embedder = OnnxEmbedder()
    over_all: dict[str, list[list[bool]]] = {}
    scores: dict[str, dict[str, float]] = {}
    for gold in golds:
        measured = measure(gold, embedder)
        for name, rankings in measured.rankings.items():
            over_all.setdefault(name, []).extend(rankings)
        for name, values in measured.scores.items():
            scores.setdefault(name, {}).update(values)
    if len(golds) > 1:
        print("all")
        for name, rankings in over_all.items():
            print(_row(name, rankings))
        foreign(golds, embedder)
    figures = [mean_figure(name, values, source="readers' places") for name, values in scores.items()]
    if options.graph is not None:
        by_build = covered(golds, options.graph)
        figures += coverage.figures(by_build)
        scores |= by_build
    about = {"gold": " ".join(map(str, options.gold)), "graph": str(options.graph or "")}
    results = Results(measure="grounding", about=about, figures=tuple(figures), scores=scores)
    conclude(results, options, beside=False)


if __name__ == "__main__":
    run_command(main)
