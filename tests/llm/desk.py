"""Asks a model at a scripted endpoint, over real HTTP and with the real SDK."""

from pathlib import Path
from typing import Any

import pytest

from tests.clock import TurnedClock
from tests.llm_endpoint import Answer, ScriptedEndpoint
from xkg.config import LlmSettings
from xkg.llm.client import AnswerType, Call, LanguageModel
from xkg.llm.costs import costs
from xkg.llm.prompt import Prompt

PAPER = "arxiv:1608.04471"
GOOD = {"name": "kernel", "lines": [1, 2]}
PROMPT = Prompt("places", "ground", "code_model", ("text",), "Place", 1, "You find code.", "Where is this?\n{{text}}")


class Place(AnswerType):
    name: str
    lines: tuple[int, ...]


class Desk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.endpoint = ScriptedEndpoint()
        self.calls: list[Call] = []

    def open(self, *, patience: float = 20, **settings: Any) -> LanguageModel:
        chosen = LlmSettings(**{"base_url": self.endpoint.url, "seconds": 20, **settings})
        return LanguageModel(chosen, self.folder, self.calls.append, patience=patience, clock=TurnedClock())

    def script(self, *answers: Answer) -> None:
        self.endpoint.answers = list(answers)

    @property
    def asked(self) -> int:
        return len(self.endpoint.requests)


def ask(model: LanguageModel, text: str = "some text", *, paper: str = PAPER, **more: Any) -> Place:
    return model.for_paper(paper)(PROMPT, Place, {"text": text}, about="Kernel", **more)


def answers(desk: Desk, **settings: Any) -> None:
    """Checks that the question finally gets the right answer."""
    with desk.open(**settings) as model:
        assert ask(model).name == "kernel"


def fails(desk: Desk, error: type[Exception], **settings: Any) -> str:
    """Returns the error message, which is one line for every fault of the endpoint."""
    with desk.open(**settings) as model, pytest.raises(error) as caught:
        ask(model)
    line = str(caught.value)
    assert "\n" not in line
    assert line.isprintable()
    return line


def outcomes(desk: Desk) -> tuple[int, int, int]:
    total = costs(desk.folder, LlmSettings()).total
    return total.calls, total.unusable, total.reused
