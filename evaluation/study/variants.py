"""The published ablations of the graph (arXiv 2510.17795, section 4), as the part of the graph that a prompt gets."""

from dataclasses import dataclass
from pathlib import Path

from xkg.api import KnowledgeGraph
from xkg.errors import InputError
from xkg.serve.context.context import KINDS
from xkg.serve.context.parts import CodeForm, Kind

PLANNING, IMPLEMENTATION = "planning.md", "implementation.md"


@dataclass(frozen=True)
class Variant:
    """The contents of a prompt: these kinds of nodes, and code in this form; no kinds for an empty context."""

    name: str
    include: tuple[Kind, ...] = KINDS
    code: CodeForm = "rewritten"


def _without(*kinds: Kind) -> tuple[Kind, ...]:
    return tuple(each for each in KINDS if each not in kinds)


_PAPER_NODE: tuple[Kind, ...] = ("paper", "repositories", "findings", "resources", "related")
"""Everything in a paper node and its edges, except its techniques."""


VARIANTS: tuple[Variant, ...] = (
    Variant("full"),
    Variant("without paper nodes", _without(*_PAPER_NODE)),
    Variant("without code nodes", _without("code")),
    Variant("without technique nodes", _without("techniques")),
    Variant("raw code", code="raw"),
    Variant("rewritten code"),
    Variant("verified code", code="verified"),
    Variant("without a graph", ()),
)
"""`rewritten code` is `full`, run again under its own name, so that the forms of code can be compared."""


def chosen(names: list[str]) -> list[Variant]:
    """The named variants (none: all), in the order above. Raises `InputError` for an unknown name."""
    known = {variant.name for variant in VARIANTS}
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"there is no variant {unknown[0]!r}: choose from {', '.join(sorted(known))}")
    return [variant for variant in VARIANTS if not names or variant.name in names]


def write_context(graph: KnowledgeGraph, paper: str, variant: Variant, budget_tokens: int, folder: Path) -> int:
    """Writes both views of a paper, `planning.md` and `implementation.md`, each within the token budget; empty files if
    a variant has no content. Returns the number of techniques whose code is in them. Raises the errors of
    `KnowledgeGraph.context`, except for the budget."""
    folder.mkdir(parents=True, exist_ok=True)
    pairs = 0
    for file, view in ((PLANNING, "planning"), (IMPLEMENTATION, "implementation")):
        text = ""
        if variant.include:
            made = graph.context(
                paper,
                budget_tokens=budget_tokens,
                view=view,  # type: ignore[arg-type]
                include=variant.include,
                code=variant.code,
            )
            text, pairs = str(made), pairs + len(made.pairs)
        (folder / file).write_text(text, encoding="utf-8", errors="backslashreplace")
    return pairs
