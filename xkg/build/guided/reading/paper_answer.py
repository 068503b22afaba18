"""The one format of the answers to all questions about a paper.

Endpoints that cache the beginning of a question include the answer's schema in it. With one schema per question, the
paper would be billed again each time."""

from typing import Literal

from xkg.llm.client import AnswerType


class Component(AnswerType):
    name: str
    type: Literal["methodology", "technique", "finding", "resource"]
    parent: str | None
    aliases: list[str]
    definition: str
    passages: list[int]

    @property
    def is_technique(self) -> bool:
        return self.type in ("methodology", "technique")


class Definition(AnswerType):
    technique: int
    text: str
    passages: list[int]


class Missing(AnswerType):
    verdict: Literal["technique", "part", "outside"]
    of: int
    name: str
    text: str
    passages: list[int]
    code: list[int]


class PaperAnswer(AnswerType):
    components: tuple[Component, ...] = ()
    definitions: tuple[Definition, ...] = ()
    missing: tuple[Missing, ...] = ()
    subfield: str = ""
