"""The disk space of environments: which are removed when there are too many, and which are not."""

import contextlib
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from xkg.files import file_lock
from xkg.operating_system import lock
from xkg.sandbox.runner import Environment

_USED = ".used"
_GRACE_SECONDS = 600


@contextlib.contextmanager
def in_use(environment: Environment) -> Iterator[None]:
    """Keeps an environment from being removed, by this process or another, while the context lasts."""
    if environment.site is None:
        yield
        return
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # not ours to write: then not ours to remove
            file = stack.enter_context((environment.site.parent / _USED).open("w"))
            lock(file.fileno(), shared=True, wait=True)
        yield


def prune(folder: Path, keep_mb: int) -> list[str]:
    """Removes the least recently requested environments, and the cache of downloads, until the rest fits in `keep_mb`.
    Environments in use stay, and those requested within the last ten minutes, which may be about to be used. Returns
    the removed hashes."""
    homes = [home for home in folder.iterdir() if re.fullmatch(r"[0-9a-f]{16}", home.name)]
    homes.sort(key=lambda home: home.stat().st_mtime, reverse=True)
    removed, total = [], 0
    for home in homes:
        total += _size(home)
        if total > keep_mb << 20 and time.time() - home.stat().st_mtime > _GRACE_SECONDS and _free(home):
            trash = home.with_name(f".{home.name}")
            home.rename(trash)
            shutil.rmtree(trash, ignore_errors=True)
            removed.append(home.name)
    if total + _size(folder / "making") > keep_mb << 20:
        shutil.rmtree(folder / "making", ignore_errors=True)
    return removed


def _free(home: Path) -> bool:
    try:
        with file_lock(home / _USED, wait=False) as free:
            return free
    except OSError:
        return False


def _size(folder: Path) -> int:
    """Bytes of a folder; files shared by hard links count in equal parts."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                status = (Path(parent) / name).lstat()
                total += status.st_size // status.st_nlink
    return total
