"""The Python API for asyncio programs. No call blocks the event loop.

async with xkg.open_async("storage/default") as kg:
    answer = await kg.search("median heuristic")
"""

import asyncio
import contextvars
import functools
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from xkg.api import KnowledgeGraph, settings_of
from xkg.api_changes import Folder

if TYPE_CHECKING:
    from xkg.config import Settings

P = ParamSpec("P")
R = TypeVar("R")

THREADS = 8
"""Maximum number of concurrent calls to one graph. Further calls wait."""


def open_async(folder: Folder | None = None, *, url: str | None = None, **settings: Any) -> "AsyncKnowledgeGraph":
    """Opens a graph like `xkg.open`, but for asyncio programs."""
    return AsyncKnowledgeGraph(settings_of(folder, url, settings))


def _coroutine(
    method: Callable[Concatenate[KnowledgeGraph, P], R],
) -> Callable[Concatenate["AsyncKnowledgeGraph", P], Coroutine[Any, Any, R]]:
    @functools.wraps(method)
    async def call(self: "AsyncKnowledgeGraph", /, *args: P.args, **kwargs: P.kwargs) -> R:
        from xkg.errors import StoreError

        ask: Callable[P, R] = getattr(self._graph, method.__name__)
        run = functools.partial(contextvars.copy_context().run, ask, *args, **kwargs)
        try:
            pending = self._threads.submit(run)
        except RuntimeError as error:  # the thread pool was shut down
            raise StoreError("the graph was closed; open it again") from error
        return await asyncio.wrap_future(pending)

    return call


class AsyncKnowledgeGraph:
    """Like `xkg.KnowledgeGraph`, but its methods are coroutines that run in threads. A call that is cancelled before it
    starts never runs; if the call is already running, its result is discarded."""

    def __init__(self, settings: "Settings") -> None:
        self._graph = KnowledgeGraph(settings)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="xkg")

    papers = _coroutine(KnowledgeGraph.papers)
    paper = _coroutine(KnowledgeGraph.paper)
    technique = _coroutine(KnowledgeGraph.technique)
    code = _coroutine(KnowledgeGraph.code)
    search = _coroutine(KnowledgeGraph.search)
    find_implementations = _coroutine(KnowledgeGraph.find_implementations)
    related = _coroutine(KnowledgeGraph.related)
    locate = _coroutine(KnowledgeGraph.locate)
    context = _coroutine(KnowledgeGraph.context)
    ablations = _coroutine(KnowledgeGraph.ablations)
    schema = _coroutine(KnowledgeGraph.schema)
    cypher = _coroutine(KnowledgeGraph.cypher)
    run = _coroutine(KnowledgeGraph.run)
    build = _coroutine(KnowledgeGraph.build)
    plan_build = _coroutine(KnowledgeGraph.plan_build)
    build_papers = _coroutine(KnowledgeGraph.build_papers)
    curate = _coroutine(KnowledgeGraph.curate)
    update = _coroutine(KnowledgeGraph.update)
    import_ = _coroutine(KnowledgeGraph.import_)
    export = _coroutine(KnowledgeGraph.export)
    push = _coroutine(KnowledgeGraph.push)
    pull = _coroutine(KnowledgeGraph.pull)
    remove = _coroutine(KnowledgeGraph.remove)
    verify = _coroutine(KnowledgeGraph.verify)
    trust = _coroutine(KnowledgeGraph.trust)
    trusted = _coroutine(KnowledgeGraph.trusted)
    revoke = _coroutine(KnowledgeGraph.revoke)
    link = _coroutine(KnowledgeGraph.link)
    costs = _coroutine(KnowledgeGraph.costs)
    diff = _coroutine(KnowledgeGraph.diff)
    ablate = _coroutine(KnowledgeGraph.ablate)
    implement = _coroutine(KnowledgeGraph.implement)
    start_build = _coroutine(KnowledgeGraph.start_build)
    start_curation = _coroutine(KnowledgeGraph.start_curation)
    job = _coroutine(KnowledgeGraph.job)
    questions = _coroutine(KnowledgeGraph.questions)
    answer = _coroutine(KnowledgeGraph.answer)

    async def close(self) -> None:
        """Closes the graph permanently. In-flight calls finish normally."""
        await asyncio.to_thread(self._graph.close)
        self._threads.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
