"""Asks a model for an experiment plan and checks the answer against the repository."""

from collections.abc import Mapping
from pathlib import Path

from xkg.agents.ablation.questions import Questions
from xkg.agents.ablation.reproduction.plan import Plan, objection
from xkg.agents.ablation.task import Task
from xkg.agents.workspace.command import cut_middle
from xkg.agents.workspace.workspace import Workspace
from xkg.build.code.settings import is_settings
from xkg.llm.prompt import load_prompt

PROMPTS = Path(__file__).parent / "prompts"
_README, _CODE, _FILE = 12_000, 80_000, 20_000


def plan(questions: Questions, task: Task, workspace: Workspace, texts: Mapping[str, str]) -> Plan:
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
    """The README nearest to the top folder; '' if there is no README."""
    found = [path for path in texts if path.rpartition("/")[2].casefold().startswith("readme")]
    return texts[min(found, key=lambda path: (path.count("/"), path))] if found else ""


def code(texts: Mapping[str, str], characters: int) -> str:
    """Returns scripts, programs and configuration for a prompt: entry points first, then files near the top."""
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
    """Lists the user's settings, one per line."""
    lines = [
        ("run", task.run),
        ("set-up", task.setup),
        ("evaluation", task.evaluate),
        *(("metric", m) for m in task.metrics),
    ]
    decided = [f"{name}: {value}" for name, value in lines if value]
    decided += [f"data, for reading, at {name}: {', '.join(_inside(place))}" for name, place in task.data.items()]
    return "\n".join(decided)


def _inside(folder: Path) -> list[str]:
    """A few file names from a data folder."""
    try:
        names = sorted(path.name for path in folder.expanduser().iterdir())
    except OSError:
        return ["a file"]
    return [*names[:20], *(["…"] if len(names) > 20 else [])] or ["(empty)"]
