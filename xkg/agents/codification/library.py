"""The graph as an agent's library: techniques with running code, and what a paper consists of, as text for prompts."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from xkg.agents.codification.task import Method
from xkg.errors import StoreError, UnknownIdError, XkgError

if TYPE_CHECKING:
    from xkg.serve.answers.types import TechniqueLine
    from xkg.serve.service import Service

_CONTEXT_TOKENS = 4000
_FOUND, _PLACES = 5, 8
_MOST_PARTS = 8
"""A paper with more components is taken apart by a model, which leaves out what the task does not need."""


class Library(Protocol):
    """Every method returns text, also about what went wrong."""

    def search(self, query: str) -> str: ...

    def code(self, identity: str) -> str: ...

    def context(self, paper: str) -> str: ...

    def locate(self, text: str, tree: Path) -> str: ...

    def method(self, reference: str) -> Method | None:
        """The method that a paper or technique of the graph proposes; None for what is none. Raises `InputError`."""
        ...


class GraphLibrary:
    """The library of a graph; `service` None is one without a graph, which still locates in the workspace."""

    def __init__(self, service: "Service", *, graph: bool = True) -> None:
        self._service = service
        self._graph = graph

    def search(self, query: str) -> str:
        def found() -> object:
            with_code = self._service.search(query, _FOUND, filters=Filters.of(with_code=True))
            return with_code if with_code.rows else self._service.search(query, _FOUND)

        from xkg.serve.search.filters import Filters

        return self._ask(found)

    def code(self, identity: str) -> str:
        return self._ask(lambda: self._service.code(identity, full=True))

    def context(self, paper: str) -> str:
        return self._ask(lambda: self._service.context(paper, _CONTEXT_TOKENS, "implementation"))

    def locate(self, text: str, tree: Path) -> str:
        try:
            return _text(self._service.locate(text, tree, _PLACES)).replace(str(tree.resolve()), "the workspace")
        except XkgError as error:
            return f"nothing was located: {error}"

    def method(self, reference: str) -> Method | None:
        if not self._graph:
            return None
        try:
            if "#" in reference:
                technique = self._service.technique(reference, full=True)
                parts = technique.components
                text = "\n\n".join(
                    [
                        f"{technique.name}, of the paper {technique.paper_title}",
                        technique.definition,
                        *(f"{part.name}: {part.description or 'no definition'}" for part in parts),
                        f"In the library: {technique.code}" if technique.code else "",
                    ]
                )
                names = tuple(part.name for part in parts) or (technique.name,)
                return Method(text=text.strip(), source=f"{technique.id} in the graph", parts=names)
            paper = self._service.paper(reference)
            context = self._service.context(paper.id, _CONTEXT_TOKENS)
        except (UnknownIdError, StoreError):
            return None
        leaves = _leaves(paper.techniques)
        named = leaves if 1 <= len(leaves) <= _MOST_PARTS and len(set(leaves)) == len(leaves) else ()
        return Method(text=str(context), source=f"{paper.title} in the graph", parts=named)

    def _ask(self, question: "object") -> str:
        if not self._graph:
            return "there is no library in this run"
        try:
            return _text(question())  # type: ignore[operator]
        except XkgError as error:
            return f"the library has no answer: {error}"


def _leaves(techniques: "Sequence[TechniqueLine]") -> tuple[str, ...]:
    """The names of those without components, in order: what is composed of them is built when they are."""
    below = [*(line.depth for line in techniques[1:]), 0]
    return tuple(line.name for line, next_depth in zip(techniques, below, strict=True) if next_depth <= line.depth)


def _text(answer: object) -> str:
    from xkg.serve.answer_text import text

    return text(answer)  # type: ignore[arg-type]
