"""Stores lists of values in immutable files next to the bundles. Each file is named after the hash of its contents, and
a manifest specifies the current file."""

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
    """Stores values of one type in files. `folder` is their folder in a graph's folder, `key` returns a value's key,
    and `remedy` says how to restore lost values."""

    def __init__(self, folder: str, kind: type[V], key: Callable[[V], K], remedy: str) -> None:
        self.folder = folder
        self.values: TypeAdapter[tuple[V, ...]] = TypeAdapter(tuple[kind, ...])  # type: ignore[valid-type]
        self._key: Callable[[V], Any] = key
        self._remedy = remedy

    def data(self, values: Iterable[V]) -> bytes | None:
        """Serialises values, ordered by key. If a key is repeated, the last value wins. Returns None if there are no
        values."""
        ordered = sorted({self._key(value): value for value in values}.values(), key=self._key)
        return json.dumps([value.model_dump() for value in ordered], indent=0).encode("ascii") if ordered else None

    def write(self, root: Path, values: Iterable[V]) -> str:
        """Stores values in `root` and returns the file's name, or '' if there are no values. Raises `OSError` if the
        file cannot be written."""
        data = self.data(values)
        if data is None:
            return ""
        path = root / self.folder / f"{hashlib.sha256(data).hexdigest()}.json"
        path.parent.mkdir(exist_ok=True)
        write_whole(path, data)
        return path.name

    def read(self, root: Path, name: str) -> Mapping[K, V]:
        """Reads the values in a file into a mapping ordered by key. The mapping is empty if `name` is ''. Raises
        `CorruptStoreError` if the file is damaged."""
        if not name:
            return {}
        path = root / self.folder / name
        try:
            data = path.read_bytes()
            if hashlib.sha256(data).hexdigest() != path.stem:
                raise ValueError
            found = self.values.validate_python(json.loads(data))
        except OSError as error:
            raise CorruptStoreError(f"{path} cannot be read ({error.strerror}); run `xkg index rebuild`") from error
        except (ValueError, ValidationError) as error:
            raise CorruptStoreError(f"{path} has changed since it was written; run `xkg index rebuild`") from error
        return {self._key(value): value for value in found}

    def readable(self, root: Path, name: str | None) -> tuple[str, list[str]]:
        """Returns `name` if this file is readable, otherwise the name of the newest readable file, or '' if there is
        none. `name` may be None. Also returns a line for each damaged file. Damaged files are renamed to
        `*.damaged`."""
        notes = []
        folder = root / self.folder
        files = folder.glob("[!.]*.json") if name != "" and folder.is_dir() else ()
        for path in sorted(files, key=lambda p: (p.name == name, p.stat().st_mtime_ns, p.name), reverse=True):
            try:
                self.read(root, path.name)
            except CorruptStoreError:
                path.rename(path.with_suffix(".damaged"))
                notes.append(f"{path} has changed since it was written and was set aside; {self._remedy}")
            else:
                return path.name, notes
        if name and not notes:
            notes.append(f"{folder / name} is missing; {self._remedy}")
        return "", notes
