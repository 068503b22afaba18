"""The models' answers: the planner's step with its action, and the workers' answers."""

from typing import Literal, get_args

from xkg.agents.workspace.edits import FileEdit
from xkg.llm.client import AnswerType

Understanding = Literal[
    "list_files", "understand_file", "understand_with_context", "inspect_lines", "code_diff",
    "search_techniques", "get_code", "locate", "graph_context",
]  # fmt: skip
Coding = Literal["copy_file", "undo_edit", "execute_script", "edit_script", "edit_with_context"]
Free = Literal["reflection", "check_implementation", "request_expert", "final_answer"]
Action = Literal[Understanding, Coding, Free]

UNDERSTANDING: frozenset[str] = frozenset(get_args(Understanding))
CODING: frozenset[str] = frozenset(get_args(Coding))
GRAPH: frozenset[str] = frozenset(("search_techniques", "get_code", "graph_context"))


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
    """The agent's reply to a doubt about its last answer: why the code is right nevertheless."""

    about: str
    answer: str


class FinalAnswer(AnswerType):
    summary: str
    places: tuple[PartPlace, ...]
    changed_settings: tuple[ChangedSetting, ...]
    answers: tuple[DoubtAnswer, ...]


class ActionInput(AnswerType):
    """Each action uses some of these; the others are null."""

    file: str | None
    to: str | None
    files: tuple[str, ...] | None
    start_line: int | None
    end_line: int | None
    arguments: str | None
    text: str | None
    version: int | None
    final: FinalAnswer | None


class Step(AnswerType):
    """The planner's answer. `last_step_summary` summarises the previous step for the log; it is empty at first."""

    last_step_summary: str
    plan_and_status: str
    thought: str
    action: Action
    action_input: ActionInput


class Edits(AnswerType):
    """`reason` in one sentence, for the commit."""

    reason: str
    edits: tuple[FileEdit, ...]


class Whole(AnswerType):
    """The answer of a single call: all edits, and where the parts are implemented."""

    reason: str
    edits: tuple[FileEdit, ...]
    places: tuple[PartPlace, ...]
    changed_settings: tuple[ChangedSetting, ...]


class Reply(AnswerType):
    """Plain text: a file's purpose, a reflection, an expert's advice, a summary."""

    text: str


class Parts(AnswerType):
    """The sub-parts of a method, in build order."""

    parts: tuple[str, ...]


class Property(AnswerType):
    """A property that every implementation of the method has; `code` is Python that fails if it does not hold."""

    name: str
    says: str
    code: str


class Properties(AnswerType):
    """`interface` are the modules and functions that the checks import."""

    interface: str
    checks: tuple[Property, ...]


class PartState(AnswerType):
    """`file` and lines are null if the part is missing; `problem` is empty if nothing is wrong."""

    part: str
    file: str | None
    start_line: int | None
    end_line: int | None
    problem: str


class Checked(AnswerType):
    parts: tuple[PartState, ...]
