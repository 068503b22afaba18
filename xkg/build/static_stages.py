"""Runs the stages of a build without a language model, using only static analysis."""

import sys
from collections.abc import Mapping, Sequence

from xkg.build.code.codebase import Codebase
from xkg.build.context import BuildContext, CodeNodes, Contents, OpenedPaper
from xkg.build.grounding.ground import Grounding, ground
from xkg.build.package_versions import check_with_packages
from xkg.build.slicing.code_node import code_node
from xkg.build.stage_cache import StageCache, installed, levels
from xkg.build.techniques.extract import Extraction, extract
from xkg.build.techniques.language import is_english
from xkg.errors import InputError
from xkg.model import Derivation
from xkg.sandbox.isolation import interpreters
from xkg.sandbox.runner import Environment
from xkg.sandbox.select import limits_for


def static_stages(opened: OpenedPaper, context: BuildContext) -> Contents:
    """Extracts and locates techniques, slices their code and checks it. Stores the output of each stage. Raises the
    same errors as these stages, and `InputError` if the paper is not in English."""
    cache, document, codebase = opened.cache, opened.document, opened.codebase
    if not is_english(document):
        raise InputError(
            f"{opened.path.name}: only papers in English can be built without a model; choose a model with --llm"
        )
    extraction = cache.stage(
        "extract",
        {"paper": opened.identity, "document": document.source_sha256, "format": document.format},
        Extraction,
        lambda: extract(document, opened.identity),
        describe_extraction,
    )
    if codebase is None or not extraction.techniques:
        return Contents(extraction)
    grounding = cache.stage(
        "ground",
        opened.source,
        Grounding,
        lambda: ground(extraction.techniques, codebase, context.embedder, document),
        lambda g: describe_grounding(g, len(extraction.techniques)),
    )
    candidates = cache.stage(
        "modularize",
        opened.source,
        CodeNodes,
        lambda: _candidates(grounding, codebase),
        lambda n: f"{len(n.code)} code nodes",
    )
    return Contents(extraction, grounding, _checked(cache, candidates, codebase, context, opened))


def describe_extraction(extraction: Extraction) -> str:
    """Returns a short description of an extraction."""
    counted = len(extraction.techniques), len(extraction.findings), len(extraction.resources)
    return "{} techniques, {} findings, {} resources".format(*counted)


def describe_grounding(grounding: Grounding, techniques: int) -> str:
    """Returns a short description of a grounding, with the number of located techniques and of techniques with only
    doubtful locations."""
    doubtful = len(grounding.doubtful - set(grounding.primaries))
    located = f"{len(grounding.primaries)} of {techniques} techniques located"
    return f"{located}, {doubtful} more doubtfully" if doubtful else located


def _candidates(grounding: Grounding, codebase: Codebase) -> CodeNodes:
    code, derivations = [], []
    for technique, symbol in grounding.primaries.items():
        node, sources = code_node(technique, symbol, codebase)
        code.append(node)
        derivations += [Derivation(code=node.id, symbol=source) for source in sources]
    return CodeNodes(code=tuple(code), derivations=tuple(derivations))


def _checked(
    cache: StageCache, candidates: CodeNodes, codebase: Codebase, context: BuildContext, opened: OpenedPaper
) -> CodeNodes:
    limits = limits_for(context.settings.sandbox)
    if not candidates.code:
        return candidates

    def make(imports: Mapping[str, Sequence[str]], requirements: Sequence[str], written: str | None) -> Environment:
        if context.environments is None:
            return context.environment(imports, requirements, written)
        declared = codebase.declared if imports else ()  # code without imports needs no packages
        return cache.timed(
            "environment", lambda: context.environment(imports, requirements, written, declared), installed
        )

    def check() -> CodeNodes:
        lines = codebase.requirements
        checked = check_with_packages(candidates.code, context.runner, limits, make, lines, opened.written)
        return candidates.model_copy(update={"code": checked.code, "final": checked.final, "notes": checked.notes})

    return cache.stage(
        "check",
        {
            **opened.source,
            "sandbox": context.settings.sandbox.model_dump(),
            "environment": context.settings.environment.max_mb,
            "runner": context.runner.name if context.runner else None,
            "packages": context.environments is not None,
            "python": [sys.version, *sorted(interpreters.installed())],
            **context.added,
        },
        CodeNodes,
        check,
        lambda n: levels(n.code),
        keep=lambda n: n.final,
    )
