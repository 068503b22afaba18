"""Durable writes, locks between processes, private folders, and safe reading of untrusted files."""

import contextlib
import errno
import hashlib
import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from xkg import operating_system as system
from xkg.errors import InputError, StoreBusyError

_BLOCK = 1 << 20


def sync_folder(folder: Path) -> None:
    """Syncs renames and new files in `folder` to disk, so that they survive a power cut."""
    system.sync_folder(str(folder))


def sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Replaces the contents of `path` atomically; a crash leaves the old file and at most a `.tmp` file next to it. The
    file's permissions are `mode`, restricted by the umask."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        partial.unlink(missing_ok=True)  # the file may already exist with a different mode
        partial.touch(mode)
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_export(path: Path, data: bytes) -> Path:
    """Writes a file atomically, creating its folder if necessary. Raises `InputError` if it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); choose another folder") from error
    return path


@contextlib.contextmanager
def said_when_full(folder: Path, advice: str) -> Iterator[None]:
    """Context manager that raises `InputError` with `advice` if the disk is full or read-only, or if a file exceeds the
    system's size limit."""
    try:
        yield
    except OSError as error:  # shutil.Error contains the reasons for many files as text, but no error number
        reasons = {code: os.strerror(code) for code in _FULL}
        text = reasons.get(error.errno or 0) or next((why for why in reasons.values() if why in str(error)), None)
        if text is None:
            raise
        raise InputError(f"{folder} cannot be written ({text}); {advice}") from error


_FULL = tuple(getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG", "EROFS") if hasattr(errno, name))


def private_folder(folder: Path) -> None:
    """Creates a folder that only its owner can read, and any missing parents. An existing folder keeps its permissions.
    Raises `OSError`."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)


def lies_under(path: Path, folders: Iterable[Path]) -> bool:
    """Returns whether a path, with its links resolved, is one of these folders or lies inside one. Folders are compared
    by identity, since macOS and Windows ignore case in names."""
    return any(
        path.is_relative_to(folder) or any(_is_folder(parent, folder) for parent in (path, *path.parents))
        for folder in folders
    )


def _is_folder(path: Path, folder: Path) -> bool:
    try:
        return path.samefile(folder)
    except OSError:
        return False


def user_cache_folder() -> Path:
    """Returns the folder for this user's recreatable files. The folder may not exist yet."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "xkg"


def user_config_folder() -> Path:
    """Returns the folder for this user's keys and settings, which cannot be recreated. The folder may not exist yet."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "xkg"


def private_file(path: Path) -> None:
    """Creates an empty file, readable only by its owner, unless it already exists. Raises `OSError`."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | system.CLOSED_IN_CHILDREN, 0o600))


def read_regular(path: Path, most: int, *, links: bool = True) -> bytes:
    """Reads a file whose path or contents are untrusted. Does not block if the path is a pipe. Raises `OSError` if the
    file cannot be read, has more than `most` bytes or is not a regular file, or if it is a symbolic link and `links` is
    not set."""
    if not links and not system.NO_LINK and path.is_symlink():
        raise OSError(errno.ELOOP, "it is a symbolic link", str(path))
    flags = os.O_RDONLY | system.BYTES | system.NO_WAITING | system.CLOSED_IN_CHILDREN
    descriptor = os.open(path, flags | (0 if links else system.NO_LINK))
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        data = file.read(most + 1)
        if len(data) > most:
            size = max(status.st_size, len(data)) / 1e6
            raise OSError(errno.EFBIG, f"{size:.0f} MB is more than {most / 1e6:.0f} MB", str(path))
    return data


def sha256_of(path: Path) -> str:
    """Returns the hex digest of a file's bytes. Raises `OSError`."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def blake3_of(path: Path) -> str:
    """Returns the BLAKE3 hex digest of a file's bytes. BLAKE3 is ten times as fast as SHA-256 on processors without SHA
    instructions. O'Connor, Aumasson, Neves and Wilcox-O'Hearn, "BLAKE3: one function, fast everywhere", 2020. Raises
    `OSError`."""
    from blake3 import blake3

    digest = blake3()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


@contextlib.contextmanager
def writing(folder: Path, wait: float) -> Iterator[None]:
    """Context manager that holds a graph's write lock. Raises `StoreBusyError` if the lock is not free within `wait`
    seconds."""
    with _lock_file(folder / "write.lock") as descriptor:
        deadline = time.monotonic() + wait
        while not try_lock(descriptor):
            if time.monotonic() >= deadline:
                os.lseek(descriptor, 0, os.SEEK_SET)
                holder = os.read(descriptor, 32).decode("ascii", "replace").strip() or "unknown"
                raise StoreBusyError(
                    f"another process (pid {holder}) is writing to {folder} and did not finish within {wait:g} s; "
                    "nothing was changed; try again when that process is done"
                )
            time.sleep(0.02)
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, str(os.getpid()).encode("ascii"))
        yield


@contextlib.contextmanager
def file_lock(path: Path, *, shared: bool = False, wait: bool = True) -> Iterator[bool]:
    """Context manager that holds an inter-process lock on a file; creates it if missing. Yields False if another
    process holds the lock and `wait` is not set. Raises `OSError`."""
    with _lock_file(path) as descriptor:
        yield system.lock(descriptor, shared=shared, wait=wait)


@contextlib.contextmanager
def unheld(path: Path) -> Iterator[bool]:
    """Context manager that yields True if no process is reading `path`. In this case, no process can start reading the
    file until the context ends."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        yield True
        return
    try:
        yield try_lock(descriptor)
    finally:
        os.close(descriptor)


def try_lock(descriptor: int, *, shared: bool = False) -> bool:
    """Locks an open file until all processes that inherited it have closed it. Returns False if another process holds
    the lock."""
    return system.lock(descriptor, shared=shared, wait=False)


@contextlib.contextmanager
def _lock_file(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
