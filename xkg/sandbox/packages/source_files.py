"""Reads a source distribution: its file and its build requirements. Runs inside the sandbox, with the standard library
only, and runs none of its code."""

import contextlib
import functools
import hashlib
import itertools
import tarfile
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from xkg.sandbox.packages.toml_text import read_toml
from xkg.sandbox.packages.wheels import Failed, get

_SETTINGS = "pyproject.toml"
_DEFAULT = ["setuptools", "wheel"]
"""The default build requirements of a project that states none (PEP 517)."""
_MOST_MEMBERS, _LONGEST_SETTINGS = 50_000, 300_000
_CHUNK = 1 << 20


def fetched(url: str, sha256: str, folder: Path, most: int) -> Path:
    """Downloads the file at a URL into a folder. Raises `Failed` if it is too large or its hash differs."""
    place = folder / Path(urllib.parse.unquote(urllib.parse.urlsplit(url).path)).name
    digest, size = hashlib.sha256(), 0
    folder.mkdir(exist_ok=True)
    with get(url) as answer, place.open("wb") as file:
        while chunk := answer.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
            if size > most:
                raise Failed(f"its source is larger than {most >> 20:,} MB")
            file.write(chunk)
    if sha256 and digest.hexdigest() != sha256:
        raise Failed("its source is not the file that the registry names")
    return place


def contents_of(source: Path) -> tuple[list[str], set[str]]:
    """The build requirements that a source distribution states, otherwise those of setuptools, and the names of its
    modules and folders."""
    names: set[str] = set()
    requires = _DEFAULT
    with contextlib.suppress(
        OSError, ValueError, EOFError, tarfile.TarError, zipfile.BadZipFile, KeyError, RuntimeError
    ):
        for path, read in _members(source):
            names |= set(path.removesuffix(".py").split("/"))
            if path.count("/") == 1 and path.endswith(f"/{_SETTINGS}"):
                stated = read_toml(read().decode()).get("build-system", {}).get("requires", _DEFAULT)
                requires = [line for line in stated if isinstance(line, str)]
    return requires, names


def _members(source: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """The paths of an archive's files, below a single folder at the top, each with a function that reads it."""
    if source.name.endswith(".zip"):
        with zipfile.ZipFile(source) as archive:
            for name in archive.namelist()[:_MOST_MEMBERS]:
                yield name, functools.partial(_start, functools.partial(archive.open, name))
        return
    with tarfile.open(source) as packed:
        for member in itertools.islice(packed, _MOST_MEMBERS):
            if member.isreg():
                yield member.name, functools.partial(_start, functools.partial(packed.extractfile, member))


def _start(opened: Callable[[], IO[bytes] | None]) -> bytes:
    file = opened()
    return file.read(_LONGEST_SETTINGS) if file else b""
