"""Incomplete data files and checkpoints: Git LFS pointers, truncated archives and arrays. Reads only the first and last
bytes and unpacks nothing."""

import math
import os
import re
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

from xkg.agents.workspace.workspace import Workspace

_LFS = b"version https://git-lfs.github.com/spec/"
_END = 66_000  # the end record of a zip archive is within this many bytes
_MOST_FILES = 2000
_ARRAY = re.compile(rb"'descr': '[<>|=]?[biufc](\d{1,2})'[^}]{0,60}'shape': \(([\d, ]{0,80})\)")
_PICKLED = (".pkl", ".pickle")
_ZIPPED = (".zip", ".npz", ".pt", ".pth", ".ckpt", ".keras", ".whl")


def damaged(workspace: Workspace, data: Mapping[str, Path]) -> list[str]:
    """A line for each incomplete file of the working copy or the data, with the problem."""
    found = []
    for path, file in sorted(workspace.files.items()):
        if why := fault(path, file.content[:_END], file.content[-_END:], len(file.content)):
            found.append(f"{path}: {why}")
    for name, place in data.items():
        root = place.expanduser()
        for on_disk in _files(root):
            if why := _fault_on_disk(on_disk):
                below = on_disk.relative_to(root) if on_disk != root else Path()
                found.append(f"{(Path(name) / below).as_posix()}: {why}")
    return found


def empty_folders(data: Mapping[str, Path]) -> list[str]:
    """Data folders without any file."""
    return [f"{name} ({place}) holds no file" for name, place in data.items() if not any(_files(place.expanduser()))]


def fault(name: str, head: bytes, tail: bytes, size: int) -> str | None:
    """The problem of a file with this name, first and last bytes; None if no problem is found."""
    lower = name.lower()
    if head.startswith(_LFS):
        return "a Git LFS pointer without its content (git lfs pull)"
    if size == 0 and lower.endswith((*_PICKLED, *_ZIPPED, ".npy", ".h5", ".hdf5", ".gz")):
        return "empty"
    if head.startswith(b"PK\x03\x04") and b"PK\x05\x06" not in tail:
        return f"an archive that was cut off after {size:,} bytes"
    if lower.endswith((".npz", ".zip")) and not head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "no archive, though its name says so"
    if head.startswith(b"\x93NUMPY"):
        return _array_fault(head, size)
    if head.startswith(b"\x89HDF\r\n\x1a\n"):
        return _hdf5_fault(head, size)
    if lower.endswith(_PICKLED) and head.startswith(b"\x80") and not tail.endswith(b"."):
        return f"a pickle that was cut off after {size:,} bytes"
    return None


def _array_fault(head: bytes, size: int) -> str | None:
    """Whether a `.npy` file has less data than its header says."""
    wide = len(head) > 6 and head[6] > 1
    if len(head) < (12 if wide else 10):
        return "an array without its header"
    (length,) = struct.unpack_from("<I" if wide else "<H", head, 8)
    start = (12 if wide else 10) + length
    if size < start:
        return "an array that was cut off in its header"
    described = _ARRAY.search(head[:start][:4000])
    if described is None:
        return None
    expected = int(described[1]) * math.prod(int(n) for n in described[2].replace(b",", b" ").split())
    return (
        f"an array of {expected:,} bytes that was cut off after {size - start:,}" if size < start + expected else None
    )


def _hdf5_fault(head: bytes, size: int) -> str | None:
    """The superblock (versions 0 and 2) has the end of the file."""
    at = {0: 40, 1: 44, 2: 28, 3: 28}.get(head[8] if len(head) > 8 else -1)
    if at is None or len(head) < at + 8:
        return None
    (end,) = struct.unpack_from("<Q", head, at)
    return f"an HDF5 file of {end:,} bytes that was cut off after {size:,}" if size < end < 1 << 62 else None


def _fault_on_disk(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(_END)
            file.seek(max(0, size - _END))
            return fault(path.name, head, file.read(_END), size)
    except OSError as error:
        return f"it cannot be read ({error.strerror})"


def _files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
        return
    count = 0
    for folder, _, names in os.walk(place):
        for name in sorted(names):
            path = Path(folder) / name
            if path.is_file():
                count += 1
                if count > _MOST_FILES:
                    return
                yield path
