"""Code for the techniques of a paper: written, mended and checked, components before what they are part of."""

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
    """What the guided stages need of a language model."""

    def for_paper(self, paper: str) -> Ask: ...
    def identity(self, *prompts: Prompt) -> Mapping[str, str]:
        """What decides answers to these prompts beside their inputs, as JSON values."""
        ...


class Coded(Value):
    """What came of one technique: `code`, with the symbols and lines it was made from, or `reason` why there is none.
    `failed` says what the model could not be brought to, `first` the level of the first run, `repairs` how often code
    or test were mended, `refused` how many repairs were no repairs. `final` is False where another run may reach
    more."""

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
    """What code is made with. `title` is the paper's, `why` says by technique why it is located where it is; `runs`
    says whether this machine can contain code: else there are no `trials`, as in a plan, and levels end at `parsed`."""

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
    """Code for every technique of `located` (technique → symbols, best first), by technique; what a call that was never
    answered leaves open is missing from it, and the error says why. `progress` hears of each technique as it ends:
    how many are done, of how many, and its name.

    A composite is made when its components are. What is finished is kept in the context's folder. Raises what `Trials`
    raises."""
    done: dict[str, Coded] = {}
    names = {t.id: t.name for t in techniques}
    lock = threading.Lock()

    def work(technique: Technique) -> LanguageModelError | None:
        try:
            result = _kept(technique, located[technique.id], _components(technique, techniques, done), context)
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
    """The leaves, then what has leaves alone below it, and so on."""
    height: dict[str, int] = {}
    for technique in reversed(techniques):  # preorder: whatever is below comes first now
        height.setdefault(technique.id, 0)
        if technique.parent:
            height[technique.parent] = max(height.get(technique.parent, 0), height[technique.id] + 1)
    return [[t for t in wanted if height[t.id] == h] for h in range(max(height.values(), default=-1) + 1)]


def _components(technique: Technique, techniques: Sequence[Technique], done: Mapping[str, Coded]) -> list[Component]:
    """The components of a technique whose code runs; of a component without any, its own components."""
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


def _kept(
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
        draft = modularize_with_model(technique, located, components, context.codebase, context.ask, context.title, why)
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
