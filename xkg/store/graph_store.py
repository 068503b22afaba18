"""The interfaces to a stored graph: `GraphStore` for writing, `Snapshot` for reading, and the values they exchange."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from xkg.embeddings.base import EncodedText
from xkg.model import Ablation, Code, Level, Paper, PaperBundle, Technique
from xkg.value import Value

if TYPE_CHECKING:
    # Opening a graph does not need arrays, and importing numpy takes longer than opening it.
    import numpy as np
    from numpy.typing import NDArray


Relation = Literal["same", "variant", "different"]
"""`variant`: one technique changes, extends, applies or is part of the other."""


class Decision(Value):
    """A decision about a pair of techniques. `first` and `second` are technique ids, lower id first. `judged` is the
    hash of both texts (see `decisions.judged`), and `by` identifies the prompt that produced the decision."""

    first: str
    second: str
    judged: str
    relation: Relation
    by: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.first, self.second, self.judged


MOST_TITLES = 50
"""The maximum number of papers listed for one title prefix."""

Decisions = Mapping[tuple[str, str, str], Decision]
"""Decisions, keyed by `Decision.key`."""


class Hit(NamedTuple):
    """A technique id with its score in an index (BM25, or cosine similarity in -1..1)."""

    id: str
    score: float


class Link(Value):
    """Two techniques from different papers (lower id first) and the cosine similarity of their texts. `how` is the
    reason for the link: their names, nearly equal vectors, or a decision by the model; `open` pairs are undecided."""

    first: str
    second: str
    score: float
    how: Literal["name", "vectors", "model", "open"]


class Table(Value):
    """The rows returned by a query; `truncated` means that rows beyond the limit were dropped."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: bool = False


class TechniqueView(Value):
    """A technique in its hierarchy: `path` lists the names from the top down to the technique itself, and `children`
    its components in order. Searches also find hidden techniques; these have no code, and `technique.hidden` is the
    reason. `without_code` lists the names of components, including hidden ones, for which neither the component nor any
    of its own components has code."""

    technique: Technique
    paper_title: str
    path: tuple[str, ...]
    children: tuple[Technique, ...]
    code: Code | None
    without_code: tuple[str, ...] = ()


class Facts(Value):
    """The values by which techniques can be filtered. If there is no code, `level` is `none` and `language` is empty.
    `vouchers` are the keys that attest the code (`xkg.attestations.trust`)."""

    paper: str
    level: Level
    language: str = ""
    packages: tuple[str, ...] = ()
    vouchers: tuple[tuple[str, Level], ...] = ()


class Heading(NamedTuple):
    """A paper's title and year, which identify it to a reader."""

    title: str
    year: int | None


class PaperLine(NamedTuple):
    """A paper in a list. `techniques` counts visible techniques, `levels` counts their code; `cost_usd` is the total
    cost of its builds. `attested` lists the level and the vouchers (as in `Facts`) of each code node with
    attestations."""

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
    """The mean and minimum similarity (-1 to 1) between the words in one text and their nearest words in another."""

    mean: float
    least: float


class Background(NamedTuple):
    """The distribution of cosines between one vector and all `techniques` in a graph, which shows what cosine to expect
    for an unrelated technique. All values are 0 if there are no vectors."""

    mean: float
    deviation: float
    techniques: int


class Snapshot(Protocol):
    """One state of the graph, which does not change while it is open. Raises `UnknownIdError`, whose message lists the
    nearest ids.

    `generation` is 0 for an empty graph. `current` is False if this is an earlier state of a server's graph, served
    while this machine's copy is being updated."""

    generation: int
    current: bool

    def papers(self) -> Sequence[Paper]:
        """All papers, which is slow for a large graph; the other methods read only the data for one answer."""

    def paper_lines(self) -> Sequence[PaperLine]:
        """One line per paper, in id order, without texts. Takes a second for a million techniques."""

    def paper_count(self) -> int: ...
    def called(self, words: str, most: int = MOST_TITLES) -> Sequence[str]:
        """The id of the paper with this id; otherwise the ids of papers with this title, ignoring case, spaces and
        punctuation; otherwise the ids of papers whose titles begin with these words. At most `most`, in id order."""

    def headings(self, ids: Sequence[str]) -> Mapping[str, Heading]:
        """The headings of these papers, in this order; unknown ids are omitted."""

    def paper_ids(self) -> Sequence[str]:
        """The ids of all papers, in order."""

    def of_years(self, first: int | None, last: int | None) -> Sequence[str]:
        """Ids of the papers published between these years, either of which may be None. Papers with an unknown year are
        omitted."""

    def require_paper(self, paper: str) -> None: ...
    def bundle(self, paper: str) -> PaperBundle: ...
    def technique(self, technique: str) -> TechniqueView: ...
    def techniques(self, ids: Sequence[str]) -> Sequence[TechniqueView]: ...
    def code(self, code: str) -> Code: ...
    def named(self, name: str) -> Sequence[str]:
        """Ids of techniques whose name or alias equals `name`, ignoring case, spaces and punctuation, followed by those
        with another form of the name: its abbreviation, or the name without its abbreviation
        (`xkg.store.concepts.names`)."""

    def technique_ids(self, paper: str) -> Sequence[str]:
        """Ids of a paper's visible techniques, in order; empty for an unknown paper."""

    def links(self) -> Sequence[Link]:
        """The `SAME_CONCEPT` links and the undecided pairs."""

    def links_of(self, ids: Sequence[str]) -> Sequence[Link]:
        """The `links` to or from one of these techniques."""

    def find_text(self, query: str, k: int, papers: Sequence[str] = ()) -> Sequence[Hit]: ...
    def find_vector(self, vector: "NDArray[np.float32]", k: int, papers: Sequence[str] = ()) -> Sequence[Hit]: ...
    def find_code(self, query: str, k: int, papers: Sequence[str] = ()) -> Sequence[Hit]:
        """Techniques whose code resembles the code in a query, with scores from 0 to 1; empty if the query is prose."""

    def spelled(self, word: str) -> str | None:
        """The word of a name or title that is spelled almost like `word`, or None."""

    def matched(self, query: str, ids: Sequence[str]) -> tuple[Mapping[str, float], float]:
        """The total weight of the query's words that occur in each of these techniques, and the total weight of all its
        words. A word's weight is the square root of its inverse document frequency, relative to that of a word that
        occurs nowhere."""

    def interaction(self, reading: EncodedText, ids: Sequence[str]) -> Mapping[str, float]:
        """Late-interaction scores of a query with each of these techniques, in -1..1; techniques without word codes are
        omitted."""

    def name_coverage(self, reading: EncodedText, ids: Sequence[str]) -> "Mapping[str, Coverage]":
        """How well a query's words cover the words of each technique's name; techniques without word codes are
        omitted."""

    def background(self, vector: "NDArray[np.float32]") -> Background: ...
    def vectors(self, ids: Sequence[str]) -> "Mapping[str, NDArray[np.float32]]":
        """The vectors of these techniques, in the form accepted by `find_vector`; techniques without a vector are
        omitted."""

    def facts(self, ids: Sequence[str]) -> Mapping[str, Facts]:
        """The facts for these techniques; unknown ids are omitted."""

    def citations_of(self, paper: str) -> tuple[set[str], set[str]]:
        """Ids of the papers in the graph that a paper cites, and ids of the papers that cite it."""


class Recognise(NamedTuple):
    """A check that runs before a paper is published. `check` is called under the write lock with the paper and with the
    other papers (without their texts) published since the graph's `counter` was `since`."""

    since: int
    check: Callable[[PaperBundle, Sequence[Paper]], None]


class GraphStore(Protocol):
    """A store for graphs. Every write is atomic: readers see either all of it or nothing. `place` is the store's
    display name: a folder, or a server's address without secrets."""

    place: str

    def snapshot(self) -> AbstractContextManager[Snapshot]: ...
    def lease(self, paper: str, holder: str) -> AbstractContextManager[int]:
        """Holds a lease on a paper for one builder during the context, and yields the fence that `publish` checks.
        `holder` is the name shown to others. Raises `StoreUnreachableError`, and `LeaseHeldError` if another builder
        has the lease."""

    def counter(self) -> int:
        """The number of changes to the graph."""

    def publish(
        self, new: Iterable[PaperBundle], fences: Mapping[str, int] | None = None, recognise: "Recognise | None" = None
    ) -> int:
        """Adds or replaces these papers, which are read one at a time. Returns the number of the generation that
        contains them, which is the current one if nothing changed. `fences` contains the fences of leases, keyed by
        paper. Raises `InputError` for an inconsistent bundle, `LeaseLostError` if another builder has taken a lease in
        the meantime, `StoreError` if the store cannot be written, and anything that `recognise.check` raises. In these
        cases nothing is written, except that a server keeps the earlier parts of a batch that is too large for one
        transaction."""

    def revise(self, papers: Sequence[str], change: Callable[[PaperBundle], PaperBundle]) -> int:
        """Replaces each of these papers by `change(bundle)`, under the write lock."""

    def add_ablations(self, new: "Iterable[Ablation]") -> int:
        """Adds measurements of techniques, replacing those with the same id. Measurements outlive their papers: if a
        technique is not visible, its measurement is stored, but not in the graph."""

    def ablations(self, techniques: Sequence[str] | None = None) -> "Sequence[Ablation]":
        """Measurements of these techniques, or of all techniques if None, in id order."""

    def require_writable(self) -> None:
        """Raises `StoreError` if papers could not be published, so that no work is wasted."""

    def connect(self) -> None:
        """Draws the edges between papers if `publish` has not done so."""

    def decide(self, new: "Iterable[Decision]") -> int:
        """Adds decisions about pairs of techniques, and links all papers again."""

    def remove(self, papers: Sequence[str]) -> int: ...
    def rollback(self) -> int: ...
    def differences(
        self, first: int | None, second: int | None
    ) -> "Iterator[tuple[PaperBundle | None, PaperBundle | None]]":
        """The papers that differ between two generations, in id order, each with both of its states; a state is None if
        the paper is missing from that generation. `second` defaults to the current generation, and `first` to the one
        before `second`. Raises `StoreError` if a generation is no longer kept."""

    def rebuild(self) -> tuple[int, list[str]]:
        """Rebuilds all derived data. Returns the generation's number and notes, one line each."""

    def check(self) -> list[str]:
        """The problems with the stored graph, one line each; empty if there are none."""

    def query(
        self, statement: str, parameters: Mapping[str, Any] | None = None, *, rows: int = 1000, seconds: float = 10
    ) -> Table:
        """Runs a read-only statement after the guard has checked it. Raises `QueryRefusedError` and
        `QueryFailedError`."""

    def warm_queries(self) -> None:
        """Starts the query process or connection, so that the first query does not have to wait for it."""

    def bundles(self) -> Iterator[PaperBundle]:
        """Every paper in id order."""

    def decisions(self) -> "Sequence[Decision]":
        """All decisions about pairs of techniques."""

    def close(self) -> None: ...
