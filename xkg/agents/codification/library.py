"""Gives agents access to the graph as a library. Renders techniques with running code, and a paper's components, as
prompt text."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from xkg.agents.codification.task import Method
from xkg.errors import StoreError, UnknownIdError, XkgError

if TYPE_CHECKING:
    from xkg.model import Excerpt, Paper, PaperBundle
    from xkg.serve.context.parts import Kind
    from xkg.serve.service import Service
    from xkg.store.graph_store import Snapshot

_CONTEXT_TOKENS, _RELATED_TOKENS = 4000, 600
_RELATED: "tuple[Kind, ...]" = ("related",)
_FOUND, _PLACES = 5, 8
_MOST_PARTS = 8
"""The maximum number of components. If a paper has more, a model splits the method into parts and leaves out unneeded
parts."""


class Library:
    """Answers an agent's questions from a graph. Errors are also returned as text. If `graph` is False, the library
    only locates code in the workspace."""

    def __init__(self, service: "Service", *, graph: bool = True) -> None:
        self._service = service
        self._graph = graph

    def search(self, query: str) -> str:
        from xkg.serve.search.filters import Filters

        def found() -> object:
            with_code = self._service.search(query, _FOUND, filters=Filters.of(with_code=True))
            return with_code if with_code.rows else self._service.search(query, _FOUND)

        return self._ask(found)

    def code(self, identity: str) -> str:
        return self._ask(lambda: self._service.code(identity, full=True))

    def context(self, paper: str) -> str:
        return self._ask(lambda: self._service.context(paper, _CONTEXT_TOKENS, "implementation"))

    def locate(self, text: str, tree: Path) -> str:
        try:
            return _text(self._service.locate(text, tree, _PLACES)).replace(str(tree.resolve()), "the workspace")
        except XkgError as error:
            return f"no code was located: {error}"

    def method(self, reference: str) -> Method | None:
        """Returns the method of a paper or technique in the graph, or None if `reference` is neither. Raises
        `InputError`."""
        if not self._graph:
            return None
        try:
            with self._service.snapshot() as snapshot:
                return (
                    self._of_technique(snapshot, reference) if "#" in reference else self._of_paper(snapshot, reference)
                )
        except (UnknownIdError, StoreError):
            return None

    def _of_paper(self, snapshot: "Snapshot", reference: str) -> Method:
        """Returns the paper's method sections. If the text is not on this machine, as in an imported graph, returns the
        paper's planning view."""
        from xkg.serve.answers.references import paper_id

        bundle = snapshot.bundle(paper_id(snapshot, reference))
        code = self._service.context(bundle.paper.id, _CONTEXT_TOKENS, "implementation")
        text, notes = self._text(bundle.paper, ())
        if text is None:
            text = str(self._service.context(bundle.paper.id, _CONTEXT_TOKENS))
            related = ""
        else:
            related = self._related(bundle.paper.id)
        leaves = _leaves(bundle)
        return Method(
            text=text,
            source=f"{bundle.paper.title} in the graph",
            parts=leaves if 1 <= len(leaves) <= _MOST_PARTS and len(set(leaves)) == len(leaves) else (),
            library="\n\n".join(filter(None, (str(code), related))),
            notes=notes,
        )

    def _of_technique(self, snapshot: "Snapshot", reference: str) -> Method:
        """Returns the definitions of the technique and its components, followed by the sections of the paper that
        contain them."""
        technique = self._service.technique(reference, full=True)
        parts = technique.components
        bundle = snapshot.bundle(technique.paper)
        below = f"{technique.id}/"
        within = [each for each in bundle.techniques if each.id == technique.id or each.id.startswith(below)]
        text, notes = self._text(bundle.paper, [excerpt for each in within for excerpt in each.excerpts])
        blocks = [
            f"{technique.name}, of the paper {technique.paper_title}",
            technique.definition,
            *(f"{part.name}: {part.description or 'no definition'}" for part in parts),
            *(["In the paper:", text] if text is not None else []),
        ]
        coded = [each.id for each in within if bundle.code_of(each.id) is not None]
        return Method(
            text="\n\n".join(blocks).strip(),
            source=f"{technique.id} in the graph",
            parts=tuple(part.name for part in parts) or (technique.name,),
            library=self._code_of([*(each for each in coded if each != technique.id), *coded[:1]]),
            notes=notes,
        )

    def _text(self, paper: "Paper", excerpts: "Sequence[Excerpt]") -> tuple[str | None, tuple[str, ...]]:
        """Returns the method's text, and notes on omitted sections. The text is None if the paper is not on this
        machine or has no method section."""
        from xkg.agents.codification.method_text import method_text
        from xkg.build.parsed_papers import parsed_paper

        document = parsed_paper(self._service.folder, paper)
        found = None if document is None else method_text(document, excerpts=excerpts)
        if found is None:
            why = "is not on this machine" if document is None else "has no section on a method"
            return None, (f"the paper's text {why}, so the method comes from the graph",)
        return found.text, tuple(filter(None, [found.note()]))

    def _related(self, paper: str) -> str:
        try:
            plan = str(self._service.context(paper, _RELATED_TOKENS, "planning", include=_RELATED))
        except XkgError:
            return ""
        return plan if "\n- " in plan else ""

    def _code_of(self, techniques: "Sequence[str]") -> str:
        """Returns the code of these techniques, with its levels. Replaces code that exceeds the maximum size with a
        note."""
        found, room = [], _CONTEXT_TOKENS * 4
        for technique in dict.fromkeys(techniques):
            text = self.code(technique)
            room -= len(text)
            found.append(text if room >= 0 else f"{technique}: too long; get_code shows it")
        return "\n\n".join(found)

    def _ask(self, question: Callable[[], object]) -> str:
        if not self._graph:
            return "there is no library in this run"
        try:
            return _text(question())
        except XkgError as error:
            return f"the library has no answer: {error}"


def _leaves(bundle: "PaperBundle") -> tuple[str, ...]:
    """Returns the names of techniques without components. A technique comes after the techniques that it uses. Omits
    composed techniques, because they are complete once their components are built."""
    from xkg.serve.context.parts import build_order, uses
    from xkg.store.index_entries import entries

    shown = [entry.technique for entry in entries(bundle)]
    names = {technique.id: technique.name for technique in shown}
    order = build_order(uses(shown, {code.technique: code for code in bundle.code if code.technique in names}))
    composed = {technique.parent for technique in shown}
    return tuple(names[technique] for technique in order if technique not in composed)


def _text(answer: object) -> str:
    from xkg.serve.answer_text import text

    return text(answer)  # type: ignore[arg-type]
