"""Tests that processes take turns at a web server. The processes share only a real Neo4j."""

import json
import subprocess
import sys
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest

from tests.neo4j_server import Neo4jServer
from tests.store.neo4j.stores import open_remote
from xkg.errors import UnreachableError
from xkg.store.neo4j import leases
from xkg.store.neo4j.turns import SharedTurns

PAUSE = 0.3
HOST = "export.arxiv.org:443"

# The process sends three requests, like those of a command, and records the machine's time at the start and end of
# each.
ASKING = """
import json, sys, time
from pathlib import Path
from xkg.build.sources.pace import Pace
from xkg.commands.graph.open import share_pace
from xkg.config import Settings, StoreSettings
from xkg.store.neo4j import turns
from tests.store.neo4j.stores import MODEL

url, folder, host, pause = sys.argv[1:]
turns._ASK_SECONDS = 0.05
share_pace(Settings(kg=Path(folder), store=StoreSettings(url=url), embedding=MODEL))
times = []
for _ in range(3):
    with Pace(host, float(pause)).turn():
        begun = time.monotonic()
        time.sleep(0.05)
        times.append((begun, time.monotonic()))
print(json.dumps(times))
"""


def test_machines_that_share_a_neo4j_keep_the_pause_together(
    server: Neo4jServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = []
    for name in ("one", "other"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name / "cache"))  # the processes share no file
        command = [sys.executable, "-c", ASKING, server.url, str(tmp_path / name), HOST, str(PAUSE)]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    with ExitStack() as ended:
        outputs = [ended.enter_context(process).communicate(timeout=300)[0] for process in running]
    times = sorted(tuple(each) for output in outputs for each in json.loads(output))
    assert len(times) == 6
    assert min(later[0] - earlier[1] for earlier, later in pairwise(times)) >= PAUSE * 0.9


def test_turns_that_others_do_not_give_back_are_not_waited_for_without_end(server: Neo4jServer, tmp_path: Path) -> None:
    store = open_remote(server, tmp_path / "a")
    store.require_writable()
    turns = SharedTurns(lambda: open_remote(server, tmp_path / "b"), most_seconds=0.0)
    with (
        leases.held(store.connection, f"pause {HOST}", "another", 60),
        pytest.raises(UnreachableError, match="run again later"),
        turns(HOST, PAUSE),
    ):
        pass
    store.close()
