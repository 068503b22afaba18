"""A paper's files from the process that may read them to the one that parses them: both ends of what is said."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from xkg.build.paper.files import inside
from xkg.build.paper.read import PaperOnDisk
from xkg.errors import InputError, UnsafeInputError

Ask = Callable[[Sequence[str]], Iterator[bytes | None]]

_NAMES, _WHOLE = "\0names", "\0whole"
_GIVEN, _REFUSED, _UNSAFE = b"+", b"-", b"!"


def described(found: PaperOnDisk) -> dict[str, Any]:
    """What is said of a paper, as a JSON value, before anything is asked for."""
    return {"path": str(found.path), "folder": found.folder, "head": found.head.hex(), "size": found.size}


def given(found: PaperOnDisk, names: Sequence[str]) -> Iterator[bytes | None]:
    """What is answered to whoever parses `found`: files of the paper's own folder and nothing else."""
    return (_given(found, name) for name in names)


def asked(description: dict[str, Any], ask: Ask) -> PaperOnDisk:
    """The paper that `described` tells of, whose bytes `ask` brings."""
    asking = _Asking(ask)
    head = bytes.fromhex(description["head"])
    return PaperOnDisk(
        Path(description["path"]), description["folder"], asking, asking.whole, head, description["size"]
    )


def _given(found: PaperOnDisk, name: str) -> bytes | None:
    try:
        if name == _NAMES:
            return _GIVEN + json.dumps(found.reader.names()).encode()
        if name == _WHOLE:
            return _GIVEN + found.whole()
        content = found.reader.read(name) if inside(name) == name else None
    except InputError as error:
        return (_UNSAFE if isinstance(error, UnsafeInputError) else _REFUSED) + str(error).encode("utf-8", "replace")
    return None if content is None else _GIVEN + content


class _Asking:
    """A `Reader` of files that lie elsewhere."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def names(self) -> list[str]:
        found: list[str] = json.loads(self._asked(_NAMES) or b"[]")
        return found

    def read(self, path: str) -> bytes | None:
        return self._asked(path)

    def whole(self) -> bytes:
        return self._asked(_WHOLE) or b""

    def _asked(self, name: str) -> bytes | None:
        (said,) = self._ask([name])
        if said is None or said.startswith(_GIVEN):
            return None if said is None else said[1:]
        kind = UnsafeInputError if said.startswith(_UNSAFE) else InputError
        raise kind(said[1:].decode("utf-8", "replace"))
