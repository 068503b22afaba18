"""Unpacks a paper's archive into memory, without writing to disk."""

import gzip
import io
import posixpath
import stat
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import IO

from xkg.build.paper.files import LARGEST_TEXT, inside
from xkg.errors import InputError, UnsafeInputError

LARGEST_ARCHIVE = 200_000_000
MOST_MEMBERS = 10_000
MOST_UNPACKED = 1_000_000_000
MOST_TEXT = 8 * LARGEST_TEXT
HIGHEST_RATIO = 300
_RATIO_COUNTS_FROM = 20_000_000

_TEXT_SUFFIXES = frozenset(
    (".tex", ".ltx", ".latex", ".md", ".markdown", ".mmd", ".txt", ".bib", ".bbl", ".sty", ".cls", ".def", ".cfg",
     ".inc", ".tikz", ".pgf",)
)  # fmt: skip


def is_archive(head: bytes) -> bool:
    """Returns whether `unpack` can read a file that begins with `head`, which need not exceed 512 bytes."""
    return head.startswith((b"\x1f\x8b", b"PK\x03\x04", b"PK\x05\x06")) or head[257:262] == b"ustar"


def unpack(data: bytes, path: Path) -> dict[str, bytes]:
    """Returns the text files in a .tar, .tar.gz or .zip archive, keyed by path. A single TeX file in a .gz has the key
    `main.tex`. `path` is only used in error messages.

    Skips figures. Raises `UnsafeInputError` if the archive contains links, devices or outside paths, or is too large
    for a paper. Raises `InputError` if the archive is corrupt or encrypted."""
    require_small_archive(len(data), path)
    file = io.BytesIO(data)
    try:
        if data.startswith(b"PK"):
            return _unzip(path, file)
        if data.startswith(b"\x1f\x8b"):
            return _gunzip(path, file, len(data))
        return _untar(path, file)
    except InputError:
        raise
    except (
        OSError,
        EOFError,
        ValueError,
        zlib.error,
        tarfile.TarError,
        zipfile.BadZipFile,
        # tarfile raises these errors for invalid header fields
        LookupError,
        OverflowError,
        RuntimeError,
        MemoryError,
    ) as error:
        raise InputError(f"{path} is a corrupt archive; download it again") from error


def require_small_archive(size: int, path: Path) -> None:
    """Raises `UnsafeInputError` if an archive is too large for a paper."""
    if size > LARGEST_ARCHIVE:
        raise _too_much(path, f"is {size // 1_000_000} MB, more than the limit of {LARGEST_ARCHIVE // 1_000_000} MB")


def _too_much(path: Path, what: str) -> UnsafeInputError:
    return UnsafeInputError(f"{path} {what}, which is implausible for a paper's source; the archive was not unpacked")


class _Counted(io.RawIOBase):
    def __init__(self, stream: IO[bytes], path: Path, compressed: int) -> None:
        self._stream, self._path, self._compressed, self._count = stream, path, compressed, 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            raise ValueError("unbounded read")
        data = self._stream.read(min(size, 1 << 20))
        self._count += len(data)
        if self._count > MOST_UNPACKED:
            raise _too_much(self._path, f"unpacks to more than {MOST_UNPACKED // 1_000_000} MB")
        if self._count > _RATIO_COUNTS_FROM and self._count > HIGHEST_RATIO * self._compressed:
            raise _too_much(self._path, f"unpacks to more than {HIGHEST_RATIO} times its size")
        return data


def _gunzip(path: Path, file: IO[bytes], size: int) -> dict[str, bytes]:
    with gzip.GzipFile(fileobj=file) as stream:
        head = stream.read(512)
    file.seek(0)
    with gzip.GzipFile(fileobj=file) as stream:
        counted = _Counted(stream, path, size)  # type: ignore[arg-type]
        if head[257:262] == b"ustar" or _old_tar(head):
            return _untar(path, counted)
        data = bytearray()
        while piece := counted.read(1 << 20):
            data += piece
            if len(data) > LARGEST_TEXT:
                raise _too_much(path, f"contains a file larger than {LARGEST_TEXT // 1_000_000} MB")
    if data.startswith(b"%PDF"):
        raise InputError(f"{path} contains a PDF; pass the LaTeX or Markdown source")
    return {"main.tex": bytes(data)}


def _old_tar(head: bytes) -> bool:
    """Returns whether a file is a pre-ustar tar. Such files have no magic number, so the header's checksum is
    verified."""
    if len(head) < 512:
        return False
    try:
        tarfile.TarInfo.frombuf(head, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


class _Files:
    """Collects files within limits on their number and total size."""

    def __init__(self, path: Path) -> None:
        self.path, self.files, self.members, self.text = path, dict[str, bytes](), 0, 0

    def admit(self, name: str) -> str:
        self.members += 1
        if self.members > MOST_MEMBERS:
            raise _too_much(self.path, f"contains more than {MOST_MEMBERS} files")
        normal = inside(name.rstrip("/") or "/")
        if normal is None and posixpath.normpath(name) != ".":
            raise UnsafeInputError(
                f"{self.path} contains {name!r}, a path outside the archive; the archive was not unpacked"
            )
        if ".." in name.replace("\\", "/").split("/"):
            raise UnsafeInputError(f"{self.path} contains {name!r}, a path with '..'; the archive was not unpacked")
        return normal or ""

    def take(self, name: str, stream: IO[bytes]) -> None:
        suffix = posixpath.splitext(name)[1].lower()
        if suffix and suffix not in _TEXT_SUFFIXES and not name.startswith("00README"):
            return
        data = stream.read(LARGEST_TEXT + 1)
        if len(data) > LARGEST_TEXT:
            return
        self.text += len(data)
        if self.text > MOST_TEXT:
            raise _too_much(self.path, f"contains more than {MOST_TEXT // 1_000_000} MB of text")
        self.files[name] = data


def _untar(path: Path, stream: IO[bytes] | io.RawIOBase) -> dict[str, bytes]:
    files = _Files(path)
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            name = files.admit(member.name)
            if member.isdir():
                continue
            if not member.isreg():
                kind = "a link" if member.issym() or member.islnk() else "a device"
                raise UnsafeInputError(f"{path} contains {kind}, {member.name!r}; the archive was not unpacked")
            content = archive.extractfile(member)
            if content is not None:
                files.take(name, content)
    if not files.members:
        raise InputError(f"{path} is a corrupt archive; download it again")
    return files.files


def _unzip(path: Path, file: IO[bytes]) -> dict[str, bytes]:
    files = _Files(path)
    unpacked = 0
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            name = files.admit(member.orig_filename)
            mode = member.external_attr >> 16
            if stat.S_ISLNK(mode):
                raise UnsafeInputError(f"{path} contains a link, {member.filename!r}; the archive was not unpacked")
            unpacked += member.file_size
            if unpacked > MOST_UNPACKED or (
                member.file_size > _RATIO_COUNTS_FROM and member.file_size > HIGHEST_RATIO * member.compress_size
            ):
                raise _too_much(path, "unpacks to far more than its compressed size")
            if member.is_dir():
                continue
            if member.flag_bits & 1:
                raise InputError(f"{path} is encrypted; use an archive without a password")
            with archive.open(member) as content:
                files.take(name, content)
    return files.files
