"""A copy of the graph beside it, as an embedded one that takes what changed."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from xkg.store.embedded import EmbeddedStore
from xkg.store.feed import Feed, Position
from xkg.store.snapshot import EmbeddedSnapshot

if TYPE_CHECKING:
    from xkg.embed import Embedder


class Follower:
    def __init__(self, folder: Path, feed: Feed, embedder: "Callable[[], Embedder]", *, model: str) -> None:
        self._feed = feed
        self._at = folder / "position.json"
        self._copy = EmbeddedStore(folder, embedder, model=model)

    @contextmanager
    def snapshot(self) -> Iterator[EmbeddedSnapshot]:
        since = Position(*json.loads(self._at.read_text())) if self._at.exists() else None
        to = self._feed.position()
        if to.counter and since != to:
            changes = self._feed.changes(since)
            new = list(changes.bundles)
            with self._copy.snapshot() as copy:
                have = {paper.id for paper in copy.papers()}
            gone = have - {b.paper.id for b in new} if changes.whole else have & changes.removed
            if gone:
                self._copy.remove(sorted(gone))
            if new:
                self._copy.publish(new)
            if changes.decisions:
                self._copy.decide(changes.decisions)
            to = changes.to
            self._at.parent.mkdir(parents=True, exist_ok=True)
            self._at.write_text(json.dumps(to))
        with self._copy.snapshot() as copy:
            copy.generation = to.counter
            yield copy

    def close(self) -> None:
        self._copy.close()
