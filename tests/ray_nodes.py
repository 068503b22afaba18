"""Starts a real Ray cluster. The nodes are processes on this machine. Each node has its own cache folder and key."""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

_RAY = Path(sys.executable).parent / "ray"
_SECONDS = "600"


def token_environment(folder: Path) -> dict[str, str]:
    """Returns the variables that every node and client of a cluster needs. Ray reads these variables only once, when a
    process imports it."""
    token = folder / "token"
    token.write_text(secrets.token_hex(32))
    token.chmod(0o600)
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token), "RAY_USAGE_STATS_ENABLED": "0"}


class Nodes:
    """Starts `count` nodes with one CPU and one slot each. The environment of node N contains
    `XKG_LLM_KEY=key-of-node-N`. The tests' own `environment` contains only the token."""

    def __init__(self, folder: Path, count: int, environment: Mapping[str, str], slots: int = 1) -> None:
        self.environment = environment
        self.folder, self.count, self._slots = folder, count, slots
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"

    def __enter__(self) -> "Nodes":
        try:
            for number in range(self.count):
                self.start(number)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, number: int, **environment: str) -> None:
        """Starts a node. The first node is the head."""
        limits = ["--num-cpus", "1", "--object-store-memory", "100000000", "--disable-usage-stats"]
        where = ["--address", self.address]
        if number == 0:
            port = self.address.rpartition(":")[2]
            # The path of a socket has at most 107 bytes.
            where = ["--head", "--port", port, "--include-dashboard=false", "--temp-dir", self._sockets()]
        slots = ["--resources", f'{{"xkg_sandbox": {self._slots}}}'] if self._slots else []
        command = [_RAY, "start", *where, "--node-ip-address", "127.0.0.1", *limits, *slots]
        own = {
            **os.environ, **self.environment, **self._own(number),
            "XKG_LLM_KEY": f"key-of-node-{number}", "RAY_raylet_start_wait_time_s": _SECONDS, **environment,
        }  # fmt: skip
        with (self.folder / f"start-{number}.log").open("w") as log:
            subprocess.run(
                command,
                env=own,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                check=True,
            )

    def kill(self, number: int) -> None:
        """Kills a node with its raylet, its workers and their children, as in a power failure."""
        for pid in self._processes(number):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until and any(self._processes(number) for number in range(self.count)):
            for number in range(self.count):
                self.kill(number)
            time.sleep(0.2)

    def cache(self, number: int) -> Path:
        return self.folder / f"cache-{number}"

    def number_of(self, raylet_socket: str) -> int:
        """Returns the number of the node whose raylet has this socket."""
        for number in range(self.count):
            for pid in self._processes(number):
                with contextlib.suppress(OSError):
                    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                    if f"--raylet_socket_name={raylet_socket}".encode() in words:
                        return number
        raise LookupError(raylet_socket)

    def _own(self, number: int) -> Mapping[str, str]:
        return {"XDG_CACHE_HOME": str(self.cache(number))}

    def _processes(self, number: int) -> list[int]:
        mark = f"XDG_CACHE_HOME={self.cache(number)}".encode()
        return [pid for pid in _pids() if mark in _environment(pid)]

    def _sockets(self) -> str:
        place = Path(f"/tmp/xkg-ray-{os.getpid()}")
        return str(place)


def _pids() -> Iterator[int]:
    return (
        int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and int(entry.name) != os.getpid()
    )


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
