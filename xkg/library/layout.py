"""A library consists of `head.json`, and of files such as `files/ab/<sha256>`, which are named after the hash of their
bytes.

The head contains the roots of an index and a log. The index is a trie keyed by the hash of a paper's id or title, with
256 children per node. The log lists entries in order of arrival. A changed node is written to a new file. To find one
paper in a million, a reader needs the head and two nodes. A reader that has already read the log up to some entry reads
only the chunks after it.
"""

import gzip
import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from xkg.errors import UnsafeInputError
from xkg.model import Level, slug
from xkg.value import Value

HEAD = "head.json"
MOST_HEAD, MOST_NODE, MOST_UNPACKED_NODE = 1 << 20, 4 << 20, 64 << 20
CHUNK, CHUNKS = 64, 128
"""Number of entries per log chunk, and number of chunks per log node."""
ROOM = 512
"""Maximum number of rows in an index node. Nodes with more rows are split."""
MOST_VERSIONS = 8

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Prefix = Annotated[str, Field(pattern=r"^[0-9a-f]{2}$")]
Text = Annotated[str, Field(max_length=1000)]
V = TypeVar("V", bound=BaseModel)


class Package(Value):
    """A file that contains parts of a paper (`xkg.library.packages`). `holds` lists the names (`Part.mark`) of the
    parts in the file, except the bundle."""

    name: Sha256
    size: int = Field(ge=0, le=1 << 30)
    holds: tuple[Text, ...] = Field(default=(), max_length=5000)


class Version(Value):
    """One version of a paper. `content` is the hash of the version's bundle, which is in the first package. Later
    packages contain additions. `levels` counts the version's code nodes by claimed level, and `pushed` is the time of
    the push."""

    content: Sha256
    packages: tuple[Package, ...] = Field(min_length=1, max_length=1000)
    levels: dict[Text, int] = Field(default={}, max_length=20)
    arxiv_version: Text | None = None
    commits: tuple[Text, ...] = Field(default=(), max_length=100)
    pushed: Text

    @property
    def holds(self) -> frozenset[str]:
        return frozenset(mark for package in self.packages for mark in package.holds)

    @property
    def proof(self) -> int:
        """The sum of the ranks of the version's claimed levels."""
        return sum(rank_of(name) * count for name, count in self.levels.items())


class Row(Value):
    """A paper and its versions. Replaced versions are not included. Versions with the highest claimed levels come
    first. Technique `names` appear only in the log."""

    paper: Text
    title: Text
    year: int | None = None
    versions: tuple[Version, ...] = Field(min_length=1, max_length=MOST_VERSIONS)
    names: tuple[Text, ...] = Field(default=(), max_length=1000)


class Item(Value):
    key: Text
    row: Row


class Node(Value):
    """An index node, which has either `items`, or `children` keyed by the next two digits of a key's hash."""

    items: tuple[Item, ...] = ()
    children: dict[Prefix, Sha256] = Field(default={})


class Head(Value):
    """The head of a library. `version` increases with each replacement, and `entries` is the number of log entries.
    `nodes` lists the log's full nodes, and `chunks` contains the entries after them. `expires` is the time after which
    a signed head is no longer trusted."""

    format: Literal["xkg-library-1"] = "xkg-library-1"
    version: int = Field(default=0, ge=0)
    entries: int = Field(default=0, ge=0)
    expires: Text | None = None
    index: dict[Prefix, Sha256] = Field(default={})
    nodes: tuple[Sha256, ...] = ()
    chunks: tuple[Sha256, ...] = ()


_CHUNK_ROWS = TypeAdapter(tuple[Row, ...])
_NAMES = TypeAdapter(tuple[Sha256, ...])


def rank_of(level: str) -> int:
    """Returns the rank of a claimed level, or 0 for an unknown level."""
    return Level(level).rank if level in set(Level) else 0


def path_of(name: str) -> str:
    return f"files/{name[:2]}/{name}"


def keys_of(paper: str, title: str) -> tuple[str, ...]:
    """Returns the keys under which a paper is listed: its id, its title, and the part of its title before the first
    colon."""
    titles = [title, title.partition(":")[0]]
    return tuple(dict.fromkeys([paper, *(f"title:{slug(each)}" for each in titles)]))


def parse(kind: "type[V] | TypeAdapter[Any]", data: bytes, what: str) -> Any:
    """Parses JSON from an untrusted source. Raises `UnsafeInputError` if the JSON is invalid."""
    try:
        value = json.loads(data)
        return kind.validate_python(value) if isinstance(kind, TypeAdapter) else kind.model_validate(value)
    except (ValueError, ValidationError, RecursionError) as error:
        raise UnsafeInputError(
            f"{what} is not in the format that `xkg push` writes; ask the library's maintainer"
        ) from error


def unzip(data: bytes, most: int, what: str) -> bytes:
    """Decompresses data. Raises `UnsafeInputError` if the data is not gzip or unpacks to more than `most` bytes."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacker.decompress(data, most + 1)
    except zlib.error as error:
        raise UnsafeInputError(
            f"{what} is not in the format that `xkg push` writes; ask the library's maintainer"
        ) from error
    if len(unpacked) > most or not unpacker.eof or unpacker.unused_data:
        raise UnsafeInputError(f"{what} is truncated, or contains more than {most >> 20} MB; nothing was pulled")
    return unpacked


def zipped(data: bytes) -> bytes:
    return gzip.compress(data, 6, mtime=0)


class Files:
    """Reads and extends index nodes and log chunks. `read` maps a file's name to its bytes, and each file is read only
    once. `new` maps names to the files to write."""

    def __init__(self, read: Callable[[str], bytes]) -> None:
        self._read = read
        self._known: dict[str, Any] = {}
        self.new: dict[str, bytes] = {}

    def find(self, head: Head, key: str) -> list[Row]:
        """Returns the rows for a key. Raises `UnsafeInputError`."""
        digest, at = _digest(key), 2
        name = head.index.get(digest[:2])
        while name is not None:
            node = self._node(name)
            if not node.children:
                return [item.row for item in node.items if item.key == key]
            name, at = node.children.get(digest[at : at + 2]), at + 2
        return []

    def row(self, head: Head, paper: str) -> Row | None:
        """Returns the row for the paper with the given id, or None if there is none."""
        return next((row for row in self.find(head, paper) if row.paper == paper), None)

    def with_rows(self, head: Head, rows: Sequence[Row]) -> Head:
        """Returns the head with the given papers added or replaced, and a log entry for each."""
        changes: dict[tuple[str, str], Row | None] = {}
        for row in rows:
            known = self.row(head, row.paper)
            short = row.model_copy(update={"names": ()})
            changes |= {(key, row.paper): None for key in (keys_of(known.paper, known.title) if known else ())}
            changes |= {(key, row.paper): short for key in keys_of(row.paper, row.title)}
        root = self._grown(Node(children=head.index), changes, 0).children
        nodes, chunks, open_rows = list(head.nodes), list(head.chunks), list[Row]()
        if head.entries % CHUNK and chunks:
            open_rows = list(self._chunk(chunks.pop(), head.entries % CHUNK))
        for row in rows:
            open_rows.append(row)
            if len(open_rows) == CHUNK:
                chunks.append(self._save(_CHUNK_ROWS.dump_json(tuple(open_rows))))
                open_rows = []
                if len(chunks) == CHUNKS:
                    nodes.append(self._save(json.dumps(chunks).encode()))
                    chunks = []
        if open_rows:
            chunks.append(self._save(_CHUNK_ROWS.dump_json(tuple(open_rows))))
        update = {"index": root, "nodes": tuple(nodes), "chunks": tuple(chunks), "entries": head.entries + len(rows)}
        return head.model_copy(update=update)

    def since(
        self, head: Head, entry: int, each: Callable[[Callable[[int], Any], Iterable[int]], Iterable[Any]] = map
    ) -> Iterator[Row]:
        """Yields the log entries, starting at number `entry`. `each` applies a function to every chunk, and may be the
        `map` method of a thread pool."""
        whole = -(-head.entries // CHUNK)
        _require_length(len(head.nodes) * CHUNKS + len(head.chunks), whole)

        def rows(position: int) -> Sequence[Row]:
            node, place = divmod(position, CHUNKS)
            names = self._names(head.nodes[node]) if node < len(head.nodes) else head.chunks
            return self._chunk(names[place], min(CHUNK, head.entries - position * CHUNK))[
                max(0, entry - position * CHUNK) :
            ]

        for found in each(rows, range(entry // CHUNK, whole) if entry < head.entries else ()):
            yield from found

    def _grown(self, node: Node, changes: Mapping[tuple[str, str], Row | None], at: int) -> Node:
        """Returns the node at digit `at` with the given rows replaced. `changes` maps each (key, paper) to its new row,
        or to None to remove the row."""
        if at and not node.children:
            items: dict[tuple[str, str], Row | None] = {(item.key, item.row.paper): item.row for item in node.items}
            changes = items | dict(changes)
            kept = tuple(Item(key=key, row=row) for (key, _), row in sorted(changes.items()) if row is not None)
            if len(kept) <= ROOM or at >= 16:
                return Node(items=kept)

        def digits(change: tuple[tuple[str, str], Row | None]) -> str:
            return _digest(change[0][0])[at : at + 2]

        children = dict(node.children)
        for prefix, some in groupby(sorted(changes.items(), key=digits), digits):
            below = self._node(children[prefix]) if prefix in children else Node()
            children[prefix] = self._save(self._grown(below, dict(some), at + 2).model_dump_json().encode())
        return Node(children=dict(sorted(children.items())))

    def _node(self, name: str) -> Node:
        return self._value(Node, name, "a node of the index")  # type: ignore[no-any-return]

    def _chunk(self, name: str, length: int) -> Sequence[Row]:
        rows: Sequence[Row] = self._value(_CHUNK_ROWS, name, "a part of the log")
        _require_length(len(rows), length)
        return rows

    def _names(self, name: str) -> Sequence[str]:
        names: Sequence[str] = self._value(_NAMES, name, "a part of the log")
        _require_length(len(names), CHUNKS)
        return names

    def _value(self, kind: "type[V] | TypeAdapter[Any]", name: str, what: str) -> Any:
        if name not in self._known:
            data = self.new[name] if name in self.new else self._read(name)
            self._known[name] = parse(kind, unzip(data, MOST_UNPACKED_NODE, what), what)
        return self._known[name]

    def _save(self, data: bytes) -> str:
        packed = zipped(data)
        name = hashlib.sha256(packed).hexdigest()
        self.new[name] = packed
        return name


def _require_length(length: int, stated: int) -> None:
    if length != stated:
        raise UnsafeInputError("the library's log and head specify different lengths; ask the library's maintainer")


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
