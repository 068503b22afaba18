"""Defines the interfaces to a stored graph: `GraphStore` for writing, `Snapshot` for reading, and their value types."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from xkg.embeddings.base import EncodedText
from xkg.model import Ablation, Code, Level, Paper, PaperBundle, Technique
from xkg.value import Value

if TYPE_CHECKING:
    # Opening a graph does not need numpy, and importing numpy takes longer than opening the graph.
    import numpy as np
    from numpy.typing import NDArray


Relation = Literal["same", "variant", "different"]
"""`variant` means that one technique changes, extends, applies or is part of the other."""


class Decision(Value):
    """A decision about a pair of techniques. `first` and `second` are technique ids, lower id first. `judged` is the
    hash of both texts (see `decisions.judged`), and `by` identifies the prompt."""

    first: str
    second: str
    judged: str
    relation: Relation
    by: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.first, self.second, self.judged


MOST_TITLES = 50
"""Maximum number of papers to list for a title prefix."""

Decisions = Mapping[tuple[str, str, str], Decision]
"""Decisions, keyed by `Decision.key`."""


class Hit(NamedTuple):
    """A technique id and its score in an index (BM25, or cosine similarity from -1 to 1)."""

    id: str
    score: float


class Link(Value):
    """A link between techniques in different papers (lower id first), with the cosine similarity of their texts. `how`
    is the reason for the link: `name`, `vectors` (nearly equal), or `model` (a decision). `open` marks a pair that is
    still undecided."""

    first: str
    second: str
    score: float
    how: Literal["name", "vectors", "model", "open"]


class Table(Value):
    """The rows returned by a query. `truncated` means that a limit cut off further rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: bool = False


class TechniqueView(Value):
    """A technique and its place in the hierarchy. `path` lists the names from the top down to the technique itself, and
    `children` are its components in order. `without_code` lists the names of components (including hidden ones) that
    have no code and no components with code. Searches also find hidden techniques. Hidden techniques have no code, and
    `technique.hidden` is the reason."""

    technique: Technique
    paper_title: str
    path: tuple[str, ...]
    children: tuple[Technique, ...]
    code: Code | None
    without_code: tuple[str, ...] = ()


class Facts(Value):
    """The technique properties that filters use. If there is no code, `level` is `none` and `language` is empty.
    `vouchers` are the keys that attest the code (`xkg.attestations.trust`)."""

    paper: str
    level: Level
    language: str = ""
    packages: tuple[str, ...] = ()
    vouchers: tuple[tuple[str, Level], ...] = ()


class Heading(NamedTuple):
    """A paper's title and year."""

    title: str
    year: int | None


class PaperLine(NamedTuple):
    """A paper's entry in a list of papers. `techniques` is the number of visible techniques, and `levels` the number of
    code nodes at each level. `cost_usd` is the total cost of the paper's builds. `attested` contains the level and
    vouchers (as in `Facts`) for each code node with attestations."""

    id: str
    title: str
    authors: tuple[str, ...]
    year: int | None
    origin: str
    state: str
    built_at: str | None
    cost_usd: float
    techniques: int
    levels: Mapping[Level, int]
    attested: "Sequence[tuple[Level, Sequence[tuple[str, Level]]]]" = ()
    subfield: str | None = None


class Coverage(NamedTuple):
    """The mean and minimum similarity (-1 to 1) between the words in one text and the nearest words in another text."""

    mean: float
    least: float


class Background(NamedTuple):
    """The distribution of cosines between a vector and all techniques in a graph. It shows which cosine to expect for
    an unrelated technique. All values are 0 if there are no vectors."""

    mean: float
    deviation: float
    techniques: int


class Snapshot(Protocol):
    """A state of the graph that does not change while the snapshot is open. Methods raise `UnknownIdError`, which lists
    the nearest ids.

    `generation` is 0 for an empty graph. `current` is False if this is an earlier state of a server's graph, used while
    this machine's copy is being updated."""

    generation: int
    current: bool

    def papers(self) -> Sequence[Paper]:
        """Returns all papers. Reading all papers is slow for a large graph. Other methods read only the data needed for
        one answer."""

    def paper_lines(self) -> Sequence[PaperLine]:
        """Returns a line for each paper, in id order, without texts. Takes a second for a million techniques."""

    def paper_count(self) -> int: ...
    def called(self, words: str, most: int = MOST_TITLES) -> Sequence[str]:
        """If `words` is a paper's id, returns that id. Otherwise, returns the ids of papers with the title `words`, or
        else of papers whose titles begin with `words`. Case, spaces and punctuation are ignored. Returns at most `most`
        ids, sorted."""

    def headings(self, ids: Sequence[str]) -> Mapping[str, Heading]:
        """Returns the title and year of each of these papers, in the same order. Unknown ids are omitted."""

    def paper_ids(self) -> Sequence[str]:
        """Returns the ids of all papers, in order."""

    def of_years(self, first: int | None, last: int | None) -> Sequence[str]:
        """Returns the ids of papers published from year `first` to `last`. Either may be None. Papers with an unknown
        year are omitted."""

    def require_paper(self, paper: str) -> None: ...
    def bundle(self, paper: str) -> PaperBundle: ...
    def technique(self, technique: str) -> TechniqueView: ...
    def techniques(self, ids: Sequence[str]) -> Sequence[TechniqueView]: ...
    def code(self, code: str) -> Code: ...
    def named(self, name: str) -> Sequence[str]:
        """Returns the ids of techniques whose name or alias is `name`, ignoring case, spaces and punctuation. Exact
        matches are followed by techniques with a different form of the name: its abbreviation, or the name without the
        abbreviation (`xkg.store.concepts.names`)."""

    def technique_ids(self, paper: str) -> Sequence[str]:
        """Returns the ids of a paper's visible techniques, in order. The result is empty for an unknown paper."""

    def links(self) -> Sequence[Link]:
        """Returns the `SAME_CONCEPT` links and the undecided pairs."""

    def links_of(self, ids: Sequence[str]) -> Sequence[Link]:
        """Returns the `links` that involve any of these techniques."""

    def find_text(self, query: str, k: int, papers: Sequence[str] = ()) -> Sequence[Hit]: ...
    def find_vector(self, vector: "NDArray[np.float32]", k: int, papers: Sequence[str] = ()) -> Sequence[Hit]: ...
    def find_code(self, query: str, k: int, papers: Sequence[str] = ()) -> Sequence[Hit]:
        """Returns techniques whose code resembles the code in a query, with scores from 0 to 1. The result is empty if
        the query is prose."""

    def spelled(self, word: str) -> str | None:
        """Returns a word in a name or title that is spelled like `word`, or None."""

    def matched(self, query: str, ids: Sequence[str]) -> tuple[Mapping[str, float], float]:
        """For each of these techniques, returns the total weight of the query's words that it contains. Also returns
        the total weight of all words in the query. A word's weight is the square root of its inverse document
        frequency. Weights are scaled so that a word not in the graph has weight 1."""

    def interaction(self, reading: EncodedText, ids: Sequence[str]) -> Mapping[str, float]:
        """Returns the late-interaction score (-1 to 1) between a query and each of these techniques. Techniques without
        word codes are omitted."""

    def name_coverage(self, reading: EncodedText, ids: Sequence[str]) -> "Mapping[str, Coverage]":
        """Returns how well a query's words cover the words in each technique's name. Techniques without word codes are
        omitted."""

    def background(self, vector: "NDArray[np.float32]") -> Background: ...
    def vectors(self, ids: Sequence[str]) -> "Mapping[str, NDArray[np.float32]]":
        """Returns the vectors of these techniques, in the form accepted by `find_vector`. Techniques without a vector
        are omitted."""

    def facts(self, ids: Sequence[str]) -> Mapping[str, Facts]:
        """Returns the facts for these techniques. Unknown ids are omitted."""

    def citations_of(self, paper: str) -> tuple[set[str], set[str]]:
        """Returns the ids of papers in the graph cited by a paper, and the ids of papers that cite it."""


class Recognise(NamedTuple):
    """A check that runs before a paper is published. `check` is called while the write lock is held. Its arguments are
    the paper and all other papers (without their texts) that were published since the graph's `counter` was `since`."""

    since: int
    check: Callable[[PaperBundle, Sequence[Paper]], None]


class GraphStore(Protocol):
    """Stores a graph. Writes are atomic, so readers see a write either completely or not at all. `place` is the store's
    display name: a folder, or a server's address without secrets."""

    place: str

    def snapshot(self) -> AbstractContextManager[Snapshot]: ...
    def lease(self, paper: str, holder: str) -> AbstractContextManager[int]:
        """Holds a lease on a paper until the context ends, and yields the fence that `publish` checks. `holder` is the
        name shown to others. Raises `LeaseHeldError` if another builder has the lease, and `StoreUnreachableError` if
        the store cannot be reached."""

    def counter(self) -> int:
        """Returns the number of changes to the graph."""

    def publish(
        self, new: Iterable[PaperBundle], fences: Mapping[str, int] | None = None, recognise: "Recognise | None" = None
    ) -> int:
        """Adds or replaces these papers, which are read one at a time. Returns the number of the generation that
        contains the papers. If nothing changed, returns the number of the current generation. `fences` maps papers to
        the fences of their leases.

        Raises `InputError` if a bundle is inconsistent, and `StoreError` if the store cannot be written. Raises
        `LeaseLostError` if another builder has taken a lease in the meantime. Also raises anything that
        `recognise.check` raises. If an error is raised, nothing is written. However, if a batch is too large for one
        transaction on a server, the parts that have already been committed are kept."""

    def revise(self, papers: Sequence[str], change: Callable[[PaperBundle], PaperBundle]) -> int:
        """Replaces each of these papers with `change(bundle)`, under the write lock."""

    def add_ablations(self, new: "Iterable[Ablation]") -> int:
        """Adds measurements of techniques, replacing any with the same ids. Measurements are kept even if their papers
        are removed. Measurements of techniques that are not visible are stored, but not added to the graph."""

    def ablations(self, techniques: Sequence[str] | None = None) -> "Sequence[Ablation]":
        """Returns the measurements of these techniques, or of all techniques if None, in id order."""

    def require_writable(self) -> None:
        """Raises `StoreError` if papers cannot be published. Call this method before starting expensive work."""

    def connect(self) -> None:
        """Adds any missing edges between papers, if `publish` has not done so."""

    def decide(self, new: "Iterable[Decision]") -> int:
        """Adds decisions about pairs of techniques and recomputes the links between papers."""

    def remove(self, papers: Sequence[str]) -> int: ...
    def rollback(self) -> int: ...
    def differences(
        self, first: int | None, second: int | None
    ) -> "Iterator[tuple[PaperBundle | None, PaperBundle | None]]":
        """Yields both states of each paper that differs between two generations, in id order. A state is None if the
        paper is missing from that generation. `second` defaults to the current generation, and `first` to the one
        before it. Raises `StoreError` if a generation has been deleted."""

    def rebuild(self) -> tuple[int, list[str]]:
        """Rebuilds all derived data. Returns the new generation's number, and a list of one-line notes."""

    def check(self) -> list[str]:
        """Checks the stored graph. Returns any problems, one line each."""

    def query(
        self, statement: str, parameters: Mapping[str, Any] | None = None, *, rows: int = 1000, seconds: float = 10
    ) -> Table:
        """Checks a statement with the guard and runs it. Raises `QueryRefusedError` if the statement is not allowed,
        and `QueryFailedError` if it fails."""

    def warm_queries(self) -> None:
        """Starts the query process or connection, so that the first query does not have to wait."""

    def bundles(self) -> Iterator[PaperBundle]:
        """Yields all papers in id order."""

    def decisions(self) -> "Sequence[Decision]":
        """Returns all decisions about pairs of techniques."""

    def close(self) -> None: ...
