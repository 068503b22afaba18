"""Defines the model's answers to two questions about several techniques: first the modules, then a review of the
modules.

Both questions share their answer type and opening text, because endpoints charge less for a known prefix, which
includes the answer format. Answer types have no docstrings, because docstrings would be sent with every question. The
prompts already explain the fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from xkg.build.guided.lookup import Asking
from xkg.llm.client import AnswerType

Origin = Literal["lines", "differs", "definition", "argument", "nowhere", "none"]


# Describes how a module implements one statement in the definition, or part of a statement.
class Planned(AnswerType):
    statement: int
    origin: Origin
    note: str


class Module(AnswerType):
    technique: int
    declined: str | None
    statements: tuple[Planned, ...]
    implementation: str
    test: str
    documentation: str


class FaultFound(AnswerType):
    kind: Literal["missing", "foreign", "beyond", "unrelated"]
    remark: str


# States whether the definition, the source lines and the module agree on one statement in the definition.
class Compared(AnswerType):
    statement: int
    verdict: Literal["same", "differs", "added", "absent", "elsewhere", "narrower", "wrong"]
    remark: str


# Compares each statement in the definition with the code, then lists any other faults.
class Verdict(AnswerType):
    technique: int
    compared: str
    statements: tuple[Compared, ...]
    faults: tuple[FaultFound, ...]


class CodeAnswer(Asking):
    modules: tuple[Module, ...] = ()
    verdicts: tuple[Verdict, ...] = ()


@dataclass(frozen=True)
class Shared:
    """The inputs that both questions start with. `numbers` maps technique ids to the numbers in these inputs."""

    inputs: Mapping[str, str]
    numbers: Mapping[str, int]

    @staticmethod
    def of(code: str, remarks: Sequence[str], components: str, techniques: Sequence[tuple[str, str]]) -> "Shared":
        """Returns the inputs for these techniques, given as pairs of id and description."""
        texts = [f"## {n}. {text}" for n, (_, text) in enumerate(techniques, start=1)]
        inputs = {
            "code": code,
            "remarks": "\n".join(f"- {remark}" for remark in remarks),
            "components": components,
            "techniques": "\n\n".join(texts),
        }
        return Shared(inputs, {identity: n for n, (identity, _) in enumerate(techniques, start=1)})
