"""Where papers come from: `Source`, the seam, and `find_paper`, which asks what lies on disk first."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from xkg.build.paper.document import Document
from xkg.errors import InputError


class PaperFile(BaseModel):
    """A paper on disk, ready to be parsed, with what its source says of it ('' or None where it says nothing).

    `arxiv_id` is without a version. `notes` are what a person should know of the choice, one line each."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Path
    title: str = ""
    authors: tuple[str, ...] = ()
    abstract: str = ""
    year: int | None = None
    arxiv_id: str | None = None
    doi: str | None = None
    notes: tuple[str, ...] = ()

    def described(self, document: Document) -> Document:
        """The document with what its source knows better than its text."""
        said = {
            "title": self.title or document.title,
            "authors": self.authors or document.authors,
            "abstract": document.abstract or self.abstract,
            "year": self.year or document.year,
            "arxiv_id": self.arxiv_id or document.arxiv_id,
            "doi": self.doi or document.doi,
            "warnings": (*document.warnings, *self.notes),
        }
        return document.model_copy(update=said)


class Source(Protocol):
    """A place that papers come from, by names of its own."""

    def names(self, spec: str) -> bool:
        """Whether `spec` is a name that this source gives papers; asks nobody."""
        ...

    def paper(self, spec: str) -> PaperFile:
        """The paper of that name, brought to disk. Raises `InputError` with one line: no such paper, not reachable, no
        file that can be read; `UnsafeInputError` for what is larger than any honest paper or reaches outside."""
        ...


def find_paper(spec: str, sources: Sequence[Source]) -> PaperFile:
    """The paper that `spec` names: a path that is there, else a name that one of the sources knows, else the path.

    Raises what `Source.paper` raises, and `InputError` for an address that no source knows."""
    path = Path(spec)
    try:
        there = path.exists()
    except (OSError, ValueError):  # longer than any path, or with a NUL in it
        there = False
    if there:
        return PaperFile(path=path)
    for source in sources:
        if source.names(spec):
            return source.paper(spec)
    if "://" in spec:
        raise InputError(f"{spec} is no address of arXiv; give an arXiv id, or fetch the paper and name its file")
    return PaperFile(path=path)
