"""Forwards a loopback port to the sandbox's only socket, and runs a program that uses this port as its proxy. Runs
inside the sandbox and uses only the standard library.

python forward.py SOCKET COMMAND…"""

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def forwarded(path: str) -> Iterator[None]:
    """Forwards a loopback port to the socket at `path`, and uses it as the proxy for this process and its children."""

    def relay(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while chunk := source.recv(1 << 16):
                sink.sendall(chunk)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def accept(server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = server.accept()
                outside = socket.socket(socket.AF_UNIX)
                outside.connect(path)
                threading.Thread(target=relay, args=(client, outside), daemon=True).start()
                threading.Thread(target=relay, args=(outside, client), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0), backlog=128) as server:
        threading.Thread(target=accept, args=(server,), daemon=True).start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            os.environ[name] = os.environ[name.lower()] = address
        os.environ["NO_PROXY"] = os.environ["no_proxy"] = ""
        yield


def main() -> None:
    with forwarded(sys.argv[1]):
        status = subprocess.run(sys.argv[2:], check=False).returncode
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
