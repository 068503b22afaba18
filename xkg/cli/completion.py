"""Completes ids from the graph selected on the command line. If an error occurs, offers only the ids found so far."""

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xkg.store.graph_store import Snapshot

_MOST = 200
_MOST_PAPERS = 2000
_TECHNIQUES_OF = 50


def papers(incomplete: str) -> list[str]:
    """Returns references to papers with this prefix."""
    return _completed(incomplete, _short_papers)


def nodes(incomplete: str) -> list[str]:
    """Returns references to papers and techniques with this prefix."""

    def found(snapshot: "Snapshot", incomplete: str) -> Iterator[str]:
        from xkg.serve.answers.references import short_ids

        yield from _short_papers(snapshot, incomplete)
        for paper in snapshot.paper_ids()[:_TECHNIQUES_OF]:
            techniques = [t.id for t in snapshot.bundle(paper).techniques if t.hidden is None]
            ends = [t for t in techniques if _end(t).startswith(_end(incomplete).casefold())]
            yield from short_ids(snapshot, ends).values()

    return _completed(incomplete, found)


def queries(incomplete: str) -> list[str]:
    """Returns named queries with this prefix."""
    from xkg.store.cypher import named_queries

    return [query.name for query in named_queries.queries() if query.name.startswith(incomplete)]


def _end(reference: str) -> str:
    return reference.rpartition("#")[2].rpartition("/")[2]


def _short_papers(snapshot: "Snapshot", incomplete: str) -> Iterator[str]:
    from xkg.serve.answers.references import short_paper

    wanted = incomplete.casefold()
    for paper in snapshot.paper_ids()[:_MOST_PAPERS]:
        if paper.casefold().removeprefix("title:").startswith(wanted.removeprefix("title:")):
            yield short_paper(snapshot, paper)


def _completed(incomplete: str, find: "Callable[[Snapshot, str], Iterator[str]]") -> list[str]:
    found: dict[str, None] = {}
    try:
        with _snapshot() as snapshot:
            for reference in find(snapshot, incomplete):
                if reference.startswith(incomplete):
                    found[reference] = None
                if len(found) == _MOST:
                    break
    except Exception:  # any output would appear in the middle of the line that the user is typing
        return list(found)
    return list(found)


@contextmanager
def _snapshot() -> "Iterator[Snapshot]":
    from xkg.commands.graph.open import open_store
    from xkg.config import load

    with open_store(load(kg=_folder(_typed()))) as store, store.snapshot() as snapshot:
        yield snapshot


def _typed() -> Sequence[str]:
    line = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _folder(words: Sequence[str]) -> Path | None:
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == "--kg" and following:
            return Path(following).expanduser()
        if word.startswith("--kg="):
            return Path(word.removeprefix("--kg=")).expanduser()
    return None
