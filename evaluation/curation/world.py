"""Serves a folder of papers and repositories on loopback, using the arXiv, OpenAlex and GitHub protocols.

    FOLDER/papers.jsonl          one paper per line: number (its arXiv id, perhaps made up), title, authors, published
                                 (YYYY-MM-DD), abstract, comment, doi, listed (false: arXiv does not have it)
    FOLDER/repositories.jsonl    one repository per line: full_name, readme, description, stars, license, archived,
                                 created, pushed, branch, commit, size (KB), fork (of what), committers (names)
    FOLDER/targets/NAME/         paper.md (or another format of a paper), expected.txt (one title per line),
                                 blacklist.txt

All fields except number, title and full_name may be missing."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.build.arxiv_server import StandInPaper
from tests.build.scholarly_stand_in import Scholarly, StandInRepository, serving


@dataclass(frozen=True)
class Target:
    """A curation target. `expected` contains titles. `blacklist` is None if the target has none."""

    name: str
    paper: Path
    expected: tuple[str, ...]
    blacklist: Path | None


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from (json.loads(line) for line in file if line.strip())


def write_lines(path: Path, values: Iterator[dict[str, Any]] | list[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(value, ensure_ascii=False)}\n" for value in values), "utf-8")


def targets(folder: Path) -> list[Target]:
    found = []
    for place in sorted((folder / "targets").iterdir()):
        expected = place / "expected.txt"
        titles = expected.read_text("utf-8").splitlines() if expected.exists() else []
        blacklist = place / "blacklist.txt"
        found.append(
            Target(
                place.name,
                next(path for path in sorted(place.iterdir()) if path.stem == "paper"),
                tuple(title for title in map(str.strip, titles) if title and not title.startswith("#")),
                blacklist if blacklist.exists() else None,
            )
        )
    return found


@contextmanager
def served(folder: Path) -> Iterator[Scholarly]:
    with serving() as web:
        web.add(*(StandInPaper(**{**paper, "authors": tuple(paper.get("authors", ()))}) for paper in papers_of(folder)))
        web.host(*(StandInRepository(**repository) for repository in lines(folder / "repositories.jsonl")))
        yield web


def papers_of(folder: Path) -> Iterator[dict[str, Any]]:
    return lines(folder / "papers.jsonl")
