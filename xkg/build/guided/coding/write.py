"""A language model writes self-contained modules with tests and documentation from located code."""

import ast
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from xkg.build.code.codebase import Codebase
from xkg.build.code.languages.python import parse_ast
from xkg.build.guided.checking.component_use import uncalled
from xkg.build.guided.coding.draft_check import PLUMBING, implementation_faults, script_faults
from xkg.build.guided.coding.made_from import made_from
from xkg.build.guided.coding.material import MOST_LOCATED, Material, located_size, material, narrowed
from xkg.build.guided.definition_statements import numbered
from xkg.build.guided.draft import Draft, UsedComponent, prompt
from xkg.build.guided.lookup import Asking, Lookup, place_of
from xkg.build.slicing.compose import Part, compose, rendered
from xkg.errors import AnswerError
from xkg.llm.client import AnswerType, Ask, More
from xkg.model import Departure, LineRange, Symbol, Technique, describe_package
from xkg.sandbox.evidence.static_checks import needed_imports
from xkg.sandbox.runner import Environment
from xkg.value import Value

# Packages that every module may import.
ALWAYS = ("numpy",)
# Techniques of one question. The answer has about 2,300 tokens for each, and some models end at 16,000.
_MOST_TOGETHER = 5
_PART = re.compile(r"^(?=# --- )", re.MULTILINE)
_NAME = re.compile(r"[^\W\d]\w*")
Origin = Literal["lines", "differs", "definition", "argument", "nowhere", "none"]
# Descriptions of statements that the module does not simply take over from the source lines.
_DECLARED: Mapping[Origin, str] = {
    "differs": "the lines do it in another way, and the module follows them",
    "definition": "not in the lines, written from the definition",
    "argument": "comes in as an argument",
    "nowhere": "left out",
}


_NO_CODE = "A component that a technique is made of and that has no code of its own; write what the code here has of it"
_REFUSED = "An earlier answer was refused for this reason"


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
    that it saw. `left_out` says whether lines of them were not shown."""

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


class Module(AnswerType):
    technique: int
    declined: str | None
    statements: tuple[Planned, ...]
    implementation: str
    test: str
    documentation: str


class Modules(Asking):
    modules: tuple[Module, ...]


class Task(Value):
    """A technique whose code is to be written from its located symbols (ids, best first, at least one; `why` is the
    reason for the location). `lines` are the relevant lines of symbols that do more. `absent` names components without
    code."""

    technique: Technique
    located: tuple[str, ...]
    components: tuple[Component, ...] = ()
    absent: tuple[str, ...] = ()
    why: str = ""
    lines: Mapping[str, tuple[LineRange, ...]] = {}

    @property
    def parts(self) -> list[Part]:
        return [Part(component.name, component.implementation) for component in self.components]


def together(tasks: Iterable[Task], codebase: Codebase) -> list[list[Task]]:
    """The tasks in groups, each for one question: the code that all share is then shown once, and the rules are read
    once. Code that cannot be sliced stands alone. Raises `UnknownIdError` like `modularize_with_model`."""
    groups: list[list[Task]] = []
    room = 0
    for task in tasks:
        size = located_size(codebase, task.located, narrowed(codebase, task.located, task.lines))
        if not groups or size > room or len(groups[-1]) == _MOST_TOGETHER:
            groups.append([])
            room = MOST_LOCATED
        groups[-1].append(task)
        room -= size
    return groups


def modularize_with_model(
    tasks: Sequence[Task], codebase: Codebase, ask: Ask, paper: str, *, installed: Environment | None = None
) -> dict[str, Draft | Declined | str]:
    """The code of techniques of `paper` (its title) by technique, or the reason why there is none. The model may first
    look at other places of the repository; these become part of the excerpts. Used definitions of components are
    inserted before the answer, so that each implementation is one module; the excerpt then includes their sources. If
    an environment `installed` is given, only its packages can be imported.

    One question covers all tasks. A technique with a faulty module is asked about again alone; without a usable answer,
    two questions cover a half each. Raises `UnknownIdError` for a symbol that the codebase does not have, and the
    errors of `ask` except `AnswerError`."""
    return _Writing(codebase, ask, " ".join(paper.split()), installed).written(tasks)


@dataclass(frozen=True)
class _Writing:
    codebase: Codebase
    ask: Ask
    paper: str
    installed: Environment | None

    def written(self, tasks: Sequence[Task], fault: str = "") -> dict[str, Draft | Declined | str]:
        components = list({c.technique: c for task in tasks for c in task.components}.values())
        located = tuple(dict.fromkeys(symbol for task in tasks for symbol in task.located))
        found = material(self.codebase, located, self._narrowed(tasks), _made(self.codebase, located, components))
        allowed, unavailable = _allowed(found, components, self.installed)
        pins = self.installed.provided if self.installed else {}
        absent = [f"{_NO_CODE}: {name}" for name in dict.fromkeys(name for task in tasks for name in task.absent)]
        remarks = [*found.remarks, *unavailable, *absent, *([f"{_REFUSED}: {fault}"] if fault else [])]
        inputs = {
            "paper": self.paper,
            "code": found.code,
            "remarks": "\n".join(f"- {remark}" for remark in remarks),
            "packages": ", ".join(describe_package(name, pins.get(name, "")) for name in allowed),
            "components": rendered([Part(component.name, component.implementation) for component in components]),
            "techniques": "\n\n".join(self._described(n, task, found) for n, task in enumerate(tasks, start=1)),
        }
        lookup = Lookup(self.codebase)

        def complaints(answer: Modules) -> list[str]:
            by_number = {module.technique: module for module in reversed(answer.modules)}
            return [
                "\n".join(faults(by_number[n], task.parts, allowed) if n in by_number else ["its module is missing"])
                for n, task in enumerate(tasks, start=1)
            ]

        def check(answer: Modules) -> str | More | None:
            found = complaints(answer)
            heads = [f"technique {n}: " if len(tasks) > 1 else "" for n in range(1, len(tasks) + 1)]
            return lookup.more(answer) or ("\n".join(map(str.__add__, heads, found)) if all(found) else None)

        names = ", ".join(task.technique.name for task in tasks)
        try:
            answer = self.ask(prompt("modularize"), Modules, inputs, about=names, check=check)
        except AnswerError as error:
            if len(tasks) == 1:
                return {tasks[0].technique.id: str(error)}
            half = len(tasks) // 2
            return self.written(tasks[:half]) | self.written(tasks[half:])
        by_number = {module.technique: module for module in reversed(answer.modules)}
        outcomes: dict[str, Draft | Declined | str] = {}
        for n, (task, complaint) in enumerate(zip(tasks, complaints(answer), strict=True), start=1):
            if complaint:
                outcomes |= self.written([task], complaint)
            else:
                outcomes[task.technique.id] = self._outcome(task, by_number[n], lookup)
        return outcomes

    def _outcome(self, task: Task, answer: Module, lookup: Lookup) -> Draft | Declined:
        made = _made(self.codebase, task.located, task.components)
        own = material(self.codebase, task.located, self._narrowed([task]), made)
        if answer.declined is not None:
            return Declined(
                technique=task.technique.id,
                reason=" ".join(answer.declined.split()),
                shown=tuple(identity.rpartition(":")[2] for identity in own.used),
                left_out=own.is_cut,
            )
        composed = compose(answer.implementation, task.parts)
        called = [task.components[i] for i in composed.used]
        sources = made_from(answer.implementation, own.used[0], own.sources, self.codebase)
        left_out = [task.components[i] for i in uncalled(composed, task.parts)]
        draft = Draft(
            technique=task.technique.id,
            name=task.technique.name,
            implementation=composed.source,
            test=answer.test,
            documentation=answer.documentation.strip(),
            sources=tuple(dict.fromkeys([*sources, *(source for c in called for source in c.sources)])),
            excerpt=_joined(own.code, (component.excerpt for component in called)),
            own_excerpt=own.code if called else "",
            components=tuple(_used(component) for component in called),
            uncalled=tuple(component.name for component in left_out),
            ready=tuple(_used(component) for component in left_out),
            absent=task.absent,
            definition=task.technique.definition,
            declared=tuple(_declared(answer)),
            by_definition=written_from_definition(answer),
        )
        return lookup.added_to(draft)

    def _narrowed(self, tasks: Sequence[Task]) -> dict[str, Sequence[LineRange]]:
        """The lines of those located symbols that no task needs whole."""
        cuts = [narrowed(self.codebase, task.located, task.lines) for task in tasks]
        whole = {symbol for task, cut in zip(tasks, cuts, strict=True) for symbol in task.located if symbol not in cut}
        merged: dict[str, list[LineRange]] = {}
        for symbol, lines in (item for cut in cuts for item in cut.items() if item[0] not in whole):
            merged.setdefault(symbol, []).extend(lines)
        return {symbol: list(dict.fromkeys(lines)) for symbol, lines in merged.items()}

    def _described(self, n: int, task: Task, shown: Material) -> str:
        cut = narrowed(self.codebase, task.located, task.lines)
        used = [each for each in task.located if each in shown.used]
        lines = [
            f"## {n}. {task.technique.name}",
            numbered(task.technique.definition),
            *(_place(each, self.codebase, task.lines.get(each, ()), each in cut) for each in used),
            task.why,
            f"Its components: {', '.join(component.name for component in task.components)}" if task.components else "",
        ]
        return "\n".join(filter(None, lines))


def _used(component: Component) -> UsedComponent:
    return UsedComponent(**component.model_dump(include=set(UsedComponent.model_fields)))


def _declared(answer: Module) -> Iterable[str]:
    for planned in answer.statements:
        if planned.origin in _DECLARED:
            yield f"[{planned.statement}] {_DECLARED[planned.origin]}: {' '.join(planned.note.split())}"


def written_from_definition(answer: Module) -> dict[str, tuple[int, ...]]:
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


def faults(answer: Module, parts: Sequence[Part], allowed: Sequence[str]) -> Iterable[str]:
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


def _joined(own: str, others: Iterable[str]) -> str:
    """An excerpt, followed by the parts of others that it lacks."""
    known = dict.fromkeys(map(str.strip, _PART.split(own)))
    more = dict.fromkeys(part.strip() for excerpt in others for part in _PART.split(excerpt))
    return "\n".join([own, *(f"{part}\n" for part in more if part not in known)])


def _made(codebase: Codebase, located: Sequence[str], components: Sequence[Component]) -> dict[str, str]:
    """The functions and methods (ids) that components were made from, each with the first such component's name, except
    those that are located or share lines with a located function."""
    symbols = codebase.symbols()
    own = [symbols[identity].symbol for identity in located]
    made = {source: c.name for c in reversed(components) for source in c.sources if source in symbols}
    return {
        identity: name
        for identity, name in made.items()
        if symbols[identity].symbol.kind in ("function", "method")
        and not any(_overlap(symbols[identity].symbol, other) for other in own)
    }


def _overlap(symbol: Symbol, located: Symbol) -> bool:
    if symbol.path != located.path or located.kind in ("class", "module"):
        return symbol.id == located.id
    return symbol.start_line <= located.end_line and located.start_line <= symbol.end_line


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


def _place(identity: str, codebase: Codebase, lines: Sequence[LineRange], is_cut: bool) -> str:
    symbol = codebase.symbols()[identity].symbol
    spans = ", ".join(dict.fromkeys(f"{at.start_line}-{at.end_line}" for at in lines))
    within = f"; the technique is in lines {spans}" if spans else ""
    within += "; of the rest, what is not near them is left out" if is_cut else ""
    return f"- {place_of(symbol)} ({symbol.kind}, lines {symbol.start_line}-{symbol.end_line}{within})"
