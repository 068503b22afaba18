"""Defines the models' answers: the planner's step with its action, and the workers' answers."""

from pathlib import Path
from typing import Literal

from xkg.agents.workspace.files.edits import FileEdit
from xkg.llm.client import AnswerType

PROMPTS = Path(__file__).parent / "prompts"

Action = Literal[
    "list_files", "inspect_lines", "code_diff", "search_techniques", "get_code", "locate", "graph_context", "copy_file",
    "undo_edit", "execute_script", "edit", "final_answer",
]  # fmt: skip


class PartPlace(AnswerType):
    """The place where a sub-part of the method is implemented: lines of a file, 1-based, inclusive."""

    part: str
    file: str
    start_line: int
    end_line: int


class ChangedSetting(AnswerType):
    """A setting of the starter that the method changes; `method_says` is copied from the method's text."""

    name: str
    method_says: str


class DoubtAnswer(AnswerType):
    """The agent's reply to a doubt about its last answer: why the code is still right."""

    about: str
    answer: str


class FinalAnswer(AnswerType):
    summary: str
    places: tuple[PartPlace, ...]
    changed_settings: tuple[ChangedSetting, ...]
    answers: tuple[DoubtAnswer, ...]


class ActionInput(AnswerType):
    """Each action uses some of these fields; the others are null."""

    file: str | None
    to: str | None
    files: tuple[str, ...] | None
    start_line: int | None
    end_line: int | None
    arguments: str | None
    text: str | None
    edits: tuple[FileEdit, ...] | None
    final: FinalAnswer | None


class Step(AnswerType):
    """The planner's answer. Each step restates the plan, with what later steps need from earlier ones."""

    plan_and_status: str
    thought: str
    action: Action
    action_input: ActionInput


class Parts(AnswerType):
    """The sub-parts of a method, in build order."""

    parts: tuple[str, ...]


class Property(AnswerType):
    """A property that every implementation of the method has; `code` is Python that fails if it does not hold."""

    name: str
    says: str
    code: str


class Properties(AnswerType):
    """`interface` lists the modules and functions that the checks import."""

    interface: str
    checks: tuple[Property, ...]
