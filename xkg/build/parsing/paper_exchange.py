"""Implements both ends of a protocol by which the sandboxed parser requests paper files from a process that may read
them."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from xkg.build.paper.files import inside
from xkg.build.paper.read import PaperOnDisk
from xkg.errors import InputError, UnsafeInputError

Ask = Callable[[Sequence[str]], Iterator[bytes | None]]

_NAMES, _WHOLE = "\0names", "\0whole"
_CONTENT, _REFUSED, _UNSAFE = b"+", b"-", b"!"


def described(paper: PaperOnDisk) -> dict[str, Any]:
    """Returns a description of a paper as a JSON value. The description is the first message to the parsing process."""
    return {"path": str(paper.path), "folder": paper.folder, "head": paper.head.hex(), "size": paper.size}


def serve_files(paper: PaperOnDisk, names: Sequence[str]) -> Iterator[bytes | None]:
    """Answers requests from the parsing process. Sends only files from the paper's own folder."""
    return (_reply(paper, name) for name in names)


def receive_paper(description: dict[str, Any], ask: Ask) -> PaperOnDisk:
    """Rebuilds the paper from a description returned by `described`. `ask` requests the paper's bytes."""
    reader = _RemoteReader(ask)
    head = bytes.fromhex(description["head"])
    return PaperOnDisk(
        Path(description["path"]), description["folder"], reader, reader.whole, head, description["size"]
    )


def _reply(paper: PaperOnDisk, name: str) -> bytes | None:
    try:
        if name == _NAMES:
            return _CONTENT + json.dumps(paper.reader.names()).encode()
        if name == _WHOLE:
            return _CONTENT + paper.whole()
        content = paper.reader.read(name) if inside(name) == name else None
    except InputError as error:
        return (_UNSAFE if isinstance(error, UnsafeInputError) else _REFUSED) + str(error).encode("utf-8", "replace")
    return None if content is None else _CONTENT + content


class _RemoteReader:
    """Requests files from the other process."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def names(self) -> list[str]:
        names: list[str] = json.loads(self._request(_NAMES) or b"[]")
        return names

    def read(self, path: str) -> bytes | None:
        return self._request(path)

    def whole(self) -> bytes:
        return self._request(_WHOLE) or b""

    def _request(self, name: str) -> bytes | None:
        (reply,) = self._ask([name])
        if reply is None or reply.startswith(_CONTENT):
            return None if reply is None else reply[1:]
        kind = UnsafeInputError if reply.startswith(_UNSAFE) else InputError
        raise kind(reply[1:].decode("utf-8", "replace"))
