"""The language model behind one door: a prompt and its inputs in, a validated object out."""

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

from xkg.llm_prompt import Prompt


class AnswerType(BaseModel):
    """Base of all answers. Every field is required, as structured output wants it; what may be absent is `None` or
    empty."""

    model_config = ConfigDict(frozen=True, extra="forbid")


A = TypeVar("A", bound=AnswerType)


def accept(_: AnswerType) -> str | None:
    """Holds nothing against an answer of the right type."""
    return None


class Ask(Protocol):
    """Asks a language model for one paper.

    `about` names what the question is about (a technique's name), for the ledger and for messages. `check` says what is
    wrong with an answer of the right type, in words for the model, or None; what is wrong is asked again.

    Raises `AnswerError` where no attempt gave an answer that can be used, `ModelUnavailableError` and `BudgetError`
    where no further question makes sense. Safe to call from several threads.
    """

    def __call__(
        self,
        prompt: Prompt,
        kind: type[A],
        inputs: Mapping[str, str],
        *,
        about: str = "",
        check: Callable[[A], str | None] = accept,
    ) -> A: ...
