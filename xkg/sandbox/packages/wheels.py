"""Reads a wheel's contents from the file list at the wheel's end, without downloading the whole wheel. Runs inside the
sandbox and uses only the standard library."""

import contextlib
import functools
import hashlib
import io
import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

# Wheels with numerical code unpack to about three times their size. This estimate is used if a server does not support
# range requests.
_UNPACKED = 3.0
_TAIL = 1 << 18
_MAX_MEMBER = 4 << 20


class Failed(Exception):
    """A set of packages is not available. The message is a short reason."""


class Unreachable(Failed):
    pass


class Wheel(NamedTuple):
    name: str
    version: str
    url: str
    sha256: str

    @property
    def pin(self) -> str:
        return f"{self.name}=={self.version}"


class Contents(NamedTuple):
    """A wheel's contents. `size` is the unpacked size and `download` the file size, in bytes. `modules` are the wheel's
    top-level names, or None if the names could not be read; `files` are the paths in the wheel."""

    size: int
    modules: frozenset[str] | None
    files: frozenset[str] = frozenset()
    download: int = 0


class _Remote(io.RawIOBase):
    """A remote file that is read in parts, starting from its end."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._at = 0
        with get(url, f"bytes=-{_TAIL}") as answer:
            whole = answer.headers.get("Content-Length")
            if answer.status != 206:
                raise Failed(f"no parts:{whole or 0}")
            self._tail: bytes = answer.read(_TAIL)
            self.size = int(answer.headers["Content-Range"].rpartition("/")[2])

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        return self._at

    def read(self, count: int = -1) -> bytes:
        count = self.size - self._at if count < 0 else min(count, self.size - self._at)
        if count <= 0:
            return b""
        start = self._at - (self.size - len(self._tail))
        if start >= 0:
            part = self._tail[start : start + count]
        else:
            if count > 64 << 20:
                raise Failed("its file list is too large")
            with get(self._url, f"bytes={self._at}-{self._at + count - 1}") as answer:
                part = answer.read(count)
        self._at += len(part)
        return part


def get(url: str, part: str = "") -> Any:
    """Returns the response for a URL, or for one byte range."""
    request = urllib.request.Request(url, headers={"User-Agent": "xkg"} | ({"Range": part} if part else {}))
    return urllib.request.urlopen(request, timeout=30, context=_trust())


@functools.cache
def _trust() -> ssl.SSLContext:
    return ssl.create_default_context()


def _opened(wheel: Wheel) -> "_Remote | io.BufferedReader":
    place = urllib.parse.urlsplit(wheel.url)
    return open(urllib.parse.unquote(place.path), "rb") if place.scheme == "file" else _Remote(wheel.url)  # noqa: PTH123


def contents(wheel: Wheel, cache: str) -> Contents:
    """Returns a wheel's contents from the file list at the wheel's end, without downloading the whole wheel. Results
    are cached in the folder `cache`."""
    file = Path(cache, f"contents-{hashlib.sha256(f'{wheel.url} {wheel.sha256}'.encode()).hexdigest()}.json")
    with contextlib.suppress(OSError, ValueError):
        kept = json.loads(file.read_text())
        return Contents(kept["size"], frozenset(kept["modules"]), frozenset(kept["files"]), kept["download"])
    found = _listed(wheel)
    if wheel.sha256 and found.modules is not None:
        with contextlib.suppress(OSError):
            file.write_text(json.dumps(found._asdict(), default=sorted))
    return found


def _listed(wheel: Wheel) -> Contents:
    try:
        with _opened(wheel) as file, zipfile.ZipFile(file) as archive:
            listed = archive.infolist()
            download = file.seek(0, io.SEEK_END)
    except Failed as error:
        whole = int(str(error).rpartition(":")[2]) if str(error).startswith("no parts:") else 0
        return Contents(int(whole * _UNPACKED), None, download=whole)
    except (OSError, ValueError, zipfile.BadZipFile):
        return Contents(0, None)
    size = sum(entry.file_size * (1 + entry.filename.endswith(".py")) for entry in listed)  # including bytecode
    names = [entry.filename for entry in listed]
    return Contents(size, top_level(names), frozenset(names), download)


def member(wheel: Wheel, path: str) -> bytes | None:
    """Reads one file from a wheel. Returns None if the file cannot be read or is too large to be a module."""
    try:
        with _opened(wheel) as file, zipfile.ZipFile(file) as archive:
            return archive.read(path) if archive.getinfo(path).file_size <= _MAX_MEMBER else None
    except (Failed, OSError, ValueError, KeyError, NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error):
        return None


def top_level(names: Iterable[str]) -> frozenset[str]:
    """The importable names in a wheel: packages (even without `__init__`) and single modules."""
    modules = set()
    for name in names:
        first, _, rest = name.partition("/")
        if first.endswith(".data"):
            kind, _, rest = rest.partition("/")
            if kind not in ("purelib", "platlib"):
                continue
            first, _, rest = rest.partition("/")
        if first.endswith(".dist-info"):
            continue
        if (rest or first).endswith((".py", ".so", ".pyd")):
            modules.add(first if rest else first.partition(".")[0])
    return frozenset(modules)
