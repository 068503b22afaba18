"""Answers questions about a graph. Heavy libraries and the model are loaded on first use."""

import contextlib
import gc
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xkg.attestations.trust import trusted
from xkg.config import Settings
from xkg.embeddings.base import Embedder
from xkg.embeddings.cache import CachedEmbedder
from xkg.errors import EmptyGraphError, InputError, QueryRefusedError, StoreError, XkgError
from xkg.files import private_folder, user_cache_folder
from xkg.model import Paper
from xkg.serve.answers import types
from xkg.serve.answers.lookup import code_answer, cypher_answer, paper_answer, schema_answer, technique_answer
from xkg.serve.answers.measured import Ablations, rows_with_measured, with_measured
from xkg.serve.answers.paper_list import PaperFilters, PaperList, papers_answer
from xkg.serve.answers.query_parameters import with_paper_ids
from xkg.serve.answers.references import short_ids, short_paper
from xkg.serve.context.context import KINDS, ContextAnswer, View, paper_context
from xkg.serve.context.parts import CodeForm, Kind
from xkg.serve.generation import Generation, query_refused
from xkg.serve.search.calibration import FITS
from xkg.serve.search.filters import Filters
from xkg.serve.search.query_encoder import QueryEncoder, SharedModel
from xkg.serve.search.related import RelatedAnswer, related_papers
from xkg.serve.search.search import EVERYTHING, search
from xkg.store.cypher import named_queries
from xkg.store.cypher.named_queries import embedded_schema
from xkg.store.graph_store import GraphStore, Snapshot
from xkg.store.open import open_graph

if TYPE_CHECKING:
    from xkg.build.grounding.working_copy import WorkingCopies
    from xkg.build.parsing.parsers import Parsers
    from xkg.serve.verification.model_questions import Questions

USER_TEXTS = 50_000
"""Maximum number of texts with vectors in the user's cache, about 100 MB."""
QUERY_SECONDS = 10.0
WARMING_SECONDS = 10.0
"""How long closing waits for data that is being loaded in the background. A graph with a million techniques loads
within this time."""


class Service:
    """Answers questions about the graph's current generation.

    All methods raise subclasses of `XkgError`, and `StoreError` if the graph is empty. Thread-safe. Without `parsers`,
    the graph starts its own parsers when it needs them. Closing the graph also closes the parsers. Several graphs may
    share one `model`."""

    def __init__(self, settings: Settings, parsers: "Parsers | None" = None, model: SharedModel | None = None) -> None:
        self.folder = settings.kg
        self._settings = settings
        self._turn = threading.Lock()
        self._store: GraphStore | None = None
        self._model = model or SharedModel(settings.embedding)
        self._cached: CachedEmbedder | None = None
        self._copies: WorkingCopies | None = None
        self._parsers = parsers
        self._questions: Questions | None = None
        self._closed = False
        self._warming: threading.Thread | None = None
        self._read = QueryEncoder(self._model)
        self._generation: Generation | None = None

    def state(self) -> tuple[int, int]:
        """Returns the current generation and its number of papers. Raises `StoreError` if there are no papers."""
        with self.snapshot() as snapshot:
            return snapshot.generation, snapshot.paper_count()

    def search(
        self,
        query: str,
        k: int,
        *,
        filters: Filters | None = None,
        verify: bool = False,
    ) -> types.SearchAnswer:
        """Returns up to `k` techniques that fit the query. If `verify` is set, the language model judges the techniques
        within at most `serve.questions.wait_seconds`. The answer says if the model did not reply. Without a model, the
        answer contains the verifier's question, so that the reader can answer it."""
        if not query.strip():
            raise InputError("the query is empty; give a technique's name, or describe what the code should do")
        chosen = filters or EVERYTHING
        if not verify:
            with self.snapshot() as snapshot:
                return rows_with_measured(self._cached_search(snapshot, query, k, chosen), self.ablations(snapshot))
        from xkg.serve.verification import verifier

        questions = self.questions()
        with self.snapshot() as snapshot:
            ablations = self.ablations(snapshot)
            if why := questions.unavailable:
                answer = self._cached_search(snapshot, query, k, chosen)
                question, candidates = verifier.for_reader(snapshot, answer.rows, answer.query)
                told = {"verified": f"not verified: {why}", "question": question, "candidates": candidates}
                return rows_with_measured(answer.model_copy(update=told), ablations)
        begun = verifier.begin(questions, self.snapshot, self._seek, query, k, chosen)
        answer = verifier.finish(questions, begun, time.monotonic() + questions.wait_seconds)
        return rows_with_measured(answer, ablations)

    def find_implementations(
        self, task: str, k: int = 1, *, filters: Filters | None = None, full: bool = False
    ) -> types.ImplementationsAnswer:
        """Returns up to `k` techniques for each part of a task, and how to apply them. `full` adds the techniques'
        code."""
        from xkg.serve.verification.find_implementations import find_implementations

        if not task.strip():
            raise InputError("the task is empty; describe what to implement")
        chosen = filters or Filters()
        return find_implementations(self.snapshot, self._seek, self.questions(), task, k, chosen, full)

    def short_ids(self, techniques: Sequence[str]) -> Mapping[str, str]:
        """Returns the shortest references to these techniques."""
        with self.snapshot() as snapshot:
            return short_ids(snapshot, techniques)

    def short_papers(self, papers: Sequence[str]) -> Mapping[str, str]:
        """Returns the shortest references to these papers."""
        with self.snapshot() as snapshot:
            return {paper: short_paper(snapshot, paper) for paper in papers}

    def related(self, paper: str, k: int, exclude: Sequence[str] = ()) -> RelatedAnswer:
        with self.snapshot() as snapshot:
            return related_papers(snapshot, paper, k, exclude)

    def paper(self, paper: str, *, include_code: bool = False, full: bool = False) -> types.PaperAnswer:
        with self.snapshot() as snapshot:
            return paper_answer(snapshot, paper, include_code=include_code, full=full)

    def technique(self, technique: str, *, full: bool = False) -> types.TechniqueAnswer:
        with self.snapshot() as snapshot:
            return with_measured(technique_answer(snapshot, technique, full=full), self.ablations(snapshot), full=full)

    def code(self, code: str, *, full: bool = False) -> types.CodeAnswer:
        with self.snapshot() as snapshot:
            return code_answer(snapshot, code, full=full)

    def context(
        self,
        paper: str,
        budget_tokens: int,
        view: View = "planning",
        *,
        include: Collection[Kind] | None = None,
        code: CodeForm = "rewritten",
        repository: Path | None = None,
    ) -> ContextAnswer:
        """Renders a paper as Markdown for a prompt. `include` selects the kinds of nodes (default: all). If
        `repository`, a clone of the paper's repository, is given, raw code is read from there instead of the build
        outputs."""
        with self.snapshot() as snapshot:
            kinds = KINDS if include is None else include
            return paper_context(
                snapshot,
                paper,
                budget_tokens,
                view,
                kinds,
                code,
                graph=self.folder,
                parsers=self.parsers,
                repository=repository,
                ablations=self.ablations(snapshot),
            )

    def locate(
        self, text: str, repository: Path | None = None, k: int = 10, *, roots: Sequence[Path] | None = None
    ) -> types.LocateAnswer:
        """Returns the places that implement a technique, as stored in the graph or as found in the working copy at
        `repository`. Never runs code from the copy or reads files outside `roots`, if given. A copy can be searched
        even if the graph is empty. Raises `InputError` if the folder has no readable source files."""
        from xkg.serve.search.locate import locate

        if not text.strip():
            raise InputError("the technique is empty; give its name, or describe what the code should do")
        copy = None if repository is None else self._working_copies().read(repository, roots)
        with self.snapshot(empty=copy is not None) as snapshot:
            return locate(
                snapshot if snapshot.generation else None,
                text,
                k,
                copy,
                lambda text, rows: self._seek(snapshot, text, rows),
                self._cached_model,
            )

    def list_papers(self, k: int | None, filters: PaperFilters | None = None) -> types.PapersAnswer:
        """Returns the first `k` papers in the requested order, or all papers if `k` is None."""
        with self.snapshot() as snapshot:
            return papers_answer(self.paper_list(snapshot), k, filters or PaperFilters())

    def paper_list(self, snapshot: Snapshot) -> PaperList:
        """Returns all papers in an open snapshot."""
        return self._shared(snapshot).papers

    @contextmanager
    def snapshot(self, *, empty: bool = False) -> Iterator[Snapshot]:
        """Yields a consistent state of the graph as this user sees it, without excluded papers. Raises
        `EmptyGraphError` if the graph is empty, unless `empty` is set."""
        with self._opened().snapshot() as snapshot:
            if snapshot.generation == 0 and not empty:
                raise EmptyGraphError(self._empty())
            yield self._of(snapshot).shown

    def papers(self) -> Sequence[Paper]:
        """Returns all papers, in id order."""
        with self.snapshot() as snapshot:
            return snapshot.papers()

    def schema(self, *, full: bool = True) -> types.SchemaAnswer:
        with self.snapshot() as snapshot:
            return schema_answer(snapshot, embedded_schema(), map(str, named_queries.queries()), full=full)

    def cypher(self, query: str, parameters: Mapping[str, Any], rows: int) -> types.CypherAnswer:
        """Returns the rows for a Cypher statement or named query."""
        self._require_cypher()
        with self.snapshot() as snapshot:
            known = with_paper_ids(self._opened(), snapshot, query, parameters, QUERY_SECONDS)
        statement, values = named_queries.prepare(query, known, named_queries.engine(self._settings.store))
        table = self._opened().query(statement, values, rows=rows, seconds=QUERY_SECONDS)
        self._require_cypher()  # an excluded paper may have been published in the meantime
        return cypher_answer(table)

    def warm_beside(self, first: Callable[[], None] | None = None) -> None:
        """Runs `first`, then `warm`, on a background thread. `close` waits for the thread. Loaded objects are then
        excluded from garbage collection, because they live as long as the process."""

        def work() -> None:
            if first is not None:
                first()
            self.warm()
            gc.freeze()

        self._warming = threading.Thread(target=work, name="warm", daemon=True)
        self._warming.start()

    def warm(self) -> None:
        """Loads the data needed by the first search and the first query. Ignores errors, because the search or query
        will raise them again."""
        try:
            if not self._closed:
                self.search("warm", 1)
            if not self._closed:
                self._opened().warm_queries()
        except XkgError:
            pass
        finally:
            if self._closed:  # the graph was closed in the meantime, so close everything opened since
                self.close()

    def close(self) -> None:
        """Closes the graph permanently. In-flight calls finish normally, except that questions to a language model and
        the parsing of folders are aborted."""
        with self._turn:
            self._closed = True
            questions, parsers = self._questions, self._parsers
        if questions is not None:
            questions.close()
        if parsers is not None:
            parsers.close()
        warming = self._warming
        if warming is not None and warming is not threading.current_thread():
            # Python crashes on exit if a thread is still running code in the model's library.
            warming.join(WARMING_SECONDS)
        with self._turn:
            if self._store is not None:
                self._store.close()
            if self._cached is not None:
                self._cached.close()

    def _of(self, snapshot: Snapshot) -> Generation:
        """Returns the state shared by all answers from this snapshot, until the snapshot or the trusted keys change."""
        store, trust = self._opened(), trusted()
        with self._turn:
            known = self._generation
            if known is None or known.snapshot is not snapshot or known.trust is not trust:
                known = self._generation = Generation(store, snapshot, trust, self._settings.serve.exclude)
        return known

    def _shared(self, snapshot: Snapshot) -> Generation:
        """Like `_of`, but for a snapshot that may not be the newest."""
        known = self._generation
        if known is not None and known.shown is snapshot:
            return known
        return Generation(self._opened(), snapshot, None, None)

    def ablations(self, snapshot: Snapshot) -> Ablations:
        """Returns all measured ablations, keyed by technique."""
        return self._shared(snapshot).ablations

    def _require_cypher(self) -> None:
        with self._opened().snapshot() as snapshot:
            if snapshot.generation == 0:
                raise EmptyGraphError(self._empty())
            if (reason := query_refused(self._of(snapshot).hidden)) is not None:
                raise QueryRefusedError(reason)

    def _cached_search(self, snapshot: Snapshot, query: str, k: int, filters: Filters) -> types.SearchAnswer:
        """Like `_seek`, but cached for each snapshot."""
        key = (query, k, repr(filters))
        answers = self._shared(snapshot).answers
        with self._turn:
            answer = answers.get(key)
        if answer is None:
            answer = self._seek(snapshot, query, k, filters)
            with self._turn:
                answers[key] = answer
        return answer

    @property
    def _place(self) -> str:
        return self._settings.store.url or str(self.folder)

    def _empty(self) -> str:
        nowhere = self._settings.store.url is None and not self.folder.exists()
        what = f"there is no folder {self.folder}" if nowhere else f"the graph in {self._place} is empty"
        return (
            f"{what}; run `xkg build --paper FILE --repo URL` or "
            "`xkg import FOLDER`, then try again; to use another graph, pass --kg"
        )

    def _working_copies(self) -> "WorkingCopies":
        parsers = self.parsers()
        with self._turn:
            if self._copies is None:
                from xkg.build.grounding.working_copy import WorkingCopies

                self._copies = WorkingCopies(parsers)
            return self._copies

    def parsers(self) -> "Parsers":
        """Returns the sandboxed parsers. The first parse starts the parser process."""
        with self._turn:
            self._require_open()
            if self._parsers is None:
                from xkg.build.parsing.parsers import Parsers

                self._parsers = Parsers()
            return self._parsers

    def _opened(self) -> GraphStore:
        with self._turn:
            self._require_open()
            if self._store is None:
                self._store = open_graph(self._settings, self._cached_model, background=True)
            return self._store

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError(f"the graph in {self._place} was closed; open it again")

    def questions(self) -> "Questions":
        """Returns the configured language model for agents' questions."""
        with self._turn:
            if self._questions is None:
                from xkg.serve.verification.model_questions import Questions

                # At most half of the concurrent calls may wait for a model.
                waiting = max(1, self._settings.serve.http.concurrency // 2)
                seconds = self._settings.serve.questions.wait_seconds
                self._questions = Questions(self._settings.llm, self.folder, waiting, seconds)
                if self._closed:
                    self._questions.close()
            return self._questions

    def _seek(
        self, snapshot: Snapshot, query: str, k: int, filters: Filters = EVERYTHING, *, bar: float = FITS
    ) -> types.SearchAnswer:
        return search(snapshot, self._read, query, k, filters, bar=bar)

    def _cached_model(self) -> Embedder:
        """Returns the embedding model with a cache, so that a repository is embedded only once. The cache is in the
        graph's folder, or in the user's cache folder if there is no graph."""
        with self._turn:
            if self._cached is None:
                own = self.folder.is_dir()
                folder = self.folder if own else user_cache_folder()
                with contextlib.suppress(OSError):  # without a writable cache, embedding is only slower
                    private_folder(folder)
                self._cached = CachedEmbedder(
                    self._model,
                    folder / "embeddings.sqlite",
                    self._settings.embedding.vectors,
                    most=None if own else USER_TEXTS,
                )
            return self._cached
