"""Defines the context for a build and the results of its stages."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from xkg.build.code.codebase import Codebase
from xkg.build.grounding.ground import Grounding
from xkg.build.paper.document import Document
from xkg.build.parsing.parsers import Parsers
from xkg.build.repositories.checkout import Checkout
from xkg.build.sources.paper_source import Source
from xkg.build.stage_cache import Event, StageCache, StageReport
from xkg.build.techniques.extract import Extraction
from xkg.config import Settings
from xkg.embeddings.base import Embedder
from xkg.errors import LanguageModelError
from xkg.llm.client import LanguageModel
from xkg.model import Code, Derivation, PaperBundle
from xkg.sandbox.packages.environments import on_cpu
from xkg.sandbox.runner import Environment, EnvironmentMaker, Runner
from xkg.value import Value


class Guard(Protocol):
    """Decides which papers and repositories to refuse (`xkg.build.curation.blacklist_guard`). Each method returns the
    reason for the refusal, or None if the paper or repository is allowed."""

    def paper(self, arxiv_id: str | None, doi: str | None, title: str) -> str | None: ...
    def repository(self, url: str) -> str | None: ...
    def copy(self, checkout: Checkout) -> str | None: ...


class Claims(Protocol):
    """Assigns a paper's id and prevents concurrent builds of the paper (`xkg.commands.claims`)."""

    def claim(self, document: Document, identity: str, *, chosen: bool) -> str: ...


@dataclass(frozen=True)
class BuildContext:
    """The services that a build uses.

    Without a `runner`, no code is run, and the highest level is `parsed`. Without `environments`, code can import only
    the standard library. Without `sources`, papers must be files. Without a `model`, the build uses only static
    analysis.

    If `roots` is set, folders must be under one of the roots. A `guard` refuses papers and repositories. `claims`
    determines the id under which a paper is built. `packages` lists requirement lines in addition to the repository's
    own. If `cpu` is True, CUDA code runs on the CPU."""

    settings: Settings
    embedder: Embedder
    runner: Runner | None
    environments: EnvironmentMaker | None
    notify: Callable[[Event], None] = field(default=lambda _: None)
    sources: Sequence[Source] = ()
    model: LanguageModel | None = None
    parsers: Parsers = field(default_factory=Parsers)
    roots: Sequence[Path] | None = None
    guard: Guard | None = None
    claims: Claims | None = None
    packages: tuple[str, ...] = ()
    cpu: bool = False

    @property
    def added(self) -> dict[str, object]:
        """Returns the options that differ from their defaults. Stage keys include these options."""
        return {**({"added": list(self.packages)} if self.packages else {}), **({"cpu": True} if self.cpu else {})}

    def environment(
        self,
        imports: Mapping[str, Sequence[str]],
        requirements: Sequence[str],
        written: str | None,
        declared: Sequence[str] = (),
    ) -> Environment:
        """Makes an environment like `EnvironmentMaker.make`, with the context's `packages` added. Returns a
        standard-library-only environment if `environments` is None."""
        if self.environments is None:
            return Environment(site=None, hash="")
        added = self.packages
        made = self.environments.make(imports, (*added, *requirements), written, (*added, *declared))
        return on_cpu(made) if self.cpu else made


@dataclass(frozen=True)
class OpenedPaper:
    """A parsed paper and its repository. `written` is the date of the code (YYYY-MM-DD) if it is known. `source`
    contains the JSON values that determine the contents of the paper and the repository."""

    identity: str
    path: Path
    document: Document
    codebase: Codebase | None
    written: str | None
    source: Mapping[str, object]
    cache: StageCache


class CodeNodes(Value):
    """The code nodes of the located techniques. `final` is False if another run may reach higher levels, for example
    because a registry was down."""

    code: tuple[Code, ...] = ()
    derivations: tuple[Derivation, ...] = ()
    final: bool = True
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stopped:
    """The stage at which a build stopped, and the error that caused it."""

    stage: str
    error: LanguageModelError

    def __str__(self) -> str:
        message = str(self.error).removeprefix(f"{self.stage}: ")
        return f"the build stopped in stage {self.stage}: {message}"


@dataclass(frozen=True)
class Contents:
    """The results of the stages. `overview` lists the names that the repository's files define. `overview` is empty if
    the repository's own README is enough. `incomplete` lists the failures, one per line. `stopped` is the stage at
    which the build ended early. `nothing_in` has the same meaning as in `Paper`."""

    extraction: Extraction
    grounding: Grounding = field(default_factory=Grounding)
    nodes: CodeNodes = field(default_factory=CodeNodes)
    overview: str = ""
    incomplete: Sequence[str] = ()
    stopped: Stopped | None = None
    nothing_in: Sequence[str] = ()


@dataclass(frozen=True)
class Built:
    """A paper's bundle, with a report for each stage. `notes` contains messages for the user, one per line."""

    bundle: PaperBundle
    stages: Sequence[StageReport]
    notes: Sequence[str]
    stopped: Stopped | None = None
