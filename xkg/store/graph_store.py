"""The interfaces of a stored graph: `GraphStore` to write, `Snapshot` to read, and the values they exchange."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from xkg.embeddings.base import EncodedText
from xkg.model import Ablation, Code, Level, Paper, PaperBundle, Technique
from xkg.value import Value

if TYPE_CHECKING:
    # Opening a graph needs no arrays, and importing numpy takes longer than opening it.
    import numpy as np
    from numpy.typing import NDArray


Relation = Literal["same", "variant", "different"]
"""`variant`: one changes, extends, applies or is a part of the other."""


class Decision(Value):
    """`first` and `second` are technique ids, the lower one first; `judged` is the hash of both texts (`judged`), and
    `by` the identity of the prompt that was answered."""

    first: str
    second: str
    judged: str
    relation: Relation
    by: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.first, self.second, self.judged


MOST_TITLES = 50
"""Of papers whose titles begin with the same words at most so many are listed."""

Decisions = Mapping[tuple[str, str, str], Decision]
"""Decisions by their `key`."""


class Hit(NamedTuple):
    """A technique id with its score in an index (BM25, or cosine similarity in -1..1)."""

    id: str
    score: float


class Link(Value):
    """Two techniques of different papers, the lower id first, and the cosine similarity of their texts. `how` says what
    makes them one concept: their names, vectors that are all but equal, or a decision of the model; `open` pairs wait
    for one."""

    first: str
    second: str
    score: float
    how: Literal["name", "vectors", "model", "open"]


class Table(Value):
    """The rows of a query; `truncated` says that rows were left out by the limit."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: bool = False


class TechniqueView(Value):
    """A technique with its place: `path` are names from the top down to itself, `children` its components in order. Of
    a hidden technique, which searches find too, `technique.hidden` is the reason, and there is no code. `without_code`
    names the components, hidden ones too, that have no code and no component with any."""

    technique: Technique
    paper_title: str
    path: tuple[str, ...]
    children: tuple[Technique, ...]
    code: Code | None
    without_code: tuple[str, ...] = ()


class Facts(Value):
    """What techniques are filtered by: `level` is `none`, and `language` empty, where there is no code. `vouchers` are
    the keys that attest it (`xkg.attestations.trust`), if an attestation can raise that level."""

    paper: str
    level: Level
    language: str = ""
    packages: tuple[str, ...] = ()
    vouchers: tuple[tuple[str, Level], ...] = ()


class Heading(NamedTuple):
    """What identifies a paper to a reader."""

    title: str
    year: int | None


class PaperLine(NamedTuple):
    """A paper in a list. `techniques` are those that are not hidden, `levels` counts their code; `cost_usd` is what all
    its builds spent. `attested` is each code that an attestation can raise: its level, and its vouchers as in
    `Facts`."""

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
    """How near the words of one text come to the nearest words of another, in -1..1: on average, and the least."""

    mean: float
    least: float


class Background(NamedTuple):
    """The distribution of cosines between one vector and all `techniques` of a graph, which is what an unrelated
    technique can be expected to reach. All 0 where there are no vectors."""

    mean: float
    deviation: float
    techniques: int


class Snapshot(Protocol):
    """One state of the graph, which does not change while it is open. Raises `UnknownIdError`, whose message names the
    nearest ids.

    `generation` is 0 for an empty graph. `searchable` is False while the indexes are being made: names and ids are
    looked up as always, and `find_text` and `find_vector` return nothing."""

    generation: int
    searchable: bool

    def papers(self) -> Sequence[Paper]:
        """All papers, which takes long where there are many: the other methods read what one answer needs."""
        ...

    def paper_lines(self) -> Sequence[PaperLine]:
        """All papers as lines of a list, in id order: a second for a million techniques, without their texts."""
        ...

    def paper_count(self) -> int: ...
    def called(self, words: str, most: int = MOST_TITLES) -> Sequence[str]:
        """The id of the paper that has this id, else ids of those of this title up to case, spaces and punctuation,
        else of those whose titles begin with these words; at most so many, in id order."""
        ...

    def headings(self, ids: Sequence[str]) -> Mapping[str, Heading]:
        """The headings of these papers, in this order, without unknown ones."""
        ...

    def paper_ids(self) -> Sequence[str]:
        """The ids of all papers, in order."""
        ...

    def of_years(self, first: int | None, last: int | None) -> Sequence[str]:
        """Ids of the papers of these years, either of which may be None; without papers whose year is unknown."""
        ...

    def require_paper(self, paper: str) -> None: ...
    def bundle(self, paper: str) -> PaperBundle: ...
    def technique(self, technique: str) -> TechniqueView: ...
    def techniques(self, ids: Sequence[str]) -> Sequence[TechniqueView]: ...
    def code(self, code: str) -> Code: ...
    def named(self, name: str) -> Sequence[str]:
        """Ids of techniques whose name or alias equals `name` up to case, spaces and punctuation, then of those that go
        by it in another form: the abbreviation in a name, or the name without it (`xkg.store.concepts.names`)."""
        ...

    def technique_ids(self, paper: str) -> Sequence[str]:
        """Ids of the techniques of a paper that are not hidden, in order; none for an unknown one."""
        ...

    def links(self) -> Sequence[Link]:
        """`SAME_CONCEPT` and the pairs that wait for a decision."""
        ...

    def links_of(self, ids: Sequence[str]) -> Sequence[Link]:
        """Those of `links` that have one of these techniques as an end."""
        ...

    def find_text(self, query: str, k: int, papers: Sequence[str] = ()) -> Sequence[Hit]: ...
    def find_vector(self, vector: "NDArray[np.float32]", k: int, papers: Sequence[str] = ()) -> Sequence[Hit]: ...
    def find_code(self, query: str, k: int, papers: Sequence[str] = ()) -> Sequence[Hit]:
        """Techniques whose code is like a query that is code, with scores in 0..1; none for a query that is prose."""
        ...

    def spelled(self, word: str) -> str | None:
        """The word of a name or title that is spelled almost like `word`, or None."""
        ...

    def matched(self, query: str, ids: Sequence[str]) -> tuple[Mapping[str, float], float]:
        """The weight of the query's words that each of these techniques has, and the weight of all of them. A word
        weighs the square root of its inverse document frequency, relative to that of a word that none has."""
        ...

    def interaction(self, reading: EncodedText, ids: Sequence[str]) -> Mapping[str, float]:
        """Late interaction of a query with each of these techniques, in -1..1, without those of whose words nothing is
        known."""
        ...

    def name_coverage(self, reading: EncodedText, ids: Sequence[str]) -> "Mapping[str, Coverage]":
        """How near the words of each technique's name come to words of a query; without those of whose words nothing
        is known."""
        ...

    def background(self, vector: "NDArray[np.float32]") -> Background: ...
    def vectors(self, ids: Sequence[str]) -> "Mapping[str, NDArray[np.float32]]":
        """The vectors of those of these techniques that have one, as `find_vector` takes them."""
        ...

    def facts(self, ids: Sequence[str]) -> Mapping[str, Facts]:
        """Facts of these techniques, without unknown ones."""
        ...

    def citations_of(self, paper: str) -> tuple[set[str], set[str]]:
        """Ids of the papers here that one cites, and of those that cite it."""
        ...


class Recognise(NamedTuple):
    """`check` is called in the step that publishes a paper, while nobody else writes, with the paper and those others
    that were published since the graph's `counter` was `since`, without texts."""

    since: int
    check: Callable[[PaperBundle, Sequence[Paper]], None]


class GraphStore(Protocol):
    """Where graphs live. Every write is one atomic step: readers see all of it or nothing. `place` is what a person
    calls it: a folder, or the address of a server without any secret."""

    place: str

    def snapshot(self) -> AbstractContextManager[Snapshot]: ...
    def lease(self, paper: str, holder: str) -> AbstractContextManager[int]:
        """Holds a paper for one builder while the context lasts, and gives the fence that `publish` compares. `holder`
        is what another is told. Raises `LeaseHeldError` where another has it, and `StoreUnreachableError`."""
        ...

    def counter(self) -> int:
        """How many times the graph was changed."""
        ...

    def publish(
        self, new: Sequence[PaperBundle], fences: Mapping[str, int] | None = None, recognise: "Recognise | None" = None
    ) -> int:
        """Adds or replaces these papers; gives the number of the generation that has them, the current one where all
        are stored as they are. `fences` are those of leases, by paper. Raises `InputError` for a bundle that
        contradicts itself, `LeaseLostError` where another has taken a lease meanwhile, `StoreError` where it cannot
        be written, and what `recognise.check` raises; nothing is written then."""
        ...

    def revise(self, papers: Sequence[str], change: Callable[[PaperBundle], PaperBundle]) -> int:
        """Replaces each of these papers by `change(bundle)`, under the write lock."""
        ...

    def add_ablations(self, new: "Iterable[Ablation]") -> int:
        """Adds measurements of techniques, which replace those of the same id. They outlive their papers: one whose
        technique is not shown is kept, and not in the graph."""
        ...

    def ablations(self, techniques: Sequence[str] | None = None) -> "Sequence[Ablation]":
        """Measurements of these techniques (None: all), in id order."""
        ...

    def require_writable(self) -> None:
        """Raises `StoreError` where no paper could be published, before any work is done for one."""
        ...

    def connect(self) -> None:
        """Draws the edges that follow from all papers together, if a publish has not."""
        ...

    def decide(self, new: "Iterable[Decision]") -> int:
        """Adds decisions about pairs of techniques, and links all papers anew."""
        ...

    def remove(self, papers: Sequence[str]) -> int: ...
    def rollback(self) -> int: ...
    def differences(
        self, first: int | None, second: int | None
    ) -> "Iterator[tuple[PaperBundle | None, PaperBundle | None]]":
        """The papers that differ between two generations, in id order, each as it is in both; None for one that is not
        there. `second` None is the current generation, `first` None the one before `second`. Raises `StoreError` where
        one of them is not kept."""
        ...

    def rebuild(self) -> tuple[int, list[str]]:
        """Makes all derived data anew; gives the generation's number and notes, a line each."""
        ...

    def check(self) -> list[str]:
        """What is wrong with what is stored, one line each; empty where all is well."""
        ...

    def query(
        self, statement: str, parameters: Mapping[str, Any] | None = None, *, rows: int = 1000, seconds: float = 10
    ) -> Table:
        """Runs a read-only statement, which the guard looks at first. Raises `QueryRefusedError` and
        `QueryFailedError`."""
        ...

    def warm_queries(self) -> None:
        """Starts the query process or connection, which the first query would wait for."""
        ...

    def bundles(self) -> Iterator[PaperBundle]:
        """Every paper in id order."""
        ...

    def decisions(self) -> "Sequence[Decision]":
        """All decisions about pairs of techniques."""
        ...

    def close(self) -> None: ...
