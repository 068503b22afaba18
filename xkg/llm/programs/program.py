"""Defines the interface for agent programs: questions, start commands and answers."""

import json
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from xkg.llm.endpoint import Reply
from xkg.llm.prices import tokens
from xkg.llm.request import TOO_LONG, Message, with_schema


@dataclass(frozen=True)
class Asked:
    """A question for an agent program. `system` is xkg's own text, and `prompt` contains the turns of the conversation.
    An empty `model` means the program's default. `folder` is for files that belong to this question, and `variables` is
    the inherited environment. `search` allows web searches, the only tool that may be available."""

    model: str
    system: str
    prompt: str
    schema: Mapping[str, Any]
    folder: Path
    variables: Mapping[str, str]
    search: bool = False

    @property
    def prompt_with_schema(self) -> str:
        """Returns the prompt for a program that does not accept a schema."""
        return with_schema(self.prompt, self.schema)

    def failed(self, message: str) -> Reply:
        """Returns the reply if the question is too long. Raises `ProgramError` for any other failure."""
        if TOO_LONG.search(message):
            return Reply("barred", f"the question is too long: {message}", tokens(self.system + self.prompt))
        raise ProgramError(message)


@dataclass(frozen=True)
class Start:
    """A program's arguments and standard input, and variables to add to its environment."""

    arguments: Sequence[str]
    stdin: str
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ran:
    """A finished run: the output and the exit code."""

    output: str
    errors: str
    code: int

    @property
    def complaint(self) -> str:
        """Returns the last line printed, preferably to stderr."""
        lines = [line for line in (self.errors.strip() or self.output.strip()).splitlines() if line.strip()]
        return lines[-1].strip() if lines else "nothing was printed"

    @property
    def events(self) -> list[dict[str, Any]]:
        """Returns the objects in JSON Lines output, skipping all other lines."""
        found = []
        for line in self.output.splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict):
                found.append(event)
        return found


class ProgramError(Exception):
    """Raised when the program returns no answer. The exception message comes from the program."""


class Program(ABC):
    """An agent program. `name` is its name in settings, `title` is its product name, and `executable` is its command.
    `inherits` lists prefixes of environment variables for login and configuration, and `log_in` is the login command.
    `reports_dollars` means that answers include their cost, and `searches` means that the program can search the
    web."""

    name: ClassVar[str]
    title: str
    executable: str
    inherits: ClassVar[tuple[str, ...]]
    log_in: ClassVar[str]
    reports_dollars: ClassVar[bool]
    searches: ClassVar[bool]

    @abstractmethod
    def start(self, asked: Asked) -> Start:
        """Prepares the question's folder, and returns the program's arguments and input. Raises `OSError` if the folder
        is not writable."""

    @abstractmethod
    def read(self, ran: Ran, asked: Asked) -> Reply:
        """Parses the answer in the output. Raises `ProgramError` if there is no answer or the program reports a
        failure."""

    @abstractmethod
    def logged_in(self, variables: Mapping[str, str], /) -> Sequence[str] | bool:
        """Returns whether the user is logged in, or the arguments for a command that exits with 0 if they are."""


def conversation(messages: Sequence[Message]) -> tuple[str, str]:
    """Returns the system message, and the other turns as one text, for programs that accept only a single prompt."""
    system = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
    first, *later = [message for message in messages if message["role"] != "system"]
    turns = [first["content"]]
    for message in later:
        heading = "Your answer was:" if message["role"] == "assistant" else "To that:"
        turns.append(f"{heading}\n\n{message['content']}")
    return system, "\n\n".join(turns)


def count(value: Any) -> int:
    return value if type(value) is int and value >= 0 else 0


def login_file(variables: Mapping[str, str], name: str, folder: str) -> Path:
    """Returns the program's configuration folder. The folder is specified by the environment variable `name` and
    defaults to `folder` in the user's home."""
    return Path(variables[name]) if variables.get(name) else Path(variables.get("HOME") or Path.home()) / folder


def own_settings(names: Collection[str], *paths: Path) -> dict[str, Any]:
    """Returns the user's settings with these names, from the first of the JSON or TOML files that can be read."""
    for path in paths:
        try:
            text = path.read_text("utf-8")
            settings = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
        except (OSError, ValueError):
            continue
        if isinstance(settings, dict):
            return {name: value for name, value in settings.items() if name in names}
    return {}
