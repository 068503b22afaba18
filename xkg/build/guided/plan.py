"""Estimates the number and cost of a build's language model calls without making any.

Runs the stages on the outputs of earlier builds. Static analysis fills in for missing answers, so the counted prompts
are specific to this paper and repository. Until the techniques are known, scales the counts to the number of techniques
that a model is expected to find and code."""

import math
import threading
from collections.abc import Callable, Mapping
from typing import TypeVar

from xkg.build.code.codebase import Codebase
from xkg.build.context import BuildContext, OpenedPaper
from xkg.build.grounding.ground import ground
from xkg.build.guided.coding.trial import Trials
from xkg.build.guided.stages import GuidedBuild
from xkg.build.paper.document import Document
from xkg.build.techniques.extract import extract
from xkg.config import LlmSettings
from xkg.errors import AnswerError
from xkg.llm.client import AnswerType, Ask, More, accept
from xkg.llm.prices import Prices, estimate, model_of
from xkg.llm.prompt import Prompt
from xkg.value import Value

A = TypeVar("A", bound=AnswerType)

# Measured on ten builds with 6 to 14 techniques, 6 to 11 of them with code. `_OUTPUT` is the number of tokens per
# answer or, for code, per technique in the answer. `_USUAL_TECHNIQUES` is the number of techniques in a paper of
# ordinary length. Static analysis finds fewer if techniques are defined in prose. `_AFTER` contains the later calls per
# question that writes code. Input tokens in `_AFTER` are relative to that question. `_AFTER`, `_TOGETHER` and the size
# of the paper answer are based on recorded answers for only four papers, with 6 to 13 techniques with code.
_OUTPUT = {"extract": 2800, "ground": 400, "modularize": 2300}
# Of 48 answers with code, 15 were unusable and had to be requested again.
_WITH_UNUSABLE = 1.25
_USUAL_TECHNIQUES = 9
# If static analysis finds more techniques, some of them are parts of others. The prompt asks the model for 5 to 12
# techniques.
_MOST_TECHNIQUES = 12
_ORDINARY_CHARACTERS = 20_000
_WITH_CODE = 0.85
# The number of techniques, and the number of input tokens, in each question that writes code. Static analysis would
# overestimate the tokens, because it locates whole files.
_TOGETHER = 5.0
_CODE_PROMPT = 7_500
_AFTER = {"debug": (1.0, 0.6, 500), "check": (2.5, 0.8, 1200)}
# In these stages, one question covers all techniques. If it gets no answer, it is repeated with fewer techniques.
_BATCHED = frozenset({"ground", "modularize"})


class PlannedStage(Value):
    """The estimated calls, tokens and dollars for a stage. `dollars` is None if a price is unknown."""

    stage: str
    calls: int
    input_tokens: int
    output_tokens: int
    dollars: float | None


def plan(opened: OpenedPaper, context: BuildContext) -> tuple[PlannedStage, ...]:
    """Returns the calls that a build of this paper would still make, by stage in order. Returns () if all outputs are
    stored. Does not call a model or run code. Raises the same errors as the static stages."""
    estimator = _Estimator(context.settings.llm)
    build = _EstimatedBuild(opened, context, estimator)
    try:
        build.extract()
    except AnswerError:
        build.techniques = extract(opened.document, opened.identity).techniques
        estimator.expect(len(build.techniques), expected_techniques(len(build.techniques), opened.document))
    if opened.codebase is not None and build.techniques:
        build.ground(opened.codebase)
        if estimator.planned_calls.get("ground"):
            places = ground(build.techniques, opened.codebase, context.embedder, opened.document)
            build.located = {t.id: [p.symbol for p in found] for t in build.techniques if (found := places.of(t.id))}
            estimator.expect_code(len(build.techniques))
        build.code(opened.codebase)
    return estimator.planned()


def expected_techniques(found: int, document: Document) -> int:
    """Returns the number of techniques, at most 12, that a model is expected to find in a paper. `found` is the number
    that static analysis finds."""
    fullness = min(1.0, len(document.text) / _ORDINARY_CHARACTERS)
    return min(_MOST_TECHNIQUES, max(found, round(_USUAL_TECHNIQUES * fullness)))


class _EstimatedBuild(GuidedBuild):
    def _trials(self, codebase: Codebase) -> Trials | None:  # noqa: ARG002
        return None


class _Estimator:
    """A stand-in for the model that counts calls without answering them."""

    def __init__(self, settings: LlmSettings) -> None:
        self.planned_calls: dict[str, list[PlannedStage]] = {}
        self._about: dict[str, list[str]] = {}
        self._settings = settings
        self._lock = threading.Lock()
        self._scale = 1.0
        self._with_code = 0

    def expect(self, found: int, techniques: int) -> None:
        """Sets the ratio of expected to found techniques, which scales the expected number of techniques with code."""
        self._scale = techniques / found if found else 1.0

    def expect_code(self, found: int) -> None:
        """Sets the expected number of techniques with code, based on the number found and the scale."""
        self._with_code = round(_WITH_CODE * found * self._scale)

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
        check: Callable[[A], str | More | None] = accept,  # noqa: ARG002
    ) -> A:
        techniques = about.count(", ") + 1
        answer_tokens = _OUTPUT.get(prompt.name, 1000) * (techniques if prompt.name == "modularize" else 1)
        estimated = estimate(self._settings, prompt, inputs, output_tokens=answer_tokens)
        call = PlannedStage(
            stage=prompt.stage,
            calls=1,
            input_tokens=estimated.input_tokens,
            output_tokens=estimated.output_tokens,
            dollars=estimated.dollars,
        )
        with self._lock:
            earlier = self._about.setdefault(prompt.name, [])
            if prompt.name not in _BATCHED or not any(about in other for other in earlier):
                self.planned_calls.setdefault(prompt.stage, []).append(call)
            earlier.append(about)
        raise AnswerError(f"{prompt.stage}, {about}: not asked")

    def planned(self) -> tuple[PlannedStage, ...]:
        stages = {stage: _sum(stage, calls) for stage, calls in self.planned_calls.items()}
        written = stages.get("modularize")
        if self._with_code:
            size = min(_CODE_PROMPT, written.input_tokens // written.calls if written else _CODE_PROMPT)
            written = self._stage("modularize", self._with_code / _TOGETHER, size, _TOGETHER * _OUTPUT["modularize"])
        if written is not None:
            question, answer = written.input_tokens / written.calls, written.output_tokens / written.calls
            for stage, (calls, share, output_tokens) in _AFTER.items():
                stages[stage] = self._stage(stage, calls * written.calls, share * question, output_tokens)
            stages["modularize"] = self._stage("modularize", round(_WITH_UNUSABLE * written.calls), question, answer)
        return tuple(stages.values())

    def _stage(self, stage: str, calls: float, input_tokens: float, output_tokens: float) -> PlannedStage:
        """Returns the estimate for a stage with this many calls and this many tokens per call."""
        count = math.ceil(calls)
        tokens = round(count * input_tokens), round(count * output_tokens)
        dollars = Prices(self._settings.prices).dollars(model_of(self._settings, "code_model"), tokens[0], 0, tokens[1])
        return PlannedStage(stage=stage, calls=count, input_tokens=tokens[0], output_tokens=tokens[1], dollars=dollars)


def _sum(stage: str, calls: list[PlannedStage]) -> PlannedStage:
    prices = [call.dollars for call in calls]
    return PlannedStage(
        stage=stage,
        calls=len(calls),
        input_tokens=sum(call.input_tokens for call in calls),
        output_tokens=sum(call.output_tokens for call in calls),
        dollars=None if None in prices else sum(p for p in prices if p is not None),
    )
