"""Writes, debugs and checks the code for a paper's techniques. Components come before composites."""

import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from xkg.build.code.codebase import Codebase
from xkg.build.dependency_order import each_of, in_dependency_order, waves
from xkg.build.guided.checking.debug import Debugged
from xkg.build.guided.checking.judge import Checked, check, proved
from xkg.build.guided.checking.strengthen import only_defaults
from xkg.build.guided.coding.made_from import made_from
from xkg.build.guided.coding.trial import Trials, node
from xkg.build.guided.coding.write import Component, Declined, Outcome, Task, Writing, Written, size_of, together
from xkg.build.guided.draft import Draft, prompt
from xkg.build.stage_cache import StageCache, folder_name, retained, stage_key
from xkg.config import Settings
from xkg.errors import LanguageModelError, XkgError
from xkg.llm.client import Ask
from xkg.llm.prompt import Prompt
from xkg.model import Code, Derivation, Evidence, Level, LineRange, Technique
from xkg.sandbox.evidence.static_checks import check_parsed
from xkg.value import Value

PROMPTS = ("modularize", "repair", "strengthen", "fidelity", "revise", "recheck")


class Model(Protocol):
    """The language model that the guided stages use."""

    def for_paper(self, paper: str) -> Ask: ...
    def identity(self, *prompts: Prompt) -> Mapping[str, str]:
        """Returns, as JSON values, everything that affects the answers to these prompts apart from the inputs."""
        ...


class Coded(Value):
    """The result for one technique. Contains either `code`, with the symbols and lines that it was written from, or the
    `reason` for its absence.

    `failed` explains why the model failed, and `first` is the level that the first run reached. `repairs` counts the
    applied repairs, and `refused` the rejected ones. `final` is False if another run may reach a higher level."""

    technique: str
    code: Code | None = None
    sources: tuple[str, ...] = ()
    excerpt: str = ""
    reason: str | None = None
    failed: str | None = None
    first: Level | None = None
    repairs: int = 0
    refused: int = 0
    final: bool = True

    @property
    def derivations(self) -> tuple[Derivation, ...]:
        if self.code is None:
            return ()
        return tuple(Derivation(code=self.code.id, symbol=source) for source in self.sources)


@dataclass(frozen=True)
class CodingContext:
    """The context that all techniques share. Processes `jobs` techniques at a time.

    `why` maps techniques to the reason for their location. `lines` maps them to the relevant lines of symbols that also
    do other things. `runs` is True if this machine can run code. If this machine cannot run code, or the build is only
    planned, `trials` is None and the highest level is `parsed`."""

    folder: Path
    settings: Settings
    codebase: Codebase
    model: Model
    ask: Ask
    trials: Trials | None
    runs: bool
    why: Mapping[str, str]
    jobs: int
    lines: Mapping[str, Mapping[str, Sequence[LineRange]]] = field(default_factory=dict)


def code_techniques(
    techniques: Sequence[Technique],
    located: Mapping[str, Sequence[str]],
    context: CodingContext,
    progress: Callable[[int, int, str], None],
    begun: Callable[[str], None] = lambda _: None,
) -> tuple[dict[str, Coded], LanguageModelError | None]:
    """Returns the code for every technique in `located`, keyed by technique. `located` maps each technique to its
    symbols, best first. Also returns any error that left some techniques without code.

    `begun` is called with a technique's name when work on the technique begins. `progress` is called after each
    technique with the number done, the total and the name.

    One question asks for the code of several techniques, and another for its review. The model is asked about a
    composite only after its components and the other techniques mentioned in its definition. Finished techniques are
    stored in the context's folder. Raises the same errors as `Trials`."""
    planned = _Plan(techniques, located, context)
    names = {t.id: t.name for t in techniques}
    done: dict[str, Coded] = {}
    lock = threading.Lock()

    def finish(identity: str, result: Coded) -> None:
        with lock:
            done[identity] = result
            progress(len(done), len(located), names[identity])

    sizes: dict[str, int] = {}
    for identity in planned.order:
        task = planned.task(identity, done)
        stored = None
        if planned.needs[identity] <= done.keys():
            stored = retained(_folder(task, context), "code", _key(task, context), Coded)
        if stored is None:
            sizes[identity] = size_of(task, context.codebase)
            continue
        begun(names[identity])
        finish(identity, stored)
    groups = together(sizes)
    group_of = {identity: n for n, group in enumerate(groups) for identity in group}
    needs = {
        n: {group_of[i] for each in group for i in planned.needs[each] if i in group_of} - {n}
        for n, group in enumerate(groups)
    }

    def work(n: int) -> XkgError | None:
        for identity in groups[n]:
            begun(names[identity])
        try:
            results = _coded(groups[n], planned, done, context)
        except XkgError as error:
            return error
        for identity, result in results.items():
            finish(identity, result)
        return None

    ended = in_dependency_order(work, range(len(groups)), needs, context.jobs, ends=lambda error: error is not None)
    errors = [error for error in ended.values() if error is not None]
    for error in errors:
        if not isinstance(error, LanguageModelError):
            raise error
    stopped = next((error for error in errors if isinstance(error, LanguageModelError)), None)
    return {t.id: done[t.id] for t in techniques if t.id in done}, stopped


class _Plan:
    """Determines the order in which techniques are processed, components first, and which techniques each one needs."""

    def __init__(
        self, techniques: Sequence[Technique], located: Mapping[str, Sequence[str]], context: CodingContext
    ) -> None:
        self._techniques, self._located, self._context = techniques, located, context
        self._by_id = {t.id: t for t in techniques}
        lineage = {t.id: _ancestors(t, self._by_id) for t in techniques}
        deepest_first = sorted((t.id for t in techniques if t.id in located), key=lambda each: -len(lineage[each]))
        below = {each: [other for other in deepest_first if each in lineage[other]] for each in deepest_first}
        self._beside = _named_beside([self._by_id[each] for each in deepest_first], below)
        self.needs = {each: {*below[each], *self._beside[each]} for each in deepest_first}
        self.order: list[str] = []
        for technique in techniques:
            if technique.id in located:
                self._follow(technique.id)

    def _follow(self, identity: str) -> None:
        """Adds a technique to the order directly after the techniques that it needs, so they share a question."""
        if identity in self.order:
            return
        for technique in self._techniques:
            if technique.id in self.needs[identity]:
                self._follow(technique.id)
        self.order.append(identity)

    def task(self, identity: str, done: Mapping[str, Coded], group: Sequence[str] = ()) -> Task:
        """Returns the task for a technique. Other techniques in `group` may also be its components."""
        technique, context = self._by_id[identity], self._context
        children = [t for t in self._techniques if t.parent == identity]
        beside = [self._by_id[other] for other in self._beside[identity]]
        components, inside, absent = self._components(children, done, group)
        known = {*(component.technique for component in components), *inside}
        named, named_inside, _ = self._components([t for t in beside if t.id not in known], done, group)
        whole = self._by_id.get(technique.parent or "")
        later = whole is not None and whole.id in self._located and whole.id not in (*group, *done)
        lines = context.lines.get(identity, {})
        return Task(
            technique=technique,
            located=tuple(self._located[identity]),
            components=(*components, *named),
            inside=(*inside, *named_inside),
            absent=tuple(absent),
            whole=whole if later and group else None,
            why=context.why.get(identity, ""),
            lines={symbol: tuple(ranges) for symbol, ranges in lines.items()},
        )

    def _components(
        self, parts: Sequence[Technique], done: Mapping[str, Coded], group: Sequence[str]
    ) -> tuple[list[Component], list[str], list[str]]:
        """Returns three lists: the components whose code runs, the ids of the components in the same question, and the
        names of all other components. A component without running code is replaced with its own components."""
        found, inside, absent = list[Component](), list[str](), list[str]()
        for part in parts:
            component = _component(part, done[part.id]) if part.id in done else None
            if component is not None:
                found.append(component)
            elif part.id in group and part.id not in done:
                inside.append(part.id)
            else:
                children = [t for t in self._techniques if t.parent == part.id]
                inner, inner_inside, _ = self._components(children, done, group)
                found += inner
                inside += inner_inside
                absent += [] if inner or inner_inside else [part.name]
        return found, inside, absent


def _component(technique: Technique, coded: Coded) -> Component | None:
    """Returns a technique's code if it runs and the review did not find it to do something else."""
    code = coded.code
    fidelity = code.evidence[-1].fidelity if code and code.evidence else None
    is_unrelated = fidelity is not None and fidelity.unrelated is not None
    if code is None or code.level.rank < Level.EXECUTED.rank or is_unrelated:
        return None
    return Component(
        name=technique.name,
        technique=technique.id,
        implementation=code.implementation,
        proven=code.level.rank >= Level.TESTED.rank,
        sources=coded.sources,
        excerpt=coded.excerpt,
        departures=code.departures,
    )


def _ancestors(technique: Technique, by_id: Mapping[str, Technique]) -> list[str]:
    found: list[str] = []
    parent = technique.parent
    while parent is not None and parent in by_id and parent not in found:
        found.append(parent)
        parent = by_id[parent].parent
    return found


def _named_beside(located: Sequence[Technique], below: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Maps each technique to the techniques elsewhere in the hierarchy that its definition mentions and its code may
    use. The result has no dependency cycles."""
    needs = {each: set(others) for each, others in below.items()}

    def reached(identity: str) -> set[str]:
        found, ahead = {identity}, [identity]
        while ahead:
            fresh = needs[ahead.pop()] - found
            found |= fresh
            ahead += fresh
        return found

    beside: dict[str, list[str]] = {each.id: [] for each in located}
    for technique in located:
        for other in located:
            if other.id in reached(technique.id) or technique.id in reached(other.id):
                continue
            if _is_named(other.name, technique.definition):
                beside[technique.id].append(other.id)
                needs[technique.id].add(other.id)
    return beside


def _is_named(name: str, definition: str) -> bool:
    """Returns whether a definition contains the name word for word."""
    literal = re.escape(" ".join(name.split()).casefold())
    return re.search(rf"(?<!\w){literal}(?!\w)", " ".join(definition.split()).casefold()) is not None


def _folder(task: Task, context: CodingContext) -> Path:
    return context.folder / folder_name(task.technique.id)


def _key(task: Task, context: CodingContext) -> str:
    """Returns a key for everything that determines a technique's code, except the other techniques in its questions."""
    settings = context.settings
    return stage_key(
        {
            **task.model_dump(exclude={"technique", "inside", "whole"}),
            "technique": [task.technique.id, task.technique.name, task.technique.definition],
            "repository": context.codebase.repository.id,
            "prompts": context.model.identity(*map(prompt, PROMPTS)),
            "window": settings.llm.window,
            "sandbox": settings.sandbox.model_dump(),
            "environment": settings.environment.max_mb,
            "runs": context.runs,
            "python": sys.version,
        }
    )


def _coded(
    group: Sequence[str], planned: _Plan, earlier: Mapping[str, Coded], context: CodingContext
) -> dict[str, Coded]:
    """Returns the code for these techniques, keyed by technique. Stores results that another run cannot improve."""
    trial, ask, codebase = context.trials, context.ask, context.codebase
    installed = trial.installed() if trial else None
    asked = {identity: planned.task(identity, earlier, group) for identity in group}
    writing = Writing(list(asked.values()), codebase, ask, installed)
    outcomes = writing.answers()
    made = dict(earlier)  # includes code written here that has not been reviewed yet
    states: dict[str, Debugged] = {}
    offered: dict[str, set[str]] = {}

    def drafted(identity: str) -> Coded:
        task = planned.task(identity, made)
        found, offered[identity] = _drafted(writing, task, outcomes[identity]), _parts(task)
        others = offered[identity] - {*asked[identity].inside, *_parts(asked[identity])}
        if isinstance(outcomes[identity], Written) and (others or isinstance(found, str)):
            # the technique's components differ from those listed in the question
            alone = Writing([task], codebase, ask, installed)
            found = _drafted(alone, task, alone.answers(found if isinstance(found, str) else "")[identity])
        if not isinstance(found, Draft) or trial is None:
            return _result(task, found, None, context)
        state = states[identity] = proved(found, trial, ask)
        return _node(state.draft, [state.proof.evidence])

    for wave in waves(group, {identity: task.inside for identity, task in asked.items()}):
        made |= zip(wave, each_of(drafted, wave, context.jobs), strict=True)
    checked: dict[str, Checked] = {}
    if trial is not None:
        proven = [states[identity] for identity in group if identity in states]
        results = check(proven, trial, ask, codebase, writing.shared, jobs=context.jobs)
        checked = {each.draft.technique: each for each in results}
    coded: dict[str, Coded] = {}
    for identity in group:
        task = planned.task(identity, {**earlier, **coded})
        found = checked.get(identity)
        coded[identity] = _result(task, found.draft, found, context) if found else made[identity]
        if found and _parts(task) != offered[identity]:
            coded |= _coded([identity], planned, {**earlier, **coded}, context)
        elif coded[identity].final and coded[identity].failed is None:
            StageCache(_folder(task, context)).retain("code", _key(task, context), coded[identity])
    return coded


def _parts(task: Task) -> set[str]:
    return {component.technique for component in task.components}


def _drafted(writing: Writing, task: Task, outcome: Outcome) -> Draft | Declined | str:
    return writing.draft(task, outcome) if isinstance(outcome, Written) else outcome


def _result(task: Task, written: Draft | Declined | str, checked: Checked | None, context: CodingContext) -> Coded:
    identity = task.technique.id
    if isinstance(written, str):
        return Coded(technique=identity, reason=f"its code could not be written: {written}", failed=written)
    if isinstance(written, Declined):
        where = f"in the lines shown of {', '.join(written.shown)}"
        return Coded(technique=identity, reason=f"the model found no code for the technique {where}: {written.reason}")
    if checked is None or context.trials is None:
        parsed = check_parsed(written.implementation)
        reason = parsed.reason or "not run: no sandbox on this machine"
        return _node(written, [parsed.model_copy(update={"reason": reason})])
    final = _with_sources(checked.draft, context.codebase)
    documentation = final.documentation
    if names := only_defaults(final):
        documentation += f" Its test uses only the defaults for {', '.join(f'`{name}`' for name in names)}."
    evidence = [*checked.evidence[:-1], with_departures_of(final, task.components, checked.evidence[-1])]
    coded = _node(final.model_copy(update={"documentation": documentation}), evidence)
    return coded.model_copy(
        update={"failed": checked.failed, "refused": checked.refused, "final": context.trials.final}
    )


def with_departures_of(draft: Draft, components: Sequence[Component], evidence: Evidence) -> Evidence:
    """Returns the evidence plus the departures of the components included in a draft's module."""
    if evidence.fidelity is None:
        return evidence
    used = {component.name for component in draft.components}
    found = dict.fromkeys(evidence.fidelity.departures)
    for component in (each for each in components if each.name in used):
        for departure in component.departures:
            found[departure.model_copy(update={"component": departure.component or component.name})] = None
    fidelity = evidence.fidelity.model_copy(update={"departures": tuple(found)})
    return evidence.model_copy(update={"fidelity": fidelity})


def _with_sources(draft: Draft, codebase: Codebase) -> Draft:
    """Adds to the draft's sources the symbols that were opened for it and whose lines its module uses."""
    used = made_from(draft.implementation, "", draft.opened, codebase)
    return draft.model_copy(update={"sources": tuple(dict.fromkeys([*draft.sources, *used]))}) if used else draft


def _node(draft: Draft, evidence: Sequence[Evidence]) -> Coded:
    last = evidence[-1]
    return Coded(
        technique=draft.technique,
        code=node(draft).model_copy(update={"level": last.level, "evidence": tuple(evidence)}),
        sources=draft.sources,
        excerpt=draft.excerpt,
        first=evidence[0].level,
        repairs=last.repairs,
    )
