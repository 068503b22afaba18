"""Asks a language model during a run. Each question is a node in the run's operation graph, and each call is in the
ledger."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

from xkg.agents.ablation.running.operations import Operations
from xkg.llm.client import AnswerType, LanguageModel, Tier
from xkg.llm.endless_text import endless
from xkg.llm.prompt import Prompt, load_prompt

A = TypeVar("A", bound=AnswerType)

_TRIES = 3
_INVENTIVE, _CAREFUL = 0.8, 0.2
_INVENTING = frozenset({"hypotheses", "candidates"})


class Questions:
    """The questions of one run. Safe to use from several threads. `run` is the run's name in the ledger."""

    def __init__(self, model: LanguageModel, run: str, operations: Operations) -> None:
        self._model = model
        self.run = run
        self._operations = operations

    def ask(
        self,
        prompt: Prompt,
        kind: type[A],
        inputs: Mapping[str, str],
        *,
        about: str,
        check: Callable[[A], str | None] = lambda _: None,
    ) -> A:
        """Returns the answer, from the node's file if the question was asked before. Raises the errors of
        `LanguageModel`."""
        temperature = _INVENTIVE if prompt.name in _INVENTING else _CAREFUL
        tiers = (Tier(prompt.role, _TRIES), Tier("stronger_model", 1), Tier("expert_model", 1))

        def whole(answer: A) -> str | None:
            return endless(answer) or check(answer)

        def work() -> A:
            asked = self._model.ask_cascade(
                self.run, prompt, kind, inputs, tiers, temperature=temperature, about=about, check=whole
            )
            return asked.answer

        key = {"prompt": self._model.identity(prompt), "inputs": dict(inputs)}
        return self._operations.do(f"ask-{prompt.name}", key, kind, work)


@cache
def prompt_of(folder: Path, name: str) -> Prompt:
    """Loads the prompt with this name from the `prompts` folder next to a module."""
    return load_prompt(folder / "prompts" / f"{name}.md")
