"""Tests web servers that fail, and malicious ones."""

import hashlib
import http.server
import os
import random
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clock import TurnedClock
from xkg.errors import InputError, UnreachableError, UnsafeInputError
from xkg.library import git_place
from xkg.library.layout import HEAD, Package, path_of
from xkg.library.open import open_place
from xkg.library.places import Place, download, read, read_file

DATA = bytes(range(256)) * 2000
PACKAGE = Package(name=hashlib.sha256(DATA).hexdigest(), size=len(DATA))


class Server(http.server.ThreadingHTTPServer):
    """Serves `files` by path. An answer breaks off after `cut` bytes. `ranges` says whether the server supports Range.
    The server sends the `statuses` before it sends any file."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.cut: int | None = None
        self.ranges = True
        self.statuses: list[int] = []
        self.asked: list[str | None] = []


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.server.asked.append(asked)
        data = self.server.files.get(self.path.lstrip("/"))
        if self.server.statuses or data is None:
            self.send_response(self.server.statuses.pop(0) if self.server.statuses else 404)
            self.send_header("Location", "http://169.254.169.254/")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if self.headers.get("If-None-Match") == '"1"':
            self.send_response(304)
            self.end_headers()
            return
        start = int(asked[len("bytes=") : -1]) if asked and self.server.ranges else 0
        self.send_response(206 if start else 200)
        if self.server.cut is None:  # otherwise, the answer ends with the connection
            self.send_header("Content-Length", str(len(data) - start))
        self.send_header("ETag", '"1"')
        self.end_headers()
        end = len(data) if self.server.cut is None else start + self.server.cut
        self.wfile.write(data[start:end])

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def place(server: Server, tmp_path: Path) -> Iterator[Place]:
    opened = open_place(f"http://127.0.0.1:{server.server_port}/", tmp_path)
    yield opened
    opened.close()


@pytest.mark.parametrize("ranges", [True, False])
def test_a_download_goes_on_where_it_broke_off(server: Server, place: Place, tmp_path: Path, ranges: bool) -> None:
    server.files[path_of(PACKAGE.name)], server.cut, server.ranges = DATA, 80_000, ranges
    if not ranges:
        (tmp_path / f"{PACKAGE.name}.part").write_bytes(DATA[:400_000])  # a process that was killed left this file
        server.cut = None
    clock = TurnedClock()
    assert download(place, PACKAGE, tmp_path, clock).read_bytes() == DATA
    assert server.asked[-1] == ("bytes=480000-" if ranges else "bytes=400000-")


def test_a_busy_server_is_asked_again_and_a_dead_one_is_named(server: Server, place: Place) -> None:
    server.files[HEAD], server.statuses = b"x", [503, 429]
    clock = TurnedClock()
    assert read(place, HEAD, 10, clock) == b"x"
    assert len(clock.pauses) == 2
    server.statuses = [500] * 9
    with pytest.raises(UnreachableError, match=r"127\.0\.0\.1"):
        read(place, HEAD, 10, clock)


@pytest.mark.parametrize("status", [302, 403])
def test_redirects_and_refusals_are_not_followed_up(server: Server, place: Place, status: int) -> None:
    server.statuses = [status]
    with pytest.raises(InputError, match="169.254" if status == 302 else "403"):
        read(place, HEAD, 10, TurnedClock())
    assert len(server.asked) == 1


def test_a_head_that_did_not_change_is_not_sent_again(server: Server, place: Place) -> None:
    server.files[HEAD] = b"the head"
    assert place.head() == (b"the head", '"1"')
    place.known = '"1"', b"as it was kept"
    assert place.head() == (b"as it was kept", '"1"')


def test_more_bytes_or_other_bytes_than_were_named_are_refused(server: Server, place: Place, tmp_path: Path) -> None:
    server.files[HEAD] = b"x" * 11
    with pytest.raises(UnsafeInputError):
        read(place, HEAD, 10, TurnedClock())
    for other in (DATA + b"more", b"x" * len(DATA)):
        server.files[path_of(PACKAGE.name)] = other
        with pytest.raises(UnsafeInputError, match="does not match its name"):
            download(place, PACKAGE, tmp_path, TurnedClock())
        with pytest.raises(UnsafeInputError):
            read_file(place, PACKAGE.name, clock=TurnedClock())
    server.files[path_of(PACKAGE.name)] = DATA  # a rejected file is not resumed
    assert download(place, PACKAGE, tmp_path, TurnedClock()).read_bytes() == DATA
    assert sorted(path.name for path in tmp_path.iterdir()) == [PACKAGE.name]


def test_a_slow_drip_ends(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = TurnedClock()

    def drip(*_: object) -> Iterator[bytes]:
        while True:
            clock.turn(20)
            yield b"x"

    monkeypatch.setattr(place, "pieces", drip)
    with pytest.raises(UnreachableError, match="in time"):
        read(place, HEAD, 1000, clock)


@pytest.mark.skipif(os.name != "posix", reason="a shell sets the limit")
def test_a_git_repository_sends_no_more_than_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = tmp_path / "library.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(repository)], check=True)
    writer, reader = (open_place(str(repository), tmp_path / name) for name in ("writer", "reader"))
    assert reader.head() == (None, None)
    writer.write(path_of(PACKAGE.name), random.Random(0).randbytes(1 << 20))
    assert writer.replace(b"head", writer.head()[1])
    monkeypatch.setattr(git_place, "_MOST_FETCHED", 1 << 19)
    with pytest.raises(UnsafeInputError, match="more than 0 MB"):
        reader.head()
    assert sum(path.stat().st_size for path in (tmp_path / "reader").rglob("*") if path.is_file()) < 1 << 18
    monkeypatch.undo()
    assert reader.head()[0] == b"head"
    for place in (writer, reader):
        place.close()


def test_what_is_no_address_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="gopher"):
        open_place("gopher://example.org/library", tmp_path)
    with pytest.raises(InputError, match="read-only"):
        open_place("http://127.0.0.1:9/", tmp_path).write("x", b"")
