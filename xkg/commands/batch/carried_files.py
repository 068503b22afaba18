"""Copies local papers and repositories from the graph's machine to the machine that builds them."""

import hashlib
import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from xkg.commands.batch.paper_list import ListedPaper
from xkg.engine.engine import Home
from xkg.errors import InputError, StoreError
from xkg.files import file_lock, private_folder

MOST_BYTES = 512 << 20
_MOST_FILES = 100_000
_INCLUDING = {".tex", ".ltx", ".latex", ".md", ".markdown", ".mmd"}
_INCLUDED = _INCLUDING | set(".bbl .bib .bst .cfg .cls .clo .def .inc .pgf .sty .tikz .txt".split())


def local_paths(papers: Iterable[ListedPaper]) -> Mapping[str, str]:
    """Maps names in the list (without `@commit`) to absolute paths, for papers and repositories that are local files or
    folders."""
    found: dict[str, str] = {}
    for listed in papers:
        for name in filter(None, (listed.paper, listed.repository)):
            for candidate in dict.fromkeys((name, name.rpartition("@")[0])):
                try:
                    if candidate and Path(candidate).exists():
                        found[candidate] = str(Path(candidate).absolute())
                        break
                except OSError:  # the name is too long
                    continue
    return found


class Packed(NamedTuple):
    """A tar archive, and the path of the requested file in it."""

    archive: bytes
    path: str

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.archive).hexdigest()[:24]


class Files:
    """Serves only the listed files from the graph's machine."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = paths
        self._hashes: dict[tuple[Path, bool], str] = {}

    def described(self, name: str) -> tuple[str, str] | None:
        """Returns the hash of the archive from `packed`, computed on the first call, and the file's path in the
        archive. Packs all papers in a folder together, and only once. Raises the same errors as `packed`."""
        if (found := self._paths.get(name)) is None:
            return None
        path = Path(found)
        root, text = _root(path)
        if (root, text) not in self._hashes:
            self._hashes[root, text] = pack(path).hash
        return self._hashes[root, text], _path_in(root, path)

    def packed(self, name: str) -> Packed | None:
        """Returns the archive for a name, or None if the list has no path for it. Raises `InputError` if files cannot
        be read or are too large to send."""
        path = self._paths.get(name)
        return None if path is None else pack(Path(path))


def pack(path: Path) -> Packed:
    """Packs a folder or a single file. If the file's format can include other files, also packs the text files in the
    same folder. Raises `InputError` if files cannot be read or are too large to send."""
    root, text = _root(path)
    try:
        files = _files(root, _INCLUDED) if text else _files(root) if root.is_dir() else [root]
        size = count = 0
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for file in files:
                count, size = count + 1, size + file.lstat().st_size
                if size > MOST_BYTES or count > _MOST_FILES:
                    raise InputError(
                        f"{root} has more than {MOST_BYTES >> 20} MB or {_MOST_FILES:,} files, too much to send to "
                        f"other machines; use a smaller folder or an address, or build it with --engine local"
                    )
                archive.add(file, file.relative_to(root.parent), recursive=False, filter=_plain)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check its permissions") from error
    return Packed(packed.getvalue(), _path_in(root, path))


def _root(path: Path) -> tuple[Path, bool]:
    """Returns the path to pack (the path itself or its folder), and whether to pack only text files."""
    text = path.suffix.lower() in _INCLUDING and path.is_file()
    return (path.parent if text else path), text


def _path_in(root: Path, path: Path) -> str:
    return str(path.relative_to(root.parent))


def _files(root: Path, suffixes: Collection[str] | None = None) -> Iterator[Path]:
    """Yields folders and files under a folder, ordered by name. If `suffixes` is set, yields only non-hidden files with
    one of these suffixes."""
    yield root
    for folder, folders, names in os.walk(root):
        if suffixes is not None:
            folders[:] = [name for name in folders if not name.startswith(".")]
        folders.sort()
        yield from (Path(folder, name) for name in folders)
        for name in sorted(names):
            if suffixes is None or Path(name).suffix.lower() in suffixes:
                yield Path(folder, name)


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Keeps files, folders and links, but removes their owners. Drops pipes and devices."""
    if not (member.isfile() or member.isdir() or member.issym()):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


class Carried:
    """Copies the files in a list to this machine, under `folder`."""

    def __init__(self, home: Home, folder: Path) -> None:
        self._home, self._folder = home, folder / "carried"

    def place(self, name: str) -> str:
        """Returns the local path of a listed paper or repository. Returns the name itself if it is not a file on the
        graph's machine. Raises `InputError` if the graph's machine cannot send the file, and `StoreError` if it cannot
        be written."""
        if (path := self._brought(name)) is not None:
            return path
        bare, at, commit = name.rpartition("@")
        path = self._brought(bare) if at else None
        return name if path is None else f"{path}@{commit}"

    def _brought(self, name: str) -> str | None:
        described: tuple[str, str] | None = self._home.call("files", "described", name)
        if described is None:
            return None
        place = self._folder / described[0]
        try:
            private_folder(self._folder)
            with file_lock(self._folder / f".{described[0]}.lock"):  # one request per machine
                if not place.exists():
                    packed: Packed = self._home.call("files", "packed", name)
                    place = self._folder / packed.hash
                    if not place.exists():
                        self._unpack(packed, place)
        except (OSError, tarfile.TarError, ValueError) as error:
            raise StoreError(f"{place} cannot be written ({error}); free space on this node") from error
        return str(place / described[1])

    def _unpack(self, packed: Packed, place: Path) -> None:
        with tempfile.TemporaryDirectory(prefix=".carry-", dir=self._folder) as work:
            with tarfile.open(fileobj=io.BytesIO(packed.archive)) as archive:
                archive.extractall(f"{work}/files", filter=_inside)
            if not place.exists():
                shutil.move(f"{work}/files", place)


def _inside(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo | None:
    """Drops links that point outside the folder."""
    try:
        return tarfile.data_filter(member, folder)
    except tarfile.FilterError:
        return None
