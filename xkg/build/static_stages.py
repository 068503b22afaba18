"""The stages of a build without a language model: what static analysis finds."""

import sys
from collections.abc import Mapping, Sequence

from xkg.build.code.codebase import Codebase
from xkg.build.context import CodeNodes, Contents, Opened, Workshop
from xkg.build.grounding.ground import Grounding, ground
from xkg.build.package_versions import check_with_packages
from xkg.build.slicing.code_node import code_node
from xkg.build.stage_cache import Workbench, installed, levels
from xkg.build.techniques.extract import Extraction, extract
from xkg.model import Derivation
from xkg.sandbox.runner import Environment
from xkg.sandbox.select import limits_for


def static_stages(opened: Opened, shop: Workshop) -> Contents:
    """Extract, ground, modularize and check, each kept. Raises as the stages do."""
    bench, document, codebase = opened.bench, opened.document, opened.codebase
    extraction = bench.stage(
        "extract",
        {"paper": opened.identity, "document": document.source_sha256, "format": document.format},
        Extraction,
        lambda: extract(document, opened.identity),
        found,
    )
    if codebase is None or not extraction.techniques:
        return Contents(extraction)
    grounding = bench.stage(
        "ground",
        opened.source,
        Grounding,
        lambda: ground(extraction.techniques, codebase, shop.embedder, document),
        lambda g: f"{len(g.primaries)} of {len(extraction.techniques)} techniques located",
    )
    candidates = bench.stage(
        "modularize",
        opened.source,
        CodeNodes,
        lambda: _candidates(grounding, codebase),
        lambda n: f"{len(n.code)} code nodes",
    )
    return Contents(extraction, grounding, _checked(bench, candidates, codebase, shop, opened))


def found(extraction: Extraction) -> str:
    """An extraction in a few words."""
    counted = len(extraction.techniques), len(extraction.findings), len(extraction.resources)
    return "{} techniques, {} findings, {} resources".format(*counted)


def _candidates(grounding: Grounding, codebase: Codebase) -> CodeNodes:
    code, derivations = [], []
    for technique, symbol in grounding.primaries.items():
        node, sources = code_node(technique, symbol, codebase)
        code.append(node)
        derivations += [Derivation(code=node.id, symbol=source) for source in sources]
    return CodeNodes(code=tuple(code), derivations=tuple(derivations))


def _checked(bench: Workbench, candidates: CodeNodes, codebase: Codebase, shop: Workshop, opened: Opened) -> CodeNodes:
    limits = limits_for(shop.settings.sandbox)
    if not candidates.code:
        return candidates

    def make(imports: Mapping[str, Sequence[str]], requirements: Sequence[str], written: str | None) -> Environment:
        if (maker := shop.environments) is None:
            return Environment(site=None, hash="")
        return bench.timed("environment", lambda: maker.make(imports, requirements, written), installed)

    def check() -> CodeNodes:
        lines = codebase.requirements
        checked = check_with_packages(candidates.code, shop.runner, limits, make, lines, opened.written)
        return candidates.model_copy(update={"code": checked.code, "final": checked.final, "notes": checked.notes})

    return bench.stage(
        "check",
        {
            **opened.source,
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
