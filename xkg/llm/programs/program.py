"""What a program is asked, how it is started, and what it answered."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from xkg.llm.endpoint import TOO_LONG, Reply
from xkg.llm.prices import tokens
from xkg.llm.request import Message, with_schema


@dataclass(frozen=True)
class Asked:
    """A question. `system` is xkg's own text, `prompt` has all turns of the conversation; `model` is empty for the
    program's own choice. `folder` takes files for this one question, and `variables` are those that the program
    inherits. `search`: it may search the web, which is its only tool."""

    model: str
    system: str
    prompt: str
    schema: Mapping[str, Any]
    folder: Path
    variables: Mapping[str, str]
    search: bool = False

    @property
    def prompt_with_schema(self) -> str:
        """For a program that takes no schema."""
        return with_schema(self.prompt, self.schema)


@dataclass(frozen=True)
class Start:
    """The arguments of a program, its standard input, and variables beside those that it inherits."""

    arguments: Sequence[str]
    stdin: str
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ran:
    """A run that ended: what the program printed, and its exit status."""

    output: str
    errors: str
    code: int

    @property
    def complaint(self) -> str:
        """The last line that it printed."""
        lines = [line for line in (self.errors.strip() or self.output.strip()).splitlines() if line.strip()]
        return lines[-1].strip() if lines else "nothing was printed"


class ProgramError(Exception):
    """The program gave no answer; the message is its own."""


class Program(ABC):
    """A program of this machine. `name` is how settings name it, `title` how people do, `executable` its command.
    `inherits` are the beginnings of names of variables that hold its own login and configuration, and `log_in` what a
    user types to log in. `reports_dollars`: its answers say what they cost. `searches`: it has a search of the web that
    it can be started with."""

    name: ClassVar[str]
    title: str
    executable: str
    inherits: ClassVar[tuple[str, ...]]
    log_in: ClassVar[str]
    reports_dollars: ClassVar[bool]
    searches: ClassVar[bool]

    @abstractmethod
    def start(self, asked: Asked) -> Start:
        """Raises `OSError` if the folder cannot be written."""

    @abstractmethod
    def read(self, ran: Ran, asked: Asked) -> Reply:
        """The answer in what it printed. Raises `ProgramError` if it holds none, also for a failure that it reports."""

    @abstractmethod
    def logged_in(self, variables: Mapping[str, str], /) -> Sequence[str] | bool:
        """Whether it has a login, or the arguments with which it exits 0 if it has one."""


def conversation(messages: Sequence[Message]) -> tuple[str, str]:
    """The system message, and the turns after it as one text for programs that take one."""
    system = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
    first, *later = [message for message in messages if message["role"] != "system"]
    turns = [first["content"]]
    for message in later:
        heading = "Your answer was:" if message["role"] == "assistant" else "To that:"
        turns.append(f"{heading}\n\n{message['content']}")
    return system, "\n\n".join(turns)


def events(output: str) -> list[dict[str, Any]]:
    """The JSON objects of an output that has one a line; other lines are left out."""
    found = []
    for line in output.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            found.append(event)
    return found


def failed(message: str, asked: Asked) -> Reply:
    """The reply to a failure of this one question. Raises `ProgramError` for any other."""
    if TOO_LONG.search(message):
        return Reply("barred", f"the question is too long: {message}", tokens(asked.system + asked.prompt))
    raise ProgramError(message)


def count(value: Any) -> int:
    return value if type(value) is int and value >= 0 else 0


def login_file(variables: Mapping[str, str], name: str, folder: str) -> Path:
    """A folder of the program's own: that of the variable `name`, or `folder` in the user's home."""
    return Path(variables[name]) if variables.get(name) else Path(variables.get("HOME") or Path.home()) / folder
