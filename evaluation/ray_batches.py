"""Compares a two-slot Ray cluster with the local engine running two jobs, on the same cores (needs the `ray` extra).

    python -m evaluation.ray_batches [--papers 40] [--rounds 2]

The cluster consists of one node on this machine. The papers are the same as in `evaluation.speed.batches`, and are
built without a model or packages, with one thread per job. The two engines are measured alternately, and each round
begins with empty graphs. Engine startup is timed separately, and the rate excludes the first two papers. Use only the
ratio from a single run on an idle machine. The load average is also printed."""

import contextlib
import importlib.util
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from evaluation.inputs.command import run_command
from evaluation.speed.batches import THREADS, write_list
from xkg.build.stage_cache import StageReport
from xkg.commands.batch.paper_list import PaperList, read_list
from xkg.commands.batch.run import run
from xkg.commands.batch.side_by_side import Event
from xkg.config import EmbeddingSettings, EnvironmentSettings, LlmSettings, PruneSettings, Settings
from xkg.engine.engine import Engine
from xkg.engine.local import LocalEngine
from xkg.model import Level

_JOBS = 2
_WAIT_SECONDS = 180


class Arm(NamedTuple):
    """The seconds until two papers were built, and the papers per hour from then until all papers are published."""

    start: float
    hourly: float


def measure(engine: Engine, papers: PaperList, kg: Path) -> Arm:
    settings = Settings(
        kg=kg,
        llm=LlmSettings(model="none"),
        environment=EnvironmentSettings(max_mb=0),
        prune=PruneSettings(min_level=Level.PARSED),
        embedding=EmbeddingSettings(threads=1),
    )
    built: list[float] = []

    def notify(event: Event) -> None:
        if isinstance(event[1], StageReport) and event[1].name == "prune":
            built.append(time.monotonic())

    started = time.monotonic()
    report = run(settings, papers, engine, notify=notify)
    ended = time.monotonic()
    if report.count("built") != len(papers.papers):
        raise SystemExit(str(report.rows))
    first = sorted(built)[_JOBS - 1]
    return Arm(first - started, (len(papers.papers) - _JOBS) / (ended - first) * 3600)


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """Yields the address of a one-node cluster with two slots."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = folder / "token"
    token.write_text(secrets.token_hex(32))
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token), "XDG_CACHE_HOME": str(folder / "cache")}
    options = [
        "--head", "--block", f"--port={port}", "--node-ip-address=127.0.0.1", f"--num-cpus={_JOBS}",
        f'--resources={{"xkg_sandbox": {_JOBS}}}', "--object-store-memory=100000000", "--include-dashboard=false",
        "--disable-usage-stats", f"--temp-dir={folder / 'ray'}",
    ]  # fmt: skip
    command = [str(Path(sys.executable).parent / "ray"), "start", *options]
    head = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        until = time.monotonic() + _WAIT_SECONDS
        while not list((folder / "ray").glob("session_latest/sockets/raylet*")):
            if head.poll() is not None or time.monotonic() > until:
                raise SystemExit("the Ray cluster did not start")
            time.sleep(0.2)
        threading.Event().wait(5)  # give the node time to register
        yield f"127.0.0.1:{port}"
    finally:
        head.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            head.wait(30)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(head.pid, signal.SIGKILL)


def main(*, papers: int = 40, rounds: int = 2) -> None:
    if importlib.util.find_spec("ray") is None:
        raise SystemExit("Ray is missing; run uv pip install -c constraints.txt -e '.[all,curation,ray]'")
    os.environ |= dict.fromkeys(THREADS, "1")
    console, table = Console(), Table("round", "engine", "start s", "papers an hour")
    found: dict[str, list[Arm]] = {"local": [], "ray": []}
    with tempfile.TemporaryDirectory(prefix="xkg-ray-", dir="/tmp") as name:
        folder = Path(name)
        (folder / "papers").mkdir()
        listed = read_list(write_list(folder / "papers", papers))
        began = time.monotonic()
        with cluster(folder) as address:
            console.print(f"cluster startup: {time.monotonic() - began:.1f} s")
            from xkg.engine.ray_cluster import RayEngine

            for number in range(rounds):
                found["local"].append(measure(LocalEngine(_JOBS), listed, folder / f"local-{number}"))
                with RayEngine(address) as engine:
                    found["ray"].append(measure(engine, listed, folder / f"ray-{number}"))
                for arm, taken in found.items():
                    table.add_row(str(number), arm, f"{taken[-1].start:.1f}", f"{taken[-1].hourly:,.0f}")
    console.print(table)
    local, ray = (sum(arm.hourly for arm in found[name]) for name in ("local", "ray"))
    console.print(f"Ray compared with local: {ray / local:.2f} x the papers per hour (floor 0.9)")
    console.print(f"load average {', '.join(f'{value:.1f}' for value in os.getloadavg())} on {os.cpu_count()} cores")


if __name__ == "__main__":
    run_command(main)
