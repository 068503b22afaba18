"""A language model writes a self-contained module with test and documentation from located code."""

import ast
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from xkg.build.code.codebase import Codebase
from xkg.build.code.languages.python import parse_ast
from xkg.build.code.siblings import listed_beside, siblings
from xkg.build.guided.checking.component_use import named, uncalled
from xkg.build.guided.checking.suggested_sizes import suggested_sizes
from xkg.build.guided.coding.beside import other_places
from xkg.build.guided.coding.configuration import configuration
from xkg.build.guided.coding.draft_check import PLUMBING, implementation_faults, script_faults
from xkg.build.guided.coding.made_from import made_from
from xkg.build.guided.coding.material import Material, material, narrowed, without
from xkg.build.guided.coding.ready import ready_in_components
from xkg.build.guided.definition_statements import numbered
from xkg.build.guided.draft import Draft, UsedComponent, prompt
from xkg.build.similarity.fidelity import omitted
from xkg.build.slicing.compose import Part, combined, compose, rendered
from xkg.llm.client import AnswerType, Ask
from xkg.model import Departure, LineRange, Technique, describe_package
from xkg.sandbox.evidence.static_checks import needed_imports
from xkg.sandbox.runner import Environment
from xkg.value import Value

# Packages that every module may import.
ALWAYS = ("numpy",)
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_PART = re.compile(r"^(?=# --- )", re.MULTILINE)
_NAME = re.compile(r"[^\W\d]\w*")
# A part with at most this share of new lines is redundant.
_REPEATED = 0.15
# Siblings such as `Beta2` of a located `Beta1` are shown too, if they fit.
_MOST_SIBLINGS = 3
_MOST_LISTED = 8
_LISTED = "Beside what was located, `{}` of its file lists {}: what the definition asks for may be there"
Origin = Literal["lines", "differs", "definition", "argument", "nowhere", "none"]
# Descriptions of statements that the module does not simply take over from the source lines.
_DECLARED: Mapping[Origin, str] = {
    "differs": "the lines do it in another way, and the module follows them",
    "definition": "not in the lines, written from the definition",
    "argument": "comes in as an argument",
    "nowhere": "left out",
}


_NO_CODE = (
    "A component that the technique is made of and that has no code of its own; write what the code here has of it"
)


class Component(Value):
    """A component's code, ready to be called. `proven` says whether its own test has proven it. `sources` and `excerpt`
    come from its draft; `departures` are its differences from the paper."""

    name: str
    technique: str
    implementation: str
    proven: bool = False
    sources: tuple[str, ...] = ()
    excerpt: str = ""
    departures: tuple[Departure, ...] = ()


class Declined(Value):
    """The model's reason why the located code does not implement the technique. `shown` are the names of the symbols
    that it saw. `left_out` says whether some of their lines or dependencies were not shown."""

    technique: str
    reason: str
    shown: tuple[str, ...] = ()
    left_out: bool = False


# How a module implements one statement of the definition, or a part of it. (A docstring would be sent with every
# question.)
class Planned(AnswerType):
    statement: int
    origin: Origin
    note: str


class Written(AnswerType):
    declined: str | None
    statements: tuple[Planned, ...]
    implementation: str
    test: str
    documentation: str


def modularize_with_model(
    technique: Technique,
    located: Sequence[str],
    components: Sequence[Component],
    codebase: Codebase,
    ask: Ask,
    paper: str,
    why: str = "",
    *,
    installed: Environment | None = None,
    absent: Sequence[str] = (),
    seconds: float = 60,
    lines: Mapping[str, Sequence[LineRange]] = MappingProxyType({}),
) -> Draft | Declined:
    """Asks one question: the code of a technique of `paper` (its title), from its located symbols (ids, best first, at
    least one; `why` is the reason for the location). Used definitions of components are inserted before the answer, so
    that the implementation is one module; the excerpt then includes their sources. If an environment `installed` is
    given, only its packages can be imported. `absent` names components without code, `seconds` is the time limit of the
    test. `lines` are the relevant lines of located symbols that do more.

    Raises `UnknownIdError` for a symbol that the codebase does not have, and the errors of `ask`."""
    ready = ready_in_components(codebase, located, [(c.name, c.sources, c.implementation) for c in components])
    beside = [each for each in siblings(codebase, located) if each not in ready]
    located = [*located, *beside[:_MOST_SIBLINGS]]
    cut = narrowed(codebase, lines)
    found = material(codebase, located, cut, ready)
    configured = configuration(codebase, tuple(dict.fromkeys([*found.used, *found.sources])))
    parts = [Part(component.name, component.implementation) for component in components]
    allowed, unavailable = _allowed(found, components, installed)
    pins = installed.provided if installed else {}
    remarks = [*found.remarks, *unavailable, *(f"{_NO_CODE}: {name}" for name in absent)]
    remarks += [_LISTED.format(*names) for names in _listed(codebase, located)]
    inputs = {
        "paper": " ".join(paper.split()),
        "technique": f"{technique.name}:\n{numbered(technique.definition)}".strip(),
        "located": "\n".join(
            [
                *(_place(each, codebase, lines.get(each, ()), each in cut) for each in found.used),
                *([why] if why else []),
            ]
        ),
        "code": without(found.code, _same_definitions(found.code, combined(parts)), found.entries),
        "remarks": "\n".join(f"- {remark}" for remark in remarks),
        "configuration": configured,
        "packages": ", ".join(describe_package(name, pins.get(name, "")) for name in allowed),
        "sizes": suggested_sizes(allowed, seconds),
        "components": rendered(parts),
    }

    def check(answer: Written) -> str | None:
        return "\n".join(faults(answer, parts, allowed)) or None

    answer = ask(prompt("modularize"), Written, inputs, about=technique.name, check=check)
    if answer.declined is not None:
        return Declined(
            technique=technique.id,
            reason=" ".join(answer.declined.split()),
            shown=tuple(identity.rpartition(":")[2] for identity in found.used),
            left_out=bool(found.gaps) or len(found.partly) > len(found.used),
        )
    composed = compose(answer.implementation, parts)
    called = [components[i] for i in composed.used]
    own = made_from(answer.implementation, found.used[0], found.sources, codebase)
    left_out = [components[i] for i in uncalled(composed, parts)]
    reached = [c.name for c in left_out if set(c.sources[:1]) & set(found.sources)]
    unexplained = {*reached, *unmentioned(answer, parts)}
    return Draft(
        technique=technique.id,
        name=technique.name,
        implementation=composed.source,
        test=answer.test,
        documentation=answer.documentation.strip(),
        sources=tuple(dict.fromkeys([*own, *(source for c in called for source in c.sources)])),
        excerpt=_joined(found.code, (component.excerpt for component in called)),
        configuration=configured,
        own_excerpt=found.code if called else "",
        components=tuple(_used(component) for component in called),
        uncalled=tuple(component.name for component in left_out),
        ready=tuple(_used(component) for component in left_out),
        unexplained=tuple(component.name for component in left_out if component.name in unexplained),
        absent=tuple(absent),
        beside=other_places(codebase, located, found.used),
        definition=technique.definition,
        declared=tuple(_declared(answer)),
        by_definition=written_from_definition(answer),
        lacking=tuple(sorted({p.statement for p in answer.statements if p.origin in ("definition", "nowhere")})),
        partly=found.partly,
        gaps=found.gaps,
    )


def _used(component: Component) -> UsedComponent:
    return UsedComponent(**component.model_dump(include=set(UsedComponent.model_fields)))


def _declared(answer: Written) -> Iterable[str]:
    for planned in answer.statements:
        if planned.origin in _DECLARED:
            yield f"[{planned.statement}] {_DECLARED[planned.origin]}: {' '.join(planned.note.split())}"


def written_from_definition(answer: Written) -> dict[str, tuple[int, ...]]:
    """The functions and classes that the answer's plan names for statements of origin "definition" and for none of
    origin "lines" or "differs", each with the numbers of these statements."""
    tree = parse_ast(answer.implementation)
    named = [(planned, set(_NAME.findall(planned.note))) for planned in answer.statements]
    found: dict[str, tuple[int, ...]] = {}
    for node in tree.body if tree is not None else ():
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            planned = [each for each, names in named if node.name in names]
            numbers = {each.statement for each in planned if each.origin == "definition"}
            if numbers and not any(each.origin in ("lines", "differs") for each in planned):
                found[node.name] = tuple(sorted(numbers))
    return found


def faults(answer: Written, parts: Sequence[Part], allowed: Sequence[str]) -> Iterable[str]:
    """The faults of an answer, one per line."""
    if answer.declined is not None:
        if not answer.declined.strip():
            yield "declined: give null, or one sentence that says why the code does not do the technique"
        elif answer.implementation.strip():
            yield "declined: it says that the code does not do the technique, and an implementation is given; decide"
        return
    composed = compose(answer.implementation, parts)
    if composed.problem:
        # The answer's own faults, if any, are clearer.
        own = list(implementation_faults(answer.implementation, allowed))
        yield from own or [f"implementation: it cannot be put together with the components: {composed.problem}"]
        return
    found = list(implementation_faults(composed.source, allowed))
    yield from found
    if not any("does not parse" in fault for fault in found):
        for fault in script_faults(answer.test, composed.source, allowed):
            only = "; of the components it has only what your code uses" if parts and "does not define" in fault else ""
            yield f"{fault}{only}"
    if not answer.documentation.strip():
        yield "documentation: it is empty"


def unmentioned(answer: Written, parts: Sequence[Part]) -> list[str]:
    """The names of the parts that an answer neither calls nor mentions in its documentation."""
    if answer.declined is not None:
        return []
    names = [parts[i].name for i in uncalled(compose(answer.implementation, parts), parts)]
    mentioned = named(names, answer.documentation)
    return [name for name in names if name not in mentioned]


def _joined(own: str, others: Iterable[str]) -> str:
    """An excerpt, followed by the mostly new parts of others: slices of overlapping lines may differ only in a name or
    an import."""
    parts = [part.strip("\n") for excerpt in others for part in _PART.split(excerpt) if part.strip("\n")]
    seen_lines, retained = set(_code_lines(own)), []
    for i, part in sorted(enumerate(parts), key=lambda pair: (-len(pair[1]), pair[0])):
        lines = _code_lines(part)
        if sum(line not in seen_lines for line in lines) > _REPEATED * len(lines):
            seen_lines.update(lines)
            retained.append(i)
    return "\n".join([own, *(f"{parts[i]}\n" for i in sorted(retained))])


def _code_lines(part: str) -> list[str]:
    return [line for each in part.splitlines() if (line := each.strip()) and not line.startswith("# --- ")]


def _same_definitions(code: str, components: str) -> frozenset[str]:
    """The functions and classes of the code that components have too: they have the same parameters, and the code lacks
    none of the component's computation. A component may reuse the name of its source."""
    ready = {node.name: node for node in _definitions(components)}
    return frozenset(
        node.name
        for node in _definitions(code)
        if (other := ready.get(node.name)) is not None
        and _parameters(node) == _parameters(other)
        and not omitted(ast.unparse(other), ast.unparse(node), 1)
    )


def _definitions(code: str) -> list[_Definition]:
    tree = parse_ast(code)
    return [] if tree is None else [node for node in tree.body if isinstance(node, _Definition)]


def _parameters(node: _Definition) -> list[str]:
    return (
        []
        if isinstance(node, ast.ClassDef)
        else [inner.arg for inner in ast.walk(node.args) if isinstance(inner, ast.arg)]
    )


def _allowed(
    source: Material, components: Sequence[Component], installed: Environment | None
) -> tuple[list[str], list[str]]:
    """The packages that may be imported, and a remark on each package that the code imports but that is not
    available."""
    packages = {*ALWAYS, *source.packages}
    for component in components:
        packages.update(needed_imports(component.implementation))
    wanted = packages - PLUMBING - sys.stdlib_module_names
    missing = {name: why for name, why in (installed.missing if installed else {}).items() if name in wanted}
    remarks = [f"{name} cannot be imported here: {why}" for name, why in sorted(missing.items())]
    return sorted(wanted - missing.keys()), remarks


def _listed(codebase: Codebase, located: Sequence[str]) -> list[tuple[str, str]]:
    """The tables of the repository that list a located symbol, each with its other entries."""
    found = listed_beside(codebase, located)
    return [(table, ", ".join(f"`{name}`" for name in names[:_MOST_LISTED])) for table, names in found.items()]


def _place(identity: str, codebase: Codebase, lines: Sequence[LineRange], is_cut: bool) -> str:
    symbol = codebase.symbols()[identity].symbol
    name = f"::{symbol.qualified_name}" if symbol.qualified_name else ""
    spans = ", ".join(dict.fromkeys(f"{at.start_line}-{at.end_line}" for at in lines))
    within = f"; the technique is in lines {spans}" if spans else ""
    within += "; of the rest, what is not near them is left out" if is_cut else ""
    return f"- {symbol.path}{name} ({symbol.kind}, lines {symbol.start_line}-{symbol.end_line}{within})"
