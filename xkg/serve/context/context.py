"""Renders a paper as Markdown for a planning or coding prompt, within a token budget."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from xkg.errors import InputError, require_choice
from xkg.llm.prices import tokens
from xkg.model import PaperBundle
from xkg.serve.answers.measured import Ablations
from xkg.serve.answers.quoting import one_line
from xkg.serve.answers.references import paper_id, short_ids, short_paper
from xkg.serve.answers.types import Quoting
from xkg.serve.context.implementation import implementation
from xkg.serve.context.parts import Chosen, CodeForm, Kind
from xkg.serve.context.planning import planning
from xkg.serve.search.related import RelatedAnswer, related_papers
from xkg.store.graph_store import Snapshot
from xkg.store.index_entries import searched_entries

if TYPE_CHECKING:
    from xkg.build.parsing.parsers import Parsers

View = Literal["planning", "implementation"]

KINDS: tuple[Kind, ...] = get_args(Kind)
MOST_RELATED = 5


class ContextAnswer(Quoting):
    """A paper as Markdown for a prompt. The answer's string form is the Markdown.

    - `context`: the Markdown, with short ids
    - `tokens`: the length of the Markdown, at most `budget_tokens`. A token is four characters
    - `pairs`: the techniques whose code is included, in build order, or empty in a plan
    - `left_out`: a note on what was omitted, repeated as the last line of `context`"""

    paper: str
    title: str
    view: View
    budget_tokens: int
    tokens: int
    context: str
    pairs: tuple[str, ...]
    left_out: str

    def __str__(self) -> str:
        return self.context


def paper_context(
    snapshot: Snapshot,
    paper: str,
    budget_tokens: int,
    view: View,
    include: Collection[Kind] = KINDS,
    code: CodeForm = "rewritten",
    *,
    graph: Path,
    parsers: "Callable[[], Parsers]",
    repository: Path | None = None,
    ablations: Ablations | None = None,
) -> ContextAnswer:
    """Returns the context for a paper, given by id or title. With `code="raw"`, the original lines are parsed with
    `parsers`. The lines are read from `repository`, a clone or copy of the paper's repository, or by default from the
    graph's folder. A plan includes the measured `ablations`.

    Raises `UnknownIdError` if there is no such paper, and `InputError` if a choice is invalid, the budget is too small,
    or the repository is not the paper's."""
    require_choice(view, View, "view")
    require_choice(code, CodeForm, "code")
    for kind in include:
        require_choice(kind, Kind, "include")
    if repository is not None and (view == "planning" or code != "raw"):
        raise InputError(
            "a repository is used only by the implementation view with raw code; select both, or omit the repository"
        )
    bundle = snapshot.bundle(paper_id(snapshot, paper))
    searched = [entry.technique.id for entry in searched_entries(bundle)]
    called = short_paper(snapshot, bundle.paper.id)
    chosen = Chosen(bundle, frozenset(include), called, short_ids(snapshot, searched), ablations or {})
    pairs: tuple[str, ...] = ()
    if view == "planning":
        text, left_out = planning(chosen, budget_tokens, lambda: _related(snapshot, bundle.paper.id))
    else:
        raw, why_not = _raw(bundle, graph, parsers(), repository) if code == "raw" else ({}, "")
        text, pairs, left_out = implementation(chosen, budget_tokens, code, raw, why_not)
    return ContextAnswer(
        paper=bundle.paper.id,
        title=one_line(bundle.paper.title),
        view=view,
        budget_tokens=budget_tokens,
        tokens=tokens(text),
        context=text,
        pairs=pairs,
        left_out=left_out,
    )


def _related(snapshot: Snapshot, paper: str) -> RelatedAnswer:
    answer = related_papers(snapshot, paper, MOST_RELATED)
    rows = tuple(row.model_copy(update={"id": short_paper(snapshot, row.id)}) for row in answer.rows)
    return answer.model_copy(update={"rows": rows})


def _raw(bundle: PaperBundle, graph: Path, parsers: "Parsers", repository: Path | None) -> tuple[dict[str, str], str]:
    from xkg.serve.context.raw_code import raw_code  # loads the parsers, which a server does not need at startup

    return raw_code(bundle, graph, parsers, repository)
