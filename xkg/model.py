"""Defines the domain model: a graph's nodes, and `PaperBundle`, the complete subgraph for one paper.

`build` and `import` produce bundles, and `store` stores them. Ids are deterministic: the same input produces the same
ids. Text is any Python string that JSON can represent; offsets count characters, and lines are 1-based and inclusive.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from xkg.text import arxiv_id as arxiv
from xkg.text.address import repository_address
from xkg.text.doi import canonical_doi
from xkg.value import Value

LONGEST_NAME = 500
KILLED_SHARE = 0.6
"""The fraction of mutants that a test must detect to prove `tested`."""
FAITHFUL_SHARE = 0.7
# The minimum share of all statements that must have a counterpart. Without this minimum, every statement without a
# counterpart could be attributed to the definition.
_LEAST_SHARE = 0.5


class Node(Value):
    """Base class for all stored values. Values are immutable, and unknown fields are rejected so that a typo is never
    stored."""


class Level(StrEnum):
    """The strongest property that was proven about a code node. Levels are listed from weakest to strongest. Compare
    levels by `rank`, never as strings. `claimed` code was imported and has not been checked on this machine; its
    evidence contains the sender's claims."""

    NONE = "none"
    CLAIMED = "claimed"
    PARSED = "parsed"
    IMPORTED = "imported"
    EXECUTED = "executed"
    TESTED = "tested"
    FAITHFUL = "faithful"

    @property
    def rank(self) -> int:
        return _RANKS[self]


_RANKS = {level: rank for rank, level in enumerate(Level)}


class Reference(Node):
    """A bibliography entry. `title` is None if the title could not be found in `text`. `cited_as` is how running text
    cites the entry, such as "Liu and Wang (2016)"."""

    title: str | None
    text: str | None = None
    cited_as: str | None = None
    key: str | None = None
    arxiv_id: str | None = None
    doi: str | None = None
    year: int | None = None


class Excerpt(Node):
    """A span of the parsed paper that supports a definition. `start` and `end` are character offsets into
    `Document.text` (end exclusive); `path` and `line` locate the start in the paper's own files."""

    section: str
    start: int
    end: int
    path: str | None = None
    line: int | None = None


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


Name = Annotated[str, AfterValidator(_cut)]
"""A name, cut to `LONGEST_NAME` characters, because answers and pages never shorten names."""


class Paper(Node):
    """Represents a paper. `incomplete` lists the reasons why `state` is `partial`, one per line. `claims` contains data
    from an imported file that this schema does not cover (keys, values, orders), kept for export. `arxiv_version` is
    the version that was parsed, such as `v2`, or None if the paper was not fetched from arXiv. `domain` and `subfield`
    are arXiv's primary category, or a model's choice, such as `cs` and `cs.LG`. `nothing_in` lists passages (by their
    first words) and functions (`path::name`) that no technique covers and in which the model found no technique.
    `packages` are requirement lines that were added to the repository's requirements. `cpu` means that the repository's
    CUDA code ran on the CPU."""

    id: str
    title: Name
    abstract: str = ""
    authors: tuple[Name, ...] = ()
    year: int | None = None
    arxiv_id: str | None = None
    arxiv_version: str | None = None
    domain: str | None = None
    subfield: str | None = None
    references: tuple[Reference, ...] | None = None
    code_files: tuple[str, ...] = ()
    code_overview: str = ""
    nothing_in: tuple[str, ...] = ()
    origin: Literal["build", "import"]
    state: Literal["complete", "partial"] = "complete"
    incomplete: tuple[str, ...] = ()
    source_sha256: str | None = None
    pipeline_version: str | None = None
    built_at: str | None = None
    cost_usd: float = 0.0
    packages: tuple[str, ...] = ()
    cpu: bool = False
    claims: dict[str, Any] = Field(default={})

    @property
    def arxiv_number(self) -> str | None:
        """The arXiv id, taken from the paper's id if the field is empty."""
        return self.arxiv_id or (self.id.removeprefix("arxiv:") if self.id.startswith("arxiv:") else None)

    @property
    def doi(self) -> str | None:
        return self.id.removeprefix("doi:") if self.id.startswith("doi:") else None


class Technique(Node):
    """Represents a technique. `parent` is the parent technique's id, or None at the top. Siblings keep their order in
    the bundle. `hidden` says why the technique is omitted from the published graph, or is None if it is shown."""

    id: str
    name: Name
    parent: str | None = None
    aliases: tuple[Name, ...] = ()
    kind: Literal["methodology", "technique"] = "technique"
    definition: str = ""
    depth: int = 0
    weight: float = 1.0
    grounding: Literal["none", "located", "doubtful"] = "none"
    excerpts: tuple[Excerpt, ...] = ()
    hidden: str | None = None


class Survivor(Node):
    """A mutation of the implementation that the test did not detect, with its 1-based line and the change."""

    line: int
    change: str


class Fault(Node):
    """A language model's objection to an implementation. `missing` means that the implementation omits logic that the
    sources contain and the definition requires. `foreign` means that the implementation contains logic that the sources
    lack. `beyond` means that the implementation does more than the definition, and `unrelated` means that it does
    something else entirely."""

    kind: Literal["missing", "foreign", "beyond", "unrelated"]
    remark: str


class Departure(Node):
    """A statement in a definition that the code or its source lines do not implement as written. The source lines are
    those that the code was generated from. `differs` means that both the code and the source lines implement the
    statement differently, `absent` means that neither implements it, and `added` means that only the code implements
    it. `elsewhere` means that only other lines in the repository, listed in the remark, implement the statement.
    `searched` is true if other lines in the repository were examined first. `component` is the name of the component
    whose code differs from the definition, or empty for the technique's own code."""

    kind: Literal["differs", "absent", "added", "elsewhere"]
    statement: str
    remark: str
    searched: bool = False
    component: str = ""

    @property
    def kind_in_words(self) -> str:
        lines = "the code found in the repository" if self.searched else "the lines that were compared"
        verb = "does" if self.searched else "do"
        words = {
            "differs": f"{lines} {verb} it differently, as does this code",
            "absent": f"neither {lines} nor this code does it",
            "added": f"this code does it, but {lines} {verb} not",
            "elsewhere": "other lines in the repository do it, but this code does not",
        }[self.kind]
        return f"in its component {self.component}, {words}" if self.component else words


class Fidelity(Node):
    """How faithful an implementation is to its source. `share` is the fraction of the implementation's statements that
    have a counterpart in the source lines. `by_definition` is the fraction of statements that lack a counterpart
    because only the definition requires them; it is 0 unless a model confirmed this. `faults` lists a language model's
    objections, or is None if no model was asked. `statements` is the number of statements in the definition that the
    model compared with the code and the source lines, or None if it compared none. `departures` lists the statements on
    which the paper and the repository differ."""

    share: float
    by_definition: float = 0.0
    faults: tuple[Fault, ...] | None = None
    statements: int | None = None
    departures: tuple[Departure, ...] = ()

    @property
    def is_enough(self) -> bool:
        """Whether enough statements have a counterpart in the source lines: at least 0.7 of all statements, or at least
        0.5 of all statements and 0.7 of those that were not written from the definition."""
        least = FAITHFUL_SHARE * (1.0 - self.by_definition)
        return self.share >= FAITHFUL_SHARE or (self.share >= _LEAST_SHARE and self.share >= least)

    @property
    def is_met(self) -> bool:
        """Whether the implementation is faithful: enough of its statements come from the sources, and a model found no
        faults."""
        return self.is_enough and self.faults == ()

    @property
    def unrelated(self) -> str | None:
        """Why the implementation does something else entirely, or None if it does what it should."""
        return next((fault.remark for fault in self.faults or () if fault.kind == "unrelated"), None)


class Evidence(Node):
    """How a level was reached, or why the next one was not.

    `missing` lists required packages that could not be installed or imported on this machine, so a low level may not be
    the code's fault. `covered_lines` and `uncovered_lines` are the lines in function bodies that the test did and did
    not run, or None if coverage was not measured. `mutants` is the number of mutants that were tried, and
    `mutation_score` is the fraction that made the test fail. `survivors` lists the undetected mutants, and the
    functions whose bodies can be removed without making the test fail. `excused` is the number of mutants that are
    ignored because they compute the same result. `repairs` is the number of times that a language model repaired the
    code or test. `distributions` maps the code's imports to the name==version used in the run."""

    level: Level
    runner: str | None = None
    command: str | None = None
    environment: str | None = None
    exit_code: int | None = None
    seconds: float | None = None
    peak_memory_mb: float | None = None
    covered_lines: tuple[int, ...] | None = None
    uncovered_lines: tuple[int, ...] | None = None
    mutants: int | None = None
    excused: int = 0
    mutation_score: float | None = None
    survivors: tuple[Survivor, ...] = ()
    fidelity: Fidelity | None = None
    repairs: int = 0
    output_end: str = ""
    reason: str | None = None
    missing: tuple[str, ...] = ()
    distributions: dict[str, str] = Field(default={})
    checked_at: str | None = None

    @property
    def suffices(self) -> bool:
        """Whether the measurements support the level. Levels below `imported` need no measurements."""
        rank = self.level.rank
        score = self.mutation_score or 0.0
        return (
            (rank < Level.IMPORTED.rank or bool(self.runner))
            and (rank < Level.EXECUTED.rank or self.exit_code == 0)
            and (rank < Level.TESTED.rank or (bool(self.mutants) and KILLED_SHARE <= score <= 1.0))
            and (rank < Level.FAITHFUL.rank or (self.fidelity is not None and self.fidelity.is_met))
        )


def describe_package(name: str, pin: str) -> str:
    """Returns a description of the package behind an import name, such as `ott-jax 0.2.6 (import ott)`. `pin` is the
    package's name==version, or '' if unknown."""
    if not pin:
        return name
    distribution, _, version = pin.partition("==")
    alike = distribution.lower().replace("-", "_") == name.lower()
    return f"{distribution} {version}" + ("" if alike else f" (import {name})")


class Code(Node):
    """A code node. `test` is empty if the code has no test. The last entry in `evidence` supports the level. If the
    code was repaired, the first entry describes the first run. `claims` come from an imported file; they are stored but
    not trusted. `attestations` are signed statements about the code (`xkg.attestations`). `attested` is a phrase that
    says who attests the level; it depends on the reader's trusted keys and is never stored."""

    id: str
    technique: str
    implementation: str
    test: str = ""
    documentation: str = ""
    language: str = "python"
    packages: tuple[Name, ...] = ()
    level: Level = Level.NONE
    evidence: tuple[Evidence, ...] = ()
    claims: dict[str, Any] = Field(default={})
    attestations: tuple[str, ...] = ()
    attested: str = ""

    @property
    def standing(self) -> str:
        """The level and the keys that attest it, such as `tested, attested by LAB and 2 others`."""
        return f"{self.level.value}, {self.attested}" if self.attested else self.level.value

    @property
    def sha256(self) -> str:
        """Hash of implementation, NUL and test; `code_id` contains its first 12 digits."""
        return _code_sha256(self.implementation, self.test)

    @property
    def departures(self) -> tuple[Departure, ...]:
        """The known differences between the paper and the repository, in the code and its components."""
        fidelity = self.evidence[-1].fidelity if self.evidence else None
        return fidelity.departures if fidelity is not None else ()

    @property
    def versions(self) -> tuple[str, ...]:
        """The packages that the code uses. If known, the distribution and version used in the run are included, for
        example `numpy 2.1.0`, `ott-jax 0.2.6 (import ott)` and `wandb`."""
        known = self.evidence[-1].distributions if self.evidence else {}
        return tuple(describe_package(package, known.get(package, "")) for package in self.packages)


class Repository(Node):
    """Represents a repository. `reference` is the requested branch, tag or commit, or None for the default branch.
    `stars`, `archived` and `default_branch` are as GitHub reported them when the repository was found, or None if
    GitHub was not queried. `license` is an SPDX identifier, `NOASSERTION` if the licence is unclear, or None if there
    is no licence. `file_licenses` maps the path of a source file to its licence, if the file states a different licence
    or is in a folder that has its own licence. `license_texts` maps paths to the licences and notices that a copy of
    the code must include."""

    id: str
    url: str
    commit: str | None = None
    license: str | None = None
    file_licenses: dict[str, str] = Field(default={})
    license_texts: dict[str, str] = Field(default={})
    is_official: bool = False
    reference: str | None = None
    stars: int | None = None
    archived: bool | None = None
    default_branch: str | None = None

    @property
    def name(self) -> str:
        """The canonical name, which is the same for all spellings of the repository's address. If the repository is a
        folder, returns its id."""
        address = repository_address(self.url)
        return self.id if address is None else address.name


class Symbol(Node):
    """A named part of a repository, with the id `<repository id>:<path>::<qualified name>` (no name for a module).
    `fingerprint` is a sketch of the symbol's body (`build.fingerprint`), or '' if it is too short or was not
    fingerprinted."""

    id: str
    repository: str
    path: str
    qualified_name: str
    kind: Literal["module", "class", "function", "method", "constant"]
    start_line: int
    end_line: int
    signature: str = ""
    fingerprint: str = ""


class LineRange(Node):
    """Lines of a file, 1-based and inclusive, with the reason for choosing them."""

    start_line: int
    end_line: int
    why: str = ""


Confidence = Literal["certain", "doubtful", "weak"]
WEAK = 0.25
"""Doubtful places with a lower score are weak. Few weak places are correct, even at rank 1."""


class Location(Node):
    """`(Technique)-[:LOCATED_AT {score, rank, focus, twins, doubtful}]->(Symbol)`; rank 1 is best, score is in 0..1.
    `focus` lists the lines within the symbol that implement the technique, best first; it is empty if the lines are
    unknown. `twins` are the ids of symbols with nearly the same code. A place is certain unless it is `doubtful`; a
    doubtful place with a low score is weak."""

    technique: str
    symbol: str
    score: float
    rank: int
    focus: tuple[LineRange, ...] = ()
    twins: tuple[str, ...] = ()
    doubtful: bool = False

    @property
    def confidence(self) -> Confidence:
        """How likely the place is to be correct."""
        if not self.doubtful:
            return "certain"
        return "weak" if self.score < WEAK else "doubtful"


class Derivation(Node):
    """`(Code)-[:DERIVED_FROM]->(Symbol)`."""

    code: str
    symbol: str


class Finding(Node):
    """A paper's finding. `description` is None if the source did not have the form `name: description`."""

    id: str
    name: Name
    description: str | None = None


class Resource(Node):
    id: str
    name: Name
    description: str | None = None


class Ablation(Node):
    """A measurement of how much a technique matters. `baseline` is the metric's value without the change, and `value`
    is the metric's value with `diff` applied at `commit`. `change` is relative to the baseline; `low` and `high` are
    its 95 % confidence bounds, or None if the spread is unknown. `seeds` is the number of candidate runs. `kind` is the
    kind of change (toggle, scale, replace, grid)."""

    id: str
    technique: str
    metric: str
    direction: Literal["min", "max"]
    baseline: float
    value: float
    change: float
    low: float | None = None
    high: float | None = None
    seeds: int
    kind: str
    description: str = ""
    diff: str
    commit: str
    command: str
    measured_at: str

    def __str__(self) -> str:
        bounds = "" if self.low is None or self.high is None else f" [{self.low:+.1%}, {self.high:+.1%}]"
        once = ", run once" if self.seeds == 1 else f", {self.seeds} seeds"
        return f"{self.change:+.1%}{bounds} of {self.metric} by {self.description or self.kind}{once}"


class PaperBundle(Node):
    """The complete subgraph for one paper. `techniques` is in preorder, so a parent comes before its children, and
    siblings keep their order."""

    paper: Paper
    techniques: tuple[Technique, ...] = ()
    code: tuple[Code, ...] = ()
    repositories: tuple[Repository, ...] = ()
    symbols: tuple[Symbol, ...] = ()
    locations: tuple[Location, ...] = ()
    derivations: tuple[Derivation, ...] = ()
    findings: tuple[Finding, ...] = ()
    resources: tuple[Resource, ...] = ()

    def children(self, parent: str | None) -> Iterator[Technique]:
        """Yields a technique's components in order or, if `parent` is None, the techniques at the top of the
        hierarchy."""
        return (t for t in self.techniques if t.parent == parent)

    def code_of(self, technique: str) -> Code | None:
        return next((c for c in self.code if c.technique == technique), None)


def slug(text: str) -> str:
    """Returns the lower-case words in `text` joined by '-', at most `LONGEST_NAME` characters. Unicode letters and
    digits are kept, and everything else separates words. The result is never empty."""
    folded = unicodedata.normalize("NFKC", text[:LONGEST_NAME]).casefold()
    return "-".join(re.findall(r"[^\W_]+", folded)) or "untitled"


def unique_slugs(names: Iterable[str]) -> list[str]:
    """Returns slugs for siblings, in order. A repeated slug gets -2, -3, … and never collides with another name's
    slug."""
    used: set[str] = set()
    counts: dict[str, int] = {}
    result = []
    for name in names:
        base = slug(name)
        candidate, n = base, counts.get(base, 1)
        while candidate in used:
            n += 1
            candidate = f"{base}-{n}"
        counts[base] = n
        used.add(candidate)
        result.append(candidate)
    return result


def paper_id(title: str, arxiv_id: str | None = None, doi: str | None = None) -> str:
    """Returns `arxiv:…` without the version if there is an arXiv id or a DOI issued by arXiv. Otherwise, returns
    `doi:…` or, without a DOI, `title:<slug>`."""
    known = arxiv.arxiv_id(arxiv_id or "") or arxiv.arxiv_id(doi or "")
    if known is not None or arxiv_id:
        number = re.sub(r"v[0-9]+$", "", (arxiv_id or "").strip()) if known is None else known.number
        return f"arxiv:{number}"
    if doi:
        return f"doi:{canonical_doi(doi) or doi.strip().lower()}"
    return "title:" + slug(title)


def code_id(technique: str, implementation: str, test: str) -> str:
    """Returns `<technique id>@<first 12 hex digits of sha256(implementation, NUL, test)>`."""
    return f"{technique}@{_code_sha256(implementation, test)[:12]}"


def _code_sha256(implementation: str, test: str) -> str:
    return hashlib.sha256(f"{implementation}\0{test}".encode("utf-8", "surrogatepass")).hexdigest()


def ablation_id(technique: str, commit: str, diff: str, command: str, metric: str) -> str:
    """Returns `<technique id>!<first 12 hex digits of sha256(commit, diff, command, metric)>`."""
    text = "\0".join((commit, diff, command, metric))
    return f"{technique}!{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def symbol_id(repository: str, path: str, qualified_name: str = "") -> str:
    return f"{repository}:{path}::{qualified_name}" if qualified_name else f"{repository}:{path}"


def paper_of(node_id: str) -> str:
    """Returns the id of the paper that a technique, code, finding or resource id belongs to."""
    return node_id.partition("#")[0]
