"""The Python API for using a graph without a server.

>>> import xkg
>>> kg = xkg.open("storage/default")
>>> kg.search("median heuristic", k=1).rows[0].name
'median heuristic'
>>> context = kg.context("arxiv:1608.04471", budget_tokens=1000)
>>> context.tokens <= 1000
True
>>> print(str(context).splitlines()[0])
# Plan of the paper: A Short Account of Stein Variational Gradient Descent
>>> kg.close()
"""

import functools
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from xkg.api_changes import Folder, GraphChanges, Progressed, ignore, number, require_list
from xkg.python_words import in_python_words

if TYPE_CHECKING:
    from xkg.agents.planning.plan import AblationPlan
    from xkg.config import Settings
    from xkg.serve.answers.paper_list import State
    from xkg.serve.answers.types import (
        CodeAnswer,
        CypherAnswer,
        ImplementationsAnswer,
        LocateAnswer,
        PaperAnswer,
        PapersAnswer,
        SchemaAnswer,
        SearchAnswer,
        TechniqueAnswer,
    )
    from xkg.serve.context.context import ContextAnswer, View
    from xkg.serve.context.parts import CodeForm, Kind
    from xkg.serve.running.answer import RunAnswer
    from xkg.serve.running.runs import Runs
    from xkg.serve.search.filters import FilterFields
    from xkg.serve.search.related import RelatedAnswer


def open(folder: Folder | None = None, *, url: str | None = None, **settings: Any) -> "KnowledgeGraph":
    """Opens the graph in `folder`, or in the Neo4j database at `url`, whose user and password come from the
    environment.

    As with the commands, all other settings come from the environment (`XKG_*`) and from `xkg.yaml` in the working
    folder. `settings` override sections of that file, such as `llm={"model": "none"}`. Nothing is read until the graph
    is first used, so a missing graph raises no error before then. Raises `ConfigError` if a setting is invalid.

        >>> import xkg
        >>> with xkg.open("storage/default") as kg:
        ...     [paper.id for paper in kg.papers() if paper.origin == "build"]
        ['arxiv:1608.04471']
    """
    return KnowledgeGraph(settings_of(folder, url, settings))


def settings_of(folder: Folder | None, url: str | None, sections: Mapping[str, Any]) -> "Settings":
    """Returns the effective settings; `sections` override all other sources. Raises `ConfigError`."""
    from xkg.config import load
    from xkg.errors import ConfigError

    flags = dict(sections)
    if "kg" in flags:
        raise ConfigError("pass the graph's folder as the first argument of xkg.open, not as a setting")
    if url is not None:
        store = flags.get("store", {})
        flags["store"] = {**(store if isinstance(store, dict) else store.model_dump(exclude_unset=True)), "url": url}
    return load(kg=None if folder is None else Path(folder), **flags)


@in_python_words
class KnowledgeGraph(GraphChanges):
    """An open graph, returned by `xkg.open`.

    Each answer reflects the graph's current state. An answer is the same immutable pydantic object that the
    corresponding MCP tool or command returns, and `str(answer)` is the text that agents read. The graph is thread-safe.
    Close the graph when you are done, or open it in a `with` statement. Errors are `XkgError`s whose messages suggest
    what to do. `UnknownIdError` lists the nearest ids, and `StoreError` means that the graph is empty, unreadable or
    closed.

    Slow methods accept `progress`, a function that is called for each event, possibly from another thread. `str(event)`
    is a single line, so `progress=print` works.
    """

    def __init__(self, settings: "Settings") -> None:
        import xkg.serve.answer_text  # noqa: F401  # renders answers in notebooks
        from xkg.serve.service import Service

        self._settings = settings
        self._service = Service(settings)

    def papers(
        self,
        text: str = "",
        k: int | None = None,
        *,
        years: tuple[int | None, int | None] = (None, None),
        with_code: bool = False,
        tested: bool = False,
        state: "State | None" = None,
        field: str = "",
    ) -> "PapersAnswer":
        """Returns at most `k` papers, ordered by title. `text` filters by words in the title, id or authors, and
        `years` by first and last year (either may be None). `with_code` and `tested` select papers with code or tested
        code. `state` is "complete" or "partial", and `field` is an arXiv category such as "cs" or "cs.LG". With
        `years`, papers without a year are omitted. You can iterate over the answer's rows or access them by index.

        >>> import xkg
        >>> with xkg.open("storage/default") as kg:
        ...     kg.papers("stein", with_code=True)[0].id
        'arxiv:1608.04471'
        """
        from xkg.errors import require_choice
        from xkg.model import Level
        from xkg.serve.answers.paper_list import PaperFilters, State

        if state is not None:
            require_choice(state, State, "state")
        level = Level.TESTED if tested else None
        return self._service.list_papers(
            None if k is None else number(k), PaperFilters(text, years, with_code, level, state, field=field)
        )

    def paper(self, paper: str, *, include_code: bool = False) -> "PaperAnswer":
        """Looks up a paper by id or title. Returns the paper's abstract, techniques (in preorder, with code levels),
        hidden techniques (with reasons), findings, resources and references. `include_code` adds the code for all
        techniques."""
        return self._service.paper(paper, include_code=include_code, full=True)

    def technique(self, technique: str) -> "TechniqueAnswer":
        """Looks up a technique by id. Returns the definition, the passage in the paper, the place in the hierarchy, the
        components, and the repository lines that implement the technique.

        >>> import xkg
        >>> with xkg.open("storage/default") as kg:
        ...     found = kg.search("median heuristic").rows[0]
        ...     kg.technique(found.id).path[-1]
        'median heuristic'
        """
        return self._service.technique(technique, full=True)

    def code(self, code: str) -> "CodeAnswer":
        """Looks up code by code id or technique id. Returns the implementation, the test, the packages, and the
        evidence for its level."""
        return self._service.code(code, full=True)

    def search(
        self, query: str, k: int = 5, *, verify: bool = False, **filters: "Unpack[FilterFields]"
    ) -> "SearchAnswer":
        """Returns at most `k` techniques for one implementation step, best first. Near misses are listed separately, in
        `nearest`.

        `papers` (ids or titles), `years` (first and last year of publication; either may be None), `language` and
        `with_code` restrict the results. `exclude` lists the ids of papers, techniques or code to omit. `level` is the
        minimum level of the code, and `packages` are packages that the code must use. `attested_by` is the name of a
        trusted key that must attest the code's level. With `verify`, the language model keeps only the techniques that
        fit and explains how to apply them. If the model does not reply, the answer says so. Raises `InputError` if the
        query is empty or the key is not trusted."""
        from xkg.serve.search.filters import Filters

        return self._service.search(query, number(k), filters=Filters.of(**_with_lists(filters)), verify=verify)

    def find_implementations(self, task: str, k: int = 2, **filters: "Unpack[FilterFields]") -> "ImplementationsAnswer":
        """For each part of a task, returns at most `k` techniques with their code and how to apply them. The language
        model splits the task into parts. Without a model, each line of the task is a part, and nothing is verified.
        Accepts the same filters as `search`."""
        from xkg.serve.search.filters import Filters

        return self._service.find_implementations(
            task, number(k), filters=Filters.of(**_with_lists(filters)), full=True
        )

    def related(self, paper: str, k: int = 10, *, exclude: Sequence[str] = ()) -> "RelatedAnswer":
        """Returns at most `k` papers related to the given paper by citation, shared concepts or similar techniques,
        best first."""
        require_list("exclude", exclude)
        return self._service.related(paper, number(k), tuple(exclude))

    def locate(self, technique: str, repository: Folder | None = None, k: int = 10) -> "LocateAnswer":
        """Finds the lines to edit or ablate for a technique (id or name) or a description, best first. Returns the
        lines stored in the graph or, if `repository` is set, the current lines in that folder. No code is run."""
        return self._service.locate(technique, None if repository is None else Path(repository), number(k))

    def context(
        self,
        paper: str,
        *,
        budget_tokens: int = 2000,
        view: "View" = "planning",
        include: "Collection[Kind] | None" = None,
        code: "CodeForm" = "rewritten",
        repository: Folder | None = None,
    ) -> "ContextAnswer":
        """Renders a paper as Markdown for a prompt, in at most `budget_tokens` tokens of four characters each.
        `str(answer)` is the Markdown.

        `view` is "planning" (components with their definitions, dependencies and code availability) or "implementation"
        (each technique with its full code, in build order, up to the budget).

        For studies, `include` selects the kinds of nodes to render (`xkg.serve.context.context.KINDS`; None: all).
        `code` is "raw" (source lines from the repository), "rewritten" (code nodes at any level) or "verified" (code
        nodes at level `executed` or above). Raw lines are read from the build's files, or from a clone at `repository`;
        the last line of the Markdown explains why any lines are missing. Raises `InputError` if the budget is too
        small, or if the clone does not contain the paper's commit.

        >>> import xkg
        >>> with xkg.open("storage/default") as kg:
        ...     answer = kg.context("arxiv:1608.04471", budget_tokens=2500, view="implementation", code="raw")
        >>> answer.left_out
        'Left out: 1 of 8 pairs: `stein-variational-gradient-descent` (1,062 tokens).'
        """
        folder = None if repository is None else Path(repository)
        return self._service.context(paper, budget_tokens, view, include=include, code=code, repository=folder)

    def ablations(self, paper: str, k: int = 5, repository: Folder | None = None) -> "AblationPlan":
        """Plans at most `k` ablations of a paper, most informative first. Each ablation has a component, an action, a
        replacement, a measure, a reason and the lines to change. The lines come from the graph or, if `repository` is
        set, from the current files in that folder. The language model plans from the graph; without a model, the plan
        follows fixed rules (see `planned_by`). Nothing is run or changed.

        >>> import xkg
        >>> with xkg.open("storage/default", llm={"model": "none"}) as kg:
        ...     plan = kg.ablations("arxiv:1608.04471", k=1)
        >>> plan.ablations[0].action
        'REPLACE'
        """
        from xkg.agents.planning.ablations import plan_ablations

        return plan_ablations(self._service, paper, k, None if repository is None else Path(repository))

    def schema(self) -> "SchemaAnswer":
        """Describes the graph's tables, the named queries, and examples for `cypher`."""
        return self._service.schema()

    def cypher(self, query: str, /, *, rows: int = 1000, **parameters: Any) -> "CypherAnswer":
        """Runs a named query or a read-only statement and returns at most `rows` rows.

        Raises `QueryRefusedError` for any other statement, and `QueryFailedError` if the statement fails.

        >>> import xkg
        >>> with xkg.open("storage/default") as kg:
        ...     kg.cypher("MATCH (p:Paper) WHERE p.id = $id RETURN p.state", id="arxiv:1608.04471").rows
        (('complete',),)
        """
        return self._service.cypher(query, parameters, number(rows))

    def run(
        self, code: str, script: str, *, seconds: float | None = None, progress: Progressed | None = None
    ) -> "RunAnswer":
        """Runs a Python script on stored code (a code or technique id) in a sandbox. The code's packages are installed
        first if necessary, and `progress` reports their installation. The script can use every name that the code
        defines. The answer contains the script's output, any error, and its files and figures, with their bytes in
        `content`; nothing else is kept. `seconds` defaults to `sandbox.seconds`.

        Raises `InputError` if the script is empty or the code is not Python, and `PackagesError` if a package is
        unavailable; may also raise `UnknownIdError` or `SandboxUnavailableError`.

        >>> import xkg
        >>> with xkg.open("storage/default") as kg:
        ...     found = kg.search("repulsive force", with_code=True).rows[0]
        ...     kg.run(found.id, "repulsive_force(6, 3)").output
        '2.0\\n'
        """
        return self._runs.run(code, script, seconds=seconds, notify=progress or ignore)

    @functools.cached_property
    def _runs(self) -> "Runs":
        from xkg.serve.running.runs import Runs

        return Runs(self._service, self._settings)

    def close(self) -> None:
        """Closes the graph permanently. In-flight calls finish normally."""
        self._close_jobs()
        self._service.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _with_lists(filters: "FilterFields") -> "FilterFields":
    for name in ("papers", "packages", "exclude"):
        require_list(name, filters.get(name))
    return filters
