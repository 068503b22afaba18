"""Stores the state in which a graph last saw each library: the library's head, and the papers as they were pulled or
pushed. Each library has its own SQLite file."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pydantic import Field

from xkg.files import file_lock, private_folder
from xkg.model import slug
from xkg.sqlite_files import open_wal, transaction
from xkg.value import Value

FOLDER = "libraries"
_SCHEMA = {
    "head": "CREATE TABLE IF NOT EXISTS head (one INTEGER PRIMARY KEY CHECK (one = 1), state TEXT NOT NULL)",
    "papers": "CREATE TABLE IF NOT EXISTS papers (paper TEXT PRIMARY KEY, content TEXT NOT NULL, "
    "packages TEXT NOT NULL, stored TEXT NOT NULL)",
}


class SeenHead(Value):
    """`version` and `digest` describe the newest head. `signer` is the key that signed this head, or None if it is
    unsigned. `entries` maps each search ('' for all papers) to the number of log entries that have been read for it.
    `tag` is a web server's tag for the head, and `data` is the head's bytes."""

    place: str
    version: int = 0
    digest: str = ""
    signer: str | None = None
    entries: dict[str, int] = Field(default={})
    tag: str = ""
    data: str = ""


class SeenPaper(Value):
    """`content` and `packages` describe the library's version. `stored` is the hash of the graph's bundle for this
    version, without attestations, or '' if the graph contains a different version."""

    content: str
    packages: tuple[str, ...]
    stored: str


class Seen:
    """Reads and writes the state in which a graph last saw one library."""

    def __init__(self, kg: Path, place: str) -> None:
        self.place = place
        name = f"{slug(place.partition('://')[2] or place)[-40:]}-{hashlib.sha256(place.encode()).hexdigest()[:12]}"
        self.folder = kg / FOLDER / name
        private_folder(self.folder)
        self._db = open_wal(self.folder / "seen.sqlite", _SCHEMA)

    def head(self) -> SeenHead:
        row = self._db.execute("SELECT state FROM head").fetchone()
        return SeenHead(place=self.place) if row is None else SeenHead.model_validate_json(row[0])

    def keep_head(self, head: SeenHead) -> None:
        self._db.execute("INSERT OR REPLACE INTO head VALUES (1, ?)", (head.model_dump_json(),))

    def paper(self, paper: str) -> SeenPaper | None:
        row = self._db.execute("SELECT content, packages, stored FROM papers WHERE paper = ?", (paper,)).fetchone()
        return None if row is None else SeenPaper(content=row[0], packages=tuple(json.loads(row[1])), stored=row[2])

    def keep_papers(self, papers: Mapping[str, SeenPaper]) -> None:
        rows = [(id, each.content, json.dumps(each.packages), each.stored) for id, each in papers.items()]
        with transaction(self._db):
            self._db.executemany("INSERT OR REPLACE INTO papers VALUES (?, ?, ?, ?)", rows)

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Context manager that locks this library for pulls into this graph. Yields False if another process holds the
        lock."""
        with file_lock(self.folder / "pull.lock", wait=False) as free:
            yield free

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> "Seen":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def known_libraries(kg: Path) -> list[str]:
    """Returns the addresses of all libraries whose head this graph has seen."""
    found = []
    for path in sorted((kg / FOLDER).glob("*/seen.sqlite")):
        db = open_wal(path, _SCHEMA)
        try:
            row = db.execute("SELECT state FROM head").fetchone()
        finally:
            db.close()
        if row is not None:
            found.append(SeenHead.model_validate_json(row[0]).place)
    return found
