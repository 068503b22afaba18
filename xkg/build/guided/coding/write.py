"""Has a language model write self-contained modules from located code, with tests and documentation."""

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from xkg.build.code.codebase import Codebase
from xkg.build.code.languages.python import parse_ast
from xkg.build.guided.checking.components import uncalled
from xkg.build.guided.code_answers import CodeAnswer, Module, Origin, Shared
from xkg.build.guided.coding.draft_check import PLUMBING, implementation_faults, script_faults
from xkg.build.guided.coding.made_from import made_from
from xkg.build.guided.coding.material import MOST_LOCATED, Material, located_size, material, narrowed
from xkg.build.guided.definition_statements import numbered
from xkg.build.guided.draft import Draft, UsedComponent, prompt
from xkg.build.guided.lookup import Lookup, place_of
from xkg.build.slicing.compose import Part, compose, rendered
from xkg.errors import AnswerError
from xkg.llm.client import Ask, More
from xkg.model import Departure, LineRange, Symbol, Technique, describe_package
from xkg.sandbox.evidence.static_checks import needed_imports
from xkg.sandbox.runner import Environment
from xkg.value import Value

# Packages that every module may import.
ALWAYS = ("numpy",)
# The maximum number of techniques in one question. An answer has about 2,300 tokens per technique, and some models stop
# at 16,000.
_MOST_TOGETHER = 6
_PART = re.compile(r"^(?=# --- )", re.MULTILINE)
_NAME = re.compile(r"[^\W\d]\w*")
# Describes statements that the module does not simply copy from the source lines.
_DECLARED: Mapping[Origin, str] = {
    "differs": "the lines do it differently, and the module follows them",
    "definition": "not in the lines, written from the definition",
    "argument": "passed in as an argument",
    "nowhere": "left out",
}


_NO_CODE = "A component of a technique that has no code of its own; write what the code here contains of it"


class Component(UsedComponent):
    """A technique's code for use by other code. `excerpt` comes from the component's draft. `departures` lists how the
    code differs from the paper."""

    technique: str
    proven: bool = False
    excerpt: str = ""
    departures: tuple[Departure, ...] = ()


class Declined(Value):
    """The model's reason for rejecting the located code. `shown` lists the names of the symbols that the model saw."""

    technique: str
    reason: str
    shown: tuple[str, ...] = ()


class Task(Value):
    """A technique to be coded from its located symbols. `located` contains the ids of at least one symbol, best first,
    and `why` is the reason for the location. `lines` contains the relevant lines of symbols that also do other things.

    `components` contains the components with code. `inside` lists the ids of components written in the same question.
    `absent` lists the names of components without code. `whole` is the technique that a later question builds from this
    one and others."""

    technique: Technique
    located: tuple[str, ...]
    components: tuple[Component, ...] = ()
    inside: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    whole: Technique | None = None
    why: str = ""
    lines: Mapping[str, tuple[LineRange, ...]] = {}

    @property
    def parts(self) -> list[Part]:
        return [component.part for component in self.components]


@dataclass(frozen=True)
class Written:
    """A module that fits its components, and the source lines that its author consulted. `allowed` lists the packages
    that the module may import."""

    module: Module
    lookup: Lookup
    allowed: Sequence[str]


Outcome = Written | Declined | str


def together(sizes: Mapping[str, int]) -> list[list[str]]:
    """Groups techniques, in the given order, to fit one question each. `sizes` maps techniques to the bytes of their
    located code. The techniques in a group share the prompt's rules and any common code. Components precede their
    composites, so that the code in one answer fits together."""
    groups: list[list[str]] = []
    room = 0
    for technique, size in sizes.items():
        if not groups or size > room or len(groups[-1]) == _MOST_TOGETHER:
            groups.append([])
            room = MOST_LOCATED
        groups[-1].append(technique)
        room -= size
    return groups


def size_of(task: Task, codebase: Codebase) -> int:
    """Returns the size of a technique's located code in bytes."""
    return located_size(codebase, task.located, narrowed(codebase, task.located, task.lines))


class Writing:
    """Asks for the code for several techniques in one question. The tasks for components come before the tasks that use
    them.

    If an `installed` environment is given, only its packages can be imported. `made` maps techniques to components that
    are `inside` a task but not in this question. The review also begins with the text `shared`."""

    def __init__(
        self,
        tasks: Sequence[Task],
        codebase: Codebase,
        ask: Ask,
        installed: Environment | None = None,
        made: Mapping[str, Component] = MappingProxyType({}),
    ) -> None:
        self._tasks, self._codebase, self._ask, self._installed, self._made = tasks, codebase, ask, installed, made
        own = {task.technique.id for task in tasks}
        inside = [made[each] for task in tasks for each in task.inside if each in made and each not in own]
        done = [component for task in tasks for component in task.components]
        components = list({component.technique: component for component in [*done, *inside]}.values())
        located = tuple(dict.fromkeys(symbol for task in tasks for symbol in task.located))
        found = material(codebase, located, self._narrowed(tasks), _made_from(codebase, located, components))
        self._allowed, unavailable = _allowed(found, components, installed)
        absent = [f"{_NO_CODE}: {name}" for name in dict.fromkeys(name for task in tasks for name in task.absent)]
        self.shared = Shared.of(
            found.code,
            [*found.remarks, *unavailable, *absent],
            rendered([component.part for component in components]),
            [(task.technique.id, self._described(task, found)) for task in tasks],
        )

    def answers(self, refused: str = "") -> dict[str, Outcome]:
        """Returns each technique's module, or the reason why there is none. The model may first look at other places in
        the repository.

        If a module is unusable, asks again for that technique alone and states why the module was `refused`. Raises the
        same errors as `ask`, except `AnswerError`."""
        tasks, lookup = self._tasks, Lookup(self._codebase)
        pins = self._installed.provided if self._installed else {}
        packages = ", ".join(describe_package(name, pins.get(name, "")) for name in self._allowed)
        inputs = {**self.shared.inputs, "packages": packages, "refused": refused}

        def check(answer: CodeAnswer) -> str | More | None:
            made, found = dict(self._made), list[str]()
            for n, task in enumerate(tasks, start=1):
                found.append(self._complaint(answer, n, task, made))
            heads = [f"technique {n}: " if len(tasks) > 1 else "" for n in range(1, len(tasks) + 1)]
            return lookup.more(answer) or ("\n".join(map(str.__add__, heads, found)) if all(found) else None)

        names = ", ".join(task.technique.name for task in tasks)
        try:
            answer = self._ask(prompt("modularize"), CodeAnswer, inputs, about=names, check=check)
        except AnswerError as error:
            if len(tasks) == 1:
                return {tasks[0].technique.id: str(error)}
            answer = CodeAnswer()
        outcomes: dict[str, Outcome] = {}
        made = dict(self._made)
        for n, task in enumerate(tasks, start=1):
            identity = task.technique.id
            if complaint := self._complaint(answer, n, task, made):
                made.pop(identity, None)
                alone = Writing([task], self._codebase, self._ask, self._installed, made)
                outcome = outcomes[identity] = alone.answers(complaint)[identity]
                if isinstance(outcome, Written):
                    _add(task, outcome.module, made)
            else:
                module = _by_number(answer)[n]
                declined = _declined(task, module, self._material(task)) if module.declined is not None else None
                outcomes[identity] = declined or Written(module, lookup, self._allowed)
        return outcomes

    def draft(self, task: Task, written: Written) -> Draft | str:
        """Returns the draft for a module, or the reason why the module does not fit its components. The task must
        contain the code for all components.

        Prepends the component definitions that the module uses, and adds their sources to the excerpt."""
        answer = written.module
        if found := "\n".join(faults(answer, task.parts, written.allowed)):
            return found
        own = self._material(task)
        composed = compose(answer.implementation, task.parts)
        called = [task.components[i] for i in composed.used]
        sources = made_from(answer.implementation, own.used[0], own.sources, self._codebase)
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
        return written.lookup.added_to(draft)

    def _complaint(self, answer: CodeAnswer, n: int, task: Task, made: dict[str, Component]) -> str:
        """Returns the faults in a module, and adds its code to `made`."""
        module = _by_number(answer).get(n)
        if module is None:
            return "its module is missing"
        if module.declined is None:
            _add(task, module, made)
        return "\n".join(faults(module, _parts(task, made), self._allowed))

    def _material(self, task: Task) -> Material:
        made = _made_from(self._codebase, task.located, task.components)
        return material(self._codebase, task.located, self._narrowed([task]), made)

    def _narrowed(self, tasks: Sequence[Task]) -> dict[str, Sequence[LineRange]]:
        """Returns the lines to show for each located symbol that no task needs in full."""
        cuts = [narrowed(self._codebase, task.located, task.lines) for task in tasks]
        whole = {symbol for task, cut in zip(tasks, cuts, strict=True) for symbol in task.located if symbol not in cut}
        merged: dict[str, list[LineRange]] = {}
        for symbol, lines in (item for cut in cuts for item in cut.items() if item[0] not in whole):
            merged.setdefault(symbol, []).extend(lines)
        return {symbol: list(dict.fromkeys(lines)) for symbol, lines in merged.items()}

    def _described(self, task: Task, shown: Material) -> str:
        cut = narrowed(self._codebase, task.located, task.lines)
        used = [each for each in task.located if each in shown.used]
        here = {t.technique.id: f"{t.technique.name} ({n})" for n, t in enumerate(self._tasks, start=1)}
        here = {**{identity: component.name for identity, component in self._made.items()}, **here}
        made_of = [component.name for component in task.components]
        made_of += [here[identity] for identity in task.inside if identity in here]
        whole = task.whole
        first = whole and next(t for t in self._tasks if t.whole and t.whole.id == whole.id)
        lines = [
            task.technique.name,
            numbered(task.technique.definition),
            *(_place(each, self._codebase, task.lines.get(each, ()), each in cut) for each in used),
            task.why,
            f"Made of: {', '.join(made_of)}" if made_of else "",
            f"Will be part of {whole.name}" if whole else "",
            f"(which the paper defines as: {whole.definition})" if whole and first is task else "",
        ]
        return "\n".join(filter(None, lines))


def _by_number(answer: CodeAnswer) -> dict[int, Module]:
    return {module.technique: module for module in reversed(answer.modules)}


def _parts(task: Task, made: Mapping[str, Component]) -> list[Part]:
    return [*task.parts, *(made[i].part for i in task.inside if i in made)]


def _add(task: Task, module: Module, made: dict[str, Component]) -> None:
    """Adds a module's code, which has not run yet, to the components' code."""
    if source := compose(module.implementation, _parts(task, made)).source:
        identity, name = task.technique.id, task.technique.name
        made[identity] = Component(name=name, technique=identity, implementation=source)


def _declined(task: Task, answer: Module, own: Material) -> Declined:
    return Declined(
        technique=task.technique.id,
        reason=" ".join((answer.declined or "").split()),
        shown=tuple(identity.rpartition(":")[2] for identity in own.used),
    )


def _used(component: Component) -> UsedComponent:
    return UsedComponent(**component.model_dump(include=set(UsedComponent.model_fields)))


def _declared(answer: Module) -> Iterator[str]:
    for planned in answer.statements:
        if planned.origin in _DECLARED:
            yield f"[{planned.statement}] {_DECLARED[planned.origin]}: {' '.join(planned.note.split())}"


def written_from_definition(answer: Module) -> dict[str, tuple[int, ...]]:
    """Returns the functions and classes that were written from the definition alone, mapped to the numbers of their
    statements. The answer's plan lists such functions and classes only under statements with the origin
    "definition"."""
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
    if answer.declined is not None:
        if not answer.declined.strip():
            yield "declined: give null, or one sentence that explains why the code does not implement the technique"
        elif answer.implementation.strip():
            yield "declined: it says that the code does not implement the technique, but has an implementation; decide"
        return
    composed = compose(answer.implementation, parts)
    if composed.problem:
        # The answer's own errors come first, because they are clearer.
        own = list(implementation_faults(answer.implementation, allowed))
        yield from own or [f"implementation: it cannot be combined with the components: {composed.problem}"]
        return
    found = list(implementation_faults(composed.source, allowed))
    yield from found
    if not any("does not parse" in fault for fault in found):
        for fault in script_faults(answer.test, composed.source, allowed):
            only = "; it contains only component code that you use" if parts and "does not define" in fault else ""
            yield f"{fault}{only}"
    if not answer.documentation.strip():
        yield "documentation: it is empty"


def _joined(own: str, others: Iterable[str]) -> str:
    """Returns `own`, followed by the parts of the other excerpts that `own` lacks."""
    known = dict.fromkeys(map(str.strip, _PART.split(own)))
    more = dict.fromkeys(part.strip() for excerpt in others for part in _PART.split(excerpt))
    return "\n".join([own, *(f"{part}\n" for part in more if part not in known)])


def _made_from(codebase: Codebase, located: Sequence[str], components: Sequence[Component]) -> dict[str, str]:
    """Maps the ids of functions and methods to the first component made from each. Excludes symbols that are themselves
    located or share lines with a located function."""
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
    """Returns the packages that may be imported, and a remark for each unavailable one that the code imports."""
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
    within += "; code far from them is left out" if is_cut else ""
    return f"- {place_of(symbol)} ({symbol.kind}, lines {symbol.start_line}-{symbol.end_line}{within})"
