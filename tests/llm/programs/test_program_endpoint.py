"""Tests the use of a command as the language model, and the limits that apply to the command."""

import json
import os
import sys
import threading
import time
from pathlib import Path

import pytest

from xkg.config import LlmSettings
from xkg.errors import ConfigError, ModelUnavailableError
from xkg.llm.client import AnswerType, LanguageModel
from xkg.llm.endpoint import Reply, Request
from xkg.llm.programs import program_endpoint
from xkg.llm.programs.known import program_of
from xkg.llm.programs.program_endpoint import ProgramEndpoint
from xkg.llm.prompt import Prompt
from xkg.operating_system import runs

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
REQUEST = Request("m", [{"role": "system", "content": "You name."}, {"role": "user", "content": "Which?"}], SCHEMA)


class Named(AnswerType):
    name: str


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def endpoint(tmp_path: Path, script: str, seconds: float = 20) -> ProgramEndpoint:
    (tmp_path / "answer.py").write_text(script)
    known = program_of(f"command:{sys.executable} {tmp_path / 'answer.py'}")
    assert known is not None
    return ProgramEndpoint(*known, seconds=seconds)


def answered(tmp_path: Path, script: str, seconds: float = 20) -> Reply:
    return endpoint(tmp_path, script, seconds).complete(REQUEST)


def test_it_gets_the_prompt_on_stdin_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "XKG_LLM_KEY", "ANTHROPIC_API_KEY", "GITHUB_TOKEN", "NEO4J_PASSWORD"):
        monkeypatch.setenv(name, "sk-never-to-be-seen")
    script = (
        "import os, sys, json; print(json.dumps([sys.stdin.read(), dict(os.environ), os.listdir('.'), os.getcwd()]))"
    )
    prompt, environment, files, folder = json.loads(answered(tmp_path, script).text)
    assert prompt.startswith("You name.\n\nWhich?\n\n")
    assert json.dumps(SCHEMA) in prompt
    assert files == []
    assert not Path(folder).exists(), "the folder goes when the program has ended"
    assert "sk-never-to-be-seen" not in environment.values()
    assert environment["HOME"] == os.environ["HOME"]


def test_a_program_that_takes_too_long_is_killed_with_what_it_started(tmp_path: Path) -> None:
    script = f"""
import os, pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
pathlib.Path({str(tmp_path / "child")!r}).write_text(str(child.pid))
time.sleep(60)
"""
    reply = answered(tmp_path, script, seconds=2)
    assert (reply.ending, reply.text) == ("late", "no answer within 2 s")
    child = int((tmp_path / "child").read_text())
    until = time.monotonic() + 60
    while runs(child) and Path(f"/proc/{child}/status").read_text().find("zombie") < 0 and time.monotonic() < until:
        time.sleep(0.01)
    assert time.monotonic() < until


def test_output_without_end_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_endpoint, "_MOST_BYTES", 100_000)
    reply = answered(tmp_path, "while True: print('x' * 10_000)")
    assert reply.ending == "cut"
    assert len(reply.text) < 1000


def test_closing_ends_a_program_under_way(tmp_path: Path) -> None:
    reached = endpoint(tmp_path, "import time; time.sleep(60)")
    threading.Timer(0.3, reached.close).start()
    with pytest.raises(ModelUnavailableError, match="closed"):
        reached.complete(REQUEST)
    with pytest.raises(ModelUnavailableError, match="closed"):
        reached.complete(REQUEST)


def test_a_program_that_fails_or_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match=r"returned no answer \(exit status 3: no such key\)"):
        answered(tmp_path, "import sys; print('no such key', file=sys.stderr); sys.exit(3)")
    known = program_of("command:no-such-program-anywhere")
    assert known is not None
    with pytest.raises(ModelUnavailableError, match="is not installed: no no-such-program-anywhere in PATH"):
        ProgramEndpoint(*known, seconds=1)
    with pytest.raises(ConfigError, match="close its quotes"):
        program_of("command:python 'answer.py")
    with pytest.raises(ConfigError, match="contains no command"):
        program_of("command:")


def test_a_wrong_answer_is_asked_for_again_and_no_answer_twice(tmp_path: Path) -> None:
    (tmp_path / "answer.py").write_text(
        "import sys\nprint('{\"name\": \"b\"}' if 'Your answer was:' in sys.stdin.read() else '{\"name\": 7}')\n"
    )
    settings = LlmSettings(model=f"command:{sys.executable} {tmp_path / 'answer.py'}", max_cost=None)
    prompt = Prompt("p", "stage", "model", ("x",), "Named", 1, "Name it.", "{{x}}")
    calls: list[tuple[str, bool]] = []
    with LanguageModel(settings, tmp_path, lambda call: calls.append((call.model, call.cached))) as model:
        ask = model.for_paper("arxiv:1")
        assert [ask(prompt, Named, {"x": "data"}).name for _ in range(2)] == ["b", "b"]
    assert [cached for _, cached in calls] == [False, False, True, True]
    assert {model for model, _ in calls} == {settings.model}


def test_a_file_of_settings_names_no_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from xkg.config import load

    monkeypatch.chdir(tmp_path)
    Path("xkg.yaml").write_text("llm: {code_model: 'command:touch stolen'}\n")
    with pytest.raises(ConfigError, match=r"llm\.code_model.*a file cannot set a command"):
        load()
