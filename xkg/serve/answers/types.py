"""The answers that MCP tools and commands return.

The default answer is concise; `full` contains everything. Fields are stable: they are the `--json` output of commands
and the structured content of tools. `answer_text` renders the same facts as text."""

import urllib.parse
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from pydantic import Field

from xkg.errors import InputError
from xkg.model import Confidence, Evidence, Excerpt, LineRange, Reference
from xkg.serve.answers.quoting import NOTICE
from xkg.value import Value

if TYPE_CHECKING:
    import pandas

uri_of_graph: ContextVar[str] = ContextVar("uri_of_graph", default="")
"""`NAME/` in resource addresses if a graph other than the server's first graph answers (`xkg.serve.graphs`)."""

SOURCE = frozenset(("implementation", "test"))
"""Fields with code, which is returned as stored."""

BLOCKS = frozenset(
    "abstract definition documentation code_overview schema_text context output written question candidates "
    "instructions prompt".split()
)
"""Prose fields that may have several lines; all other text is one line."""

PROSE = frozenset(
    "abstract definition documentation code_overview description text output_end reason guidance claims cell "
    "written".split()
)
"""Fields that may be cut, whatever their length, and the cells in query rows."""

UNCUT = frozenset(("path", "columns", "packages", "repositories", "parts", "row", "queries", "examples", "answer"))
"""Lists that are useless if cut."""


class Quoting(Value):
    """An answer that quotes papers and repositories, as `notice` says. `paged` names the list that `cursor` continues,
    if there is one; `uri` is the address of the complete answer if it was cut."""

    paged: ClassVar[str] = ""

    as_text: ClassVar[Callable[[Any], str]] = repr
    """Set by `xkg.serve.answer_text`, which knows all types of answers."""

    notice: str = NOTICE

    def _repr_html_(self) -> str:
        return f"<pre>{escape(type(self).as_text(self))}</pre>"


class Listing(Quoting):
    """An answer with a list of rows."""

    def to_pandas(self) -> "pandas.DataFrame":
        """Returns a data frame with one row per item and one column per field. Raises `InputError` if pandas is not
        installed."""
        try:
            import pandas
        except ImportError as error:
            raise InputError("pandas is not installed: pip install pandas") from error
        rows = [row.model_dump() if isinstance(row, Value) else row for row in getattr(self, self.paged)]
        of_row = get_args(type(self).model_fields[self.paged].annotation)[0]
        return pandas.DataFrame(rows, columns=list(getattr(self, "columns", None) or of_row.model_fields))


MORE_ROWS = "ask for a larger k"
"""The text of `cut` in a search answer if there are more rows."""


class Relative(Value):
    """Another technique that matches the query: above or below a search row, with the same name or, for a query with
    several steps, from the same paper. A concise answer contains its id and relation."""

    id: str
    name: str = ""
    relation: str
    score: float | None = None


class PaperRow(Value):
    """A paper in a list: the number of its visible `techniques`, how many have `code`, and how many have `tested` code
    (level tested or faithful). `origin` is `build` or `import`, `state` is `complete` or `partial`, `field` is the
    arXiv category."""

    id: str
    title: str
    year: int | None
    origin: str
    state: str
    techniques: int
    code: int
    tested: int
    field: str | None = None


class PapersAnswer(Listing):
    """Papers ordered by title. `searched` says in one line which papers were searched, and `cut` how many more there
    are. The answer can be iterated and indexed like its rows."""

    paged: ClassVar[str] = "rows"

    rows: tuple[PaperRow, ...]
    searched: str
    cut: str = ""
    cursor: str | None = None

    def __iter__(self) -> Iterator[PaperRow]:  # type: ignore[override]
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> PaperRow:
        return self.rows[index]


class Measured(Value):
    """An ablation of a technique: when it was removed, or changed as `description` says, the metric went from
    `baseline` to `value`, a relative change of `change`; `low` and `high` are its 95 % confidence bounds, None if the
    spread is unknown. `direction` says in which direction the metric improves; `seeds` is the number of runs. `full`
    adds the diff, its commit and the command."""

    metric: str
    direction: str
    baseline: float
    value: float
    change: float
    low: float | None
    high: float | None
    seeds: int
    kind: str
    description: str
    measured_at: str
    commit: str = ""
    command: str = ""
    diff: str = ""

    def __str__(self) -> str:
        bounds = "" if self.low is None or self.high is None else f" [{self.low:+.1%}, {self.high:+.1%}]"
        runs = "run once" if self.seeds == 1 else f"{self.seeds} seeds"
        change = f"{self.change:+.1%}{bounds} of {self.metric}, {self.baseline:g} to {self.value:g}"
        return f"{change}: {self.description} ({runs})"


class SearchRow(Value):
    """`score` (0 to 1) says how well the technique fits the query, and is comparable between queries: about the
    probability that it fits, if half of all queries are about techniques in the graph; 1.0 for its exact name. `level`
    is the proven level of its code, `none` if it has no code, followed by the trusted keys that attest it: `tested,
    attested by LAB and 2 others`. `code` is the id for get_code. `definition` is cut to a few lines. `no_code` is the
    reason why there is no code, if known; `without_code` lists components without code. `measured` is the largest
    relative change of a metric in an ablation of the technique, None if none is stored. `reason` and `guidance` come
    from a model that verified the row: why the technique fits, how to apply it, and what to change."""

    id: str
    name: str
    paper_title: str
    score: float
    level: str
    code: str | None
    definition: str
    no_code: str = ""
    without_code: tuple[str, ...] = ()
    relatives: tuple[Relative, ...] = ()
    measured: float | None = None
    reason: str = ""
    guidance: str = ""


class Mention(Value):
    """A technique that an answer only mentions, with the `reason`, if there is one."""

    id: str
    name: str
    reason: str = ""


class SearchAnswer(Listing):
    """Rows best first, each more likely right than wrong. `nearest` lists techniques that are probably not the
    requested ones. `searched` says in one line what was searched, `cut` what was left out and how to see it. `verified`
    names the model, or says `not verified: <why>`; it is empty if verification was not requested. Verified rows are in
    the model's order, and `dropped` lists the rows that the model rejected. If no model can be asked, `question` is the
    verifier's question to the reader of the answer, and `candidates` are the rows to judge."""

    paged: ClassVar[str] = "rows"

    query: str
    rows: tuple[SearchRow, ...]
    nearest: tuple[Mention, ...] = ()
    searched: str
    cut: str
    cursor: str | None = None
    verified: str = ""
    question: str = ""
    candidates: str = ""
    dropped: tuple[Mention, ...] = ()


class Again(Value):
    """A row from an earlier part that also serves this part."""

    id: str
    name: str
    part: int
    guidance: str


class PartAnswer(Value):
    """One step in a task: rows best first; `again` lists rows that earlier parts already contain. In a concise answer,
    a row has no `reason`, and only the beginning of its definition if there is no guidance. `note` says if nothing
    fits, or if this part was verified differently from the others. If nothing was verified, the last part is the whole
    task, with all results of a search for it, grouped by paper."""

    number: int
    step: str
    rows: tuple[SearchRow, ...]
    again: tuple[Again, ...]
    note: str


class Implementation(Value):
    """The code for a row, with its id."""

    code: str
    name: str
    level: str
    language: str
    packages: tuple[str, ...]
    implementation: str


class ImplementationsAnswer(Quoting):
    """Code for a task, part by part. `task` is the beginning of the task, `decomposed` says how it was split;
    `verified`, `searched` and `cut` are as in `SearchAnswer`, for all parts. A full answer contains as many
    `implementations` as fit. `question` and `candidates` are as in `SearchAnswer`, part by part."""

    task: str
    decomposed: str
    parts: tuple[PartAnswer, ...]
    implementations: tuple[Implementation, ...] = ()
    verified: str
    question: str = ""
    candidates: str = ""
    searched: str
    cut: str


class TechniqueLine(Value):
    """A technique in a list. `depth` is 0 at the top of a hierarchy; lists are preorder walks. If `level` is not
    `none`, it has code, which get_code returns for its id; in full answers, `code` is the code's own id."""

    id: str
    name: str
    depth: int
    level: str
    code: str | None = None


class Place(Value):
    """Lines in a repository, 1-based and inclusive. `score` (0 to 1) says how well they fit a technique, None if code
    was generated from them. `focus` lists one to three ranges to look at first, best first, with the reason."""

    repository: str
    commit: str | None
    path: str
    start_line: int
    end_line: int
    symbol: str
    score: float | None
    focus: tuple[LineRange, ...] = ()


class LocatedPlace(Place):
    """A place for `technique` (None if the query matches no technique by name). `source`: `stored` lines are as
    recorded in the graph, `moved` lines were found elsewhere in a working copy, `retrieved` lines were found by
    searching it. `repository` is the folder of a working copy; `commit` is null for lines that belong to no commit.
    `twins` are places with nearly the same code, as path:first-last. `confidence`: a certain place is right in six of
    seven cases, a weak place seldom."""

    score: float
    technique: str | None
    source: Literal["stored", "moved", "retrieved"]
    twins: tuple[str, ...] = ()
    confidence: Confidence = "certain"


class LocateAnswer(Listing):
    """`locations` are the lines to edit or ablate, best first; empty if nothing matches. `searched` says where they
    come from, `note` adds further information, and `cut` says what was left out, each in one line."""

    paged: ClassVar[str] = "locations"

    query: str
    locations: tuple[LocatedPlace, ...]
    searched: str
    note: str = ""
    cut: str = ""
    cursor: str | None = None


class NamedText(Value):
    name: str
    description: str | None


class PaperAnswer(Listing):
    """The paper node. `origin` is `build` or `import`, `state` is `complete` or `partial`, and `incomplete` lists the
    reasons. `techniques` are in reading order, `repositories` are `url@commit`. `cut` says what a short answer leaves
    out; `full` adds hidden techniques, references, the code overview, descriptions of findings and resources, and
    `nothing_in`: passages and functions that no technique covers and in which a model found none. `implementations` is
    present if code was requested."""

    paged: ClassVar[str] = "techniques"

    id: str
    title: str
    authors: tuple[str, ...]
    year: int | None
    origin: str
    state: str
    incomplete: tuple[str, ...] = ()
    abstract: str
    techniques: tuple[TechniqueLine, ...]
    hidden: tuple[Mention, ...] = ()
    repositories: tuple[str, ...]
    findings: tuple[NamedText, ...]
    resources: tuple[NamedText, ...]
    references: tuple[Reference, ...] | None = None
    code_overview: str = ""
    code_files: tuple[str, ...] = ()
    nothing_in: tuple[str, ...] = ()
    implementations: "tuple[CodeAnswer, ...]" = ()
    cut: str = ""
    uri: str | None = None
    cursor: str | None = None


class TechniqueAnswer(Quoting):
    """A technique with its place in the hierarchy: `path` lists the names from the top down to the technique,
    `component_ids` the ids of `components`. `locations` are the repository lines that implement it, best first; an
    ablation edits these lines. `measured` lists its ablations, largest change first. `without_code` lists components
    without code; `hidden` is the reason why searches do not show the technique. `full` adds aliases, excerpts and the
    components' definitions."""

    id: str
    name: str
    kind: str
    paper: str
    paper_title: str
    path: tuple[str, ...]
    parent: str | None
    definition: str
    grounding: str
    level: str
    code: str | None
    components: tuple[NamedText, ...]
    component_ids: tuple[str, ...]
    without_code: tuple[str, ...] = ()
    hidden: str = ""
    locations: tuple[Place, ...] = ()
    measured: tuple[Measured, ...] = ()
    aliases: tuple[str, ...] = ()
    excerpts: tuple[Excerpt, ...] = ()
    cut: str = ""
    uri: str | None = None


class CodeAnswer(Quoting):
    """Running code for a technique, its proof in one line, and the lines from which it was generated. `full` adds the
    test, all evidence (if there are two entries, the first is from the run before repairs), and unchecked claims from
    an imported file."""

    id: str
    technique: str
    name: str
    paper_title: str
    level: str
    language: str
    packages: tuple[str, ...]
    documentation: str
    implementation: str
    test: str | None = None
    proven: str = ""
    derived_from: tuple[Place, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    claims: dict[str, Any] = Field(default={})
    cut: str = ""
    uri: str | None = None


class SchemaAnswer(Value):
    """The graph's tables as the engine defines them, the number of papers, the named queries (one line each: name,
    parameters and purpose, within `QUERIES_CHARACTERS`), and example statements. A concise answer contains the tables
    as patterns, and the queries without their purpose."""

    schema_text: str
    papers: int
    generation: int
    queries: tuple[str, ...]
    examples: tuple[str, ...]
    cut: str = ""


class CypherAnswer(Listing):
    """The rows of a query, with values as plain JSON; `cut` says if a limit cut them off."""

    paged: ClassVar[str] = "rows"

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    cut: str = ""
    cursor: str | None = None


Answer = (
    SearchAnswer
    | PapersAnswer
    | ImplementationsAnswer
    | PaperAnswer
    | TechniqueAnswer
    | CodeAnswer
    | LocateAnswer
    | SchemaAnswer
    | CypherAnswer
)


def uri(kind: str, node_id: str) -> str:
    """Returns `xkg://<kind>/<id>`, with the id percent-encoded."""
    return f"xkg://{uri_of_graph.get()}{kind}/{urllib.parse.quote(node_id, safe='')}"


def short(text: str, limit: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1].rsplit(" ", 1)[0] + "…"
