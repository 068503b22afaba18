"""Queries a run's language models in a cascade from the default model to the expert. The ledger records each call, and
no answer is paid for twice."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from xkg.errors import AnswerError
from xkg.llm.client import AnswerType, LanguageModel, Tier
from xkg.llm.prompt import Prompt

A = TypeVar("A", bound=AnswerType)

_TEMPERATURE = 0.2


class Questions:
    """Asks a run's questions, which the ledger lists under the name `run`. The default model is asked up to `tries`
    times, and the stronger model up to `stronger_tries` times. `expert_calls` counts calls to the expert model.
    `most_expert_calls` limits the calls to the expert model (None: no limit). The class is thread-safe if there is no
    limit."""

    def __init__(
        self,
        model: LanguageModel,
        run: str,
        *,
        tries: int = 3,
        stronger_tries: int = 1,
        most_expert_calls: int | None = None,
    ) -> None:
        self.expert_calls = 0
        self._model, self._run = model, run
        self._tries, self._stronger_tries, self._most = tries, stronger_tries, most_expert_calls

    def ask(
        self,
        prompt: Prompt,
        kind: type[A],
        inputs: Mapping[str, str],
        *,
        about: str,
        check: Callable[[A], str | None] = lambda _: None,
        temperature: float = _TEMPERATURE,
    ) -> A:
        """Returns the answer to a prompt. Raises `AnswerError` if no model in the cascade returned a usable answer, and
        the same errors as `LanguageModel`."""
        left = self._most is None or self.expert_calls < self._most
        tiers = [Tier(prompt.role, self._tries), Tier("stronger_model", self._stronger_tries)]
        tiers += [Tier("expert_model", 1)] * left
        try:
            answered = self._model.ask_cascade(
                self._run, prompt, kind, inputs, tiers, temperature=temperature, about=about, check=check
            )
        except AnswerError:
            self.expert_calls += left
            raise
        self.expert_calls += answered.expert_calls
        return answered.answer

    def spent(self) -> float | None:
        return self._model.spent(self._run)
