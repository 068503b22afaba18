"""Reads a wheel's contents from the file list at its end, without downloading the whole wheel. Runs inside the sandbox
and uses only the standard library."""

import contextlib
import functools
import hashlib
import io
import json
import re
import ssl
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

# Wheels with numerical code unpack to about three times their size.
# This estimate is used if a server does not support range requests.
_UNPACKED = 3.0
_TAILS = (1 << 18, 16 << 20)
"""Numbers of bytes to read from the end of a wheel. The larger number is used if the file list is longer than the
smaller number."""
_LARGEST = 32 << 20
_DYNAMIC = r"__getattr__|lazy_loader|sys\.modules|\b(globals|vars|setattr|exec)\(|\.(so|pyd)\n"
"""Matches code that may define names absent from the module's text."""


class Failed(Exception):
    """Raised if a set of packages is not available. The message is a short reason."""


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
    top-level names, or None if they could not be read."""

    size: int
    modules: frozenset[str] | None
    download: int = 0


def get(url: str, part: str = "") -> Any:
    """Returns the response for a URL, or for one byte range."""
    request = urllib.request.Request(url, headers={"User-Agent": "xkg"} | ({"Range": part} if part else {}))
    return urllib.request.urlopen(request, timeout=30, context=_trust())


@functools.cache
def _trust() -> ssl.SSLContext:
    return ssl.create_default_context()


def contents(wheel: Wheel, cache: str) -> Contents:
    """Returns a wheel's contents from the file list at its end, without downloading the whole wheel. Results are cached
    in the folder `cache`."""
    file = Path(cache, f"contents-{hashlib.sha256(f'{wheel.url} {wheel.sha256}'.encode()).hexdigest()}.json")
    with contextlib.suppress(OSError, ValueError):
        kept = json.loads(file.read_text())
        return Contents(kept["size"], frozenset(kept["modules"]), kept["download"])
    found = _listed(wheel)
    if wheel.sha256 and found.modules is not None:
        with contextlib.suppress(OSError):
            file.write_text(json.dumps(found._asdict(), default=sorted))
    return found


def _listed(wheel: Wheel) -> Contents:
    place = urllib.parse.urlsplit(wheel.url)
    for tail in _TAILS:
        try:
            if place.scheme == "file":
                file = Path(urllib.parse.unquote(place.path))
                return _contents(file, file.stat().st_size)
            end, download = _end(wheel.url, tail)
            return _contents(io.BytesIO(end), download)
        except Failed as error:
            return Contents(int(int(str(error)) * _UNPACKED), None, int(str(error)))
        except (OSError, ValueError, zipfile.BadZipFile):
            continue
    return Contents(0, None)


def _contents(file: Path | io.BytesIO, download: int) -> Contents:
    with zipfile.ZipFile(file) as archive:
        listed = archive.infolist()
    size = sum(entry.file_size * (1 + entry.filename.endswith(".py")) for entry in listed)  # the size includes bytecode
    return Contents(size, top_level(entry.filename for entry in listed), download)


def _end(url: str, most: int) -> tuple[bytes, int]:
    """Returns the last bytes of a remote file, and its size. Raises `Failed` with the size if the server does not
    support range requests."""
    with get(url, f"bytes=-{most}") as answer:
        if answer.status != 206:
            raise Failed(answer.headers.get("Content-Length") or "0")
        return answer.read(most), int(answer.headers["Content-Range"].rpartition("/")[2])


def _downloaded(wheel: Wheel) -> zipfile.ZipFile:
    with get(wheel.url) as answer:
        return zipfile.ZipFile(io.BytesIO(answer.read(_LARGEST)))


def member(wheel: Wheel, path: str) -> bytes:
    """Downloads a small wheel and reads one of its files. Raises `OSError`, `LookupError` or `ValueError` if the file
    cannot be read."""
    with _downloaded(wheel) as archive:
        if archive.getinfo(path).file_size > _LARGEST:
            raise ValueError("the file is too large")
        return archive.read(path)


def lacks(wheel: Wheel, module: str, names: Iterable[str]) -> bool:
    """Returns whether a small wheel's module certainly has none of `names`, because they do not occur in the module's
    paths or sources. Returns False if the module may define names in other ways."""
    try:
        with _downloaded(wheel) as archive:
            files = [file for file in archive.infolist() if re.split(r"[./]", file.filename)[0] == module]
            if sum(file.file_size for file in files) > _LARGEST:
                return False
            sources = {file.filename: archive.read(file) for file in files}
    except (OSError, RuntimeError, ValueError, EOFError, zipfile.BadZipFile, zlib.error):
        return False
    text = {path: source.decode("utf-8", "replace") for path, source in sources.items()}
    everything = "\n".join([*text, *text.values()])
    own = text.get(f"{module}/__init__.py", text.get(f"{module}.py", "exec("))
    if "*" in own:  # the module may import all names of other modules
        own = everything
    outside = rf"from\s+(?!\.|{module}\b)\S+\s+import\s*\(?\s*\*"
    named = "|".join(rf"\b{re.escape(name)}\b" for name in names)
    return not re.search(f"{_DYNAMIC}|{outside}", own) and not re.search(named, everything)


def top_level(names: Iterable[str]) -> frozenset[str]:
    """Returns the importable names in a wheel: packages (even without `__init__`) and single modules."""
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
