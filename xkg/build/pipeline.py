"""One paper's way through the stages: paper and repository in, `PaperBundle` out."""

import hashlib
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from xkg.build.code_node import code_node
from xkg.build.codebase import Codebase
from xkg.build.document import Document
from xkg.build.extract import Extraction, extract
from xkg.build.fetch import Checkout, fetch_repository
from xkg.build.ground import Grounding, ground
from xkg.build.package_versions import check_with_packages
from xkg.build.parse.paper import parse_paper
from xkg.build.parse.repository import parse_repository
from xkg.build.prune import prune
from xkg.build.requirements import requirement_lines
from xkg.build.source import Source, find_paper
from xkg.build.stages import StageReport, Workbench, pipeline_version
from xkg.config import Settings
from xkg.embed import Embedder
from xkg.errors import InputError
from xkg.model import Code, Derivation, Level, Paper, PaperBundle, paper_id, slug
from xkg.sandbox import Environment, EnvironmentMaker, Limits, Runner


@dataclass(frozen=True)
class Workshop:
    """What a build works with. Without `runner` nothing here can contain code, so levels stop at `parsed`; without
    `environments` code has the standard library alone, and without `sources` papers are files."""

    settings: Settings
    embedder: Embedder
    runner: Runner | None
    environments: EnvironmentMaker | None
    notify: Callable[[StageReport], None] = field(default=lambda _: None)
    sources: Sequence[Source] = ()


@dataclass(frozen=True)
class Built:
    """A bundle with the report of how it came about; `notes` are what a person should know, one line each."""

    bundle: PaperBundle
    stages: Sequence[StageReport]
    notes: Sequence[str]


class CodeNodes(BaseModel):
    """Code of located techniques. `final` is False where another run may reach more (a registry was down)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: tuple[Code, ...] = ()
    derivations: tuple[Derivation, ...] = ()
    final: bool = True
    notes: tuple[str, ...] = ()


def build_paper(paper: str | Path, repository: str | None, shop: Workshop, *, given_id: str | None = None) -> Built:
    """Builds one paper, a path or a name that one of the shop's sources knows, by static analysis; nothing is
    published. Every stage's output is kept, so that a run after a kill, or a second run, does only what is new.

    Raises `InputError` for a paper or repository that cannot be used or had, or that nothing is found in, `StoreError`
    when the folder of the graph cannot be written, `EmbeddingError` without weights.
    """
    started = time.perf_counter()
    found = find_paper(str(paper), shop.sources)
    document = found.described(parse_paper(found.path))
    parsing = time.perf_counter() - started
    identity = given_id or paper_id(document.title or found.path.stem, document.arxiv_id, document.doi)
    bench = Workbench(shop.settings.kg / "work" / folder_name(identity), shop.notify)
    bench.report(StageReport(name="parse", seconds=parsing, reused=False, summary=_outline(document)))
    checkout, codebase = _repository(bench, repository, shop.settings)
    extraction = bench.stage(
        "extract",
        source := {"paper": identity, "document": document.source_sha256, "format": document.format},
        Extraction,
        lambda: extract(document, identity),
        lambda e: f"{len(e.techniques)} techniques, {len(e.findings)} findings, {len(e.resources)} resources",
    )
    if not extraction.techniques:
        odd = f" ({'; '.join(document.warnings[:3])})" if document.warnings else ""
        raise InputError(f"no technique was found in {paper}{odd}: has it sections that are marked as headings?")
    grounding, nodes = Grounding(), CodeNodes()
    if checkout is not None and codebase is not None:
        source = {**source, "repository": codebase.repository.id, "embedding": shop.settings.embedding.model}
        grounding = bench.stage(
            "ground",
            source,
            Grounding,
            lambda: ground(extraction.techniques, codebase, shop.embedder, document),
            lambda g: f"{len(g.primaries)} of {len(extraction.techniques)} techniques located",
        )
        candidates = bench.stage(
            "modularize",
            source,
            CodeNodes,
            lambda: _candidates(grounding, codebase),
            lambda n: f"{len(n.code)} code nodes",
        )
        written = checkout.committed or (f"{document.year}-12-31" if document.year else None)
        nodes = _checked(bench, candidates, codebase, shop, source, written)
    bundle = bench.stage(
        "prune",
        {
            **source,
            "code": [c.model_dump_json() for c in nodes.code],
            "said": [document.title, document.authors, document.year],
            "runner": shop.runner is not None,
            "min_level": shop.settings.prune.min_level,
        },
        PaperBundle,
        lambda: _bundle(document, identity, found.path, extraction, codebase, grounding, nodes, shop),
        _kept,
        keep=lambda _: nodes.final,
    )
    notes = (*document.warnings, *(checkout.notes if checkout else ()), *nodes.notes, *_advice(bundle, shop))
    return Built(bundle, tuple(bench.reports), notes)


def folder_name(identity: str) -> str:
    """A readable prefix of an id, and its hash: safe as a name on any file system."""
    return f"{slug(identity)[:48]}-{hashlib.sha256(identity.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def _outline(document: Document) -> str:
    return (
        f"{len(document.walk())} sections, {len(document.equations)} equations, "
        f"{len(document.algorithms)} algorithms, {len(document.references)} references"
    )


def _repository(
    bench: Workbench, repository: str | None, settings: Settings
) -> tuple[Checkout, Codebase] | tuple[None, None]:
    if repository is None:
        return None, None
    checkout = bench.timed(
        "fetch",
        lambda: fetch_repository(repository, settings.kg / "repositories"),
        lambda c: (f"{c.repository.id}, {len(c.files)} files", False),
    )
    codebase = bench.stage(
        "symbols",
        {"repository": checkout.repository.id},
        Codebase,
        lambda: parse_repository(checkout),
        lambda c: ", ".join(
            [f"{len(c.modules)} modules", f"{len(c.symbols())} symbols"]
            + [f"{s.count} {s.reason} skipped" for s in c.skipped]
        ),
    )
    return checkout, codebase


def _candidates(grounding: Grounding, codebase: Codebase) -> CodeNodes:
    code, derivations = [], []
    for technique, symbol in grounding.primaries.items():
        node, sources = code_node(technique, symbol, codebase)
        code.append(node)
        derivations += [Derivation(code=node.id, symbol=source) for source in sources]
    return CodeNodes(code=tuple(code), derivations=tuple(derivations))


def _checked(
    bench: Workbench,
    candidates: CodeNodes,
    codebase: Codebase,
    shop: Workshop,
    source: Mapping[str, object],
    written: str | None,
) -> CodeNodes:
    limits = Limits(seconds=shop.settings.sandbox.seconds, memory_mb=shop.settings.sandbox.memory_mb)
    if not candidates.code:
        return candidates

    def make(imports: Mapping[str, Sequence[str]], requirements: Sequence[str], written: str | None) -> Environment:
        if (maker := shop.environments) is None:
            return Environment(site=None, hash="")
        return bench.timed("environment", lambda: maker.make(imports, requirements, written), _installed)

    def check() -> CodeNodes:
        lines = requirement_lines(codebase.requirements)
        checked = check_with_packages(candidates.code, shop.runner, limits, make, lines, written)
        return candidates.model_copy(update={"code": checked.code, "final": checked.final, "notes": checked.notes})

    return bench.stage(
        "check",
        {
            **source,
            "sandbox": shop.settings.sandbox.model_dump(),
            "environment": shop.settings.environment.model_dump(),
            "runner": shop.runner.name if shop.runner else None,
            "packages": shop.environments is not None,
            "python": sys.version,
        },
        CodeNodes,
        check,
        lambda n: levels(n.code),
        keep=lambda n: n.final,
    )


def _installed(environment: Environment) -> tuple[str, bool]:
    missing = f", {len(environment.missing)} could not be had" if environment.missing else ""
    return f"{len(environment.packages)} packages{missing}", False


def levels(code: Sequence[Code]) -> str:
    """How many code nodes each level has, highest first."""
    counts = {level: sum(c.level is level for c in code) for level in reversed(Level)}
    return ", ".join(f"{n} {level}" for level, n in counts.items() if n) or "no code nodes"


def _kept(bundle: PaperBundle) -> str:
    shown = sum(t.hidden is None for t in bundle.techniques)
    return f"{shown} techniques shown, {len(bundle.techniques) - shown} hidden"


def _bundle(
    document: Document,
    identity: str,
    paper: Path,
    extraction: Extraction,
    codebase: Codebase | None,
    grounding: Grounding,
    nodes: CodeNodes,
    shop: Workshop,
) -> PaperBundle:
    techniques = extraction.techniques
    if codebase is not None:
        reachable = Level.IMPORTED if shop.runner is not None else Level.PARSED
        located = {location.technique for location in grounding.locations}
        techniques = tuple(
            t.model_copy(update={"grounding": "located" if t.id in located else "none"})
            for t in prune(techniques, nodes.code, shop.settings.prune.min_level, reachable)
        )
    return PaperBundle(
        paper=Paper(
            id=identity,
            title=document.title or paper.stem,
            abstract=document.abstract,
            authors=document.authors,
            year=document.year,
            arxiv_id=document.arxiv_id,
            references=document.references,
            code_files=codebase.files if codebase else (),
            code_overview=codebase.readme if codebase else "",
            origin="build",
            source_sha256=document.source_sha256,
            pipeline_version=pipeline_version(),
            built_at=datetime.now(UTC).isoformat(timespec="seconds"),
        ),
        techniques=techniques,
        code=nodes.code,
        repositories=(codebase.repository,) if codebase else (),
        symbols=tuple(s.symbol for s in codebase.symbols().values()) if codebase else (),
        locations=grounding.locations,
        derivations=nodes.derivations,
        findings=extraction.findings,
        resources=extraction.resources,
    )


def _advice(bundle: PaperBundle, shop: Workshop) -> list[str]:
    if not bundle.repositories:
        return ["no repository was given (--repo): techniques have no code"]
    if shop.runner is None:
        return ["nothing was run: there is no sandbox on this machine, so no level is above 'parsed' (xkg doctor)"]
    return []
