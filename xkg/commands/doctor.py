"""Implements `xkg doctor`, which checks which parts are installed and reachable, and explains which features need the
missing parts."""

import importlib.metadata
import platform
import shutil
import socket
import sys
from collections.abc import Callable, Iterator

from xkg.config import Settings
from xkg.errors import XkgError, install_extra
from xkg.sandbox.guest import landlock
from xkg.sandbox.isolation import programs
from xkg.store.indexes.vectors import EXACT_UP_TO
from xkg.value import Value
from xkg.web.require_web import missing_packages


class Check(Value):
    """The outcome of a check, with the part that was found, the features that need it, and the remedy. A missing
    `optional` part is not an error."""

    name: str
    ok: bool
    seen: str
    cost: str = ""
    remedy: str = ""
    optional: bool = False

    def __str__(self) -> str:
        state = "ok" if self.ok else "optional" if self.optional else "not ok"
        missing = "" if self.ok else f"\n            without it: {self.cost}\n            remedy: {self.remedy}"
        return f"{state:<10}{self.name}: {self.seen}{missing}"


class Report(Value):
    """All checks. Parts that a build needs earlier are checked earlier."""

    findings: tuple[Check, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings))


def examine(settings: Settings) -> Report:
    """Checks this machine and the configured graph. A missing part never raises an error."""
    return Report(
        findings=(
            *_programs(),
            _embedding(settings),
            _sentence_transformers(),
            _language_model(settings),
            *_agent_programs(),
            _vectors(),
            _sandbox(settings),
            _landlock(),
            _parsing(),
            _environments(settings),
            _interpreters(settings),
            _pages(),
            *_neo4j(settings),
            _graph(settings),
        )
    )


def _programs() -> Iterator[Check]:
    yield Check(name="python", ok=True, seen=f"{platform.python_version()} in {sys.prefix}")
    git = shutil.which("git")
    if git is None:
        cost, seen = "repositories cannot be fetched; plain folders can be read", "not found"
        yield Check(name="git", ok=False, seen=seen, cost=cost, remedy="apt-get install git")
        return
    wall = programs.wall()
    yield Check(
        name="git",
        ok=wall is not None,
        seen=f"{git}, contained by {wall or 'none: it runs with your permissions'}",
        cost="git ignores a repository's configuration, but a vulnerability in git itself could reach your files",
        remedy="apt-get install bubblewrap libseccomp2, or Linux 5.13 or later with Landlock enabled",
    )


def _embedding(settings: Settings) -> Check:
    """Loads the configured embedding model, or contacts its server."""
    from xkg.embeddings.base import MINILM
    from xkg.embeddings.factory import make_embedder
    from xkg.embeddings.onnx_weights import in_hub_cache
    from xkg.embeddings.published_weights import own_folder

    wanted = settings.embedding
    remote = wanted.provider == "openai"

    def look() -> str:
        embedder = make_embedder(wanted)
        local = own_folder() if wanted.model == MINILM else in_hub_cache(wanted.model)
        origin = wanted.base_url if remote else wanted.weights or local or "the model hub"
        return f"{embedder.model}, {embedder.dimension} dimensions, from {origin}"

    return _try(
        "embedding model",
        look,
        cost="nothing can be built, imported or searched",
        remedy="see the message; correct embedding.base_url, embedding.model or the key, or use embedding.provider=onnx"
        if remote
        else "see the message, or set embedding.weights to a folder with the model's files",
    )


def _sentence_transformers() -> Check:
    """Looks up the package without importing it, because importing torch takes seconds."""
    version = _version("sentence-transformers")
    return Check(
        name="sentence-transformers",
        ok=version is not None,
        seen=version or "not installed",
        cost="embedding.provider sentence-transformers (any model, GPUs) cannot be used",
        remedy=install_extra("st"),
        optional=True,
    )


def _language_model(settings: Settings) -> Check:
    """Checks whether a model and a key are configured, but makes no calls, because calls cost money."""
    from xkg.llm.credentials import access
    from xkg.llm.endpoints import uses_server

    def look() -> str:
        if settings.llm.model == "none":
            return "none: builds use only static analysis"
        if not uses_server(settings.llm):
            return f"{settings.llm.model}; not asked"
        where = access(settings.llm)
        return f"{settings.llm.model} at {where.at}, {'with a key' if where.key else 'without a key'}; not asked"

    return _try(
        "language model",
        look,
        cost="`xkg build` works only with `--llm none` (static analysis)",
        remedy="set OPENAI_API_KEY, or llm.base_url and llm.model for another endpoint, or pass one of the "
        "programs below to --llm",
        optional=True,
    )


def _agent_programs() -> Iterator[Check]:
    """Checks the agent programs that can serve as the language model. Only queries their login status."""
    from xkg.llm.programs.known import PROGRAMS, is_logged_in, path_of

    for program in PROGRAMS.values():
        path = path_of(program)
        has_login = path is not None and is_logged_in(program, path)
        yield Check(
            name=program.title,
            ok=has_login,
            seen="not installed" if path is None else f"{path}, {'logged in' if has_login else 'not logged in'}",
            cost=f"--llm {program.name}",
            remedy=f"install it, then {program.log_in}" if path is None else program.log_in,
            optional=True,
        )


def _pages() -> Check:
    missing = missing_packages()
    return Check(
        name="pages",
        ok=not missing,
        seen=f"not installed: {', '.join(missing)}" if missing else "installed",
        cost="`xkg explore`, `xkg explore --save`, `export --format html` and the pages served by `xkg serve --http`",
        remedy=install_extra("web"),
        optional=True,
    )


def _vectors() -> Check:
    def look() -> str:
        try:
            import faiss
        except ImportError as error:
            raise XkgError("faiss is not installed") from error
        return f"faiss {faiss.__version__}"

    return _try(
        "vector index",
        look,
        cost=f"in graphs of more than {EXACT_UP_TO:,} techniques, search compares every vector",
        remedy=install_extra("faiss"),
        optional=_version("faiss-cpu") is None,
    )


def _sandbox(settings: Settings) -> Check:
    from xkg.sandbox.runner import Job
    from xkg.sandbox.select import chosen_runner

    def look() -> str:
        runner, why = chosen_runner(settings.sandbox)
        outcome = runner.run(Job(arguments=("-c", "print('ran')")))
        if not outcome.ok:
            raise XkgError(f"{runner.name} cannot run Python: {' '.join(outcome.output.split())[-200:]}")
        weaker = f"; weaker than bubblewrap: {'; '.join(runner.weaker)}" if runner.weaker else ""
        return f"{runner.name} ({why}), one run {outcome.seconds * 1000:.0f} ms{weaker}"

    return _try(
        "sandbox",
        look,
        cost="code is never run: levels stop at 'parsed'",
        remedy="on Linux: apt-get install bubblewrap libseccomp2; elsewhere: podman or docker; see the message",
    )


def _landlock() -> Check:
    version = landlock.version()
    return Check(
        name="landlock",
        ok=version > 0,
        seen=f"ABI {version}" if version else "not in this kernel",
        cost="untrusted Cypher runs only behind the guard and a read-only handle",
        remedy="Linux 5.13 or later with Landlock enabled",
        optional=True,
    )


def _parsing() -> Check:
    from xkg.sandbox.isolation.confined_worker import walls

    barriers = walls()
    return Check(
        name="parsing",
        ok=bool(barriers),
        seen=f"in a separate process: {', '.join(barriers)}" if barriers else "in a process with resource limits only",
        cost="a hostile paper or repository could exploit a vulnerability in a parser",
        remedy="Linux 5.13 or later with Landlock enabled, and libseccomp2",
    )


def _environments(settings: Settings) -> Check:
    from xkg.sandbox.packages.disk_quota import quota
    from xkg.sandbox.packages.environments import environments_folder

    reachable = _registry_reachable()
    folder = environments_folder(settings.environment)
    limits = quota(folder, settings.environment)
    return Check(
        name="package registry",
        ok=reachable and limits.one > 0,
        seen=f"{'reachable' if reachable else 'not reachable'}; up to {limits.one:,} MB for one environment and "
        f"{limits.total:,} MB for all, in {folder}",
        cost="code that needs new packages stays at 'parsed'",
        remedy="a network connection"
        if limits.one
        else "environment.max_mb above 0"
        if settings.environment.max_mb == 0
        else "free disk space",
    )


def _interpreters(settings: Settings) -> Check:
    from xkg.sandbox.isolation.interpreters import OLDEST, installed, own

    found = sorted(installed(), key=lambda version: int(version[2:]))
    missing = [f"3.{minor}" for minor in range(OLDEST, own().minor) if f"3.{minor}" not in found]
    downloads = "uv downloads other versions" if settings.environment.python_downloads else "others are not downloaded"
    return Check(
        name="interpreters",
        ok=not missing,
        seen=f"{own().version}{''.join(f', {version}' for version in found)}; {downloads}",
        cost=f"code gets later versions of packages that have wheels only for Python {' or '.join(missing)}",
        remedy="run `uv python install 3.8` (`pyenv install 3.7` for older code), or set "
        "environment.python_downloads to true",
        optional=True,
    )


def _neo4j(settings: Settings) -> Iterator[Check]:
    if settings.store.url is None:
        return

    def look() -> str:
        from xkg.store.neo4j.status import examine

        return examine(settings.store)

    yield _try(
        f"Neo4j at {settings.store.url}",
        look,
        cost="this graph cannot be read or written; papers built in the meantime wait for `xkg store push`",
        remedy="see the message; start the server, or correct store.url, store.database and the credentials",
    )


def _graph(settings: Settings) -> Check:
    from xkg.commands.graph.open import open_store

    def look() -> str:
        with open_store(settings) as store, store.snapshot() as snapshot:
            if snapshot.generation == 0:
                raise XkgError("empty")
            return f"papers: {snapshot.paper_count()}, generation {snapshot.generation}"

    return _try(
        f"graph in {settings.kg}" if settings.store.url is None else "graph there",
        look,
        cost="commands that read the graph have no data",
        remedy="run `xkg build` or `xkg import`, or see the message",
    )


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _registry_reachable() -> bool:
    from xkg.sandbox.isolation.host_proxy import configured_index

    for host, port in sorted(configured_index().hosts):
        try:
            socket.create_connection((host, port), timeout=3).close()
        except OSError:
            return False
    return True


def _try(name: str, look: Callable[[], str], *, cost: str, remedy: str, optional: bool = False) -> Check:
    try:
        return Check(name=name, ok=True, seen=look(), cost=cost, remedy=remedy, optional=optional)
    except XkgError as error:
        return Check(name=name, ok=False, seen=str(error), cost=cost, remedy=remedy, optional=optional)
