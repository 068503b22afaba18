"""Writes, debugs and checks the code of a paper's techniques, components before composites."""

import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from xkg.build.code.codebase import Codebase
from xkg.build.dependency_order import each_of
from xkg.build.guided.checking.debug import debug
from xkg.build.guided.checking.judge import Checked, check
from xkg.build.guided.checking.strengthen import only_defaults
from xkg.build.guided.coding.made_from import made_from
from xkg.build.guided.coding.trial import Trials, node
from xkg.build.guided.coding.write import Component, Declined, Task, modularize_with_model, together
from xkg.build.guided.draft import Draft, prompt
from xkg.build.stage_cache import StageCache, folder_name, retained, stage_key
from xkg.config import Settings
from xkg.errors import LanguageModelError
from xkg.llm.client import Ask
from xkg.llm.prompt import Prompt
from xkg.model import Code, Derivation, Evidence, Level, LineRange, Technique
from xkg.sandbox.evidence.static_checks import check_parsed
from xkg.value import Value

PROMPTS = ("modularize", "repair", "strengthen", "fidelity", "revise", "recheck")


class Model(Protocol):
    """The language model of the guided stages."""

    def for_paper(self, paper: str) -> Ask: ...
    def identity(self, *prompts: Prompt) -> Mapping[str, str]:
        """Everything that determines answers to these prompts except their inputs, as JSON values."""
        ...


class Coded(Value):
    """The result for one technique: `code`, with the symbols and lines that it was written from, or the `reason` why
    there is none. `failed` is the model's failure, `first` the level of the first run. `repairs` and `refused` count
    repairs that were applied and rejected. `final` is False if another run may reach more."""

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
    """The context shared by all techniques; `jobs` of them are processed at a time. `title` is the paper's. `why` maps
    techniques to the reason for their location, `lines` to the relevant lines of symbols that do more. `runs` says
    whether this machine can run code; if not, as in a plan, `trials` is None and the highest level is `parsed`."""

    folder: Path
    settings: Settings
    codebase: Codebase
    model: Model
    ask: Ask
    trials: Trials | None
    runs: bool
    title: str
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
    """The code of every technique in `located` (technique → symbols, best first), by technique, and the error after
    which some are missing. `progress` is called for each finished technique with the number done, the total and the
    name; `begun` is called with the name of each that begins.

    One question writes the code of several techniques, and one reviews it. A composite comes after its components and
    the other techniques that its definition names. Finished ones are stored in the context's folder. Raises the errors
    of `Trials`."""
    done: dict[str, Coded] = {}
    by_id = {t.id: t for t in techniques}
    lock = threading.Lock()

    def work(tasks: Sequence[Task]) -> None:
        results = _coded(tasks, context)
        for task in tasks:
            finish(task, results[task.technique.id])

    def finish(task: Task, result: Coded) -> None:
        with lock:
            done[task.technique.id] = result
            progress(len(done), len(located), task.technique.name)

    lineage = {t.id: _ancestors(t, by_id) for t in techniques}
    deepest_first = sorted((t.id for t in techniques if t.id in located), key=lambda each: -len(lineage[each]))
    below = {each: [other for other in deepest_first if each in lineage[other]] for each in deepest_first}
    beside = _named_beside([by_id[each] for each in deepest_first], below)
    open_ids: list[str] = deepest_first
    stopped: LanguageModelError | None = None
    while open_ids and stopped is None:
        ready = [each for each in open_ids if not {*below[each], *beside[each]}.intersection(open_ids)]
        open_ids = [each for each in open_ids if each not in ready]
        asked: list[Task] = []
        for each in ready:
            task = _task(
                by_id[each], located[each], techniques, [by_id[other] for other in beside[each]], done, context
            )
            begun(by_id[each].name)
            stored = retained(_folder(task, context), "code", _key(task, context), Coded)
            asked += [] if stored else [task]
            if stored:
                finish(task, stored)
        try:
            each_of(work, together(asked, context.codebase), context.jobs)
        except LanguageModelError as error:
            stopped = error
    return {t.id: done[t.id] for t in techniques if t.id in done}, stopped


def _ancestors(technique: Technique, by_id: Mapping[str, Technique]) -> list[str]:
    """The ancestors of a technique, nearest first."""
    found: list[str] = []
    parent = technique.parent
    while parent is not None and parent in by_id and parent not in found:
        found.append(parent)
        parent = by_id[parent].parent
    return found


def _components(
    technique: Technique, techniques: Sequence[Technique], done: Mapping[str, Coded]
) -> tuple[list[Component], list[str]]:
    """The components of a technique whose code runs, and the names of the others. A component without running code is
    replaced by its own components."""
    found: list[Component] = []
    absent: list[str] = []
    for child in (t for t in techniques if t.parent == technique.id):
        coded = done.get(child.id)
        if coded and coded.code and coded.code.level.rank >= Level.EXECUTED.rank and not _is_unrelated(coded.code):
            found.append(
                Component(
                    name=child.name,
                    technique=child.id,
                    implementation=coded.code.implementation,
                    proven=coded.code.level.rank >= Level.TESTED.rank,
                    sources=coded.sources,
                    excerpt=coded.excerpt,
                    departures=coded.code.departures,
                )
            )
        else:
            inner, _ = _components(child, techniques, done)
            found += inner
            absent += [] if inner else [child.name]
    return found, absent


def _named_beside(located: Sequence[Technique], below: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """For each technique, the techniques elsewhere in the hierarchy that its definition names; its code runs them too.
    No technique comes to depend on itself."""
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
    """Whether a definition contains the name, word for word."""
    literal = re.escape(" ".join(name.split()).casefold())
    return re.search(rf"(?<!\w){literal}(?!\w)", " ".join(definition.split()).casefold()) is not None


def _named_components(
    technique: Technique, beside: Sequence[Technique], components: Sequence[Component], done: Mapping[str, Coded]
) -> list[Component]:
    """The running code of techniques that are elsewhere in the hierarchy and not among the components."""
    known = {component.technique for component in components}
    parts = [each.model_copy(update={"parent": technique.id}) for each in beside if each.id not in known]
    found, _ = _components(technique, parts, done)
    return found


def _is_unrelated(code: Code) -> bool:
    fidelity = code.evidence[-1].fidelity if code.evidence else None
    return fidelity is not None and fidelity.unrelated is not None


def _task(
    technique: Technique,
    located: Sequence[str],
    techniques: Sequence[Technique],
    beside: Sequence[Technique],
    done: Mapping[str, Coded],
    context: CodingContext,
) -> Task:
    components, absent = _components(technique, techniques, done)
    components += _named_components(technique, beside, components, done)
    lines = context.lines.get(technique.id, {})
    return Task(
        technique=technique,
        located=tuple(located),
        components=tuple(components),
        absent=tuple(absent),
        why=context.why.get(technique.id, ""),
        lines={symbol: tuple(ranges) for symbol, ranges in lines.items()},
    )


def _folder(task: Task, context: CodingContext) -> Path:
    return context.folder / folder_name(task.technique.id)


def _key(task: Task, context: CodingContext) -> str:
    """Everything that determines a technique's code except the techniques that share its questions."""
    settings = context.settings
    return stage_key(
        {
            **task.model_dump(exclude={"technique"}),
            "technique": [task.technique.id, task.technique.name, task.technique.definition],
            "paper": context.title,
            "repository": context.codebase.repository.id,
            "prompts": context.model.identity(*map(prompt, PROMPTS)),
            "window": settings.llm.window,
            "sandbox": settings.sandbox.model_dump(),
            "environment": settings.environment.max_mb,
            "runs": context.runs,
            "python": sys.version,
        }
    )


def _coded(tasks: Sequence[Task], context: CodingContext) -> dict[str, Coded]:
    """The code of techniques by technique. Results that another run cannot improve are stored."""
    installed = context.trials.installed() if context.trials else None
    written = modularize_with_model(tasks, context.codebase, context.ask, context.title, installed=installed)
    drafts = [draft for draft in written.values() if isinstance(draft, Draft)]
    checked: dict[str, Checked] = {}
    if context.trials is not None:
        trial = context.trials
        debugged = each_of(lambda draft: debug(draft, trial, context.ask), drafts, context.jobs)
        results = check(debugged, trial, context.ask, context.codebase, jobs=context.jobs)
        checked = {each.draft.technique: each for each in results}
    coded = {
        task.technique.id: _result(task, written[task.technique.id], checked.get(task.technique.id), context)
        for task in tasks
    }
    for task in tasks:
        result = coded[task.technique.id]
        if result.final and result.failed is None:
            StageCache(_folder(task, context)).retain("code", _key(task, context), result)
    return coded


def _result(task: Task, written: Draft | Declined | str, checked: Checked | None, context: CodingContext) -> Coded:
    identity = task.technique.id
    if isinstance(written, str):
        return Coded(technique=identity, reason=f"its code could not be written: {written}", failed=written)
    if isinstance(written, Declined):
        lines = "some of the lines" if written.left_out else "the lines"
        where = f"in {lines} of {', '.join(written.shown)}"
        return Coded(
            technique=identity, reason=f"{where}, which were shown for it, the model found no code: {written.reason}"
        )
    if checked is None or context.trials is None:
        parsed = check_parsed(written.implementation)
        reason = parsed.reason or "not run: no sandbox here"
        return _node(written, [parsed.model_copy(update={"reason": reason})])
    final = _with_sources(checked.draft, context.codebase)
    documentation = final.documentation
    if names := only_defaults(final):
        documentation += f" Its test gives {', '.join(f'`{name}`' for name in names)} no other value than the default."
    evidence = [*checked.evidence[:-1], with_departures_of(final, task.components, checked.evidence[-1])]
    coded = _node(final.model_copy(update={"documentation": documentation}), evidence)
    return coded.model_copy(
        update={"failed": checked.failed, "refused": checked.refused, "final": context.trials.final}
    )


def with_departures_of(draft: Draft, components: Sequence[Component], evidence: Evidence) -> Evidence:
    """Evidence with the added departures of the components that a draft's module includes."""
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
    """The draft. If it took lines from symbols that were opened for it, these are added to its sources."""
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
