"""What a build would ask of a language model, and about what that would cost, without asking.

The stages themselves run, over what earlier builds have kept. In place of each answer that is not there stands what
static analysis finds, so that the prompts counted are those of this paper and this repository.
"""

import threading
from collections.abc import Callable, Mapping
from typing import TypeVar

from xkg.build.code.codebase import Codebase
from xkg.build.context import BuildContext, OpenedPaper
from xkg.build.grounding.ground import ground
from xkg.build.guided.coding.trial import Trials
from xkg.build.guided.stages import GuidedBuild
from xkg.build.techniques.extract import extract
from xkg.config import LlmSettings
from xkg.errors import AnswerError
from xkg.llm.client import AnswerType, Ask, accept
from xkg.llm.prices import Prices, estimate, model_of
from xkg.llm.prompt import Prompt
from xkg.value import Value

A = TypeVar("A", bound=AnswerType)

# Measured on four builds with the prompts as they are: tokens of an answer, and for each technique whose code is
# written, calls and tokens of the stages that follow; debugging is reckoned dearer than it was (one repair in 29).
_OUTPUT = {"extract": 2000, "enrich": 1300, "overview": 600, "ground": 400, "modularize": 2400}
_AFTER = {"debug": (0.5, 8000, 400), "check": (1.2, 3300, 150)}


class PlannedStage(Value):
    """Calls and tokens that a stage would take, and dollars, None where a price is unknown."""

    stage: str
    calls: int
    input_tokens: int
    output_tokens: int
    dollars: float | None


def plan(opened: OpenedPaper, context: BuildContext) -> tuple[PlannedStage, ...]:
    """What a build of this paper would still ask, stage by stage in order; empty where all is kept. Nothing is asked
    and nothing is run. Raises what the static stages raise."""
    reckoner = _Reckoner(context.settings.llm)
    build = _Reckoning(opened, context, reckoner)
    try:
        build.extract()
    except AnswerError:
        build.techniques = extract(opened.document, opened.identity).techniques
    build.enrich()
    if opened.codebase is not None and build.techniques:
        build.ground(opened.codebase)
        if reckoner.asked.get("ground"):
            places = ground(build.techniques, opened.codebase, context.embedder, opened.document)
            build.located = {t.id: [p.symbol for p in found] for t in build.techniques if (found := places.of(t.id))}
        build.code(opened.codebase)
    return reckoner.planned()


class _Reckoning(GuidedBuild):
    def _trials(self, codebase: Codebase) -> Trials | None:  # noqa: ARG002
        return None


class _Reckoner:
    """Stands where the model stands, counts what it is asked and answers nothing."""

    def __init__(self, settings: LlmSettings) -> None:
        self.asked: dict[str, list[PlannedStage]] = {}
        self._about: dict[str, list[str]] = {}
        self._settings = settings
        self._lock = threading.Lock()

    def identity(self, *prompts: Prompt) -> Mapping[str, str]:
        return {prompt.identity: model_of(self._settings, prompt.role) for prompt in prompts}

    def for_paper(self, _: str) -> Ask:
        return self._ask

    def _ask(
        self,
        prompt: Prompt,
        kind: type[A],  # noqa: ARG002
        inputs: Mapping[str, str],
        *,
        about: str = "",
        check: Callable[[A], str | None] = accept,  # noqa: ARG002
    ) -> A:
        one = estimate(self._settings, prompt, inputs, output_tokens=_OUTPUT.get(prompt.name, 1000))
        call = PlannedStage(
            stage=prompt.stage,
            calls=1,
            input_tokens=one.input_tokens,
            output_tokens=one.output_tokens,
            dollars=one.dollars,
        )
        with self._lock:
            # A batch without an answer is asked again in parts; with an answer it would not be.
            before = self._about.setdefault(prompt.name, [])
            if not any(about in earlier for earlier in before):
                self.asked.setdefault(prompt.stage, []).append(call)
            before.append(about)
        raise AnswerError(f"{prompt.stage}, {about}: not asked")

    def planned(self) -> tuple[PlannedStage, ...]:
        stages = [_sum(stage, calls) for stage, calls in self.asked.items()]
        written = next((s.calls for s in stages if s.stage == "modularize"), 0)
        for stage, (calls, given, answered) in _AFTER.items() if written else ():
            count = round(calls * written)
            model = model_of(self._settings, "code_model")
            dollars = Prices(self._settings.prices).dollars(model, count * given, 0, count * answered)
            stages.append(
                PlannedStage(
                    stage=stage,
                    calls=count,
                    input_tokens=count * given,
                    output_tokens=count * answered,
                    dollars=dollars,
                )
            )
        return tuple(stages)


def _sum(stage: str, calls: list[PlannedStage]) -> PlannedStage:
    prices = [call.dollars for call in calls]
    return PlannedStage(
        stage=stage,
        calls=len(calls),
        input_tokens=sum(call.input_tokens for call in calls),
        output_tokens=sum(call.output_tokens for call in calls),
        dollars=None if None in prices else sum(p for p in prices if p is not None),
    )
