"""Asks a model for an experiment plan, and checks the plan against the repository. A plan is refused if a path, option
or output does not exist."""

import posixpath
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile
from pathlib import Path
from typing import Literal

from xkg.agents.ablation.task import Task, parse_metric
from xkg.agents.workspace.command import cut_middle
from xkg.agents.workspace.files.starter import is_inside
from xkg.agents.workspace.files.workspace import Workspace
from xkg.agents.workspace.program.metric import plain_text
from xkg.agents.workspace.program.shell_line import Started, started
from xkg.agents.workspace.questions import Questions
from xkg.build.code.settings import is_settings
from xkg.errors import InputError
from xkg.llm.client import AnswerType
from xkg.llm.prompt import load_prompt

Part = Literal["data", "training", "inference", "metrics"]
_PARTS: tuple[Part, ...] = ("data", "training", "inference", "metrics")
_INTERPRETER = re.compile(r"python(?:3(?:\.\d{1,2})?)?|sh|bash")
_BY_NAME = re.compile(r"\b(?:hydra|fire|absl|jsonargparse|simple_parsing|tyro|HfArgumentParser|draccus|typer|click)\b")
_FILE_NAME = re.compile(r"[^\s=]{0,200}\.(?:py|sh|csv|tsv|json|jsonl|ya?ml|toml|npz?|pkl|pt|pth|h5|hdf5|txt|gz|zip)")
_WORDS = re.compile(r"[A-Za-z][A-Za-z_]{2,60}")
_MOST = 6


class Instruction(AnswerType):
    """One program: `command` as typed in `folder` of the repository ('' for the top), with the files and folders that
    it `reads` and `writes`, relative to the top."""

    part: Part
    folder: str
    command: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    why: str


class Plan(AnswerType):
    """A plan. `metrics` are in the form accepted by `parse_metric`, starting with the primary one; `gaps` are things
    that the experiment needs but the repository lacks."""

    summary: str
    instructions: tuple[Instruction, ...]
    metrics: tuple[str, ...]
    gaps: tuple[str, ...]


def objection(
    plan: Plan, texts: Mapping[str, str], paths: Iterable[str], data: Iterable[str], task: Task
) -> str | None:
    """Returns a message that tells the model which parts of a plan do not exist in the repository, or None if all
    exist. `texts` contains the readable files, `paths` contains all files, and `data` contains the paths of mounted
    folders."""
    found = list(_objections(plan, texts, _Tree(paths, data), task))
    more = f"; and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return "; ".join(found[:_MOST]) + more if found else None


def planned_task(task: Task, plan: Plan) -> Task:
    """Returns the task, completed from the plan. Keeps the values that the user set."""
    metrics = task.metrics or plan.metrics
    if task.run:
        return task.model_copy(update={"metrics": metrics})
    by_part: dict[Part, list[str]] = {part: [] for part in _PARTS}
    for instruction in plan.instructions:
        inside = f"(cd {instruction.folder} && {instruction.command})" if instruction.folder else instruction.command
        by_part[instruction.part].append(inside)
    before, (*first, last) = by_part["data"], by_part["training"]
    after = [*by_part["inference"], *by_part["metrics"]]
    return task.model_copy(
        update={
            "setup": " && ".join(filter(None, (task.setup, *before, *first))) or None,
            "run": last,
            "evaluate": " && ".join(filter(None, (*after, task.evaluate))) or None,
            "metrics": metrics,
        }
    )


class _Tree:
    """The paths in the repository, including mounted folders, and the paths that commands write to."""

    def __init__(self, paths: Iterable[str], data: Iterable[str]) -> None:
        self._paths = set(paths)
        self._folders = {"", "."}
        for path in self._paths:
            while path := path.rpartition("/")[0]:
                self._folders.add(path)
        self._data = [name.strip("/") for name in data]
        self._written: set[str] = set()

    def __contains__(self, path: object) -> bool:
        return path in self._paths or path in self._written or self._is_data(str(path))

    def has(self, path: str) -> bool:
        return path in self or path in self._folders or any(w.startswith(f"{path}/") for w in self._written)

    def has_folder(self, path: str) -> bool:
        return path in self._folders or self._is_data(path)

    def may_write(self, path: str) -> bool:
        """Returns whether commands may create a file at this path. The path must be in the repository, but not in
        mounted data."""
        return is_inside(path) and not self._is_data(path)

    def write(self, path: str) -> None:
        self._written.add(path)

    def near(self, path: str) -> str:
        name = path.rpartition("/")[2]
        alike = sorted(other for other in self._paths if other.rpartition("/")[2] == name)
        return f" (there is {', '.join(alike[:3])})" if alike else ""

    def _is_data(self, path: str) -> bool:
        return any(path == name or path.startswith(f"{name}/") for name in self._data)


def _objections(plan: Plan, texts: Mapping[str, str], tree: _Tree, task: Task) -> Iterator[str]:
    if not task.run and not any(i.part == "training" for i in plan.instructions):
        yield "no instruction is the training"
    source = {path: text for path, text in texts.items() if path.endswith((".py", ".sh"))}
    for number, instruction in enumerate(plan.instructions, 1):
        for fault in _faults(instruction, source, texts, tree):
            yield f"instruction {number} ({instruction.command[:80]}): {fault}"
        for path in instruction.writes:
            tree.write(_normal("", path))
    if not (task.metrics or plan.metrics):
        yield "no metric is specified"
    for text in () if task.metrics else plan.metrics:
        yield from _metric_faults(text, tree, source)


def _faults(
    instruction: Instruction, source: Mapping[str, str], texts: Mapping[str, str], tree: _Tree
) -> Iterator[str]:
    folder = instruction.folder.strip("/")
    if folder and (not is_inside(folder) or not tree.has_folder(folder) or not re.fullmatch(r"[\w./-]{1,200}", folder)):
        yield f"there is no folder {folder!a}"
        return
    try:
        programs = started(instruction.command)
    except InputError as error:
        yield str(error)
        return
    if len(programs) > 1 or programs[0].folder or {"<", ">"} & set(instruction.command):
        yield "a command must be a single program, without pipes, redirections or cd"
        return
    words, rest = programs[0].words, programs[0].words[1:]
    for path in instruction.reads:
        if not tree.has(_normal("", path)):
            yield f"it reads {path}, which does not exist{tree.near(path)}"
    for path in instruction.writes:
        if not tree.may_write(_normal("", path)):
            yield f"it writes {path}, which is outside the repository or under read-only data"
    named = words[:1]
    if _INTERPRETER.fullmatch(words[0]):
        rest = tuple(dropwhile(lambda word: word.startswith("-") and word not in ("-m", "-c"), rest))
        named = rest[: 2 if rest[:1] == ("-m",) else 1]
        rest = rest[len(named) :]
    script = Started(folder, named).script(tree)
    if script is None and named[:1] == ("-m",) and named[-1].partition(".")[0] in sys.stdlib_module_names:
        # these are options of a module in the standard library
        rest = tuple(word for word in rest if not word.startswith("-"))
    elif script is None:
        yield f"it does not start a file in the repository, but {' '.join(named)}{tree.near(' '.join(named))}"
    writes = {_normal("", path) for path in instruction.writes}
    yield from _word_faults(rest, folder, script, source, texts, tree, writes)


def _word_faults(
    words: Sequence[str],
    folder: str,
    script: str | None,
    source: Mapping[str, str],
    texts: Mapping[str, str],
    tree: _Tree,
    writes: set[str],
) -> Iterator[str]:
    for word in words:
        option, equals, value = word.partition("=")
        if option.startswith("-") and not re.fullmatch(r"-[\d.].*", option):
            if not _has_option(option, source, script):
                yield f"no code in the repository accepts the option {option}"
            word = value if equals else ""
        elif equals and re.fullmatch(r"[+~]{0,2}[\w.@/-]{1,100}", option):
            last = re.split(r"[./@]", option)[-1].lstrip("+~")
            if not any(re.search(rf"\b{re.escape(last)}\b", text) for text in texts.values()):
                yield f"no configuration or code has {option}"
            word = value
        if "{seed}" in word or not word:
            continue
        if _FILE_NAME.fullmatch(word) or ("/" in word and not re.match(r"[a-z]+://", word)):
            path = _normal(folder, word)
            below = any(written == path or written.startswith(f"{path}/") for written in writes)
            if not is_inside(path):
                yield f"{word} is outside the repository"
            elif not (tree.has(path) or below):
                yield f"{word} does not exist, and no instruction writes it{tree.near(path)}"


def _has_option(option: str, source: Mapping[str, str], script: str | None) -> bool:
    literal = re.compile(rf"[\"'\s(|]{re.escape(option)}(?![\w-])")
    if any(literal.search(text) for text in source.values()):
        return True
    text = source.get(script or "", "")
    name = option.lstrip("-").removeprefix("no-").replace("-", "_")
    return bool(_BY_NAME.search(text)) and any(re.search(rf"\b{re.escape(name)}\b", t) for t in source.values())


def _metric_faults(text: str, tree: _Tree, source: Mapping[str, str]) -> Iterator[str]:
    try:
        metric = parse_metric(text)
    except InputError as error:
        yield str(error)
        return
    if metric.path is not None:
        if _normal("", metric.path) not in tree:
            yield f"the metric is in {metric.path}, which no instruction writes"
        return
    words = max(_WORDS.findall(plain_text(metric.key)), key=len, default="")
    if words and not any(words.casefold() in code.casefold() for code in source.values()):
        yield f"the metric's pattern has {words!a}, which no code in the repository prints"


def _normal(folder: str, path: str) -> str:
    normal = posixpath.normpath(posixpath.join(folder, path)) if path else folder
    return "" if normal == "." else normal


PROMPTS = Path(__file__).parent / "prompts"
_README, _CODE, _FILE = 12_000, 80_000, 20_000


def asked_plan(questions: Questions, task: Task, workspace: Workspace, texts: Mapping[str, str]) -> Plan:
    """Returns an experiment plan. Raises `AnswerError` if no answer matches the repository, and the same errors as
    `Questions.ask`."""
    inputs = {
        "files": "\n".join(workspace.listing()),
        "readme": cut_middle(readme(texts), _README),
        "code": code(texts, _CODE),
        "given": given(task),
    }

    def check(answer: Plan) -> str | None:
        return objection(answer, texts, workspace.files, task.data, task)

    return questions.ask(load_prompt(PROMPTS / "plan.md"), Plan, inputs, about="plan", check=check)


def readme(texts: Mapping[str, str]) -> str:
    """Returns the README nearest to the top folder, or '' if there is none."""
    found = [path for path in texts if path.rpartition("/")[2].casefold().startswith("readme")]
    return texts[min(found, key=lambda path: (path.count("/"), path))] if found else ""


def code(texts: Mapping[str, str], characters: int) -> str:
    """Returns scripts, programs and configuration for a prompt. Entry points come first, then files near the top
    folder."""
    wanted = [path for path in texts if path.endswith((".py", ".sh")) or is_settings(path, len(texts[path]))]

    def rank(path: str) -> tuple[bool, bool, int, str]:
        starts = "__main__" in texts[path] or "argparse" in texts[path] or path.endswith(".sh")
        tests = any(part.startswith("test") for part in path.split("/")[:-1])
        return (tests, not starts, path.count("/"), path)

    blocks = []
    for path in sorted(wanted, key=rank):
        text = cut_middle(texts[path], _FILE)
        if characters < len(text):
            continue
        characters -= len(text)
        blocks.append(f"## {path}\n{text}")
    return "\n\n".join(blocks) or "(none)"


def given(task: Task) -> str:
    """Lists the settings that the user specified, one per line."""
    lines = [
        ("run", task.run),
        ("set-up", task.setup),
        ("evaluation", task.evaluate),
        *(("metric", m) for m in task.metrics),
    ]
    decided = [f"{name}: {value}" for name, value in lines if value]
    decided += [f"read-only data at {name}: {', '.join(_inside(place))}" for name, place in task.data.items()]
    return "\n".join(decided)


def _inside(folder: Path) -> list[str]:
    try:
        names = sorted(path.name for path in folder.expanduser().iterdir())
    except OSError:
        return ["a file"]
    return [*names[:20], *(["…"] if len(names) > 20 else [])] or ["(empty)"]
