"""Estimates the calls to a language model that a build would make, and their cost, without making them.

The stages themselves run with the outputs of earlier builds. A missing answer is replaced by the result of static
analysis, so that the counted prompts are those of this paper and this repository.
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

# Measured on four builds with the present prompts: tokens of an answer, and per technique with code the calls and
# tokens of the later stages; the estimate for debugging is higher than measured (one repair in 29).
_OUTPUT = {"extract": 2000, "enrich": 1300, "overview": 600, "ground": 400, "modularize": 2400}
_AFTER = {"debug": (0.5, 8000, 400), "check": (1.2, 3300, 150)}


class PlannedStage(Value):
    """The calls and tokens of a stage, and its dollars, None where a price is unknown."""

    stage: str
    calls: int
    input_tokens: int
    output_tokens: int
    dollars: float | None


def plan(opened: OpenedPaper, context: BuildContext) -> tuple[PlannedStage, ...]:
    """The calls that a build of this paper would still make, by stage in order; empty where all outputs are stored.
    Nothing is asked and nothing is run. Raises what the static stages raise."""
    estimator = _Estimator(context.settings.llm)
    build = _EstimatedBuild(opened, context, estimator)
    try:
        build.extract()
    except AnswerError:
        build.techniques = extract(opened.document, opened.identity).techniques
    build.enrich()
    if opened.codebase is not None and build.techniques:
        build.ground(opened.codebase)
        if estimator.planned_calls.get("ground"):
            places = ground(build.techniques, opened.codebase, context.embedder, opened.document)
            build.located = {t.id: [p.symbol for p in found] for t in build.techniques if (found := places.of(t.id))}
        build.code(opened.codebase)
    return estimator.planned()


class _EstimatedBuild(GuidedBuild):
    def _trials(self, codebase: Codebase) -> Trials | None:  # noqa: ARG002
        return None


class _Estimator:
    """Replaces the model: counts the calls and answers none."""

    def __init__(self, settings: LlmSettings) -> None:
        self.planned_calls: dict[str, list[PlannedStage]] = {}
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
        estimated = estimate(self._settings, prompt, inputs, output_tokens=_OUTPUT.get(prompt.name, 1000))
        call = PlannedStage(
            stage=prompt.stage,
            calls=1,
            input_tokens=estimated.input_tokens,
            output_tokens=estimated.output_tokens,
            dollars=estimated.dollars,
        )
        with self._lock:
            # A batch without an answer is asked again in parts, which would not happen with an answer.
            earlier = self._about.setdefault(prompt.name, [])
            if not any(about in other for other in earlier):
                self.planned_calls.setdefault(prompt.stage, []).append(call)
            earlier.append(about)
        raise AnswerError(f"{prompt.stage}, {about}: not asked")

    def planned(self) -> tuple[PlannedStage, ...]:
        stages = [_sum(stage, calls) for stage, calls in self.planned_calls.items()]
        modularized = next((s.calls for s in stages if s.stage == "modularize"), 0)
        for stage, (calls, input_tokens, output_tokens) in _AFTER.items() if modularized else ():
            count = round(calls * modularized)
            model = model_of(self._settings, "code_model")
            dollars = Prices(self._settings.prices).dollars(model, count * input_tokens, 0, count * output_tokens)
            stages.append(
                PlannedStage(
                    stage=stage,
                    calls=count,
                    input_tokens=count * input_tokens,
                    output_tokens=count * output_tokens,
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
