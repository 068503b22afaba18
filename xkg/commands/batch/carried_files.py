"""Papers and repositories that are files of the machine of the graph, brought to the one that builds."""

import hashlib
import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from xkg.commands.batch.paper_list import ListedPaper
from xkg.engine.engine import Home
from xkg.errors import InputError, StoreError
from xkg.files import private_folder

MOST_BYTES = 512 << 20
_MOST_FILES = 100_000


def local_paths(papers: Iterable[ListedPaper]) -> Mapping[str, str]:
    """The absolute path of each paper and repository of a list that is a file or a folder here, by what the list calls
    it (without its `@commit`)."""
    found: dict[str, str] = {}
    for listed in papers:
        for name in filter(None, (listed.paper, listed.repository)):
            for candidate in dict.fromkeys((name, name.rpartition("@")[0])):
                try:
                    if candidate and Path(candidate).exists():
                        found[candidate] = str(Path(candidate).absolute())
                        break
                except OSError:  # too long a name
                    continue
    return found


class Files:
    """A service at home: the listed files, and no others."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = paths

    def packed(self, name: str) -> bytes | None:
        """A tar archive with the file or folder as its only member at the top; None for a name that the list gives no
        path. Raises `InputError`."""
        path = self._paths.get(name)
        return None if path is None else pack(Path(path))


def pack(path: Path) -> bytes:
    """Raises `InputError` for what cannot be read or is too large to be sent."""
    size = count = 0
    try:
        for folder, _, names in os.walk(path) if path.is_dir() else [(str(path.parent), [], [path.name])]:
            count += len(names)
            size += sum(os.lstat(f"{folder}/{name}").st_size for name in names)
            if size > MOST_BYTES or count > _MOST_FILES:
                raise InputError(
                    f"{path} has more than {MOST_BYTES >> 20} MB or {_MOST_FILES:,} files, which are not sent to other "
                    "machines: give the repository's address, or build it with --engine local"
                )
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(path, path.name, filter=_plain)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check its rights") from error
    return packed.getvalue()


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Files, folders and links, without pipes and devices, and without their owners."""
    if not (member.isfile() or member.isdir() or member.issym()):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


class Carried:
    """The files of a list as they are had on this machine, under `folder`."""

    def __init__(self, home: Home, folder: Path) -> None:
        self._home, self._folder = home, folder / "carried"

    def place(self, name: str) -> str:
        """The path that a paper or a repository of the list has here; the name itself where it is no file at home.
        Raises `InputError`, and `StoreError` where it cannot be written."""
        if (path := self._brought(name)) is not None:
            return path
        bare, at, commit = name.rpartition("@")
        path = self._brought(bare) if at else None
        return name if path is None else f"{path}@{commit}"

    def _brought(self, name: str) -> str | None:
        packed: bytes | None = self._home.call("files", "packed", name)
        if packed is None:
            return None
        place = self._folder / hashlib.sha256(packed).hexdigest()[:24]
        try:
            private_folder(self._folder)
            if not place.exists():
                with tempfile.TemporaryDirectory(prefix=".carry-", dir=self._folder) as work:
                    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
                        archive.extractall(f"{work}/files", filter=_inside)
                    if not place.exists():
                        shutil.move(f"{work}/files", place)
            (member,) = place.iterdir()
        except (OSError, tarfile.TarError, ValueError) as error:
            raise StoreError(f"{place} cannot be written ({error}): free space on this node") from error
        return str(member)


def _inside(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo | None:
    """Links that lead out of the folder stay behind."""
    try:
        return tarfile.data_filter(member, folder)
    except tarfile.FilterError:
        return None
