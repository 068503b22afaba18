"""Reads and publishes generations, which are immutable folders of derived files. `CURRENT` is the only file that a
commit changes.

    CURRENT                       the current generation, and the hash of its manifest
    bundles/<paper>-<hash>.json   immutable; a manifest lists its bundles
    links/<hash>.json             immutable; all decisions about pairs of techniques
    ablations/<hash>.json         immutable; all measurements of techniques
    rows/<paper>-<hash>.csv       derived from one bundle: its rows in the graph
    generations/<n>/manifest.json   model, counts, the hash of every file
                    catalogue.sqlite, vectors.faiss, text/, graph.lbug

A reader holds a shared lock on its generation's manifest. Locked generations are not cleaned up."""

import contextlib
import functools
import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from xkg.errors import CorruptStoreError, StoreError
from xkg.files import blake3_of, sync_file, sync_folder, try_lock, unheld, write_whole
from xkg.operating_system import OPEN_FILES_MOVE
from xkg.store import ablations
from xkg.store.bundles import BundleFile
from xkg.store.change_feed import Position
from xkg.store.concepts import decisions
from xkg.store.indexes.vectors import VectorsInfo
from xkg.store.local import graph_rows
from xkg.value import Value

FORMAT = 10
RETAINED = 2
"""Number of earlier generations kept for `rollback`."""
CATALOGUE, VECTORS, TEXT, GRAPH = "catalogue.sqlite", "vectors.faiss", "text/", "graph.lbug"
REBUILD = "run `xkg index rebuild`"


_sound: set[tuple[int, int, int, int, str]] = set()
"""Files whose hash this process has already verified: device, inode, modification time, size and hash. This way, files
shared between generations are read only once."""


class FileStamp(Value):
    size: int
    blake3: str


class Manifest(Value):
    """A generation's manifest.

    - `previous` and `previous_sha256`: the number of the generation that it replaced (0 for none) and the hash of that
      generation's manifest
    - `model` and `dimension`: empty and 0 if there are no vectors
    - `files`: paths relative to the generation's folder
    - `bundles`: keyed by paper id
    - `decisions` and `ablations`: names of files in `links/` and `ablations/`, or ''
    - `position`: the graph state that this generation is a copy of, or None if it is not a copy
    - `changed`: the number of techniques added or removed since the indexes were last built from scratch"""

    format: int = FORMAT
    number: int
    previous: int
    previous_sha256: str
    model: str
    dimension: int
    vectors: VectorsInfo | None
    counts: dict[str, int]
    files: dict[str, FileStamp]
    bundles: dict[str, BundleFile]
    decisions: str = ""
    ablations: str = ""
    position: Position | None = None
    changed: int = 0


class Current(Value):
    """The content of `CURRENT`. `highest` is the highest generation number ever used, so that numbers are never
    reused."""

    generation: int = 0
    highest: int = 0
    manifest_sha256: str = ""


class Generation:
    """An open generation, which is not cleaned up until `close`. `folder` is in `generations/`."""

    def __init__(self, folder: Path, manifest: Manifest, descriptor: int) -> None:
        self.folder = folder
        self.manifest = manifest
        self._descriptor = descriptor
        self._verified: dict[Path, FileStamp] = {}

    def verify(self, *names: str) -> None:
        """Compares files with their hashes in the manifest. A name that ends with `/` refers to all files in that
        folder. Raises `CorruptStoreError` for the first file that differs, and `StoreError` if a file cannot be
        read."""
        for name, stamp in self.manifest.files.items():
            if name in names or any(n.endswith("/") and name.startswith(n) for n in names):
                _verify(self.folder / name, stamp)
                self._verified[self.folder / name] = stamp

    def verify_again(self) -> None:
        """Verifies files again if they have been written to since the last verification. Raises the same errors as
        `verify`."""
        for path, stamp in tuple(self._verified.items()):
            _verify(path, stamp)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_current(root: Path) -> Current:
    """Reads `CURRENT`. For an empty graph, returns generation 0. Raises `StoreError` if the file cannot be read."""
    if root.exists() and not root.is_dir():
        raise StoreError(f"{root} is a file, not a folder; choose another folder with --kg")
    path = root / "CURRENT"
    try:
        return Current.model_validate(json.loads(path.read_bytes()))
    except FileNotFoundError:
        if any((root / name).exists() for name in ("bundles", "generations")):
            raise CorruptStoreError(f"{path} is missing though the graph has content; {REBUILD}") from None
        return Current()
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror}); check its permissions") from error
    except (ValueError, ValidationError) as error:
        raise CorruptStoreError(f"{path} has changed since it was written; {REBUILD}") from error


def open_current(root: Path) -> Generation | None:
    """Opens and locks the current generation. Returns None if nothing has been published yet. Checks the manifest's
    hash and the size of every file. Raises `StoreError` if the generation cannot be read or is damaged."""
    for _ in range(100):
        current = read_current(root)
        if current.generation == 0:
            return None
        try:
            return _open(root, current)
        except CorruptStoreError:
            # The generation may have been replaced and cleaned up in the meantime.
            if read_current(root) == current:
                raise
    raise StoreError(f"{root} is changing faster than it can be read; try again")


def _open(root: Path, current: Current) -> Generation:
    folder = generation_folder(root, current.generation)
    path = folder / "manifest.json"
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        raise CorruptStoreError(f"{path} is missing; {REBUILD}") from None
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror}); check its permissions") from error
    try:
        if not try_lock(descriptor, shared=True) or not path.exists():
            raise CorruptStoreError(f"{path} is missing; {REBUILD}")
        manifest = _parse_manifest(path, path.read_bytes(), current.manifest_sha256)
        if manifest.format != FORMAT:
            raise CorruptStoreError(
                f"{path} has format {manifest.format}, but this version of xkg reads {FORMAT}; {REBUILD}"
            )
        for name, stamp in manifest.files.items():
            _check_size(folder / name, stamp)
        return Generation(folder, manifest, descriptor)
    except BaseException:
        os.close(descriptor)
        raise


def verify_all(root: Path, manifest: Manifest) -> None:
    """Compares all files in a generation with their hashes. Raises `StoreError` for the first file that differs or
    cannot be read."""
    for name, stamp in manifest.files.items():
        _verify(generation_folder(root, manifest.number) / name, stamp)


def _verify(path: Path, stamp: FileStamp) -> None:
    try:
        found = path.stat()
        same = _seen(found, stamp) in _sound or blake3_of(path) == stamp.blake3
        if same:
            _note_sound(found, stamp)
    except PermissionError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror}); check its permissions") from error
    except OSError:
        same = False
    if not same:
        raise CorruptStoreError(f"{path} has changed since it was written; {REBUILD}")


def _seen(found: os.stat_result, stamp: FileStamp) -> tuple[int, int, int, int, str]:
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size, stamp.blake3


def _note_sound(found: os.stat_result, stamp: FileStamp) -> None:
    if len(_sound) > 10_000:
        _sound.clear()
    _sound.add(_seen(found, stamp))


def _check_size(path: Path, stamp: FileStamp) -> None:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise CorruptStoreError(f"{path} cannot be read ({error.strerror}); {REBUILD}") from error
    if size != stamp.size:
        raise CorruptStoreError(f"{path} has {size} bytes but should have {stamp.size}; {REBUILD}")


def _parse_manifest(path: Path, data: bytes, sha256: str | None) -> Manifest:
    if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
        raise CorruptStoreError(f"{path} has changed since it was written; {REBUILD}")
    try:
        return _manifest(data)
    except (ValueError, ValidationError) as error:
        raise CorruptStoreError(f"{path} was written by another version of xkg; {REBUILD}") from error


@functools.lru_cache(2)
def _manifest(data: bytes) -> Manifest:
    """Parses a manifest. The result is cached, because a manifest with thousands of papers takes tens of milliseconds
    to parse and is read several times."""
    return Manifest.model_validate(json.loads(data))


def generation_folder(root: Path, number: int) -> Path:
    return root / "generations" / str(number)


def building_folder(root: Path, number: int) -> Path:
    """Returns a new, empty folder in which to build a generation. Removes any leftovers from a killed process. The
    caller must hold the write lock."""
    folder = root / "generations" / f".building-{number}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def stamp(folder: Path, earlier: Generation | None = None, *, durable: bool = True) -> dict[str, FileStamp]:
    """Returns the size and hash of every file in `folder`. If `durable` is set, also syncs these files to disk. For
    files shared with `earlier`, the values are copied from its manifest."""
    known: dict[tuple[int, int], FileStamp] = {}
    if earlier is not None:
        for name, of in earlier.manifest.files.items():
            found = (earlier.folder / name).stat()
            known[found.st_dev, found.st_ino] = of
    stamps = {}
    for path in sorted(folder.rglob("*")):
        found = path.stat()
        if path.is_dir():
            if durable:
                sync_folder(path)
        elif (found.st_dev, found.st_ino) in known:
            stamps[path.relative_to(folder).as_posix()] = known[found.st_dev, found.st_ino]
        else:
            if durable:
                sync_file(path)
            stamps[path.relative_to(folder).as_posix()] = of = FileStamp(size=found.st_size, blake3=blake3_of(path))
            _note_sound(found, of)
    return stamps


def commit(root: Path, building: Path, manifest: Manifest, highest: int) -> None:
    """Publishes a generation. Writes the generation's manifest, moves the generation into place, then switches
    `CURRENT`. The caller must hold the write lock."""
    data = json.dumps(manifest.model_dump()).encode("ascii")
    write_whole(building / "manifest.json", data)
    building.rename(generation_folder(root, manifest.number))
    sync_folder(root / "generations")
    switch(
        root,
        Current(
            generation=manifest.number,
            highest=max(highest, manifest.number),
            manifest_sha256=hashlib.sha256(data).hexdigest(),
        ),
    )


def switch(root: Path, current: Current) -> None:
    """Writes `CURRENT`. This write commits the generation. From now on, readers open the generation in `current`."""
    write_whole(root / "CURRENT", json.dumps(current.model_dump()).encode("ascii"))


def read_manifest(root: Path, number: int, sha256: str | None = None) -> Manifest:
    """Reads a generation's manifest, in any format, and checks its hash if given. Raises `CorruptStoreError` if the
    manifest is damaged."""
    path = generation_folder(root, number) / "manifest.json"
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CorruptStoreError(f"{path} cannot be read ({error.strerror}); {REBUILD}") from error
    return _parse_manifest(path, data, sha256)


def numbers(root: Path) -> list[int]:
    """Returns the numbers of all generations on disk, in order."""
    folder = root / "generations"
    return sorted(int(p.name) for p in folder.iterdir() if p.name.isdecimal()) if folder.is_dir() else []


def _keep(folder: Path, names: set[str], suffix: str = ".json") -> None:
    """Removes files written by xkg, except the files in `names`."""
    for path in folder.iterdir() if folder.is_dir() else ():
        abandoned = path.name.startswith(".") and path.name.endswith(".tmp")
        if abandoned or (path.suffix == suffix and path.name not in names):
            with contextlib.suppress(*(() if OPEN_FILES_MOVE else (PermissionError,))):
                path.unlink(missing_ok=True)


def _doom(folder: Path, number: int) -> None:
    doomed = folder.with_name(f".removed-{number}")
    shutil.rmtree(doomed, ignore_errors=True)
    folder.rename(doomed)


def clean_up(root: Path, retained: int = RETAINED) -> None:
    """Removes everything that is not needed by the current generation, the `retained` generations before it, or a
    reader. The caller must hold the write lock. Does nothing if a manifest cannot be read."""
    current = read_current(root)
    needed: set[int] = set()
    number = current.generation
    try:
        while number and len(needed) <= retained and number in numbers(root):
            needed.add(number)
            number = read_manifest(root, number).previous
        for other in numbers(root):
            folder = generation_folder(root, other)
            if other not in needed:
                with unheld(folder / "manifest.json") as free:
                    if free and OPEN_FILES_MOVE:
                        _doom(folder, other)
                if free and not OPEN_FILES_MOVE:
                    with contextlib.suppress(
                        PermissionError
                    ):  # a reader still uses the generation, so the next publish will remove it
                        _doom(folder, other)
        manifests = [read_manifest(root, n) for n in numbers(root)]
    except CorruptStoreError:
        return
    for path in (root / "generations").glob(".*"):
        shutil.rmtree(path, ignore_errors=True)
    _keep(root / "bundles", {b.name for m in manifests for b in m.bundles.values()})
    _keep(root / graph_rows.FOLDER, {graph_rows.file_name(b) for m in manifests for b in m.bundles.values()}, ".csv")
    _keep(root / decisions.FOLDER, {m.decisions for m in manifests})
    _keep(root / ablations.FOLDER, {m.ablations for m in manifests})
    for path in root.glob(".CURRENT.*.tmp"):
        path.unlink(missing_ok=True)
