"""Finds incomplete data files and checkpoints: Git LFS pointers, empty files and truncated archives. Reads only each
file's first and last bytes, and unpacks nothing."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from xkg.agents.workspace.files.workspace import Workspace

_LFS = b"version https://git-lfs.github.com/spec/"
_END = 66_000  # a zip archive's end record lies within this many bytes of its end
_MOST_FILES = 2000
_ZIPPED = (".zip", ".npz", ".pt", ".pth", ".ckpt", ".keras", ".whl")


def damaged(workspace: Workspace, data: Mapping[str, Path]) -> list[str]:
    """Returns one line per incomplete file in the working copy or the data, describing the problem."""
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
    """Returns descriptions of the data folders that contain no files."""
    return [f"{name} ({place}) has no files" for name, place in data.items() if not any(_files(place.expanduser()))]


def fault(name: str, head: bytes, tail: bytes, size: int) -> str | None:
    """Returns the problem with a file, judging by its name, first and last bytes, and size. Returns None if the file
    seems intact."""
    lower = name.lower()
    if head.startswith(_LFS):
        return "a Git LFS pointer without its content (git lfs pull)"
    if size == 0 and lower.endswith((*_ZIPPED, ".pkl", ".pickle", ".npy", ".h5", ".hdf5", ".gz")):
        return "empty"
    if head.startswith(b"PK\x03\x04") and b"PK\x05\x06" not in tail:
        return f"an archive that was cut off after {size:,} bytes"
    if lower.endswith((".npz", ".zip")) and not head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "not an archive, despite its name"
    return None


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
