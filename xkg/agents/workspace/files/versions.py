"""Stores the changes in each version of a set of files. Each version is a zip file named after its SHA-256."""

import hashlib
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

from xkg.build.repositories.branch import TreeFile
from xkg.errors import CorruptStoreError
from xkg.files import write_whole

_DATE = (1980, 1, 1, 0, 0, 0)
_EXECUTABLE, _PLAIN = 0o100755, 0o100644


def write_files(folder: Path, files: Mapping[str, TreeFile]) -> str:
    """Stores files and returns their digest. Raises `OSError` if the files cannot be written."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, file in sorted(files.items()):
            entry = zipfile.ZipInfo(path, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (_EXECUTABLE if file.executable else _PLAIN) << 16
            archive.writestr(entry, file.content)
    digest = hashlib.sha256(packed.getvalue()).hexdigest()
    write_whole(_place(folder, digest), packed.getvalue())
    return digest


def read_files(folder: Path, digest: str) -> dict[str, TreeFile]:
    """Returns the files stored under a digest. Raises `CorruptStoreError` if they are damaged or cannot be read."""
    place = _place(folder, digest)
    try:
        packed = place.read_bytes()
    except OSError as error:
        raise CorruptStoreError(f"{place} cannot be read ({error.strerror}); remove the run, and run again") from error
    if hashlib.sha256(packed).hexdigest() != digest:
        raise CorruptStoreError(f"{place} is damaged; remove the run, and run again")
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        return {
            entry.filename: TreeFile(archive.read(entry), entry.external_attr >> 16 == _EXECUTABLE)
            for entry in archive.infolist()
        }


def copy_files(folder: Path, digest: str, target: Path) -> None:
    """Copies the files stored under a digest to another folder. Raises `OSError` if they cannot be read or written."""
    write_whole(_place(target, digest), _place(folder, digest).read_bytes())


def _place(folder: Path, digest: str) -> Path:
    return folder / f"{digest}.zip"
