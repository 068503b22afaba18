"""Asks a run's models, in a cascade from the default model to the expert."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from xkg.config import ImplementSettings
from xkg.errors import AnswerError
from xkg.llm.client import AnswerType, LanguageModel, Tier
from xkg.llm.prompt import load_prompt

A = TypeVar("A", bound=AnswerType)

_PROMPTS = Path(__file__).parent / "prompts"
_STRONGER_TRIES = 4
_TEMPERATURE = 0.2


class Questions:
    """The questions in one run. `expert_calls` counts calls to the expert model, which are limited."""

    def __init__(self, model: LanguageModel, run: str, settings: ImplementSettings) -> None:
        self.expert_calls = 0
        self._model = model
        self._run = run
        self._settings = settings

    def ask(
        self,
        name: str,
        kind: type[A],
        inputs: Mapping[str, str],
        *,
        about: str,
        check: Callable[[A], str | None] = lambda _: None,
    ) -> A:
        """Returns the answer to a prompt. Raises `AnswerError` if no model in the cascade returned a usable answer, and
        the same errors as `LanguageModel`."""
        settings = self._settings
        asked = load_prompt(_PROMPTS / f"{name}.md")
        left = self.expert_calls < settings.expert_calls
        tiers = [Tier(asked.role, settings.tries), Tier("stronger_model", _STRONGER_TRIES)]
        tiers += [Tier("expert_model", 1)] * left
        try:
            answered = self._model.ask_cascade(
                self._run, asked, kind, inputs, tiers, temperature=_TEMPERATURE, about=about, check=check
            )
        except AnswerError:
            self.expert_calls += left
            raise
        self.expert_calls += answered.expert_calls
        return answered.answer

    def spent(self) -> float | None:
        return self._model.spent(self._run)
