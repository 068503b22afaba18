"""Asks a language model during a run. Calls are recorded in the ledger, so no answer is paid for twice."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from xkg.llm.client import AnswerType, LanguageModel, Tier
from xkg.llm.prompt import Prompt

A = TypeVar("A", bound=AnswerType)

_TRIES = 3
_INVENTIVE, _CAREFUL = 0.8, 0.2
_INVENTING = frozenset({"hypotheses", "candidates"})


class Questions:
    """The questions in one run. Thread-safe. `run` is the run's name in the ledger."""

    def __init__(self, model: LanguageModel, run: str) -> None:
        self._model = model
        self.run = run

    def ask(
        self,
        prompt: Prompt,
        kind: type[A],
        inputs: Mapping[str, str],
        *,
        about: str,
        check: Callable[[A], str | None] = lambda _: None,
    ) -> A:
        """Returns the model's answer, or the answer in the ledger if the question was asked before. Raises the same
        errors as `LanguageModel`."""
        temperature = _INVENTIVE if prompt.name in _INVENTING else _CAREFUL
        tiers = (Tier(prompt.role, _TRIES), Tier("stronger_model", 1), Tier("expert_model", 1))

        return self._model.ask_cascade(
            self.run, prompt, kind, inputs, tiers, temperature=temperature, about=about, check=check
        ).answer
