"""Claims a paper for a build. A claim consists of the id under which to build the paper, and a lease that keeps other
machines from building it at the same time."""

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
from xkg.store.graph_store import Snapshot
from xkg.text.titles import title_similarity

if TYPE_CHECKING:
    from xkg.build.paper.document import Document

_ALIKE = 0.5
"""The minimum fraction of the shorter author list that two forms of a paper must have in common."""


_TELLING = 20
"""The minimum number of letters in a distinctive title. Shorter titles ("Deep Learning") may belong to several
works."""


class SamePaperError(InputError):
    """Raised if the graph already contains another form of the paper, from a better source. `paper` is the id of that
    form."""

    def __init__(self, paper: str, message: str) -> None:
        super().__init__(message)
        self.paper = paper

    def __reduce__(self) -> tuple[type["SamePaperError"], tuple[str, str]]:
        return SamePaperError, (self.paper, str(self))


class OtherFormError(XkgError):
    """Raised if another form of the paper was published during its build. The paper must be rebuilt under the id of
    that form."""


class Claims(AbstractContextManager["Claims"]):
    """One build's claim, which ends when the context manager exits. `GraphStore.publish` needs `fences` and `since`.
    `since` is the graph's counter at the time when its papers were compared. `notes` are shown to the user. An
    unreachable store causes no error; the paper then waits in the outbox."""

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
        """Returns the id under which to build a paper. If the graph contains another form of the paper, returns that
        form's id, unless the user has `chosen` the id `identity`. Otherwise, returns `identity`. Raises
        `SamePaperError` if this form does not replace the stored form, and `InputError` if only the user can decide.
        Raises `LeaseHeldError` if another machine is building the paper."""
        try:
            store = self._opened.enter_context(open_store(self._settings))
            if not chosen:
                self.since = store.counter()
                with store.snapshot() as snapshot:
                    known = known_as(snapshot, document, identity)
                    replaced = known == identity and _replaces_other_text(snapshot, document, known)
                if known != identity:
                    note = (
                        f"the graph already has another form of this paper, {known}; this one was built under that id"
                    )
                    self.notes.append(note)
                if replaced:
                    self.notes.append(
                        f"the graph had {known} with a different text, which this build replaces; if they "
                        f"are different papers, give this paper its own id (--id, or the list's third column), such as "
                        f"{known}-2"
                    )
                identity = known
            self.fences[identity] = self._opened.enter_context(store.lease(identity, builder_name()))
        except StoreUnreachableError as error:
            self.notes.append(f"cannot tell whether another machine is building this paper: {error}")
        return identity


class Form(Protocol):
    """A form of a paper: a document, or a paper in a graph. `arxiv_version` is None for a file."""

    @property
    def title(self) -> str: ...
    @property
    def authors(self) -> Sequence[str]: ...
    @property
    def arxiv_id(self) -> str | None: ...
    @property
    def arxiv_version(self) -> str | None: ...


def known_as(snapshot: Snapshot, form: Form, identity: str) -> str:
    """Returns the id of another form of the paper in the graph, or `identity` if there is none. Raises the same errors
    as `known_among`. Also raises `InputError` if `identity` comes from the title but belongs to a paper in the graph by
    other authors."""
    issued = identity.replace("arxiv:", "doi:10.48550/arxiv.", 1)  # an older graph may use arXiv's DOI as the id
    for known in (identity, issued):
        if snapshot.headings([known]):
            stored = _stored(snapshot, known) if known.startswith("title:") else None
            if stored is not None and _share_authors(stored.authors, form.authors) is False:
                raise InputError(
                    f"the graph has {known} by {', '.join(stored.authors[:2])}, and this paper has other authors; give "
                    f"this paper its own id (--id, or the list's third column), such as {known}-2, or use the "
                    f"id {known} to replace the stored paper"
                )
            return known
    if not form.title:
        return identity
    papers = [_stored(snapshot, candidate) for candidate in snapshot.called(form.title)]
    return known_among([paper for paper in papers if paper is not None], form, identity)


def _stored(snapshot: Snapshot, paper: str) -> Paper | None:
    with suppress(CorruptStoreError):
        return snapshot.bundle(paper).paper
    return None


def _replaces_other_text(snapshot: Snapshot, document: "Document", identity: str) -> bool:
    """Returns whether `identity` comes from the title but belongs to a different text in the graph. Compares abstracts,
    or contents if there are no abstracts."""
    in_graph = identity.startswith("title:") and snapshot.headings([identity])
    stored = _stored(snapshot, identity) if in_graph else None
    if stored is None:
        return False
    if stored.abstract or document.abstract:
        return stored.abstract.split() != document.abstract.split()
    return stored.source_sha256 != document.source_sha256


def known_among(papers: Sequence[Paper], form: Form, identity: str) -> str:
    """Returns the id of the paper in `papers` that is another form of this paper, or `identity` if there is none.
    Raises `SamePaperError` if this form does not replace that paper, and `InputError` if only the user can decide."""
    for stored in papers:
        if _is_same(form, stored, identity):
            if form.arxiv_version is not None:
                return stored.id
            raise SamePaperError(
                stored.id,
                f"judging by its title, this is another form of {stored.id}, which the graph already has, so this form "
                "was not built; to build it anyway, pass the stored paper's id (--id, or the list's third column)",
            )
    return identity


def _is_same(form: Form, stored: Paper, identity: str) -> bool:
    """Returns whether two forms are the same paper. Raises `InputError` if the title is short and no authors identify
    the paper."""
    if stored.origin != "build" or title_similarity(stored.title, form.title) < 1:
        return False
    if stored.arxiv_id and form.arxiv_id:
        return paper_id("", stored.arxiv_id) == paper_id("", form.arxiv_id)
    shared = _share_authors(stored.authors, form.authors)
    if shared is None and len(re.findall(r"\w", form.title)) < _TELLING:
        raise InputError(
            f"the graph has {stored.id} with this title, and the authors are unknown, so it may be the same "
            f"paper: if it is, use the id {stored.id} (--id, or the list's third column), "
            f"else {identity}"
        )
    return shared is not False


def _share_authors(*lists: Sequence[str]) -> bool | None:
    """Returns whether the lists have enough authors in common, or None if a list is empty."""
    one, other = map(_surnames, lists)
    return len(one & other) >= _ALIKE * min(len(one), len(other)) if one and other else None


def builder_name() -> str:
    """Returns the name that other machines see for this process."""
    return f"{socket.gethostname()}, process {os.getpid()}"


def _surnames(authors: Sequence[str]) -> set[str]:
    """Returns the authors' last names in lower case, from forms such as `Ada Writer` or `Writer, Ada`."""
    names = (author.partition(",")[0] if "," in author else author for author in authors)
    return {words[-1].casefold() for name in names if (words := re.findall(r"[^\W\d_]{2,}", name))}
