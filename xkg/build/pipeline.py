"""One paper's way through the stages: paper and repository in, `PaperBundle` out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from xkg.build.check import check_code
from xkg.build.codebase import Codebase
from xkg.build.document import Document
from xkg.build.extract import Extraction, extract
from xkg.build.fetch import Checkout, fetch_repository
from xkg.build.ground import Grounding, ground
from xkg.build.modularize import modularize
from xkg.build.parse.paper import parse_paper
from xkg.build.parse.repository import parse_repository
from xkg.build.prune import prune
from xkg.build.stages import StageReport, Workbench, pipeline_version
from xkg.config import Settings
from xkg.embed import Embedder
from xkg.errors import InputError
from xkg.model import Code, Derivation, Level, Paper, PaperBundle, Symbol, paper_id, slug
from xkg.sandbox import EnvironmentMaker, Runner


@dataclass(frozen=True)
class Built:
    """A bundle with the report of how it came about."""

    bundle: PaperBundle
    stages: Sequence[StageReport]
    notes: Sequence[str]


class CodeNodes(BaseModel):
    """The output of the stages that make and check code."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: tuple[Code, ...]
    derivations: tuple[Derivation, ...] = ()
    reachable: Level = Level.PARSED
    may_be_reused: bool = True


def build_paper(
    paper: Path,
    repository: str | None,
    settings: Settings,
    *,
    embedder: Embedder,
    runner: Runner | None,
    environments: EnvironmentMaker | None,
    given_id: str | None = None,
    notify: Callable[[StageReport], None] = lambda _: None,
) -> Built:
    """Builds one paper by static analysis. `runner` None: nothing can be contained here, so levels stop at `parsed`.

    Raises `InputError` for a paper or repository that cannot be used, `StoreError` when the folder of the graph cannot
    be written. Nothing is published here.
    """
    document = parse_paper(paper)
    identity = given_id or paper_id(document.title or paper.stem, document.arxiv_id, document.doi)
    bench = Workbench(settings.kg / "work" / _folder_name(identity), notify)
    document = bench.stage(
        "parse",
        {"paper": document.source_sha256, "path": paper.name},
        Document,
        lambda: document,
        lambda d: f"{len(d.walk())} sections, {len(d.equations)} equations, {len(d.references)} references",
    )
    notes = list(document.warnings)
    checkout = fetch_repository(repository, settings.kg / "repositories") if repository else None
    codebase = _codebase(bench, checkout)
    ...
    raise NotImplementedError


def _codebase(bench: Workbench, checkout: Checkout | None) -> Codebase | None:
    if checkout is None:
        return None
    codebase = bench.stage(
        "repository",
        {"repository": checkout.repository.id},
        Codebase,
        lambda: parse_repository(checkout),
        lambda c: f"{len(c.modules)} modules, {len(c.symbols())} symbols"
        + "".join(f", {s.count} {s.reason} skipped" for s in c.skipped),
    )
    if not codebase.modules:
        raise InputError(f"{codebase.repository.url or codebase.repository.id} has no Python code; give another --repo")
    return codebase
