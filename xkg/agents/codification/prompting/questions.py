"""Asks the models in a run: a cascade from the default model to the expert, each with its own temperature."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

from xkg.config import ImplementSettings
from xkg.errors import AnswerError
from xkg.llm.client import AnswerType, LanguageModel, Tier
from xkg.llm.endless_text import endless
from xkg.llm.prompt import Prompt, load_prompt

A = TypeVar("A", bound=AnswerType)

_STRONGER_TRIES = 4
_PLANNING, _WORKING = 0.8, 0.2
"""Temperatures for the planner and for all other roles."""


class Questions:
    """The questions in one run. `expert_calls` counts the calls to the expert model, which are limited."""

    def __init__(self, model: LanguageModel, run: str, settings: ImplementSettings) -> None:
        self.expert_calls = 0
        self._model = model
        self._run = run
        self._settings = settings

    @property
    def expert_calls_left(self) -> int:
        return max(0, self._settings.expert_calls - self.expert_calls)

    def ask(
        self,
        name: str,
        kind: type[A],
        inputs: Mapping[str, str],
        *,
        about: str,
        check: Callable[[A], str | None] = lambda _: None,
    ) -> A:
        """The answer to a prompt. Raises `AnswerError` if no model in the cascade gave a usable answer, and the errors
        of `LanguageModel`."""
        settings = self._settings
        asked = prompt(name)
        left = self.expert_calls_left
        tiers = [Tier("expert_model", 1)] if left else []
        if asked.role != "expert_model":
            tiers = [Tier(asked.role, settings.tries), Tier("stronger_model", _STRONGER_TRIES), *tiers]
        elif not left:
            raise AnswerError(f"the expert was asked {settings.expert_calls} times, the limit of a run")
        temperature = _PLANNING if name == "plan" else _WORKING

        def whole(answer: A) -> str | None:
            return endless(answer) or check(answer)

        try:
            answered = self._model.ask_cascade(
                self._run, asked, kind, inputs, tiers, temperature=temperature, about=about, check=whole
            )
        except AnswerError:
            self.expert_calls += bool(left)
            raise
        self.expert_calls += answered.expert_calls
        return answered.answer

    def spent(self) -> float | None:
        return self._model.spent(self._run)


@cache
def prompt(name: str) -> Prompt:
    return load_prompt(Path(__file__).parent / "prompts" / f"{name}.md")
