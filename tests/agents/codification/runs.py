"""Runs `codify` on a tiny program. Each test supplies the models' answers."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.clock import TurnedClock
from tests.llm_endpoint import Answer, ScriptedEndpoint
from xkg.agents.codification.library import Library
from xkg.agents.codification.parsing import CodeReader
from xkg.agents.codification.prompting.answers import ActionInput, FinalAnswer, PartPlace, Step
from xkg.agents.codification.result import CodificationResult
from xkg.agents.codification.run import codify
from xkg.agents.codification.task import Method, Task
from xkg.agents.workspace.command import Commands
from xkg.agents.workspace.files.edits import FileEdit
from xkg.agents.workspace.files.starter import read_starter
from xkg.agents.workspace.files.workspace import Workspace
from xkg.agents.workspace.related_files import read_related
from xkg.build.parsing.parsers import Parsers
from xkg.config import ImplementSettings, LlmSettings, SandboxSettings
from xkg.llm.client import LanguageModel
from xkg.sandbox.runner import Environment, Limits
from xkg.sandbox.select import runner_for

TRAIN = '''"""Gradient descent on a bowl."""
import argparse

from model import gradient, evaluate

RATE = 0.05


def train(steps):
    x = 10.0
    for _ in range(steps):
        x = x - RATE * gradient(x)
    return x


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=10)
    x = train(parser.parse_args().steps)
    print(f"final loss: {evaluate(x):.6f}")
'''
MODEL = "def gradient(x):\n    return 2 * x\n\n\ndef evaluate(x):\n    return x * x\n"
METHOD = "Heavy ball momentum keeps a velocity v with v <- 0.5 v + gradient, and moves x by the rate times v."
PART = "heavy ball momentum"
MOMENTUM = """def train(steps):
    x, velocity = 10.0, 0.0
    for _ in range(steps):
        velocity = 0.5 * velocity + gradient(x)
        x = x - RATE * velocity
    return x
"""


class NoLibrary(Library):
    """Answers each question with the question itself."""

    def __init__(self) -> None:
        pass

    def search(self, query: str) -> str:
        return f"found for {query}"

    def code(self, identity: str) -> str:
        return f"code of {identity}"

    def context(self, paper: str) -> str:
        return f"context of {paper}"

    def locate(self, text: str, tree: Path) -> str:
        return f"located {text} among {len(list(tree.iterdir()))}"

    def method(self, reference: str) -> Method | None:  # noqa: ARG002
        return None


class AskedForChecks(ScriptedEndpoint):
    """Answers the question that asks for property checks with `checks`, independently of the script. Without `checks`,
    the question is not added to the requests."""

    checks: Sequence[dict[str, str]] = ()

    def next(self, body: dict[str, Any]) -> Answer:
        if "You write checks" not in body["messages"][0]["content"]:
            return super().next(body)
        if not self.checks:
            self.requests.remove(body)
        return {"interface": "", "checks": list(self.checks)}


class World:
    """Contains one graph folder, one starter and one endpoint. `run` starts or resumes its only run, using the sandbox
    class `commands`."""

    def __init__(
        self, folder: Path, endpoint: AskedForChecks, parsers: Parsers, commands: type[Commands] = Commands
    ) -> None:
        self.folder = folder
        self.parsers, self.commands = parsers, commands
        self.endpoint = endpoint
        self.starter = folder / "starter"
        self.starter.mkdir(parents=True)
        (self.starter / "train.py").write_text(TRAIN)
        (self.starter / "model.py").write_text(MODEL)
        self.library: Library = NoLibrary()
        self.events: list[object] = []
        self.llm: dict[str, Any] = {}
        self.packages = Environment(site=None, hash="")
        """The environment with the modules that runs miss."""

    def task(self, **fields: Any) -> Task:
        given = {"method": METHOD, "starter": str(self.starter), "run": "python train.py", "metric": _METRIC}
        return Task.model_validate({**given, **fields})

    def run(
        self, task: Task | None = None, notify: Callable[[object], None] | None = None, **settings: Any
    ) -> CodificationResult:
        asked = task or self.task()
        starter = read_starter(asked.starter, self.folder / "cache")
        packages, limits = Environment(site=None, hash=""), Limits(seconds=60, disk_mb=64)
        llm = LlmSettings(base_url=self.endpoint.url, seconds=20, **{"model": "base", **self.llm})
        with LanguageModel(llm, self.folder / "kg", notify or self.events.append, clock=TurnedClock()) as model:
            return codify(
                asked,
                Method(text=METHOD, source="the test"),
                starter,
                self.run_folder,
                model,
                self.library,
                lambda _: self.commands(runner_for(SandboxSettings()), packages, limits, asked.data),
                CodeReader(self.parsers),
                ImplementSettings(**settings),
                notify or self.events.append,
                read_related(asked.related, starter.files),
                lambda *_: self.packages,
            )

    @property
    def run_folder(self) -> Path:
        return self.folder / "kg" / "runs" / "one"

    @property
    def workspace(self) -> Workspace:
        return Workspace.open(self.run_folder)

    def asked(self, words: str) -> int:
        """Returns the number of requests that contain these words."""
        return sum(any(words in m["content"] for m in body["messages"]) for body in self.endpoint.requests)


_METRIC = r"final loss: ([\d.]+):min"
PLANNER = "You implement a method from a paper in starter code, one action at a time"


def step(action: str, **given: Any) -> dict[str, Any]:
    """Returns a planner's answer."""
    nothing = dict.fromkeys(ActionInput.model_fields)
    chosen = ActionInput.model_validate({**nothing, **given})
    return Step(
        plan_and_status="p",
        thought="t",
        action=action,  # type: ignore[arg-type]
        action_input=chosen,
    ).model_dump(mode="json")


def function(name: str, text: str, file: str = "train.py") -> dict[str, Any]:
    return FileEdit(file=file, kind="function", target=name, text=text).model_dump()


def replace(target: str, text: str, file: str = "train.py") -> dict[str, Any]:
    return FileEdit(file=file, kind="replace", target=target, text=text).model_dump()


def edit(*given: dict[str, Any], reason: str = "Keep a velocity") -> dict[str, Any]:
    return step("edit", edits=list(given), text=reason)


def final(start: int = 9, end: int = 14, file: str = "train.py", **more: Any) -> dict[str, Any]:
    place = PartPlace(part=PART, file=file, start_line=start, end_line=end)
    answer = FinalAnswer(
        summary="done", places=(place,), changed_settings=more.get("changed", ()), answers=more.get("answers", ())
    )
    return step("final_answer", final=answer.model_dump())


def parts() -> dict[str, Any]:
    return {"parts": [PART]}
