"""Limits disk space for environments, and removes old ones."""

import contextlib
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from xkg.config import EnvironmentSettings
from xkg.files import file_lock
from xkg.operating_system import lock
from xkg.sandbox.runner import Environment

_USED, _PLANNING = ".used", ".planning"
WORK = "work-"
"""Prefix of the folders for installer runs, below `making`."""
_GRACE_SECONDS = 600
_MOST_MB = 12_000
"""The default limit for one environment, in MB. An environment with torch and CUDA takes 4,300 MB, or 10,000 MB with
other frameworks."""


class Quota(NamedTuple):
    """Disk space limits in megabytes: `one` for a single environment, and `total` for all environments together.
    `source` names the origin of the limit `one`."""

    one: int
    total: int
    source: str


def quota(folder: Path, settings: EnvironmentSettings) -> Quota:
    """Returns the limits from the settings. The default total is half of the disk space that is free or already used by
    environments."""
    place = next(place for place in (folder, *folder.parents) if place.exists())
    half = (shutil.disk_usage(place).free + _total(folder) >> 20) // 2
    total = half if settings.total_mb is None else settings.total_mb
    if settings.max_mb is not None:
        return Quota(settings.max_mb, total, "environment.max_mb")
    one = min(_MOST_MB, total)
    if one == _MOST_MB:
        return Quota(one, total, "environment.max_mb is not set")
    source = "half of the free disk space" if settings.total_mb is None else "environment.total_mb"
    return Quota(one, total, source)


@contextlib.contextmanager
def in_use(environment: Environment) -> Iterator[None]:
    """Keeps this and other processes from removing an environment until the context ends."""
    if environment.site is None:
        yield
        return
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # a folder that is not writable cannot be removed either
            file = stack.enter_context((environment.site.parent / _USED).open("w"))
            lock(file.fileno(), shared=True, wait=True)
        yield


@contextlib.contextmanager
def planning(folder: Path) -> Iterator[None]:
    """Keeps this and other processes from removing files that plans refer to (uv's cache, built wheels) until the
    context ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with file_lock(folder / _PLANNING, shared=True):
        yield


def prune(folder: Path, keep_mb: int) -> list[str]:
    """Frees disk space until the remaining files take up at most `keep_mb` MB. Removes uv's cache first. Then removes
    built and unpacked wheels that no environment uses, and finally the least recently requested environments with their
    wheels. Keeps environments that are in use or were requested in the last ten minutes. Also keeps the cache and built
    wheels while any process is planning. The caller must ensure that no installation is running. Returns the hashes of
    removed environments."""
    homes = [home for home in folder.glob("*") if re.fullmatch(r"[0-9a-f]{16}", home.name)]
    homes.sort(key=lambda home: home.stat().st_mtime, reverse=True)
    removed: list[str] = []
    total = _without_loose_wheels(folder, keep_mb)
    while homes and total > keep_mb << 20:
        home = homes.pop()
        if time.time() - home.stat().st_mtime > _GRACE_SECONDS and _free(home):
            trash = home.with_name(f".{home.name}")
            home.rename(trash)
            shutil.rmtree(trash, ignore_errors=True)
            removed.append(home.name)
            total = _without_loose_wheels(folder, keep_mb)
    return removed


def _without_loose_wheels(folder: Path, keep_mb: int) -> int:
    """Removes uv's cache, then built and unpacked wheels that no environment uses, oldest first, until `folder` takes
    up at most `keep_mb` MB. Returns the remaining size of `folder` in bytes."""
    total = _total(folder)
    if total > keep_mb << 20:
        with file_lock(folder / _PLANNING, wait=False) as unused:
            # The cache contains links to all wheels. Runs that were killed leave their folders behind.
            making = folder / "making"
            for remade in (making / "cache", folder / "built", *making.glob(f"{WORK}*")) if unused else ():
                shutil.rmtree(remade, ignore_errors=True)
        total = _total(folder)
    for wheel in sorted((folder / "making" / "wheels").glob("*"), key=lambda wheel: wheel.stat().st_mtime):
        if total > keep_mb << 20 and not _linked(wheel):
            total -= _total(wheel)
            shutil.rmtree(wheel, ignore_errors=True)
    return total


def _free(home: Path) -> bool:
    try:
        with file_lock(home / _USED, wait=False) as free:
            return free
    except OSError:
        return False


def _linked(wheel: Path) -> bool:
    """Returns whether an environment contains files from this unpacked wheel."""
    for parent, _, names in os.walk(wheel):
        for name in names:
            return (Path(parent) / name).lstat().st_nlink > 1
    return False


def _total(folder: Path) -> int:
    """Returns the size of a folder in bytes. Files with several hard links count once."""
    sizes: dict[int, int] = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                status = os.lstat(f"{parent}/{name}")
                sizes[status.st_ino] = status.st_size
    return sum(sizes.values())
