"""Publishes built papers while others are still being built. All papers that are ready are published in one step."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from xkg.commands.graph.open import embedder, open_store
from xkg.commands.published import BuildResult, Unpublished, publish_together
from xkg.config import Settings
from xkg.text.titles import same_title

PAUSE = 9.0
"""The pause after publishing, as a multiple of the time that publishing took. Publishing costs about the same for one
paper as for many, and the cost grows with the graph."""
TOGETHER = 24_000_000
"""Limits memory. If waiting papers exceed this size in pickled bytes, they are published without a pause. As objects,
papers take up about five times as much memory. The limit allows about 50 papers with a repository each, or thousands of
small papers."""
_ROOM = 2 * TOGETHER


Outcome = BuildResult | Exception


class _Waiting(NamedTuple):
    paper: Unpublished
    ended: Callable[[Outcome], None]


class Publisher:
    """Publishes papers from a separate thread, one step at a time. Papers with the same id or title go into different
    steps, so that a later form of a paper finds the earlier form in the graph."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._turn = threading.Condition()
        self._waiting: list[_Waiting] = []
        self._size = 0  # the total size of the waiting papers
        self._unconnected = self._busy = self._hurried = self._closed = False
        self._next = 0.0
        self._problem: Exception | None = None
        self._thread = threading.Thread(target=self._work, name="xkg publish")
        self._thread.start()

    def add(self, paper: Unpublished, ended: Callable[[Outcome], None]) -> None:
        """Queues a paper for publishing, and calls `ended` from another thread with the result or the error. Blocks
        while too many papers are waiting."""
        with self._turn:
            self._turn.wait_for(lambda: self._size < _ROOM)
            self._waiting.append(_Waiting(paper, ended))
            self._size += paper.size
            self._turn.notify_all()

    def connect(self) -> None:
        """Schedules `GraphStore.connect`, which adds the edges for papers that were published elsewhere."""
        with self._turn:
            self._unconnected = True
            self._turn.notify_all()

    def hurry(self) -> None:
        """Publishes waiting papers without pausing, until `finish` is called."""
        with self._turn:
            self._hurried = True
            self._turn.notify_all()

    def finish(self) -> Exception | None:
        """Publishes the waiting papers now. Returns the error if the edges between papers could not be added."""
        self.hurry()
        with self._turn:
            self._turn.wait_for(self._is_idle)
            self._hurried = False
            return self._problem

    def close(self) -> None:
        """Publishes the waiting papers, and ends the thread."""
        with self._turn:
            self._hurried = self._closed = True
            self._turn.notify_all()
        self._thread.join()

    def _is_idle(self) -> bool:
        return not (self._waiting or self._unconnected or self._busy)

    def _work(self) -> None:
        while True:
            with self._turn:
                self._busy = False
                self._turn.notify_all()
                self._turn.wait_for(lambda: self._waiting or self._unconnected or self._closed)
                if self._is_idle():
                    return
                while not (self._hurried or self._size >= TOGETHER):
                    pause = self._next - time.monotonic()
                    if pause <= 0:
                        break
                    self._turn.wait(pause)
                group, self._waiting = _apart(self._waiting)
                self._size = sum(waiting.paper.size for waiting in self._waiting)
                self._unconnected, self._busy = False, True
                self._turn.notify_all()
            began = time.monotonic()
            outcomes = self._published([waiting.paper for waiting in group])
            now = time.monotonic()
            self._next = now + PAUSE * (now - began)
            for waiting, outcome in zip(group, outcomes, strict=True):
                waiting.ended(outcome)

    def _published(self, papers: Sequence[Unpublished]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        try:
            self._store_embedded(papers)
            with open_store(self._settings) as store:
                outcomes = publish_together(store, self._settings, papers)
                store.connect()
            self._problem = None
        except Exception as error:
            if papers and not outcomes:
                return [error] * len(papers)
            self._problem = error
        return outcomes

    def _store_embedded(self, papers: Sequence[Unpublished]) -> None:
        if any(paper.embedded is not None for paper in papers):
            with embedder(self._settings) as cache:
                for paper in papers:
                    if paper.embedded is not None:
                        cache.put(*paper.embedded)


def _apart(waiting: Sequence[_Waiting]) -> tuple[list[_Waiting], list[_Waiting]]:
    """Splits the waiting papers into those for the next step and those for later steps."""
    group: list[_Waiting] = []
    others: list[_Waiting] = []
    known: set[str] = set()
    for each in waiting:
        paper = each.paper
        names = {paper.id} if paper.chosen else {paper.id, _title_of(paper)}
        (group if known.isdisjoint(names) else others).append(each)
        known |= {paper.id, _title_of(paper)}
    return group, others


def _title_of(paper: Unpublished) -> str:
    """Returns a key shared by all forms of the paper: the letters of its title, or its id if the title contains no
    letters."""
    return same_title(paper.built.bundle.paper.title) or paper.id
