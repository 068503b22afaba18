"""Builds the papers in a list with an engine, on the graph's machine or on other machines."""

import hashlib
import pickle
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Self

from xkg.blacklist import read_blacklist
from xkg.clock import CLOCK, Clock
from xkg.commands.batch.carried_files import Carried, Files, local_paths
from xkg.commands.batch.paper_list import ListedPaper
from xkg.commands.batch.remote_build import GraphAtHome, NodeGraph, Outbox, language_model_elsewhere, open_ledger
from xkg.commands.build import Builder
from xkg.commands.graph.open import embedder, require_folder
from xkg.commands.published import BuildResult, OwnGraph, Unpublished
from xkg.config import Settings
from xkg.engine.engine import Home, Site
from xkg.files import write_whole

_IMPORTED = (
    "xkg.build.pipeline",
    "xkg.build.sources.arxiv_index",
    "xkg.build.sources.title_source",
    "xkg.commands.batch.build_papers",
    "xkg.commands.claims",
    "xkg.embeddings.cache",
    "xkg.embeddings.onnx",
    "xkg.sandbox.packages.environments",
    "xkg.sandbox.select",
    "xkg.store.local.store",
    "xkg.store.open",
)


@dataclass(frozen=True)
class BuildPapers:
    """Builds papers one after another. `blacklisted` contains the bytes of the file `blacklist`. `paths` is the result
    of `local_paths`.

    If the graph is in a folder, built papers are returned unpublished. If the graph is on Neo4j, the machine that built
    a paper also publishes it. On other machines, a build keeps its files in a local folder. The graph's machine stores
    the model's answers and costs, enforces a budget and call limit shared by all builds, and schedules requests to
    arXiv."""

    settings: Settings
    blacklist: Path | None = None
    blacklisted: bytes = b""
    first: bool = False
    paths: Mapping[str, str] = field(default_factory=dict)
    clock: Clock = CLOCK

    @classmethod
    def of(
        cls,
        settings: Settings,
        papers: Iterable[ListedPaper],
        blacklist: Path | None = None,
        *,
        first: bool = False,
        clock: Clock = CLOCK,
    ) -> Self:
        """Creates the task for a list of papers. Raises `InputError` if the blacklist cannot be read."""
        blacklisted = b""
        if blacklist is not None:
            read_blacklist(blacklist)
            blacklisted = blacklist.read_bytes()
        return cls(settings, blacklist, blacklisted, first, local_paths(papers), clock)

    @property
    def name(self) -> str:
        graph = f"{socket.gethostname()}:{self.settings.kg.absolute()}"
        return hashlib.sha256(graph.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def gpus(self) -> int:
        return 0

    @property
    def imports(self) -> tuple[str, ...]:
        """Returns the modules that builds import, so that processes can import them at startup."""
        return _IMPORTED

    @property
    def services(self) -> Mapping[str, Callable[[], object]]:
        settings = self.settings.model_copy(update={"kg": self.settings.kg.absolute()})
        services: dict[str, Callable[[], object]] = {
            "graph": partial(OwnGraph if settings.store.url is None else Outbox, settings),
            "embeddings": partial(embedder, settings),
            "files": partial(Files, self.paths),
        }
        if settings.llm.model != "none":
            services["ledger"] = partial(open_ledger, settings)
        return services

    @property
    def places(self) -> Mapping[str, int]:
        return {"model": self.settings.llm.concurrency}

    @contextmanager
    def open(self, site: Site) -> Iterator[Callable[[ListedPaper], BuildResult | Unpublished]]:
        """Yields a function that builds a paper. If the graph is on a server, the function also publishes the paper,
        but does not call `GraphStore.connect`. Raises the same errors as `Builder`. Raises `SandboxUnavailableError` if
        another machine has no sandbox, because results must not depend on the machine."""
        remote = None if site.home is None or site.folder is None else (site.home, site.folder)
        carried = remote and Carried(*remote)
        with self._builder(site) if remote is None else self._elsewhere(site, *remote) as builder:

            def publish(paper: Unpublished) -> BuildResult | Unpublished:
                embedded = builder.embed(paper.built.bundle)
                if self.settings.store.url is None:
                    size = len(pickle.dumps(paper.built.bundle))
                    return replace(paper, size=size, embedded=None if remote is None else embedded)
                if remote is not None:
                    remote[0].call("embeddings", "put", *embedded)
                graph = (
                    OwnGraph(self.settings) if remote is None else NodeGraph(self._settings_in(remote[1]), remote[0])
                )
                return graph.publish(paper, connect=False)

            def build(listed: ListedPaper) -> BuildResult | Unpublished:
                paper, repository = listed.paper, listed.repository
                if carried is not None:
                    paper, repository = carried.place(paper), repository and carried.place(repository)
                return builder.build(
                    paper,
                    repository,
                    listed.paper_id,
                    keep_proven=listed.keep_proven,
                    record=listed.record,
                    packages=listed.packages,
                    cpu=listed.cpu,
                    publish=publish,
                )

            yield build

    def _builder(self, site: Site) -> Builder:
        return Builder(self.settings, site.notify, blacklist=self.blacklist, first=self.first, clock=self.clock)

    def _settings_in(self, folder: Path) -> Settings:
        return self.settings.model_copy(update={"kg": folder})

    def _elsewhere(self, site: Site, home: Home, folder: Path) -> Builder:
        from xkg.build.sources import pace
        from xkg.sandbox.select import runner_for

        settings = self._settings_in(folder)
        require_folder(folder)
        runner_for(settings.sandbox)
        pace.share("cluster", home.paced)
        blacklist = None
        if self.blacklist is not None:
            blacklist = folder / "blacklist"
            write_whole(blacklist, self.blacklisted)
        return Builder(
            settings,
            site.notify,
            blacklist=blacklist,
            first=self.first,
            graph=GraphAtHome(settings, home) if settings.store.url is None else NodeGraph(settings, home),
            model=lambda: language_model_elsewhere(settings, site.notify, home),
            clock=self.clock,
        )
