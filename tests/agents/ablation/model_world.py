"""Runs ablations of a tiny program with `commands.ablate`. Each test sets the model's answers by role."""

import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.llm_endpoint import Answer, ScriptedEndpoint, asked, status
from xkg.agents.ablation.task import Task, read_task
from xkg.commands.ablate import AblateResult, ablate
from xkg.config import EnvironmentSettings, LlmSettings, Settings

TRAIN = """\
import argparse
import json
import random

from parts import smooth


def evaluate(x):
    return abs(x - 1.0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rate", type=float, default=0.1)
    args = parser.parse_args()
    random.seed(args.seed)
    x = 8.0
    for _ in range(20):
        x = x - args.rate * (x - 1.0) + random.gauss(0, 0.0001)
    x = smooth(x)
    with open("out.json", "w") as file:
        json.dump({"test": {"error": evaluate(x)}}, file)


main()
"""
PARTS = """\
def smooth(x):
    return 0.5 * x


def unused(x):
    return x
"""
METRIC = "out.json:test.error:min"
RUN = "python train.py --seed {seed}"

ROLES = {
    "You plan how": "plan",
    "You make a repository's experiment": "fix",
    "You form the hypotheses": "hypotheses",
    "You write ablations": "candidates",
    "You fix an ablation": "mended",
    "You reflect on": "reflection",
    "You write the text": "analysis",
}


def role(body: Mapping[str, Any]) -> str:
    return next(name for start, name in ROLES.items() if body["messages"][0]["content"].startswith(start))


def section(body: Mapping[str, Any], name: str) -> str:
    found = re.search(rf"<<<{name} \w+>>>\n(.*?)\n<<<end {name}", body["messages"][1]["content"], re.S)
    return found[1] if found else ""


def place(path: str, symbol: str, start: int | None = None, end: int | None = None) -> dict[str, Any]:
    return {"path": path, "symbol": symbol, "start_line": start, "end_line": end}


def hypothesis(name: str, *places: dict[str, Any], weight: float = 0.5, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "why": "it may",
        "places": list(places),
        "technique": None,
        "known": [],
        "weight": weight,
    } | more


def replace(file: str, target: str, text: str) -> dict[str, Any]:
    return {"file": file, "kind": "replace", "target": target, "text": text}


def draft(description: str, *edits: dict[str, Any], kind: str = "toggle") -> dict[str, Any]:
    return {"kind": kind, "baseline_value": "a", "value": "b", "description": description, "edits": list(edits)}


SMOOTH_OFF = draft("smoothing off", replace("parts.py", "    return 0.5 * x\n", "    return x\n"))
SMOOTH_HALF = draft(
    "half the smoothing", replace("parts.py", "    return 0.5 * x\n", "    return 0.75 * x\n"), kind="scale"
)
PLAN = {
    "summary": "A walk to a point.",
    "instructions": [
        {
            "part": "training", "folder": "", "command": RUN, "reads": ["train.py"], "writes": ["out.json"],
            "why": "the only script",
        }
    ],
    "metrics": [METRIC],
    "gaps": ["the data of the paper"],
}  # fmt: skip


def usual(body: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the answers of a model that makes no mistakes."""
    name = role(body)
    if name == "candidates":
        smoothing = section(body, "component").startswith("smoothing")
        return {"candidates": [SMOOTH_OFF, SMOOTH_HALF] if smoothing and not section(body, "tried") else []}
    if name == "analysis":
        strong = [
            int(line.partition(".")[0]) for line in section(body, "components").splitlines() if "critical: " in line
        ]
        return {
            "strong": [{"component": n, "text": f"strong {n}"} for n in strong],
            "weak": [{"component": 1, "text": "weak 1"}] if 1 not in strong else [],
            "caveats": ["one data set"],
        }
    return {
        "plan": PLAN,
        "hypotheses": {
            "components": [
                hypothesis("smoothing", place("parts.py", "smooth"), weight=0.9),
                hypothesis("attention", place("attention.py", "attend")),
            ],
            "gaps": [{"name": "a teacher", "why": "not in this code"}],
        },
        "mended": {"possible": False, "why": "it cannot be asked", "edits": []},
        "reflection": {
            "lessons": ["Smoothing off changed the error."],
            "changes": [{"component": 1, "advice": "try half of it", "weight": 0.4}],
        },
        "fix": {"cause": "other", "possible": False, "reason": "nothing helps", "edits": [], "requirements": []},
    }[name]


class World:
    """Contains a repository, a graph's folder and an endpoint. `answers` override those of `usual`, by role."""

    def __init__(self, folder: Path, monkeypatch: Any, files: Mapping[str, str] | None = None) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setattr("xkg.openai_server.FIRST_WAIT", 0.001)
        monkeypatch.setattr("xkg.agents.ablation.rounds.choice.A_ROUND", 1)
        self.folder = folder
        self.repository = folder / "repo"
        self.repository.mkdir()
        for name, text in (files or {"train.py": TRAIN, "parts.py": PARTS}).items():
            (self.repository / name).write_text(text)
        for arguments in (
            ("init", "-q"),
            ("add", "."),
            ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "1"),
        ):
            subprocess.run(["git", *arguments], cwd=self.repository, check=True)
        self.answers: dict[str, Callable[[Mapping[str, Any]], Answer]] = {}
        self.endpoint = ScriptedEndpoint(self._answer)
        self.lines: list[str] = []
        self.run_folder = folder / "run"
        self.llm: dict[str, Any] = {"model": "o4-mini"}

    def _answer(self, body: Mapping[str, Any]) -> Answer:
        own = self.answers.get(role(body))
        return own(body) if own else usual(body)

    def task(self, **more: Any) -> Task:
        flags = {
            "repo": str(self.repository),
            "run": RUN,
            "metrics": [METRIC],
            "budget": 2,
            "seconds": 60,
            "seeds": [0],
        }
        return read_task(None, {**flags, **more}, planned=True)

    @property
    def settings(self) -> Settings:
        llm = LlmSettings(base_url=self.endpoint.url, seconds=20, **self.llm)
        return Settings(kg=self.folder / "kg", llm=llm, environment=EnvironmentSettings(max_mb=0))

    def run(self, notify: Callable[[str], None] | None = None, **more: Any) -> AblateResult:
        return ablate(self.settings, self.task(**more), self.run_folder, 1, notify or self.lines.append)

    def asked(self, name: str) -> list[dict[str, Any]]:
        return [body for body in self.endpoint.requests if role(body) == name]


def once(first: Answer, then: Callable[[Mapping[str, Any]], Answer] = usual) -> Callable[[Mapping[str, Any]], Answer]:
    """Gives one answer to the first request, and calls `then` for all others."""
    left = [first]
    return lambda body: left.pop() if left else then(body)


def refused(body: Mapping[str, Any]) -> Answer:
    return status(400, f"no answer to {asked(body)[:20]}")
