"""Imitates macOS and Windows by hiding the features that they lack. Every module is then imported, and a graph is
imported, searched, queried and served. Differences between the kernels cannot be tested here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PEER, ROOT

_BECOME = """
import ctypes, importlib, os, pkgutil, signal, subprocess, sys, types
import xkg
names = [m.name for m in pkgutil.walk_packages(xkg.__path__, "xkg.") if not m.name.startswith("xkg.sandbox.guest.")]
names.remove("xkg.engine.ray_node")  # needs Ray, which `make ray` installs
for name in names:
    importlib.import_module(name)
import faiss, ladybug, onnxruntime, tantivy  # and what those of their libraries ask the real system for
import mcp.client.stdio, starlette.testclient

system = sys.argv[1]
real = __import__("fcntl")
for name in [name for name in sys.modules if name.partition(".")[0] == "xkg"]:
    del sys.modules[name]
blocked = {"darwin": ["pyseccomp"], "win32": "fcntl resource pwd grp termios pyseccomp".split()}[system]
for name in blocked:
    sys.modules[name] = None
lacking = "memfd_create pidfd_open sched_getaffinity O_PATH pipe2".split()
if system == "win32":
    lacking += "geteuid getuid fork killpg setsid O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_CLOEXEC O_ACCMODE pread pwrite "\\
        "setpriority chown getpgid".split()
    subprocess.signal = types.SimpleNamespace(**vars(signal))
    for name in "SIGKILL SIGXCPU SIGCHLD SIGSTOP SIGHUP SIGALRM".split():
        delattr(signal, name)

    def locked(handle, flags, _0, _1, _2, _place):
        try:
            real.flock(handle.value, (2 if flags & 2 else 1) | (4 if flags & 1 else 0))
        except BlockingIOError:
            return 0
        return 1

    kernel = types.SimpleNamespace(LockFileEx=locked, GetLastError=lambda: 33)
    sys.modules["msvcrt"] = types.SimpleNamespace(get_osfhandle=lambda descriptor: descriptor)
    ctypes.WinDLL = lambda name, **_: kernel
for name in lacking:
    if hasattr(os, name):
        delattr(os, name)
sys.platform = system
platform = __import__("platform")
platform.system = lambda: {"darwin": "Darwin", "win32": "Windows"}[system]
"""

_IMPORT_ALL = """
for name in names:
    importlib.import_module(name)
assert len(names) > 300
"""

_WORK = """
import xkg.api
from pathlib import Path
from xkg.config import load
from xkg.cli.main import app
graph, peer = sys.argv[2:]

def run(*words):
    try:
        app([f"--kg={graph}", *words], prog_name="xkg", standalone_mode=False)
    except SystemExit as ended:
        assert not ended.code, words

run("import", peer)
run("search", "normalise the returns")
run("cypher", "MATCH (p:Paper) RETURN p.id LIMIT 1")
for _ in range(4):  # the oldest generations go
    run("index", "rebuild")
assert len([f for f in (Path(graph) / "generations").iterdir() if f.name.isdigit()]) < 5
run("doctor")
with xkg.api.open(graph) as kg:
    assert kg.search("exploration bonus")

import asyncio
from contextlib import closing
from mcp.client import Client
from xkg.serve.http.app import make_app
from xkg.serve.service import Service
from xkg.serve.served import Served
from xkg.serve.protocol.stdio import make_server

async def asked(service):
    async with Client(make_server(Served(service))) as client:
        answer = await client.call_tool("search_techniques", {"query": "exploration bonus"})
        assert not answer.is_error, answer

settings = load(kg=Path(graph))
with closing(Service(settings)) as service:
    asyncio.run(asked(service))
from starlette.testclient import TestClient
from xkg.web.app import pages
app_with_pages = make_app(settings, "127.0.0.1", "http://127.0.0.1:8321/mcp", Served(Service(settings)), pages)
with TestClient(app_with_pages, base_url="http://127.0.0.1:8321") as browser:
    for page in ("/", "/papers", "/search?q=exploration+bonus", "/cypher?name=papers-by-year", "/builds"):
        assert browser.get(page).status_code == 200, page
run("explore", "--save", graph + ".html")
run("export", "--format", "html", "--to", graph + "-pages")
from xkg.files import file_lock, writing
with writing(Path(graph), 1):
    with file_lock(Path(graph) / "write.lock", wait=False) as free:
        assert not free
"""


@pytest.mark.product("each system: imports every module anew", every=True)
@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_every_module_is_imported_and_a_graph_imported_searched_and_queried(system: str, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("XKG_")}
    environment["XKG_ENVIRONMENT__FOLDER"] = str(tmp_path / "environments")  # `doctor` adds up the files in this folder
    command = [sys.executable, "-c", _BECOME + _IMPORT_ALL + _WORK, system, str(tmp_path / "graph"), str(PEER)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "papers" in done.stdout
