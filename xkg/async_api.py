"""The same graph for programs that run on an event loop, which none of its calls blocks.

async with xkg.open_async("storage/default") as kg:
    answer = await kg.search("median heuristic")
"""

import asyncio
import contextvars
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from xkg.api import Folder, KnowledgeGraph, settings_of

if TYPE_CHECKING:
    from xkg.config import Settings
    from xkg.model import Level, Paper
    from xkg.serve.answers.types import (
        CodeAnswer,
        CypherAnswer,
        ImplementationsAnswer,
        LocateAnswer,
        PaperAnswer,
        SchemaAnswer,
        SearchAnswer,
        TechniqueAnswer,
    )
    from xkg.serve.context.context import ContextAnswer, View
    from xkg.serve.context.parts import CodeForm, Kind
    from xkg.serve.search.related import RelatedAnswer

P = ParamSpec("P")
R = TypeVar("R")

THREADS = 8
"""Calls of one graph at work at a time; more wait for their turn."""


def open_async(folder: Folder | None = None, *, url: str | None = None, **settings: Any) -> "AsyncKnowledgeGraph":
    """As `xkg.open`, for an event loop."""
    return AsyncKnowledgeGraph(settings_of(folder, url, settings))


class AsyncKnowledgeGraph:
    """`xkg.KnowledgeGraph` with the same methods as coroutines, each run in a thread. A call that is cancelled before
    its turn is never made; one under way ends unheard and harms nothing."""

    def __init__(self, settings: "Settings") -> None:
        self._graph = KnowledgeGraph(settings)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="xkg")

    async def papers(self) -> tuple["Paper", ...]:
        return await self._run(self._graph.papers)

    async def paper(self, paper: str, *, include_code: bool = False) -> "PaperAnswer":
        return await self._run(self._graph.paper, paper, include_code=include_code)

    async def technique(self, technique: str) -> "TechniqueAnswer":
        return await self._run(self._graph.technique, technique)

    async def code(self, code: str) -> "CodeAnswer":
        return await self._run(self._graph.code, code)

    async def search(
        self,
        query: str,
        k: int = 5,
        *,
        papers: Sequence[str] = (),
        years: tuple[int | None, int | None] = (None, None),
        level: "Level | str | None" = None,
        packages: Sequence[str] = (),
        language: str | None = None,
        exclude: Sequence[str] = (),
        with_code: bool = False,
        verify: bool = False,
    ) -> "SearchAnswer":
        return await self._run(
            self._graph.search,
            query,
            k,
            papers=papers,
            years=years,
            level=level,
            packages=packages,
            language=language,
            exclude=exclude,
            with_code=with_code,
            verify=verify,
        )

    async def find_implementations(
        self,
        task: str,
        k: int = 2,
        *,
        papers: Sequence[str] = (),
        years: tuple[int | None, int | None] = (None, None),
        level: "Level | str | None" = None,
        packages: Sequence[str] = (),
        language: str | None = None,
        exclude: Sequence[str] = (),
        with_code: bool = False,
    ) -> "ImplementationsAnswer":
        return await self._run(
            self._graph.find_implementations,
            task,
            k,
            papers=papers,
            years=years,
            level=level,
            packages=packages,
            language=language,
            exclude=exclude,
            with_code=with_code,
        )

    async def related(self, paper: str, k: int = 10, *, exclude: Sequence[str] = ()) -> "RelatedAnswer":
        return await self._run(self._graph.related, paper, k, exclude=exclude)

    async def locate(self, technique: str, repository: Folder | None = None, k: int = 10) -> "LocateAnswer":
        return await self._run(self._graph.locate, technique, repository, k)

    async def context(
        self,
        paper: str,
        *,
        budget_tokens: int = 2000,
        view: "View" = "planning",
        include: "Collection[Kind] | None" = None,
        code: "CodeForm" = "rewritten",
        repository: Folder | None = None,
    ) -> "ContextAnswer":
        return await self._run(
            self._graph.context,
            paper,
            budget_tokens=budget_tokens,
            view=view,
            include=include,
            code=code,
            repository=repository,
        )

    async def schema(self) -> "SchemaAnswer":
        return await self._run(self._graph.schema)

    async def cypher(self, query: str, /, *, rows: int = 1000, **parameters: Any) -> "CypherAnswer":
        return await self._run(self._graph.cypher, query, rows=rows, **parameters)

    async def close(self) -> None:
        """Lets go of the graph, for good. Calls under way end as they would."""
        await asyncio.to_thread(self._graph.close)
        self._threads.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _run(self, ask: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        from xkg.errors import StoreError

        call = partial(contextvars.copy_context().run, ask, *args, **kwargs)
        try:
            pending = self._threads.submit(call)
        except RuntimeError as error:  # the threads were let go
            raise StoreError("the graph was closed: open it again") from error
        return await asyncio.wrap_future(pending)
