"""Replaces a language model. A test writes the answers, keyed by the name of the prompt."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from xkg.errors import AnswerError
from xkg.llm.client import AnswerType, More, accept
from xkg.llm.prompt import Prompt

A = TypeVar("A", bound=AnswerType)
Scripted = Mapping[str, Any] | Exception | Callable[[Mapping[str, str]], Mapping[str, Any]]


class FakeModel:
    """Replaces the language model and answers from a script. `script` maps a prompt's name to its answers in order,
    each as a mapping, an error to raise, or a function of the inputs; a prompt with one function answers any number of
    times. `requests` records each call: the prompt's name, the technique, the inputs, and either the complaint about
    the last answer, the code that it asked to see, or None. Four answers at most."""

    def __init__(self, script: Mapping[str, Scripted | list[Scripted]]) -> None:
        self.script = {n: deque(a) if isinstance(a, list) else a for n, a in script.items()}
        self.requests: list[tuple[str, str, Mapping[str, str], str | More | None]] = []

    def for_paper(self, _: str) -> "FakeModel":
        return self

    def identity(self, *prompts: Prompt) -> Mapping[str, str]:
        return {prompt.identity: "o4-mini" for prompt in prompts}

    def spent(self, _: str) -> float:
        return 0.5

    def __call__(
        self,
        prompt: Prompt,
        kind: type[A],
        inputs: Mapping[str, str],
        *,
        about: str = "",
        check: Callable[[A], str | More | None] = accept,
    ) -> A:
        prompt.render(inputs)
        assert prompt.output == kind.__name__
        complaint: str | More | None = None
        for _ in range(4):
            scripted = self.script[prompt.name]
            if isinstance(scripted, deque):
                scripted = scripted.popleft()
            if isinstance(scripted, Exception):
                self.requests.append((prompt.name, about, inputs, None))
                raise scripted
            answer = kind.model_validate(scripted(inputs) if callable(scripted) else scripted)
            complaint = check(answer)
            self.requests.append((prompt.name, about, inputs, complaint))
            if complaint is None:
                return answer
        raise AnswerError(f"{prompt.stage}, {about}: {complaint}")
