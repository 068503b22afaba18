"""Immutable files of values next to the bundles, named by the hash of their bytes. A manifest names the valid one."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from xkg.errors import CorruptStoreError
from xkg.files import write_whole

K = TypeVar("K", bound=str | tuple[str, ...])
V = TypeVar("V", bound=BaseModel)


class HashedFiles(Generic[K, V]):
    """Files of values of one kind in the `folder` of a graph. `key` identifies a value, and `remedy` says how to
    restore lost values."""

    def __init__(self, folder: str, kind: type[V], key: Callable[[V], K], remedy: str) -> None:
        self.folder = folder
        self.values: TypeAdapter[tuple[V, ...]] = TypeAdapter(tuple[kind, ...])  # type: ignore[valid-type]
        self._key: Callable[[V], Any] = key
        self._remedy = remedy

    def data(self, values: Iterable[V]) -> bytes | None:
        """The content of a file of values, ordered by key; of equal keys the last counts. None without values."""
        ordered = sorted({self._key(value): value for value in values}.values(), key=self._key)
        return json.dumps([value.model_dump() for value in ordered], indent=0).encode("ascii") if ordered else None

    def write(self, root: Path, values: Iterable[V]) -> str:
        """Stores values under `root` and returns the name of their file; '' without values. Raises `OSError`."""
        data = self.data(values)
        if data is None:
            return ""
        path = root / self.folder / f"{hashlib.sha256(data).hexdigest()}.json"
        path.parent.mkdir(exist_ok=True)
        write_whole(path, data)
        return path.name

    def read(self, root: Path, name: str) -> Mapping[K, V]:
        """Values by key, ordered by key; empty for ''. Raises `CorruptStoreError` for a damaged file."""
        if not name:
            return {}
        path = root / self.folder / name
        try:
            data = path.read_bytes()
            if hashlib.sha256(data).hexdigest() != path.stem:
                raise ValueError
            found = self.values.validate_python(json.loads(data))
        except OSError as error:
            raise CorruptStoreError(f"{path} cannot be read ({error.strerror}): run `xkg index rebuild`") from error
        except (ValueError, ValidationError) as error:
            raise CorruptStoreError(f"{path} is not what was written: run `xkg index rebuild`") from error
        return {self._key(value): value for value in found}

    def readable(self, root: Path, name: str | None) -> tuple[str, list[str]]:
        """The name of that file, or of the newest readable one if it is damaged or the name is unknown; '' without one.
        Also returns a line for each damaged file, which is renamed to `*.damaged`."""
        notes = []
        folder = root / self.folder
        files = folder.glob("[!.]*.json") if name != "" and folder.is_dir() else ()
        for path in sorted(files, key=lambda p: (p.name == name, p.stat().st_mtime_ns, p.name), reverse=True):
            try:
                self.read(root, path.name)
            except CorruptStoreError:
                path.rename(path.with_suffix(".damaged"))
                notes.append(f"{path} is not what was written, and set aside: {self._remedy}")
            else:
                return path.name, notes
        if name and not notes:
            notes.append(f"{folder / name} is missing: {self._remedy}")
        return "", notes
