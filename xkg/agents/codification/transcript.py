"""Exports a run's steps as JSON lines, or as an Inspect log for `inspect view`.

Exports contain the finished steps, even for runs that are in progress or were killed."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from xkg.agents.codification.prompting.memory import Taken, thoughts
from xkg.agents.codification.result import CodificationResult
from xkg.agents.codification.task import Task
from xkg.agents.workspace.operations import Operations
from xkg.errors import ConfigError, CorruptStoreError, InputError, install_extra

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog
    from inspect_ai.model import ChatMessage

V = TypeVar("V", Task, CodificationResult)


def steps(folder: Path) -> list[Taken]:
    """Returns the finished steps of the run in `folder`. Raises `InputError` if the folder does not contain a run."""
    if not (folder / "task.json").is_file():
        raise InputError(f"{folder} does not contain a started run")
    operations = Operations(folder)
    found: list[Taken] = []
    while (taken := operations.get("step", {"number": len(found) + 1}, Taken)) is not None:
        found.append(taken)
    return found


def json_lines(folder: Path) -> str:
    """Returns the steps as JSON lines. Each line contains a step with its number, observation and version. Raises the
    same errors as `steps`."""
    return "".join(json.dumps(each.model_dump(mode="json"), ensure_ascii=False) + "\n" for each in steps(folder))


def write_inspect_log(folder: Path, file: Path, models: dict[str, str]) -> None:
    """Writes the run as an Inspect log in `.eval` or `.json` format, depending on the file's suffix. `models` maps
    roles to model names. Raises `InputError` for any other suffix or an existing file, and `ConfigError` if inspect-ai
    is not installed."""
    if file.suffix not in (".eval", ".json"):
        raise InputError(f"{file}: Inspect only reads logs that end with .eval or .json")
    if file.exists():
        raise InputError(f"{file} already exists; choose a different file")
    try:
        from inspect_ai.log import write_eval_log
    except ImportError as error:
        raise ConfigError(f"Inspect logs need inspect-ai; {install_extra('eval')}") from error
    log = _log(folder, models)
    try:
        write_eval_log(log, str(file.absolute()))
    except OSError as error:
        raise InputError(f"{file} cannot be written ({error.strerror or error})") from error


def _log(folder: Path, models: dict[str, str]) -> "EvalLog":
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec
    from inspect_ai.scorer import Score

    taken = steps(folder)
    task = _stored(folder / "task.json", Task)
    result = _stored(folder / "result.json", CodificationResult)
    if task is None:
        raise CorruptStoreError(f"{folder / 'task.json'} cannot be read; run the command again")
    messages = list(_messages(task, taken))
    scores = None
    if result is not None:
        explanation = "\n".join([result.title, *result.faults, result.stopped or ""])
        scores = {"class": Score(value=result.result, explanation=explanation.strip())}
    when = datetime.fromtimestamp((folder / "task.json").stat().st_mtime, UTC).isoformat(timespec="seconds")
    sample = EvalSample(
        id=folder.name,
        epoch=1,
        input=messages[0].text,
        target="",
        messages=messages,
        scores=scores,
        metadata={} if result is None else result.model_dump(mode="json"),
    )
    return EvalLog(
        status="success" if result is not None else "cancelled",
        eval=EvalSpec(
            created=when,
            task="xkg implement",
            task_id=folder.name,
            dataset=EvalDataset(name=task.starter, samples=1, sample_ids=[folder.name]),
            model=models.get("code_model", "unknown"),
            config=EvalConfig(),
            task_args=task.model_dump(mode="json", exclude={"method"}),
            metadata={"models": models},
        ),
        samples=[sample],
    )


def _messages(task: Task, taken: list[Taken]) -> "Iterator[ChatMessage]":
    from inspect_ai.model import ChatMessageAssistant, ChatMessageTool, ChatMessageUser
    from inspect_ai.tool import ToolCall

    asked = f"Implement in {task.starter}, run by `{task.run}`, metric {task.metric}:\n\n{task.method}"
    yield ChatMessageUser(content=asked)
    for each in taken:
        step = each.step
        said = "\n\n".join(f"**{name}**: {text}" for name, text in thoughts(step))
        arguments = step.action_input.model_dump(mode="json", exclude_none=True)
        call = ToolCall(id=f"step-{each.number}", function=step.action, arguments=arguments)
        yield ChatMessageAssistant(content=said, tool_calls=[call])
        yield ChatMessageTool(content=each.observation, tool_call_id=call.id, function=step.action)


def _stored(path: Path, kind: type[V]) -> V | None:
    try:
        return kind.model_validate_json(path.read_bytes())
    except (OSError, ValueError):
        return None
