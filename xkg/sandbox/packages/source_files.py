"""Downloads source distributions and parses their build requirements. Runs inside the sandbox, uses only the standard
library, and runs none of a distribution's code."""

import contextlib
import hashlib
import tarfile
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path

from xkg.sandbox.packages.toml_text import read_toml
from xkg.sandbox.packages.wheels import Failed, get

_SETTINGS = "pyproject.toml"
_DEFAULT = ["setuptools", "wheel"]
"""The default build requirements for a project that declares none (PEP 517)."""
_MOST_MEMBERS, _LONGEST_SETTINGS = 50_000, 300_000
_CHUNK = 1 << 20


def fetched(url: str, sha256: str, folder: Path, most: int) -> Path:
    """Downloads the file at a URL into a folder. Raises `Failed` if the file is too large or its hash differs."""
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
        raise Failed("its source is not the file listed by the registry")
    return place


def build_requirements(source: Path) -> list[str]:
    """Returns the build requirements declared by a source distribution, or else the setuptools defaults."""
    with contextlib.suppress(
        OSError, ValueError, EOFError, tarfile.TarError, zipfile.BadZipFile, KeyError, RuntimeError
    ):
        settings = _member(source)
        if settings is not None:
            stated = read_toml(settings.decode()).get("build-system", {}).get("requires", _DEFAULT)
            return [line for line in stated if isinstance(line, str)]
    return _DEFAULT


def _member(source: Path) -> bytes | None:
    if source.name.endswith(".zip"):
        with zipfile.ZipFile(source) as archive:
            for name in archive.namelist()[:_MOST_MEMBERS]:
                if name.count("/") == 1 and name.endswith(f"/{_SETTINGS}"):
                    with archive.open(name) as file:
                        return file.read(_LONGEST_SETTINGS)
        return None
    with tarfile.open(source) as packed:
        for number, member in enumerate(packed):
            if member.isreg() and member.name.count("/") == 1 and member.name.endswith(f"/{_SETTINGS}"):
                held = packed.extractfile(member)
                return held.read(_LONGEST_SETTINGS) if held else None
            if number > _MOST_MEMBERS:
                break
    return None
