"""Fills, measures and removes job scratch folders that are not on a size-limited file system."""

import contextlib
import os
import shutil
import stat
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from xkg.errors import InputError, UnsafeInputError

_ENTRY = 4096
_LONGEST_ARGUMENT, _LONGEST_ARGUMENTS = 1 << 17, 1 << 20


def relative(name: str) -> PurePosixPath:
    """Returns the path of a job's file in its scratch folder. Raises `UnsafeInputError` for a path outside the
    folder."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
        raise UnsafeInputError(f"the job's file {name!r} is outside its scratch folder; use a relative path")
    return path


def require_startable(arguments: tuple[str, ...]) -> None:
    """Raises `InputError` for arguments that cannot be passed to a process."""
    try:
        sizes = [len(os.fsencode(argument)) for argument in arguments]
    except UnicodeEncodeError as error:
        raise InputError(f"the job cannot be started ({error.reason}); pass long code as a file") from error
    if max(sizes, default=0) >= _LONGEST_ARGUMENT or sum(sizes) >= _LONGEST_ARGUMENTS:
        raise InputError("the job cannot be started (its arguments are too long); pass long code as a file")
    if any("\0" in argument for argument in arguments):
        raise InputError("the job cannot be started (NUL in an argument); pass long code as a file")


def fill(folder: Path, files: Mapping[str, str], owner: int | None = None) -> None:
    """Writes a job's files. `owner` is the uid that will own `folder` and everything in it."""
    for name, content in files.items():
        path = folder / relative(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8", "surrogatepass"))
    if owner is not None:
        for at, _, names in os.walk(folder):
            for place in (at, *(f"{at}/{name}" for name in names)):
                os.chown(place, owner, owner)


def disk_usage(folder: Path, processes: Iterable[int], limit: int) -> int:
    """Returns the number of bytes on disk below `folder`, counting at least one block per entry, plus deleted files
    that `processes` keep open. Returns more than `limit` if a folder cannot be read (no permission, path too long)."""
    total = 0
    folders = [str(folder)]
    while folders and total <= limit:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    with contextlib.suppress(FileNotFoundError):
                        total += max(_ENTRY, entry.stat(follow_symlinks=False).st_blocks * 512)
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        except FileNotFoundError:
            continue
        except OSError:
            return limit + 1
    deleted: dict[tuple[int, int], int] = {}
    device = folder.stat().st_dev
    for process in processes:
        with contextlib.suppress(OSError), os.scandir(f"/proc/{process}/fd") as descriptors:
            for descriptor in descriptors:
                with contextlib.suppress(OSError):
                    file = descriptor.stat()
                    if file.st_nlink == 0 and file.st_dev == device and stat.S_ISREG(file.st_mode):
                        deleted[file.st_dev, file.st_ino] = file.st_blocks * 512
    return total + sum(deleted.values())


def remove(folder: Path) -> None:
    """Removes a folder of any depth, regardless of the permissions of its contents."""
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        subprocess.run(("/bin/chmod", "-R", "u+rwX", str(folder)), capture_output=True, check=False)
        subprocess.run(("/bin/rm", "-rf", str(folder)), capture_output=True, check=False)
