"""Sends a signal while a server starts."""

import subprocess
import sys
from pathlib import Path

SERVED = """
import signal, sys, uvicorn
from xkg.config import Settings
from xkg.serve.http.run import serve_http

run = uvicorn.Server.run
def interrupted(self, sockets=None):
    signal.raise_signal(signal.SIGINT)
    run(self, sockets)
uvicorn.Server.run = interrupted

async def app(scope, receive, send):
    while True:  # nothing else than its lifespan
        event = (await receive())["type"]
        await send({"type": f"{event}.complete"})
        if event == "lifespan.shutdown":
            return

serve_http(Settings(kg=sys.argv[1]), "127.0.0.1:0", lambda *_: app)
"""


def test_a_server_that_is_interrupted_before_it_serves_ends(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", SERVED, str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
