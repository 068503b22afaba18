"""The claim of a build on its paper: under which id it is built, and that nobody else builds it at the same time."""

import os
import re
import socket
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from typing import TYPE_CHECKING, Protocol, Self

from xkg.commands.graph.open import open_store
from xkg.config import Settings
from xkg.errors import CorruptStoreError, InputError, StoreUnreachableError, XkgError
from xkg.model import Paper, paper_id
from xkg.text.titles import title_similarity

if TYPE_CHECKING:
    from xkg.build.paper.document import Document
    from xkg.store.graph_store import Snapshot

_ALIKE = 0.5
"""The share of the shorter list of authors that both forms of a paper have at least."""


_TELLING = 20
"""From so many letters on one title names one work; shorter ones name several ("Deep Learning")."""


class SamePaperError(InputError):
    """A file is another form of a paper that the graph has from a better source; `paper` is its id."""

    def __init__(self, paper: str, message: str) -> None:
        super().__init__(message)
        self.paper = paper

    def __reduce__(self) -> tuple[type["SamePaperError"], tuple[str, str]]:
        return SamePaperError, (self.paper, str(self))


class OtherFormError(XkgError):
    """While a paper was built, another form of it was published: it is to be built again, under that id."""


class Claims(AbstractContextManager["Claims"]):
    """The claim of one build, held until the context ends. `fences`, and `since`, the graph's counter when its papers
    were compared, are for `GraphStore.publish`, `notes` for a person. A store that cannot be reached is no obstacle:
    the paper waits in the outbox then."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opened = ExitStack()
        self.fences: dict[str, int] = {}
        self.since = 0
        self.notes: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def claim(self, document: "Document", identity: str, *, chosen: bool) -> str:
        """The id that a paper is built under: `identity`, if a person has `chosen` it or no other paper of the graph is
        the same one, else the other's. Raises `SamePaperError`, `InputError` where only a person can know, and
        `LeaseHeldError` where another machine builds it."""
        try:
            store = self._opened.enter_context(open_store(self._settings))
            if not chosen:
                self.since = store.counter()
                with store.snapshot() as snapshot:
                    known = known_as(snapshot, document, identity)
                if known != identity:
                    note = f"the graph has this paper as {known}, from another form: it was built under that id"
                    self.notes.append(note)
                identity = known
            self.fences[identity] = self._opened.enter_context(store.lease(identity, builder_name()))
        except StoreUnreachableError as error:
            self.notes.append(f"whether another machine builds it is not known: {error}")
        return identity


class Form(Protocol):
    """A form of a paper: a document, or a paper of a graph. `arxiv_version` is None for a file."""

    @property
    def title(self) -> str: ...
    @property
    def authors(self) -> Sequence[str]: ...
    @property
    def arxiv_id(self) -> str | None: ...
    @property
    def arxiv_version(self) -> str | None: ...


def known_as(snapshot: "Snapshot", form: Form, identity: str) -> str:
    """The id under which a graph has a paper of which this is another form, else `identity`. Raises as `known_among`
    does."""
    issued = identity.replace("arxiv:", "doi:10.48550/arxiv.", 1)  # by arXiv: an older graph may have it as the id
    for known in (identity, issued):
        if snapshot.headings([known]):
            return known
    if not form.title:
        return identity
    papers = []
    for candidate in snapshot.called(form.title):
        with suppress(CorruptStoreError):
            papers.append(snapshot.bundle(candidate).paper)
    return known_among(papers, form, identity)


def known_among(papers: Sequence[Paper], form: Form, identity: str) -> str:
    """The id of that of these papers of which this is another form, else `identity`. Raises `SamePaperError` for a form
    that does not replace that one, and `InputError` where only a person can know."""
    for stored in papers:
        if _is_same(form, stored, identity):
            if form.arxiv_version is not None:
                return stored.id
            raise SamePaperError(
                stored.id,
                f"by its title this is another form of {stored.id}, which the graph has: it was not built; "
                "give it that id (--id, or the list's third column) to build it from this form",
            )
    return identity


def _is_same(form: Form, stored: Paper, identity: str) -> bool:
    """Raises `InputError` for a short title without the authors that would decide it."""
    if stored.origin != "build" or title_similarity(stored.title, form.title) < 1:
        return False
    if stored.arxiv_id and form.arxiv_id:
        return paper_id("", stored.arxiv_id) == paper_id("", form.arxiv_id)
    surnames = [_surnames(authors) for authors in (stored.authors, form.authors)]
    if not all(surnames):
        if len(re.findall(r"\w", form.title)) >= _TELLING:
            return True
        raise InputError(
            f"the graph has a paper of this title, {stored.id}, and the authors that would show whether it is the "
            f"same are not known: if it is, give it the id {stored.id} (--id, or the list's third column), "
            f"else {identity}"
        )
    shared = len(surnames[0] & surnames[1])
    return shared >= _ALIKE * min(map(len, surnames))


def builder_name() -> str:
    """What another machine is told of this process."""
    return f"{socket.gethostname()}, process {os.getpid()}"


def _surnames(authors: Sequence[str]) -> set[str]:
    """Last names without case: of `Ada Writer` and of `Writer, Ada`."""
    names = (author.partition(",")[0] if "," in author else author for author in authors)
    return {words[-1].casefold() for name in names if (words := re.findall(r"[^\W\d_]{2,}", name))}
