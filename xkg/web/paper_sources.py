"""Reads a technique's passages and lines of code from a paper and repository on this machine."""

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from cachetools import LRUCache

from xkg.build.parsed_papers import parsed_paper
from xkg.errors import XkgError
from xkg.model import Excerpt, PaperBundle, Repository, Technique

if TYPE_CHECKING:
    from xkg.build.code.codebase import Codebase
    from xkg.build.paper.document import Document
    from xkg.build.parsing.parsers import Parsers

T = TypeVar("T")
PAPERS = 8
"""Number of parsed papers and repositories to keep in memory. One paper or repository takes up a few megabytes."""
AROUND = 700
"""Maximum number of characters to show before and after an excerpt."""
_LONGEST_EXCERPT = 20_000


class Passage(NamedTuple):
    """An excerpt as readable text, with the surrounding text and the location in the paper's source files."""

    section: str
    place: str
    before: str
    text: str
    after: str


class PaperSources:
    """Reads files that builds stored in the graph's `folder`. Thread-safe."""

    def __init__(self, folder: Path, parsers: "Callable[[], Parsers]") -> None:
        self._folder = folder
        self._parsers = parsers
        self._turn = threading.Lock()
        self._documents: LRUCache[str, Document] = LRUCache(PAPERS)
        self._codebases: LRUCache[str, Codebase] = LRUCache(PAPERS)

    def passages(self, bundle: PaperBundle, technique: Technique) -> list[Passage]:
        """Returns a technique's passages, or an empty list if the paper's text is not on this machine."""
        document = self._document(bundle)
        if document is None:
            return []
        found = []
        seen: set[tuple[int, int]] = set()
        for excerpt in technique.excerpts:
            if (excerpt.start, excerpt.end) in seen or not 0 <= excerpt.start < excerpt.end <= len(document.text):
                continue
            seen.add((excerpt.start, excerpt.end))
            passage = _passage(document, excerpt)
            if passage.text:
                found.append(passage)
        return found

    def codebase(self, bundle: PaperBundle) -> "Codebase | None":
        """Returns a paper's parsed repository, possibly only the files that contain the paper's symbols. Returns None
        if the repository is not on this machine."""
        for repository in bundle.repositories:
            read = partial(self._parsed, bundle, repository)
            if (known := self._cached(self._codebases, repository.id, read)) is not None:
                return known
        return None

    def _parsed(self, bundle: PaperBundle, repository: Repository) -> "Codebase | None":
        with suppress(XkgError, ImportError):  # a serving-only installation has no parsers
            from xkg.serve.context.raw_code import codebase_of

            paths = {symbol.path for symbol in bundle.symbols}
            return codebase_of(bundle, repository, self._folder, paths, self._parsers())
        return None

    def _document(self, bundle: PaperBundle) -> "Document | None":
        paper = bundle.paper
        key = f"{paper.id} {paper.source_sha256} {paper.pipeline_version}"
        return self._cached(self._documents, key, partial(parsed_paper, self._folder, paper))

    def _cached(self, cache: LRUCache[str, T], key: str, read: Callable[[], T | None]) -> T | None:
        with self._turn:
            known = cache.get(key)
        if known is None and (known := read()) is not None:
            with self._turn:
                cache[key] = known
        return known


def _passage(document: "Document", excerpt: Excerpt) -> Passage:
    from xkg.build.paper.plain import plain

    start, end = excerpt.start, min(excerpt.end, excerpt.start + _LONGEST_EXCERPT)
    before = _from_paragraph(document.text, max(0, start - AROUND), start)
    after = _to_paragraph(document.text, end, min(len(document.text), end + AROUND))
    leading = plain(document, before, start)
    if leading.strip() == excerpt.section.strip():
        leading = ""
    place = f"{excerpt.path}:{excerpt.line}" if excerpt.path and excerpt.line else excerpt.path or ""
    return Passage(excerpt.section, place, leading, plain(document, start, end), plain(document, end, after))


def _from_paragraph(text: str, first: int, end: int) -> int:
    """Returns the start of the paragraph that contains `end`, or `end` if the paragraph starts before `first`."""
    at = text.rfind("\n\n", first, end)
    return end if at == -1 and first else at + 2 if at != -1 else first


def _to_paragraph(text: str, start: int, last: int) -> int:
    at = text.find("\n\n", start, last)
    return at if at != -1 else start
