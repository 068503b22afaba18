"""Compares a Ray cluster with two slots to the local engine with two jobs, on the same cores (needs the extra `ray`).

    python -m evaluation.ray_batches [--papers 40] [--rounds 2] [--kind short]

The cluster is one node on this machine. Papers are generated (of two kinds: `evaluation.speed.batches`) and built
without a model and without packages, with one thread per job in all arms. Arms take turns, and each round begins with
empty graphs. The start of an engine is timed separately: the rate is that of the papers after the first two. Use only
the ratio of one run on an idle machine; the load average is printed with it."""

import argparse
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
from evaluation.speed.batches import KINDS, THREADS, write_list
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
    """Seconds until two papers were built and, from then until all are published, papers per hour and processor seconds
    per paper."""

    start: float
    hourly: float
    processor: float


def processor_seconds() -> float:
    """Processor seconds of this process, its ended children, and every process that has the token of the cluster."""
    own, ended = os.times(), 0.0
    mark = f"RAY_AUTH_TOKEN_PATH={os.environ['RAY_AUTH_TOKEN_PATH']}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                    ended += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return own.user + own.system + own.children_user + own.children_system + ended


def measure(engine: Engine, papers: PaperList, kg: Path) -> Arm:
    settings = Settings(
        kg=kg,
        llm=LlmSettings(model="none"),
        environment=EnvironmentSettings(max_mb=0),
        prune=PruneSettings(min_level=Level.PARSED),
        embedding=EmbeddingSettings(threads=1),
    )
    built: list[float] = []
    spent = 0.0
    counting = threading.Lock()

    def notify(event: Event) -> None:
        nonlocal spent
        if isinstance(event[1], StageReport) and event[1].name == "prune":
            with counting:
                built.append(time.monotonic())
                if len(built) == _JOBS:
                    spent = processor_seconds()

    started = time.monotonic()
    report = run(settings, papers, engine, notify=notify)
    ended, spent = time.monotonic(), processor_seconds() - spent
    if report.count("built") != len(papers.papers):
        raise SystemExit(str(report.rows))
    later = len(papers.papers) - _JOBS
    return Arm(built[_JOBS - 1] - started, later / (ended - built[_JOBS - 1]) * 3600, spent / later)


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """The address of a cluster of one node with two slots."""
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
        threading.Event().wait(5)  # the node registers itself
        yield f"127.0.0.1:{port}"
    finally:
        head.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            head.wait(30)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(head.pid, signal.SIGKILL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--papers", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--kind", choices=KINDS, default="short")
    chosen = parser.parse_args()
    if importlib.util.find_spec("ray") is None:
        raise SystemExit("Ray is missing: uv pip install --constraint constraints.txt --editable '.[all,curation,ray]'")
    os.environ |= dict.fromkeys(THREADS, "1")
    console, table = Console(), Table("round", "engine", "start s", "papers an hour", "processor s a paper")
    found: dict[str, list[Arm]] = {"local": [], "ray": []}
    with tempfile.TemporaryDirectory(prefix="xkg-ray-", dir="/tmp") as name:
        folder = Path(name)
        (folder / "papers").mkdir()
        papers = read_list(write_list(folder / "papers", chosen.papers, chosen.kind))
        began = time.monotonic()
        with cluster(folder) as address:
            console.print(f"the cluster's own start: {time.monotonic() - began:.1f} s")
            from xkg.engine.ray_cluster import RayEngine

            for number in range(chosen.rounds):
                found["local"].append(measure(LocalEngine(_JOBS), papers, folder / f"local-{number}"))
                with RayEngine(address) as engine:
                    found["ray"].append(measure(engine, papers, folder / f"ray-{number}"))
                for arm, rounds in found.items():
                    last = rounds[-1]
                    cells = (f"{last.start:.1f}", f"{last.hourly:,.0f}", f"{last.processor:.3f}")
                    table.add_row(str(number), arm, *cells)
    console.print(table)
    local, ray = (sum(arm.hourly for arm in found[name]) for name in ("local", "ray"))
    spent = [sum(arm.processor for arm in found[name]) for name in ("local", "ray")]
    console.print(f"{chosen.kind}: Ray against local: {ray / local:.2f} x the papers an hour (floor 0.9)")
    console.print(f"processor seconds of a paper: {spent[1] / spent[0]:.2f} x")
    console.print(f"load average {', '.join(f'{value:.1f}' for value in os.getloadavg())} on {os.cpu_count()} cores")


if __name__ == "__main__":
    run_command(main)
