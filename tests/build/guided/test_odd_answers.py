"""Tests answers that must not harm a build, from a real endpoint through every stage to the sandbox."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.llm_endpoint import Answer, Said, ScriptedEndpoint
from tests.store.graphs import FakeHashEmbedder
from tests.tiny_world import (
    CLIPPING,
    DAMP,
    DAMP_TEST,
    DAMPING,
    FILTER,
    Question,
    Scripted,
    answers,
    edits,
    question,
    settings_for,
    sound,
    written,
    written_to,
)
from xkg.build.context import BuildContext, Built
from xkg.build.parsing.parsers import Parsers
from xkg.build.pipeline import build_paper
from xkg.config import SandboxSettings
from xkg.llm.client import LanguageModel
from xkg.model import Evidence, Level
from xkg.sandbox.isolation.bubblewrap import BubblewrapRunner
from xkg.sandbox.select import warmed


class Pipeline:
    """Builds the tiny paper with the given answers. `seconds` is the time limit of a run."""

    seconds = 20.0

    def __init__(self, folder: Path, parsers: Parsers) -> None:
        self._kg, self._parsers = folder / "kg", parsers
        self._world = written_to(folder)
        self._changed: dict[str, Scripted] = {}
        self.endpoint = ScriptedEndpoint(lambda body: answers(**self._changed)(body))

    def __call__(self, **changed: Scripted) -> Built:
        self._changed = {"modularize": sound, **changed}
        settings = settings_for(self._kg, self.endpoint.url).model_copy(
            update={"sandbox": SandboxSettings(seconds=self.seconds, memory_mb=256)}
        )
        with LanguageModel(settings.llm, settings.kg) as model, warmed(BubblewrapRunner()) as runner:
            context = BuildContext(settings, FakeHashEmbedder(), runner, None, model=model, parsers=self._parsers)
            return build_paper(self._world.paper, str(self._world.repository), context)

    def requests(self, prompt: str) -> list[Question]:
        return [request for request in map(question, self.endpoint.requests) if request.prompt == prompt]


@pytest.fixture
def build(tmp_path: Path, parsers: Parsers, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pipeline]:
    monkeypatch.setenv("XKG_LLM_KEY", "a-key-of-mine")
    monkeypatch.setattr("xkg.openai_server.FIRST_WAIT", 0.001)
    made = Pipeline(tmp_path, parsers)
    with made.endpoint:
        yield made


def for_damping(answer: Answer) -> Scripted:
    return lambda q: answer if q.technique == "Exponential damping" else None


def with_test(test: str) -> Scripted:
    """Replaces the test of Damping, and leaves everything else correct."""
    changed = written(DAMP, test)
    return lambda q: changed if q.technique == "Exponential damping" else sound(q)


def last(built: Built, technique: str) -> Evidence:
    code = built.bundle.code_of(technique)
    assert code is not None
    return code.evidence[-1]


def levels(built: Built) -> dict[str, Level]:
    return {code.technique: code.level for code in built.bundle.code}


def hidden(built: Built) -> dict[str, str | None]:
    return {t.id: t.hidden for t in built.bundle.techniques}


NO_MORE = edits("nothing of these two files can be changed so that it runs here")


HEAD = "import os\nimport pathlib\nfrom implementation import damp\n\n"
TAIL = "\nassert damp([4.0, 8.0]) == [4.0, 5.0]\n"


@pytest.mark.product("each misbehaviour × a whole build", every=True)
@pytest.mark.parametrize(
    ("test", "level", "reason"),
    [
        pytest.param(
            "while damp([1.0]):\n    pass\n", "imported", "timeout: the run reached its limit of 2 seconds", id="hangs"
        ),
        pytest.param("for _ in range(1024):\n    print('x' * (1 << 20))\n", "parsed", "output", id="prints 1 GB"),
        pytest.param("held = [bytearray(1 << 24) for _ in range(1024)]\n", "imported", "memory", id="takes 16 GB"),
        pytest.param("for _ in range(30):\n    os.fork()\n", "imported", "", id="forks"),
        pytest.param("pathlib.Path('/usr/xkg-was-here').write_text('x')\n", "imported", "OSError", id="writes outside"),
        pytest.param("os._exit(0)\n", "imported", "exited the process before its test finished", id="exits"),
    ],
)
def test_a_test_that_misbehaves_costs_its_own_level_alone(build: Pipeline, test: str, level: str, reason: str) -> None:
    if test.startswith("while"):
        build.seconds = 2
    built = build(modularize=with_test(HEAD + test + TAIL), repair=for_damping(NO_MORE))
    evidence = last(built, DAMPING)
    assert evidence.level.value == level
    assert reason in (evidence.reason or "")
    assert "cannot be repaired: nothing of these two files" in (evidence.reason or "")
    assert not Path("/usr/xkg-was-here").exists()
    assert built.bundle.paper.state == "complete"
    assert levels(built)[CLIPPING] is levels(built)[FILTER] is Level.FAITHFUL
    assert f"its code is at '{level}', below 'executed': {evidence.reason}" == hidden(built)[DAMPING]


@pytest.mark.product("each odd answer × a whole build")
@pytest.mark.parametrize(
    "odd",
    [
        pytest.param("I cannot help with that.", id="words"),
        pytest.param(Said(None, refusal="No."), id="refusal"),
        pytest.param(Said('{"declined": null, "implem', finish="length"), id="cut"),
        pytest.param(written("import subprocess\n\ndef damp(x):\n    return x\n", DAMP_TEST), id="starts processes"),
        pytest.param(written(DAMP, "from implementation import damp\n"), id="asserts nothing"),
        pytest.param({"declined": None}, id="fields missing"),
    ],
)
def test_an_answer_that_is_none_costs_its_technique_alone(build: Pipeline, odd: Answer) -> None:
    built = build(modularize=lambda q: odd if q.technique == "Exponential damping" else sound(q))
    assert built.bundle.paper.state == "partial"
    assert built.bundle.paper.incomplete[0].startswith(
        "Exponential damping: modularize, Exponential damping: no usable answer after 4 attempts"
    )
    assert (hidden(built)[DAMPING] or "").startswith("its code could not be written: ")
    assert levels(built) == dict.fromkeys((FILTER, CLIPPING), Level.FAITHFUL)


def test_what_the_paper_says_reaches_the_model_as_data_alone(build: Pipeline) -> None:
    build()
    for body in build.endpoint.requests:
        system = body["messages"][0]["content"]
        assert "wagons" not in system
        assert "clip_peaks" not in system
    assert "a-key-of-mine" not in str(build.endpoint.requests)
