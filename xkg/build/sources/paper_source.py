"""Defines the `Source` protocol for paper sources. Also defines `find_paper`, which looks on disk first."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from xkg.build.paper.document import Document
from xkg.errors import InputError
from xkg.value import Value

_NUMBER = re.compile(r"(?i)(arxiv:\s*)?[0-9]{3,}\.[0-9]+(v[0-9]*)?")
"""Matches text that can only be an arXiv id."""


class PaperFile(Value):
    """A paper on disk, ready to be parsed, with metadata from its source. Missing fields are '' or None.

    `arxiv_id` has no version, and `arxiv_version` has the form `v2`. `notes` explains the choice to the user, one line
    per reason."""

    path: Path
    title: str = ""
    authors: tuple[str, ...] = ()
    abstract: str = ""
    year: int | None = None
    arxiv_id: str | None = None
    arxiv_version: str | None = None
    subfield: str | None = None
    doi: str | None = None
    notes: tuple[str, ...] = ()

    def described(self, document: Document) -> Document:
        """Returns the document with metadata from the source, if that is better than the metadata in the text."""
        authors = self.authors or document.authors
        unrecognised = not authors and _states_authors(document)
        unknown = (f"{self.path.name}: its authors were not recognised",) if unrecognised else ()
        update = {
            "title": self.title or document.title,
            "authors": authors,
            "abstract": document.abstract or self.abstract,
            "year": self.year or document.year,
            "arxiv_id": self.arxiv_id or document.arxiv_id,
            "arxiv_version": self.arxiv_version,
            "subfield": self.subfield,
            "doi": self.doi or document.doi,
            "warnings": (*document.warnings, *unknown, *self.notes),
        }
        return document.model_copy(update=update)


def _states_authors(document: Document) -> bool:
    """Returns whether the document contains an author command, or lines between the title and the abstract or first
    section."""
    if document.format == "latex":
        return re.search(r"\\author\b(?!.{0,20}anonymous)", document.text, re.I | re.S) is not None
    starts = [section.start for section in document.sections[:1]]
    starts += [document.abstract_span[0]] if document.abstract_span else []
    above = document.text[: min(starts, default=0)].splitlines()
    return any(not line.startswith("#") and any(map(str.isalpha, line)) for line in above)


class Source(Protocol):
    """A source of papers. Each source has its own names for papers."""

    def names(self, spec: str) -> bool:
        """Returns whether `spec` looks like one of this source's names. Does not send requests."""
        ...

    def paper(self, spec: str) -> PaperFile:
        """Returns the paper with this name as a file on disk.

        Raises `InputError` with a one-line message if there is no such paper, if the source is unreachable or if no
        file is readable. Raises `UnsafeInputError` if a file is too large for a real paper or refers to files outside
        its folder."""
        ...


def find_paper(spec: str, sources: Sequence[Source]) -> PaperFile:
    """Returns the paper at the path `spec` if the path exists. Otherwise, returns the paper that a source knows by this
    name or, if there is no such paper, the path as given.

    Raises the same errors as `Source.paper`. Raises `InputError` if no source recognises an address."""
    path = Path(spec)
    try:
        there = path.exists()
    except (OSError, ValueError):  # the text is too long for a path, or contains a NUL
        there = False
    if there:
        return PaperFile(path=path)
    for source in sources:
        if source.names(spec):
            return source.paper(spec)
    if "://" in spec:
        raise InputError(f"{spec} is not an arXiv address; pass an arXiv id, or download the paper and pass its file")
    if _NUMBER.fullmatch(spec):
        raise InputError(f"{spec} is neither a file nor an arXiv id such as 2402.17135 or cs/0112017")
    return PaperFile(path=path)
