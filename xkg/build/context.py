"""What a build works with, and what its stages find."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from xkg.build.code.codebase import Codebase
from xkg.build.grounding.ground import Grounding
from xkg.build.paper.document import Document
from xkg.build.parsing.parsers import Parsers
from xkg.build.sources.paper_source import Source
from xkg.build.stage_cache import Event, StageCache, StageReport
from xkg.build.techniques.extract import Extraction
from xkg.config import Settings
from xkg.embeddings.base import Embedder
from xkg.errors import LanguageModelError
from xkg.llm.client import LanguageModel
from xkg.model import Code, Derivation, PaperBundle
from xkg.sandbox.runner import Environment, EnvironmentMaker, Runner
from xkg.value import Value


@dataclass(frozen=True)
class BuildContext:
    """What a build works with. Without `runner` nothing here can contain code, so levels stop at `parsed`; without
    `environments` code has the standard library alone, without `sources` papers are files, and without `model` the
    build is static analysis. Folders lie under `roots`, where they are given."""

    settings: Settings
    embedder: Embedder
    runner: Runner | None
    environments: EnvironmentMaker | None
    notify: Callable[[Event], None] = field(default=lambda _: None)
    sources: Sequence[Source] = ()
    model: LanguageModel | None = None
    parsers: Parsers = field(default_factory=Parsers)
    roots: Sequence[Path] | None = None

    def environment(
        self, imports: Mapping[str, Sequence[str]], requirements: Sequence[str], written: str | None
    ) -> Environment:
        """As `EnvironmentMaker.make`; of the standard library alone without `environments`."""
        if self.environments is None:
            return Environment(site=None, hash="")
        return self.environments.make(imports, requirements, written)


@dataclass(frozen=True)
class OpenedPaper:
    """A paper and its repository as they were read. `written` is the day (YYYY-MM-DD) that the code is from, as far as
    that is known; `source` determines what is read from them, as JSON values."""

    identity: str
    path: Path
    document: Document
    codebase: Codebase | None
    written: str | None
    source: Mapping[str, object]
    cache: StageCache


class CodeNodes(Value):
    """Code of located techniques. `final` is False where another run may reach more (a registry was down)."""

    code: tuple[Code, ...] = ()
    derivations: tuple[Derivation, ...] = ()
    final: bool = True
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stopped:
    """Where and why a build could not go on."""

    stage: str
    error: LanguageModelError

    def __str__(self) -> str:
        said = str(self.error).removeprefix(f"{self.stage}: ")
        return f"the build stopped in stage {self.stage}: {said}"


@dataclass(frozen=True)
class Contents:
    """What the stages found. `overview` is what was written about the repository, empty for its own readme;
    `incomplete` tells, a line each, what could not be done, and `stopped` where the rest was given up."""

    extraction: Extraction
    grounding: Grounding = field(default_factory=Grounding)
    nodes: CodeNodes = field(default_factory=CodeNodes)
    overview: str = ""
    incomplete: Sequence[str] = ()
    stopped: Stopped | None = None


@dataclass(frozen=True)
class Built:
    """A bundle with the report of how it came about; `notes` are what a person should know, one line each."""

    bundle: PaperBundle
    stages: Sequence[StageReport]
    notes: Sequence[str]
    stopped: Stopped | None = None
