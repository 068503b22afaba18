"""Runs property checks for the method. A model writes the checks from the method's description alone, before any code
exists. The checks run on the answer in the sandbox."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from xkg.agents.codification.prompting.answers import PROMPTS, Properties, Property
from xkg.agents.codification.session import Session
from xkg.agents.codification.verdict import Doubt
from xkg.agents.workspace.command import cut_middle
from xkg.agents.workspace.files.edits import EditError, FileEdit
from xkg.agents.workspace.files.workspace import Workspace
from xkg.errors import AnswerError
from xkg.llm.prompt import load_prompt
from xkg.value import Value

_MOST_CHECKS, _LONGEST_CODE, _LONGEST_OUTPUT = 5, 4000, 600
_FILE = "xkg_property.py"


class Failed(Value):
    """The checks that failed, with their output."""

    doubts: tuple[Doubt, ...] = ()


def asked_properties(session: Session) -> Properties:
    """Asks a model for the checks once per run, and returns them. Returns no checks if no model returned valid
    Python."""

    def check(answer: Properties) -> str | None:
        names = [each.name.strip().lower() for each in answer.checks]
        if len(names) > _MOST_CHECKS or len(set(names)) < len(names) or "" in names:
            return f"give at most {_MOST_CHECKS} checks, each with a unique name"
        for each in answer.checks:
            if len(each.code) > _LONGEST_CODE:
                return f"{each.name!a} has more than {_LONGEST_CODE} characters"
            try:
                session.reader.applied([FileEdit(file=_FILE, kind="file", target="", text=each.code)], {})
            except EditError as error:
                return f"{each.name!a}: {error}"
        return None

    def ask() -> Properties:
        inputs = {
            "method": session.method.text,
            "pseudocode": session.task.pseudocode,
            "parts": "\n".join(session.parts),
            "files": session.shown(),
        }
        try:
            prompt = load_prompt(PROMPTS / "properties.md")
            return session.questions.ask(prompt, Properties, inputs, about="properties", check=check)
        except AnswerError:
            return Properties(interface="", checks=())

    return session.operations.do("properties", {}, Properties, ask)


def failed_properties(session: Session) -> tuple[Doubt, ...]:
    """Returns the checks that fail on the current files. Each check runs only once for the same files."""
    checks = session.properties.checks
    if not checks:
        return ()

    def find() -> Failed:
        with tempfile.TemporaryDirectory(prefix="xkg-trials-") as folder:
            copy = session.workspace.copied(Path(folder) / "copy")
            return Failed(doubts=tuple(_failed(session, copy, checks)))

    return session.operations.do("checks", {"files": session.digest()}, Failed, find).doubts


def _failed(session: Session, copy: Workspace, checks: tuple[Property, ...]) -> Iterator[Doubt]:
    for each in checks:
        copy.edit({_FILE: each.code}, "check")
        result = session.commands.run(copy, f"python {_FILE}")
        copy.undo()
        if result.problem is not None:
            end = cut_middle(result.output.strip(), _LONGEST_OUTPUT)
            yield Doubt(
                about=each.name.strip(),
                text="the check of this property fails",
                more=f"{result.problem}\n{each.code}\n{end}",
            )
