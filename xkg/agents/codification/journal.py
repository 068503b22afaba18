"""The journal of a run, with one JSON line per entry. Each entry is on disk before it enters a prompt, so a killed run
resumes with the same questions."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from xkg.errors import CorruptStoreError
from xkg.value import Value

V = TypeVar("V", bound=Value)


class Journal:
    """`path` is created if missing. A last line cut off by a kill is ignored; it is removed unless `read_only`, since
    another process may be writing it."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        self._entries: dict[str, object] = {}
        whole = 0
        if path.exists():
            for number, line in enumerate(path.read_bytes().splitlines(keepends=True), 1):
                if not line.endswith(b"\n"):
                    break
                try:
                    entry = json.loads(line)
                    self._entries[entry["key"]] = entry["value"]
                except (ValueError, KeyError, TypeError) as error:
                    raise CorruptStoreError(f"line {number} of {path} cannot be read: remove the run") from error
                whole += len(line)
            if not read_only and whole < path.stat().st_size:
                os.truncate(path, whole)

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def once(self, key: str, kind: type[V], make: Callable[[], V]) -> V:
        """The value stored under the key; if there is none, stores and returns the result of `make`."""
        if (known := self.get(key, kind)) is not None:
            return known
        value = make()
        self.put(key, value)
        return value

    def get(self, key: str, kind: type[V]) -> V | None:
        if key not in self._entries:
            return None
        try:
            return kind.model_validate_json(json.dumps(self._entries[key]))
        except ValidationError as error:
            raise CorruptStoreError(
                f"{key!a} of {self._path} is from another version of xkg: remove the run"
            ) from error

    def put(self, key: str, value: Value) -> None:
        """Stores a value permanently."""
        self._entries[key] = value.model_dump(mode="json")
        line = json.dumps({"key": key, "value": self._entries[key]}).encode() + b"\n"
        with self._path.open("ab") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
