"""Gives sandboxed commands access to NVIDIA GPUs. Each run gets one GPU, with the driver's device nodes and libraries.

A command sees only the node for its own GPU (`/dev/nvidia<N>`) and the shared nodes (`nvidiactl`, `nvidia-uvm`). The
driver's libraries are mounted read-only at their installed paths."""

import contextlib
import os
import queue
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from xkg.errors import InputError
from xkg.sandbox.isolation.bubblewrap_mounts import Mount

DEV, DRIVER = Path("/dev"), Path("/proc/driver/nvidia/gpus")
_SHARED = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset")
_NODE = re.compile(r"nvidia(\d{1,4})")
_DEVICE = re.compile(r"nvidia(?::(\d{1,4}))?")
_LIBRARIES = (Path("/usr/local/nvidia"), Path("/usr/lib/wsl/lib"))
"""Driver folders used by cloud providers' images and WSL. Every sandboxed command can already read `/usr/lib`."""
_OTHERS_READ_AND_WRITE = 0o006


@dataclass(frozen=True)
class Gpu:
    """Everything needed to use one GPU: device `nodes` to read and write, folders to read (`reads`), and environment
    `variables`."""

    number: int
    nodes: tuple[Mount, ...]
    reads: tuple[Path, ...]
    variables: dict[str, str]


def names(devices: Sequence[str]) -> None:
    """Raises `InputError` for text that is not a device name."""
    for name in devices:
        if not _DEVICE.fullmatch(name):
            raise InputError(f"device {name!a}: use nvidia for every GPU on this machine, or nvidia:0 for one")


def nvidia_gpus() -> list[int]:
    """Returns the numbers of this machine's GPUs that have a driver."""
    return sorted(int(found[1]) for place in DEV.glob("nvidia*") if (found := _NODE.fullmatch(place.name)))


def gpus(devices: Sequence[str]) -> tuple[Gpu, ...]:
    """Returns the GPUs for device names: `nvidia:0` selects one GPU, and `nvidia` selects all GPUs on this machine.
    Raises `InputError` if a GPU does not exist, or if the users that run commands may not open it."""
    names(devices)
    here = nvidia_gpus()
    numbers: list[int] = []
    for name in devices:
        _, _, number = name.partition(":")
        wanted = [int(number)] if number else here or [0]
        if wanted[0] not in here:
            there = ", ".join(map(str, here)) or "none, or no driver; to run without a GPU, omit devices"
            raise InputError(f"device {name}: there is no /dev/nvidia{wanted[0]} (GPUs here: {there})")
        numbers += wanted
    return tuple(_gpu(number) for number in dict.fromkeys(numbers))


def _gpu(number: int) -> Gpu:
    places = [DEV / name for name in (f"nvidia{number}", *_SHARED) if (DEV / name).exists()]
    for place in places:
        if os.geteuid() == 0 and place.stat().st_mode & _OTHERS_READ_AND_WRITE != _OTHERS_READ_AND_WRITE:
            raise InputError(f"{place} can only be opened by its owner, but runs use another uid; run chmod o+rw on it")
    reads = tuple(folder for folder in _LIBRARIES if folder.is_dir())
    variables = {"CUDA_VISIBLE_DEVICES": _uuid(number) or "0", "CUDA_CACHE_DISABLE": "1"}
    folders = [str(inner) for folder in reads for inner in (folder / "lib64", folder / "lib", folder) if inner.is_dir()]
    if folders:
        variables["LD_LIBRARY_PATH"] = ":".join(folders)
    return Gpu(number, tuple(Mount(place, f"/dev/{place.name}") for place in places), reads, variables)


def _uuid(number: int) -> str | None:
    """Returns a name that identifies the GPU no matter how many others are visible. Returns None if only the number is
    known. In that case, the only GPU visible inside the sandbox is number 0."""
    for place in DRIVER.glob("*/information"):
        with contextlib.suppress(OSError, ValueError):
            fields = dict(line.split(":", 1) for line in place.read_text().splitlines() if ":" in line)
            if int(fields["Device Minor"]) == number and fields["GPU UUID"].strip().startswith("GPU-"):
                return fields["GPU UUID"].strip()
    return None


class Taken:
    """Lends each GPU to one run at a time. Thread-safe."""

    def __init__(self, of: Sequence[Gpu]) -> None:
        self.count = len(of)
        self._free: queue.SimpleQueue[Gpu] = queue.SimpleQueue()
        for gpu in of:
            self._free.put(gpu)

    @contextlib.contextmanager
    def one(self) -> Iterator[Gpu | None]:
        """Waits for a free GPU and yields it. Yields None immediately if there are no GPUs."""
        if not self.count:
            yield None
            return
        gpu = self._free.get()
        try:
            yield gpu
        finally:
            self._free.put(gpu)
