"""Measures how well static extraction finds a paper's techniques: `python -m evaluation.techniques GOLD… --papers
FOLDER`.

A gold file contains JSON lines {paper, source, main_file, kind, name, aliases, section, file, first, last}, written by
someone who read the paper before seeing any output. `source` is the origin of the paper's files (repository@commit, or
an arXiv id), and `FOLDER/<paper>` contains these files. The paper describes the technique in lines `first` to `last`
(1-based, inclusive) of `file`. `kind` is

- `main`: the paper's own contribution or part of it,
- `supporting`: another technique that must be implemented to reproduce it,
- `mentioned`: a technique that the reader accepts but does not require, such as a baseline or background.

An extracted technique and a gold technique match if the similarity of their names is at least `ALIKE`. If an excerpt of
the extracted technique starts within the gold technique's lines, a similarity of `NEAR` is enough. Similarity is the
Dice coefficient of the words in two names, ignoring plurals and function words. The most similar pair of aliases
counts. Matches are one to one, most similar first. A technique that is found twice therefore counts once as right and
once as wrong. Only `mentioned` techniques may match several times.

Recall is computed over `main`, and over `main` and `supporting` together. Precision is computed over all extracted
techniques that are not hidden, and over each paper's first five. `--papers` is a folder with one subfolder of sources
per paper. `--details` lists missed and wrong techniques. With `--pdf`, each paper is read from a PDF typeset from its
source (as in `evaluation.pdf`), and only names can match. Papers that TeX cannot typeset are skipped.
"""

import json
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.beside_latex import NotConvertedError
from evaluation.inputs.command import run_command
from evaluation.pdf import typeset
from xkg.build.paper.document import Document
from xkg.build.paper.pdf_html.pdf import parse_pdf
from xkg.build.paper.read import parse_paper
from xkg.build.techniques.extract import extract
from xkg.model import Technique

ALIKE = 0.7
NEAR = 0.5
FIRST = 5
_FUNCTION_WORDS = frozenset("a an and as at by for from in of on or the to via with our its".split())


@dataclass(frozen=True)
class Gold:
    paper: str
    main_file: str
    kind: str
    names: tuple[str, ...]
    file: str
    first: int
    last: int


@dataclass(frozen=True)
class Outcome:
    """The result of extraction on one paper: the match for each gold technique (or None), and the extracted techniques
    without a match. `first` says whether each of the first five extracted techniques matched."""

    found: tuple[tuple[Gold, Technique | None], ...]
    wrong: tuple[Technique, ...]
    extracted: int
    first: tuple[bool, ...]

    def recall(self, *kinds: str) -> tuple[int, int]:
        """Returns how many gold techniques of these kinds were found, and how many there are."""
        wanted = [technique for gold, technique in self.found if gold.kind in kinds]
        return sum(t is not None for t in wanted), len(wanted)


def read_gold(path: Path) -> dict[str, list[Gold]]:
    """Returns gold techniques keyed by paper, in file order. Raises `ValueError` for a malformed line."""
    papers: dict[str, list[Gold]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["kind"] not in ("main", "supporting", "mentioned"):
            raise ValueError(f"{path}: kind is main, supporting or mentioned, not {row['kind']!r}")
        names = (row["name"], *row["aliases"])
        papers.setdefault(row["paper"], []).append(
            Gold(row["paper"], row["main_file"], row["kind"], names, row["file"], row["first"], row["last"])
        )
    return papers


def _words(name: str) -> set[str]:
    found = re.findall(r"[^\W_]+", re.sub(r"\$[^$]*\$", " ", name).casefold())
    return {re.sub(r"(?<=[^\W\d_s]{3})s$", "", word) for word in found if word not in _FUNCTION_WORDS}


def likeness(one: str, other: str) -> float:
    """Returns the similarity of two names, from 0 to 1."""
    if one.casefold() == other.casefold():
        return 1.0
    a, b = _words(one), _words(other)
    return 2 * len(a & b) / (len(a) + len(b)) if a and b else 0.0


def _score(technique: Technique, gold: Gold) -> tuple[float, bool]:
    """Returns how well a technique matches a gold technique by name, and whether their places match. Returns (0, False)
    if the techniques do not match."""
    alike = max(likeness(a, b) for a in (technique.name, *technique.aliases) for b in gold.names)
    there = any(
        excerpt.path == gold.file and excerpt.line is not None and gold.first <= excerpt.line <= gold.last
        for excerpt in technique.excerpts
    )
    return (alike, there) if alike >= ALIKE or (alike >= NEAR and there) else (0.0, False)


def match(techniques: Sequence[Technique], golds: Sequence[Gold]) -> Outcome:
    """Matches the techniques extracted from a paper with those that a reader found."""
    pairs = sorted(
        ((_score(t, g), i, j) for i, t in enumerate(techniques) for j, g in enumerate(golds)),
        key=lambda pair: (-pair[0][0], -pair[0][1], pair[1], pair[2]),
    )
    right: dict[int, int] = {}
    matched: dict[int, int] = {}
    for (alike, _), i, j in pairs:
        if alike and i not in right and (j not in matched or golds[j].kind == "mentioned"):
            right[i] = j
            matched.setdefault(j, i)
    return Outcome(
        found=tuple((g, techniques[matched[j]] if j in matched else None) for j, g in enumerate(golds)),
        wrong=tuple(t for i, t in enumerate(techniques) if i not in right),
        extracted=len(techniques),
        first=tuple(i in right for i in range(min(FIRST, len(techniques)))),
    )


def _share(part: int, whole: int) -> str:
    return f"{part:3}/{whole:<3} {part / whole if whole else 0:4.2f}"


def _row(name: str, outcomes: Sequence[Outcome]) -> str:
    recalls = []
    for kinds in (("main",), ("main", "supporting")):
        counts = [outcome.recall(*kinds) for outcome in outcomes]
        recalls.append(_share(sum(found for found, _ in counts), sum(wanted for _, wanted in counts)))
    extracted = sum(outcome.extracted for outcome in outcomes)
    precise = _share(extracted - sum(len(outcome.wrong) for outcome in outcomes), extracted)
    first = [matched for outcome in outcomes for matched in outcome.first]
    return f"{name:<24} {recalls[0]:>14} {recalls[1]:>16} {precise:>14} {_share(sum(first), len(first)):>14}"


def _from_pdf(folder: Path, main: str) -> Document:
    """Parses the paper from the PDF typeset from its source. Raises `NotConvertedError`."""
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "paper"
        shutil.copytree(folder, copy)
        return parse_pdf(typeset(copy, main), Path("paper.pdf"))


def measure(
    path: Path, papers: Path, *, details: bool, pdf: bool = False, say: Callable[[str], None] = print
) -> list[Outcome]:
    """Prints a table for the papers in one gold file, and the missed and wrong techniques if `details` is set."""
    outcomes = []
    say(f"{path.stem:<24} {'main':>14} {'main, supporting':>16} {'precision':>14} {'first five':>14}")
    for paper, golds in read_gold(path).items():
        main = golds[0].main_file
        try:
            document = _from_pdf(papers / paper, main) if pdf else parse_paper(papers / paper / main)
        except NotConvertedError as error:
            say(f"{paper:<24} {error}")
            continue
        techniques = [t for t in extract(document, f"title:{paper}").techniques if t.hidden is None]
        outcome = match(techniques, golds)
        outcomes.append(outcome)
        say(_row(paper, [outcome]))
        if details:
            for gold, technique in outcome.found:
                if technique is None and gold.kind != "mentioned":
                    say(f"    missed ({gold.kind}): {gold.names[0]}")
            for technique in outcome.wrong:
                say(f"    wrong: {technique.name}")
    say(_row("all", outcomes))
    return outcomes


def main(gold: Sequence[Path], *, papers: Path, details: bool = False, pdf: bool = False) -> None:
    for path in gold:
        measure(path, papers, details=details, pdf=pdf)


if __name__ == "__main__":
    run_command(main)
