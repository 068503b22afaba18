"""Writes, debugs and checks the code of a paper's techniques, components before composites."""

import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from xkg.build.code.codebase import Codebase
from xkg.build.dependency_order import in_dependency_order
from xkg.build.guided.checking.debug import debug
from xkg.build.guided.checking.judge import check
from xkg.build.guided.checking.strengthen import only_defaults
from xkg.build.guided.coding.made_from import made_from
from xkg.build.guided.coding.trial import Trials, node
from xkg.build.guided.coding.write import Component, Declined, modularize_with_model
from xkg.build.guided.draft import Draft, prompt
from xkg.build.stage_cache import StageCache, folder_name
from xkg.config import Settings
from xkg.errors import AnswerError, LanguageModelError
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

    A composite begins after its components and the other techniques that its definition names. Finished ones are stored
    in the context's folder. Raises the errors of `Trials`."""
    done: dict[str, Coded] = {}
    names = {t.id: t.name for t in techniques}
    by_id = {t.id: t for t in techniques}
    lock = threading.Lock()

    def work(identity: str) -> LanguageModelError | None:
        technique = by_id[identity]
        with lock:
            components, absent = _components(technique, techniques, done)
            components += _named_components(
                technique, [by_id[each] for each in named_beside[identity]], components, done
            )
            begun(names[identity])
        try:
            result = _cached_code(technique, located[identity], components, absent, context)
        except LanguageModelError as error:
            return error
        with lock:
            done[identity] = result
            progress(len(done), len(located), names[identity])
        return None

    lineage = {t.id: _ancestors(t, by_id) for t in techniques}
    deepest_first = sorted((t.id for t in techniques if t.id in located), key=lambda each: -len(lineage[each]))
    below = {each: [other for other in deepest_first if each in lineage[other]] for each in deepest_first}
    named_beside = _named_beside([by_id[each] for each in deepest_first], below)
    below = {each: [*below[each], *named_beside[each]] for each in deepest_first}
    ended = in_dependency_order(work, deepest_first, below, context.jobs, ends=lambda error: error is not None)
    stopped = next((ended[each] for each in deepest_first if ended.get(each)), None)
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


def _cached_code(
    technique: Technique,
    located: Sequence[str],
    components: Sequence[Component],
    absent: Sequence[str],
    context: CodingContext,
) -> Coded:
    settings = context.settings
    return StageCache(context.folder / folder_name(technique.id)).stage(
        "code",
        {
            "technique": [technique.id, technique.name, technique.definition],
            "located": list(located),
            "components": [c.model_dump() for c in components],
            "absent": list(absent),
            "paper": context.title,
            "why": context.why.get(technique.id, ""),
            "lines": {s: [at.model_dump() for at in each] for s, each in context.lines.get(technique.id, {}).items()},
            "repository": context.codebase.repository.id,
            "prompts": context.model.identity(*map(prompt, PROMPTS)),
            "window": settings.llm.window,
            "sandbox": settings.sandbox.model_dump(),
            "environment": settings.environment.max_mb,
            "runs": context.runs,
            "python": sys.version,
        },
        Coded,
        lambda: _coded(technique, located, components, absent, context),
        lambda coded: coded.technique,
        keep=lambda coded: coded.final and coded.failed is None,
    )


def _coded(
    technique: Technique,
    located: Sequence[str],
    components: Sequence[Component],
    absent: Sequence[str],
    context: CodingContext,
) -> Coded:
    try:
        draft = modularize_with_model(
            technique,
            located,
            components,
            context.codebase,
            context.ask,
            context.title,
            context.why.get(technique.id, ""),
            installed=context.trials.installed() if context.trials else None,
            absent=absent,
            lines=context.lines.get(technique.id, {}),
        )
    except AnswerError as error:
        return Coded(technique=technique.id, reason=f"its code could not be written: {error}", failed=str(error))
    if isinstance(draft, Declined):
        lines = "some of the lines" if draft.left_out else "the lines"
        where = f"in {lines} of {', '.join(draft.shown)}"
        return Coded(
            technique=technique.id, reason=f"{where}, which were shown for it, the model found no code: {draft.reason}"
        )
    if context.trials is None:
        parsed = check_parsed(draft.implementation)
        return _result(draft, [parsed.model_copy(update={"reason": parsed.reason or "not run: no sandbox here"})])
    definition = f"{technique.name}. {technique.definition}"
    debugged = debug(draft, definition, context.trials, context.ask)
    checked = check(debugged, definition, context.trials, context.ask, context.codebase)
    final = _with_sources(checked.draft, context.codebase)
    documentation = final.documentation
    if names := only_defaults(final):
        documentation += f" Its test gives {', '.join(f'`{name}`' for name in names)} no other value than the default."
    evidence = [*checked.evidence[:-1], with_departures_of(final, components, checked.evidence[-1])]
    coded = _result(final.model_copy(update={"documentation": documentation}), evidence)
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


def _result(draft: Draft, evidence: Sequence[Evidence]) -> Coded:
    last = evidence[-1]
    return Coded(
        technique=draft.technique,
        code=node(draft).model_copy(update={"level": last.level, "evidence": tuple(evidence)}),
        sources=draft.sources,
        excerpt=draft.excerpt,
        first=evidence[0].level,
        repairs=last.repairs,
    )
