"""Kills a build at any moment. The build must resume, repeat only questions that were in progress, and end with the
same result."""

import json
import os
import random
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.llm_endpoint import Answer, ScriptedEndpoint
from tests.timeless import timeless
from tests.tiny_world import ID, answers, settings_for, written_to
from xkg.commands.graph.open import open_store
from xkg.model import PaperBundle


class Builds:
    """Runs builds of one graph, each in a separate process."""

    def __init__(self, folder: Path, endpoint: ScriptedEndpoint, driver: "subprocess.Popen[str]") -> None:
        self.kg = folder / "kg"
        self.endpoint = endpoint
        self._driver = driver

    def __call__(self, how: str) -> str:
        """Returns the result of one build. `how` is a command of `tests.killed_build`."""
        assert self._driver.stdin is not None
        assert self._driver.stdout is not None
        self._driver.stdin.write(f"{how}\n")
        self._driver.stdin.flush()
        return self._driver.stdout.readline().strip()

    def bundle(self) -> PaperBundle:
        """Returns the published bundle without values that differ from run to run."""
        settings = settings_for(self.kg, self.endpoint.url)
        with open_store(settings) as store, store.snapshot() as snapshot:
            return timeless(snapshot.bundle(ID))

    def questions(self) -> Counter[str]:
        """Counts how often the endpoint received each question."""
        return Counter(json.dumps([body["model"], body["messages"]]) for body in self.endpoint.requests)

    def rows(self, condition: str) -> list[Any]:
        with closing(sqlite3.connect(self.kg / "llm.sqlite")) as db:
            return db.execute(f"SELECT answer, COUNT(*) FROM calls WHERE {condition} GROUP BY 1").fetchall()


@contextmanager
def builds(folder: Path, jobs: int, pause: float = 0.0, embeddings: bytes | None = None) -> Iterator[Builds]:
    world, kg, usual = written_to(folder), folder / "kg", answers()

    def answer(body: dict[str, Any]) -> Answer:
        time.sleep(pause)
        return usual(body)

    if embeddings is not None:
        kg.mkdir()
        (kg / "embeddings.sqlite").write_bytes(embeddings)
    with ScriptedEndpoint(answer) as endpoint:
        command = [sys.executable, "-m", "tests.killed_build", kg, world.paper, world.repository, endpoint.url, jobs]
        environment = {**os.environ, "XKG_LLM_KEY": "key"}
        with subprocess.Popen(
            [*map(str, command)], cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as driver:
            assert driver.stdin is not None
            yield Builds(folder, endpoint, driver)
            driver.stdin.close()
            driver.wait(60)


Undisturbed = tuple[PaperBundle, Counter[str], bytes]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """Returns the bundle of an uninterrupted build, its questions, and the embeddings of its texts."""
    with builds(tmp_path_factory.mktemp("undisturbed"), 1) as build:
        assert build("never") == "ended 0"
        return build.bundle(), build.questions(), (build.kg / "embeddings.sqlite").read_bytes()


@pytest.mark.product("a kill of a whole build; tests/build/test_pipeline.py has one of a stage", every=True)
@pytest.mark.parametrize("every", [6, pytest.param(4, marks=pytest.mark.product("other events"))])
def test_a_build_killed_at_its_events_repeats_no_question(tmp_path: Path, undisturbed: Undisturbed, every: int) -> None:
    bundle, questions, embeddings = undisturbed
    with builds(tmp_path, 1, embeddings=embeddings) as build:
        kills = 0
        while (outcome := build(f"events {every}")) == "killed":
            kills += 1
        assert outcome == "ended 0"
        stages = ["parse", "fetch", "symbols", "extract", "ground", "code", "prune"]
        events = (build.kg / "events").read_text().splitlines()
        assert [event for event in events if event.startswith("stage")] == [f"stage {name}" for name in stages]
        assert [event for event in events if event.startswith("progress")] == [f"progress {n}" for n in (1, 2, 3)]
        assert len(events) == 10 + len(questions)
        assert kills == len(events) // every
        assert build.bundle() == bundle
        # One technique may report its end while another is asking a question. At all other events, no question is in
        # progress.
        beside_others = sum(event.startswith("progress") for event in events[every - 1 :: every])
        asked, cut_off = build.questions(), sum(count for _, count in build.rows("outcome = 'open'"))
        assert cut_off <= beside_others
        assert set(asked) == set(questions)
        assert asked.total() <= len(questions) + cut_off


@pytest.mark.product("a kill of a whole build; tests/build/test_pipeline.py has one of a stage", every=True)
def test_a_build_killed_at_any_moment_repeats_only_open_questions(tmp_path: Path, undisturbed: Undisturbed) -> None:
    bundle, questions, embeddings = undisturbed
    jobs, most, chance = 4, 3, random.Random(3)
    with builds(tmp_path, jobs, pause=0.04, embeddings=embeddings) as build:
        kills = 0
        while kills < most and build(f"after {chance.uniform(0.1, 0.8):.3f}") == "killed":
            kills += 1
        assert kills
        assert build("never") == "ended 0"
        assert build.bundle() == bundle
        repeated = build.questions()
        assert set(repeated) == set(questions)
        cut_off = sum(count for _, count in build.rows("outcome = 'open'"))
        assert cut_off <= kills * jobs
        assert repeated.total() <= len(questions) + cut_off
        assert all(count == 1 for _, count in build.rows("outcome IN ('ok', 'invalid')"))
