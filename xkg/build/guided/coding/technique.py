"""Code for the techniques of a paper: written, debugged and checked, components before composites."""

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from xkg.build.code.codebase import Codebase
from xkg.build.guided.coding.debug import debug
from xkg.build.guided.coding.judge import check
from xkg.build.guided.coding.trial import Trials, node
from xkg.build.guided.coding.write import Component, Declined, modularize_with_model
from xkg.build.guided.draft import Draft, prompt
from xkg.build.guided.parallel import each
from xkg.build.stage_cache import StageCache, folder_name
from xkg.config import Settings
from xkg.errors import AnswerError, LanguageModelError
from xkg.llm.client import Ask
from xkg.llm.prompt import Prompt
from xkg.model import Code, Derivation, Evidence, Level, Technique
from xkg.sandbox.evidence.static_checks import check_parsed
from xkg.value import Value

PROMPTS = ("modularize", "repair", "strengthen", "fidelity", "revise")


class Model(Protocol):
    """The language model of the guided stages."""

    def for_paper(self, paper: str) -> Ask: ...
    def identity(self, *prompts: Prompt) -> Mapping[str, str]:
        """Everything that determines answers to these prompts except their inputs, as JSON values."""
        ...


class Coded(Value):
    """The result for one technique: `code`, with the symbols and lines it was written from, or the `reason` why there
    is none. `failed` is the model's failure, `first` the level of the first run, `repairs` the number of repairs,
    `refused` those that the guard rejected. `final` is False where another run may reach more."""

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
    """The context of all techniques. `title` is the paper's, `why` maps techniques to the reason for their location;
    `runs` is whether this machine can run code: without it, as in a plan, there are no `trials`, and the highest level
    is `parsed`."""

    folder: Path
    settings: Settings
    codebase: Codebase
    model: Model
    ask: Ask
    trials: Trials | None
    runs: bool
    title: str
    why: Mapping[str, str]


def code_techniques(
    techniques: Sequence[Technique],
    located: Mapping[str, Sequence[str]],
    context: CodingContext,
    progress: Callable[[int, int, str], None],
) -> tuple[dict[str, Coded], LanguageModelError | None]:
    """Code for every technique of `located` (technique → symbols, best first), by technique; after an error, which is
    returned, some are missing. `progress` is called with each finished technique: how many are done, of how many, and
    its name.

    A composite follows its components. Finished ones are stored in the context's folder. Raises what `Trials`
    raises."""
    done: dict[str, Coded] = {}
    names = {t.id: t.name for t in techniques}
    lock = threading.Lock()

    def work(technique: Technique) -> LanguageModelError | None:
        try:
            result = _cached_code(technique, located[technique.id], _components(technique, techniques, done), context)
        except LanguageModelError as error:
            return error
        with lock:
            done[technique.id] = result
            progress(len(done), len(located), names[technique.id])
        return None

    stopped: LanguageModelError | None = None
    for layer in _layers([t for t in techniques if t.id in located], techniques):
        stopped = next((error for error in each(work, layer, context.settings.llm.concurrency) if error), None)
        if stopped is not None:
            break
    return {t.id: done[t.id] for t in techniques if t.id in done}, stopped


def _layers(wanted: Sequence[Technique], techniques: Sequence[Technique]) -> list[list[Technique]]:
    """The leaves, then the techniques above only leaves, and so on."""
    height: dict[str, int] = {}
    for technique in reversed(techniques):  # reversed preorder: components come first
        height.setdefault(technique.id, 0)
        if technique.parent:
            height[technique.parent] = max(height.get(technique.parent, 0), height[technique.id] + 1)
    return [[t for t in wanted if height[t.id] == h] for h in range(max(height.values(), default=-1) + 1)]


def _components(technique: Technique, techniques: Sequence[Technique], done: Mapping[str, Coded]) -> list[Component]:
    """The components of a technique whose code runs; a component without it is replaced by its own components."""
    found: list[Component] = []
    for child in (t for t in techniques if t.parent == technique.id):
        coded = done.get(child.id)
        if coded and coded.code and coded.code.level.rank >= Level.EXECUTED.rank and not _is_unrelated(coded.code):
            found.append(
                Component(
                    name=child.name,
                    technique=child.id,
                    implementation=coded.code.implementation,
                    sources=coded.sources,
                    excerpt=coded.excerpt,
                )
            )
        else:
            found += _components(child, techniques, done)
    return found


def _is_unrelated(code: Code) -> bool:
    fidelity = code.evidence[-1].fidelity if code.evidence else None
    return fidelity is not None and fidelity.unrelated is not None


def _cached_code(
    technique: Technique, located: Sequence[str], components: Sequence[Component], context: CodingContext
) -> Coded:
    settings = context.settings
    return StageCache(context.folder / folder_name(technique.id)).stage(
        "code",
        {
            "technique": [technique.id, technique.name, technique.definition],
            "located": list(located),
            "components": [c.model_dump() for c in components],
            "paper": context.title,
            "why": context.why.get(technique.id, ""),
            "repository": context.codebase.repository.id,
            "prompts": context.model.identity(*map(prompt, PROMPTS)),
            "window": settings.llm.window,
            "sandbox": settings.sandbox.model_dump(),
            "environment": settings.environment.model_dump(),
            "runs": context.runs,
            "python": sys.version,
        },
        Coded,
        lambda: _coded(technique, located, components, context),
        lambda coded: coded.technique,
        keep=lambda coded: coded.final and coded.failed is None,
    )


def _coded(
    technique: Technique, located: Sequence[str], components: Sequence[Component], context: CodingContext
) -> Coded:
    try:
        why = context.why.get(technique.id, "")
        draft = modularize_with_model(
            technique,
            located,
            components,
            context.codebase,
            context.ask,
            context.title,
            why,
            installed=context.trials.installed() if context.trials else None,
        )
    except AnswerError as error:
        return Coded(technique=technique.id, reason=f"its code could not be written: {error}", failed=str(error))
    if isinstance(draft, Declined):
        return Coded(technique=technique.id, reason=f"the model found no code for it: {draft.reason}")
    if context.trials is None:
        parsed = check_parsed(draft.implementation)
        return _result(draft, [parsed.model_copy(update={"reason": parsed.reason or "not run: no sandbox here"})])
    definition = f"{technique.name}. {technique.definition}"
    debugged = debug(draft, definition, context.trials, context.ask)
    checked = check(debugged, definition, context.trials, context.ask)
    coded = _result(checked.draft, checked.evidence)
    return coded.model_copy(
        update={"failed": checked.failed, "refused": checked.refused, "final": context.trials.final}
    )


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
