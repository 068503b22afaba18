"""Reads, decodes and hashes a paper's files. Never opens a file outside the paper's folder."""

import contextlib
import hashlib
import os
import posixpath
import re
import stat
from codecs import getincrementaldecoder
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from charset_normalizer import from_bytes

from xkg.errors import InputError, UnsafeInputError

LARGEST_TEXT = 8_000_000
"""Maximum size of a text file in bytes, and of a whole paper in characters. The largest arXiv sources have about 2 MB
of text."""
_MOST_ENTRIES = 20_000
_ENCODINGS = ["gb18030", "big5", "shift_jis", "euc_jp", "euc_kr", "cp1252"]
"""Encodings other than UTF-8 that occur in papers."""
_DECLARED = re.compile(
    rb"^[^%\n]{0,200}\\(?:usepackage\s*\[(latin\d{1,2}|cp\d{3,4}|koi8-ru?|ansinew|applemac)\]\s*\{inputenc\}|inputencoding\{(latin\d{1,2}|cp\d{3,4}|koi8-ru?|ansinew|applemac)\})",
    re.M,
)
_NAMED = {"ansinew": "cp1252", "applemac": "mac_roman", "latin9": "iso8859-15", "latin10": "iso8859-16"}
"""Encodings that have different names in LaTeX and Python."""
_KANA = re.compile(r"[ぁ-ん].{0,20}[ぁ-ん].{0,20}[ぁ-ん]")
_LFS = "version https://git-lfs.github.com/"
_CONTROLS = tuple(chr(code) for code in range(32) if chr(code) not in "\t\n\f\r")
_FEW_CONTROLS, _MOST_CONTROLS = 50, 0.02
"""Maximum number and fraction of control characters in a text. Prose contains almost no control characters in any
encoding, but about 10% of the characters in compressed data are control characters."""


class Reader(Protocol):
    """Reads a paper's files. Paths are relative and normalized, and use '/'.

    `read` returns None if the path is missing or not a regular file, and raises `UnsafeInputError` if the file is
    larger than `LARGEST_TEXT`."""

    def names(self) -> list[str]: ...

    def read(self, path: str) -> bytes | None: ...


class FolderReader:
    """Reads files from a folder on disk. Opens only regular files and never follows symbolic links in the folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def names(self) -> list[str]:
        names: list[str] = []
        for folder, folders, files in os.walk(self.root):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            inside = Path(folder).relative_to(self.root).as_posix()
            names += [posixpath.normpath(posixpath.join(inside, name)) for name in files]
            if len(names) > _MOST_ENTRIES:
                raise UnsafeInputError(
                    f"{self.root} contains more than {_MOST_ENTRIES} files, too many for a paper; pass the main file"
                )
        return sorted(names)

    def read(self, path: str) -> bytes | None:
        """Returns the file's bytes. Raises `InputError` if permission is denied."""
        try:
            folder = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            return None
        try:
            *parents, name = path.split("/")
            for parent in parents:
                inner = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
                os.close(folder)
                folder = inner
            # Without O_NONBLOCK, opening a pipe would wait for a writer.
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        except PermissionError as error:
            raise InputError(f"{self.root / path} cannot be read; fix its permissions") from error
        except (OSError, ValueError):
            return None
        finally:
            os.close(folder)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            return None
        with os.fdopen(descriptor, "rb") as file:
            if status.st_size > LARGEST_TEXT:
                raise UnsafeInputError(too_large(path, status.st_size))
            return file.read(LARGEST_TEXT)


class MemoryReader:
    """Reads files from an archive in memory."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files

    def names(self) -> list[str]:
        return sorted(self.files)

    def read(self, path: str) -> bytes | None:
        return self.files.get(path)


def too_large(path: str, size: int) -> str:
    limit = LARGEST_TEXT // 1_000_000
    return f"{path} is {size / 1_000_000:.0f} MB, over the limit of {limit} MB for a paper's text; pass its source"


class PaperFiles:
    """Reads a paper's text files. Paths are relative to `folder`, which contains the main file. `warnings` lists
    problems found in the files."""

    def __init__(self, reader: Reader, folder: str = "") -> None:
        self._reader = reader
        self._folder = folder
        self._hash = hashlib.sha256()
        self._texts: dict[str, str | None] = {}
        self._encoding = ""
        self.warnings: list[str] = []

    def names(self) -> Iterator[str]:
        prefix = self._folder + "/" if self._folder else ""
        return (name[len(prefix) :] for name in self._reader.names() if name.startswith(prefix))

    def main(self, path: str) -> str:
        """Like `text`, but raises `InputError` if the file is missing, empty or not text, and `UnsafeInputError` if it
        is too large."""
        text = self._load(path)
        if text is None:
            raise InputError(f"{path} is missing or not a regular file; pass the paper's main file")
        if not text.strip():
            raise InputError(f"{path} is empty; pass the paper's source")
        if sum(map(text.count, _CONTROLS)) > max(_FEW_CONTROLS, len(text) * _MOST_CONTROLS):
            raise InputError(f"{path} is not a text file; pass the paper's LaTeX or Markdown source")
        return text

    def text(self, path: str) -> str | None:
        """Returns the file's text with normalized line endings. Returns None if it is missing, too large, or outside
        the reader's files."""
        normal = inside(path, self._folder)
        if normal is None:
            self._warn(f"{path} is outside the paper's folder and was not read")
            return None
        try:
            text = self._load(normal)
            if text is not None and text.startswith(_LFS):
                raise InputError(f"{normal} is a Git LFS pointer; run `git lfs pull`")
            return text
        except InputError as error:
            self._texts[normal] = None
            self._warn(f"not read: {error}")
            return None

    def exists(self, path: str) -> bool:
        normal = inside(path, self._folder)
        found = normal is not None and posixpath.join(self._folder, normal) in self._reader.names()
        self._hash.update(f"{path} {found}".encode())
        return found

    def only(self, name: str) -> str | None:
        """Returns the text of the file with this name, even outside `folder`. Returns None if no file or several files
        have this name."""
        try:
            paths = [path for path in self._reader.names() if posixpath.basename(path) == name]
            data = self._reader.read(paths[0]) if len(paths) == 1 else None
        except InputError:
            return None
        if data is None:
            return None
        self._hash.update(data)
        return self._decode(name, data)

    def digest(self) -> str:
        """Returns the SHA-256 hash of all files read so far, in order of first reading."""
        return self._hash.hexdigest()

    def _load(self, path: str) -> str | None:
        if path not in self._texts:
            data = self._reader.read(posixpath.normpath(posixpath.join(self._folder, path)))
            if data is not None:
                self._hash.update(data)
            self._texts[path] = None if data is None else self._decode(path, data)
        return self._texts[path]

    def _decode(self, path: str, data: bytes) -> str:
        if declared := _DECLARED.search(data):
            name = (declared[1] or declared[2]).decode()
            self._encoding = _NAMED.get(name, name)
        wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
        decoder = getincrementaldecoder("utf-16" if wide else "iso-2022-jp" if b"\x1b$" in data else "utf-8-sig")()
        try:
            text = decoder.decode(data)
            if decoder.getstate()[0]:
                self._warn(f"{path} ends in the middle of a character; check that the file is complete")
        except UnicodeDecodeError:
            text, encoding = _decoded(data, self._encoding)
            self._warn(f"{path} is not UTF-8; it was read as {encoding}")
        if "\0" in text:
            self._warn(f"{path} contains NUL characters; they were replaced with spaces")
        return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ")

    def _warn(self, line: str) -> None:
        if line not in self.warnings:
            self.warnings.append(line)


def _decoded(data: bytes, declared: str) -> tuple[str, str]:
    """Returns the decoded text and the name of its encoding. Tries the encoding declared by the paper, then the most
    likely encoding."""
    try:
        return data.decode(declared), declared
    except (LookupError, ValueError):
        found = from_bytes(data, cp_isolation=_ENCODINGS).best()
        if found is None:
            return data.decode("latin-1"), "Latin-1"
        if found.encoding == "gb18030" and _KANA.search(str(found)):  # EUC-JP encodes kana with the same bytes
            with contextlib.suppress(ValueError):
                return data.decode("euc_jp"), "euc_jp"
        return str(found), found.encoding


def inside(path: str, folder: str = "") -> str | None:
    """Normalizes `path`, which is relative to `folder`. Returns None if the result is outside the paper's root
    folder."""
    plain = path.strip().replace("\\", "/")
    whole = posixpath.normpath(posixpath.join(folder, plain))
    if whole.startswith(("/", "../")) or whole in ("..", ".") or "\0" in path or ":" in plain.split("/")[0]:
        return None
    return posixpath.relpath(whole, folder) if folder else whole
