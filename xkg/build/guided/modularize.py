"""From located code to a self-contained module with its test and documentation, as a language model writes them."""

import sys
from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict

from xkg.build.codebase import Codebase
from xkg.build.guided import Draft, prompt
from xkg.build.guided.compose import Part, compose, interfaces, offered
from xkg.build.guided.draft_check import PLUMBING, documentation_faults, implementation_faults, script_faults
from xkg.build.guided.material import Material, material, without
from xkg.llm import AnswerType, Ask
from xkg.model import Technique
from xkg.sandbox.levels import needed_imports

_ALWAYS = ("numpy",)
_NONE = "(none)"


class Component(BaseModel):
    """Code of a component, ready to be called by what it is part of. `sources` and `excerpt` are those of its draft."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    technique: str
    implementation: str
    sources: tuple[str, ...] = ()
    excerpt: str = ""


class Declined(BaseModel):
    """What is located does not do the technique, for the reason that the model gives."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    technique: str
    reason: str


class Written(AnswerType):
    declined: str | None
    implementation: str
    test: str
    documentation: str


def modularize_with_model(
    technique: Technique, located: Sequence[str], components: Sequence[Component], codebase: Codebase, ask: Ask
) -> Draft | Declined:
    """One question: the code of a technique, written from the symbols it is located at (ids, best first, at least
    one). What it calls of its components is put in front of what was written, so that the implementation is one
    module; the excerpt then holds what those components were made from, too.

    Raises `UnknownIdError` for a symbol that the codebase does not have, and what `ask` raises."""
    shown = material(codebase, located)
    parts = [Part(component.name, component.implementation) for component in components]
    allowed = _allowed(shown, components)
    inputs = {
        "technique": f"{technique.name}: {' '.join(technique.definition.split())}",
        "located": "\n".join(_place(identity, codebase) for identity in shown.used),
        "code": without(shown.code, offered(parts), shown.entries) if parts else shown.code,
        "remarks": "\n".join(f"- {remark}" for remark in shown.remarks) or _NONE,
        "packages": ", ".join(allowed),
        "components": interfaces(parts) or _NONE,
    }

    def check(answer: Written) -> str | None:
        return "\n".join(faults(answer, parts, allowed)) or None

    answer = ask(prompt("modularize"), Written, inputs, about=technique.name, check=check)
    if answer.declined is not None:
        return Declined(technique=technique.id, reason=" ".join(answer.declined.split()))
    composed = compose(answer.implementation, parts)
    taken = [components[i] for i in composed.used]
    return Draft(
        technique=technique.id,
        implementation=composed.source,
        test=answer.test,
        documentation=answer.documentation.strip(),
        sources=tuple(dict.fromkeys([*shown.sources, *(source for c in taken for source in c.sources)])),
        excerpt="\n".join([shown.code, *dict.fromkeys(c.excerpt for c in taken if c.excerpt)]),
    )


def faults(answer: Written, parts: Sequence[Part], allowed: Sequence[str]) -> Iterable[str]:
    """What is wrong with an answer, a line each."""
    if answer.declined is not None:
        if not answer.declined.strip():
            yield "declined: give null, or one sentence that says why the code does not do the technique"
        elif answer.implementation.strip():
            yield "declined: it says that the code does not do the technique, and an implementation is given; decide"
        return
    composed = compose(answer.implementation, parts)
    if composed.problem:
        # Its own faults say it better, where it has some.
        own = list(implementation_faults(answer.implementation, allowed))
        yield from own or [f"implementation: it cannot be put together with the components: {composed.problem}"]
        return
    found = list(implementation_faults(composed.source, allowed))
    yield from found
    if not any("does not parse" in fault for fault in found):
        yield from script_faults(answer.test, composed.source, allowed)
    yield from documentation_faults(answer.documentation)


def _allowed(shown: Material, components: Sequence[Component]) -> list[str]:
    packages = {*_ALWAYS, *shown.packages}
    for component in components:
        packages.update(needed_imports(component.implementation))
    return sorted(packages - PLUMBING - sys.stdlib_module_names)


def _place(identity: str, codebase: Codebase) -> str:
    symbol = codebase.symbols()[identity].symbol
    name = f"::{symbol.qualified_name}" if symbol.qualified_name else ""
    return f"- {symbol.path}{name} ({symbol.kind}, lines {symbol.start_line}-{symbol.end_line})"
