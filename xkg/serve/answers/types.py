"""Types of the answers that MCP tools and commands return.

By default, answers are concise; `full` answers contain everything. Fields are stable: commands print them with
`--json`, and tools return them as structured content. `answer_text` renders the same facts as text. A value starts with
its type's `head` line, if any. `nothing` contains the name of a field and the message to show if this field is
empty."""

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
"""The prefix `NAME/` in resource addresses, which is empty if the answer is from the server's first graph
(`xkg.serve.graphs`)."""

SOURCE = frozenset(("implementation", "test"))
"""Fields that contain code, which is returned as stored."""

BLOCKS = frozenset(
    "abstract definition documentation code_overview schema_text context output written question candidates "
    "instructions prompt".split()
)
"""Prose fields that may span several lines. All other text is a single line."""

PROSE = frozenset(
    "abstract definition documentation code_overview description text output_end reason guidance claims cell "
    "written".split()
)
"""Fields that may be cut at any length. `cell` refers to the cells of query rows."""

UNCUT = frozenset(("path", "columns", "packages", "repositories", "parts", "row", "queries", "examples", "answer"))
"""Lists that would be useless if cut."""


class Quoting(Value):
    """An answer that quotes papers and repositories. `notice` tells readers to treat the quotes as data. If the answer
    was cut, `uri` is the address of the complete answer."""

    as_text: ClassVar[Callable[[Any], str]] = repr
    """`xkg.serve.answer_text`, which imports all answer types, sets this attribute."""

    notice: str = NOTICE

    def __str__(self) -> str:
        return type(self).as_text(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


class Listing(Quoting):
    """An answer with a list of rows. `paged` is the list's name, and `cursor` leads to the list's next page."""

    paged: ClassVar[str] = "rows"

    def to_pandas(self) -> "pandas.DataFrame":
        """Returns a data frame with one row per item and one column per field. Raises `InputError` if pandas is not
        installed."""
        try:
            import pandas
        except ImportError as error:
            raise InputError("pandas is not installed; run `pip install pandas`") from error
        rows = [row.model_dump() if isinstance(row, Value) else row for row in getattr(self, self.paged)]
        of_row = get_args(type(self).model_fields[self.paged].annotation)[0]
        return pandas.DataFrame(rows, columns=list(getattr(self, "columns", None) or of_row.model_fields))


MORE_ROWS = "pass a larger k"
"""If there are more rows, `cut` contains this text."""


class Relative(Value):
    """A technique that also matches the query, and is an ancestor or descendant of a search row or has the same name.
    If the query has several steps, related techniques can also be from the same paper. A concise answer contains only
    its id and relation."""

    head: ClassVar[str] = "{relation}: {name} {id}"

    id: str
    name: str = ""
    relation: str
    score: float | None = None


class PaperRow(Value):
    """A paper in a list.

    - `techniques`: the number of visible techniques
    - `code`: the number of code nodes
    - `tested`: the number of code nodes at level tested or faithful
    - `origin`: `build` or `import`
    - `state`: `complete` or `partial`
    - `field`: the arXiv category"""

    head: ClassVar[str] = "{title}  [{origin}, {state}; techniques {techniques}, code {code}, tested {tested}] {id}"

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
    """A list of papers ordered by title. `searched` describes which papers were searched, and `cut` says how many more
    papers there are. You can iterate over the answer, or index it, like a list of rows."""

    nothing: ClassVar[tuple[str, str]] = ("rows", "No such paper.")

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
    """An ablation of a technique. When the technique was removed, or changed as described in `description`, the metric
    went from `baseline` to `value`.

    - `change`: the relative change of the metric
    - `low` and `high`: the bounds of the change's 95 % confidence interval, or None if the spread is unknown
    - `direction`: whether a higher or lower metric is better
    - `seeds`: the number of runs
    - `commit`, `command`, `diff`: how the ablation was run, only in a full answer"""

    head: ClassVar[str] = "{metric} {change} {baseline} {value} {low} {high} {seeds} {description}"

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
    """A technique that fits a query.

    - `score`: how well the technique fits the query, from 0 to 1. Scores are comparable between queries. A score
      is roughly the probability that the technique fits, if half of all queries are about techniques in the graph. An
      exact name scores 1.0
    - `level`: the proven level of the technique's code, or `none` if there is no code. The level is followed by the
      trusted keys that attest it: `tested, attested by LAB and 2 others`
    - `code`: the id to pass to get_code
    - `definition`: the first few lines of the definition
    - `no_code`: the reason why there is no code, if known
    - `without_code`: the components without code
    - `measured`: the largest relative change of a metric in an ablation of the technique, or None if there is none
    - `reason` and `guidance`: why the technique fits, and how to apply or change it, from a model that verified the
      row"""

    head: ClassVar[str] = "{name}  [score {score:g}, level {level}]\n{id}"

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
    """A technique that is only mentioned in an answer, with an optional reason."""

    head: ClassVar[str] = "{name} {id}: {reason}"

    id: str
    name: str
    reason: str = ""


class SearchAnswer(Listing):
    """Search results, best first. Each row is more likely right than wrong.

    - `nearest`: techniques that are probably not what was asked for
    - `searched`: a description of the papers that were searched
    - `cut`: the parts that were omitted, and how to get them
    - `verified`: the model that verified the rows, or `not verified: <why>`, or empty if verification was not
      requested. Verified rows are in the model's order
    - `dropped`: the rows that the model rejected
    - `question` and `candidates`: if no model is available, instructions for judging the rows, and the rows to
      judge"""

    nothing: ClassVar[tuple[str, str]] = ("rows", "None of the techniques found in {papers} does this.")

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
    """A row in an earlier part that also fits this part."""

    head: ClassVar[str] = "as in part {part}: {name} {id}"

    id: str
    name: str
    part: int
    guidance: str


class PartAnswer(Value):
    """One step in a task. If no model verified the results, the last part covers the whole task, with all search
    results grouped by paper.

    - `rows`: the results, best first. In a concise answer, rows have no `reason`, and have
      a short definition only if there is no guidance
    - `again`: rows that earlier parts already contain
    - `note`: says if nothing fits, or if this part was verified differently from other parts"""

    head: ClassVar[str] = "Part {number}: {step}"

    number: int
    step: str
    rows: tuple[SearchRow, ...]
    again: tuple[Again, ...]
    note: str


class Implementation(Value):
    """The code for a row, with its id."""

    head: ClassVar[str] = "{name}  [{level}] {code}"

    code: str
    name: str
    level: str
    language: str
    packages: tuple[str, ...]
    implementation: str


class ImplementationsAnswer(Quoting):
    """Code for a task, part by part.

    - `task`: the beginning of the task
    - `decomposed`: how the task was split
    - `implementations`: as many implementations as fit; only in full answers
    - `verified`, `searched`, `cut`, `question`, `candidates`: as in `SearchAnswer`, for all parts"""

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
    """A technique in a list. Lists are in preorder, and `depth` is 0 at the top of a hierarchy. Unless `level` is
    `none`, the technique has code, which get_code returns for the technique's id. In full answers, `code` is the code's
    own id."""

    head: ClassVar[str] = "{name}  [{level}] {id}"

    id: str
    name: str
    depth: int
    level: str
    code: str | None = None


class Place(Value):
    """Lines in a repository, 1-based and inclusive. `score` (0 to 1) says how well the lines fit a technique, and is
    None if code was generated from these lines. `focus` lists one to three ranges to look at first, best first, with
    reasons."""

    repository: str
    commit: str | None
    path: str
    start_line: int
    end_line: int
    symbol: str
    score: float | None
    focus: tuple[LineRange, ...] = ()


class LocatedPlace(Place):
    """Lines that may implement a technique.

    - `technique`: the technique, or None if no technique has the query as its name
    - `source`: `stored` if the lines are as recorded in the graph, `moved` if the lines were found elsewhere in a
      working copy, `retrieved` if the lines were found by searching the copy
    - `repository`: the URL, or the folder of a working copy
    - `commit`: null for lines that are not in any commit
    - `twins`: places with nearly the same code, as path:first-last
    - `confidence`: `certain` (six in seven of these places are right), `doubtful` or `weak` (few are right)"""

    score: float
    technique: str | None
    source: Literal["stored", "moved", "retrieved"]
    twins: tuple[str, ...] = ()
    confidence: Confidence = "certain"


class LocateAnswer(Listing):
    """The lines to edit or ablate. `locations` lists the places, best first, and is empty if nothing matches.
    `searched` describes where the lines come from, `note` adds further information, and `cut` says what was omitted."""

    nothing: ClassVar[tuple[str, str]] = ("locations", "Nothing was located.")

    paged: ClassVar[str] = "locations"

    query: str
    locations: tuple[LocatedPlace, ...]
    searched: str
    note: str = ""
    cut: str = ""
    cursor: str | None = None


class NamedText(Value):
    head: ClassVar[str] = "{name}: {description}"
    name: str
    description: str | None


class PaperAnswer(Listing):
    """Describes a paper.

    - `origin`: `build` or `import`
    - `state`: `complete` or `partial`
    - `incomplete`: the reasons why the paper is partial
    - `techniques`: the techniques in reading order
    - `repositories`: the repositories, as `url@commit`
    - `implementations`: the code, if requested
    - `cut`: the parts that a concise answer omits

    A full answer adds hidden techniques, references, the code overview, and descriptions of findings and resources. A
    full answer also adds `nothing_in`: uncovered passages and functions in which a model found no technique."""

    head: ClassVar[str] = "Paper: {title}\n{id}"

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
    """A technique and its place in the hierarchy.

    - `path`: the names from the top of the hierarchy down to the technique
    - `component_ids`: the ids of `components`
    - `locations`: the repository lines that implement the technique, best first. An ablation edits these lines
    - `measured`: the technique's ablations, largest change first
    - `without_code`: the components without code
    - `hidden`: the reason why searches do not show the technique

    A full answer adds aliases, excerpts and the components' full definitions."""

    head: ClassVar[str] = "Technique: {name}\n{id}"

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
    """A technique's runnable code, a one-line summary of the code's proof, and the lines from which the code was
    generated. A full answer adds the test, all evidence, and unchecked claims from an imported file. If there are two
    entries in `evidence`, the first is from the run before repairs."""

    head: ClassVar[str] = "Code: {name}  [{level}]\n{id}"

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
    """The graph's tables as the engine defines them, the number of papers, the named queries, and example statements.
    Each named query is one line with its name, parameters and purpose. A concise answer shows the tables as patterns,
    and omits the purpose of each query."""

    schema_text: str
    papers: int
    generation: int
    queries: tuple[str, ...]
    examples: tuple[str, ...]
    cut: str = ""


class CypherAnswer(Listing):
    """The rows returned by a query, with values as plain JSON. `cut` says whether a limit cut off further rows."""

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
