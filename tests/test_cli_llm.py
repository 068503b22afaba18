"""Runs `xkg build` with a language model, from the command line to a scripted endpoint."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_main import Outcome
from tests.command import run
from tests.llm_endpoint import ScriptedEndpoint, status
from tests.once import once_a_run
from tests.tiny_world import CLIPPING, DAMPING, ID, Scripted, World, answers, question, settings_for, sound, written_to
from xkg.commands import build
from xkg.llm.client import LanguageModel


def unfolded(text: str) -> str:
    """Joins wrapped lines, because output to a pipe is wrapped at 80 columns."""
    return " ".join(text.split())


EXHAUSTED = status(429, "You exceeded your current quota", "insufficient_quota")


class Desk:
    """Contains a graph, the tiny paper and the endpoint. `changed` contains answers that differ from the usual ones."""

    def __init__(self, folder: Path, endpoint: ScriptedEndpoint, capsys: pytest.CaptureFixture[str]) -> None:
        self.kg = folder / "kg"
        self.world: World = written_to(folder)
        self.changed: dict[str, Scripted] = {}
        self.endpoint = endpoint
        self._capsys = capsys

    def __call__(self, *arguments: object) -> Outcome:
        return Outcome(run("--kg", self.kg, *arguments), *self._capsys.readouterr())

    def build(self, *more: object) -> Outcome:
        return self("build", *self.world.arguments, *more)

    @property
    def asked(self) -> list[str]:
        """Returns the prompts of the requests so far."""
        return [question(body).prompt for body in self.endpoint.requests]

    def shown(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self("show", ID, "--json").out)
        return found


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Creates a graph of the tiny paper. Other builds reuse its embeddings and its runs in the sandbox."""
    return once_a_run(tmp_path_factory, "built", _build)


def _build(folder: Path) -> Path:
    world = written_to(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XKG_LLM_KEY", "key")
        with ScriptedEndpoint(answers(modularize=sound)) as endpoint:
            build.build(settings_for(folder / "kg", endpoint.url), world.paper, str(world.repository))
    return folder / "kg"


@pytest.fixture
def desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], built: Path
) -> Iterator[Desk]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XKG_LLM_KEY", "key")
    monkeypatch.setenv("XKG_ENVIRONMENT__MAX_MB", "0")
    monkeypatch.setenv("XKG_SANDBOX__SECONDS", "10")
    monkeypatch.setenv("XKG_SANDBOX__MEMORY_MB", "512")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("xkg.openai_server.FIRST_WAIT", 0.001)
    monkeypatch.setitem(LanguageModel.__init__.__kwdefaults__ or {}, "patience", 0.2)
    (tmp_path / "kg").mkdir()
    shutil.copy(built / "embeddings.sqlite", tmp_path / "kg")
    [runs] = built.glob("work/*/runs")
    shutil.copytree(runs, tmp_path / "kg" / runs.relative_to(built))
    with ScriptedEndpoint(lambda body: answers(**made.changed)(body)) as endpoint:
        monkeypatch.setenv("XKG_LLM__BASE_URL", endpoint.url)
        made = Desk(tmp_path, endpoint, capsys)
        yield made


def test_a_build_from_paper_and_repository_to_tested_code(desk: Desk) -> None:
    built = desk.build()
    assert built.code == 0
    assert "3 techniques shown, 1 hidden (see `xkg show`); code: 3 faithful; $0.02" in built.out
    assert "note:" not in built.err
    assert "code           3/3    Damped peak filter" in built.err
    paper = desk.shown()
    assert (paper["state"], paper["incomplete"]) == ("complete", [])
    assert {key.removeprefix("Bearer ") for key in desk.endpoint.keys} == {"key"}
    asked = list(desk.asked)
    again = desk.build("--json")
    assert (again.code, json.loads(again.out)["published"]) == (0, False)
    assert "no questions are left; $0.02 spent" in desk.build("--dry-run").out
    assert desk.asked == asked
    assert f"paper     {ID}\n" in desk("costs").out
    assert json.loads(desk("costs", "--json").out)["total"]["calls"] == len(asked)


def test_without_a_key_one_line_names_both_ways_on(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XKG_LLM_KEY")
    monkeypatch.delenv("XKG_LLM__BASE_URL")
    failed = desk.build()
    assert (failed.code, failed.out) == (1, "")
    assert "OPENAI_API_KEY" in failed.line
    assert "`--llm none`" in failed.line
    assert not (desk.kg / "generations").exists()
    assert desk.build("--llm", "none").code == 0
    assert desk.asked == []


def test_a_budget_that_is_reached_stops_the_build_more_lets_it_go_on_and_a_complete_one_stays(desk: Desk) -> None:
    stopped = desk.build("--max-cost", "0.02", "--json")
    assert stopped.code == 1
    assert "the build stopped in stage code: " in stopped.line
    assert "of the $0.02 allowed" in stopped.line
    assert "--max-cost" in stopped.line
    result = json.loads(stopped.out)
    assert (result["state"], result["published"]) == ("partial", True)
    assert 0 < result["cost_usd"] <= 0.02
    assert "the build stopped in stage code: " in desk("show", ID).out
    assert result["stopped"] in result["incomplete"]
    asked = len(desk.asked)
    assert desk.build("--max-cost", "0.02").code == 1
    assert len(desk.asked) == asked
    on = desk.build("--max-cost", "1")
    assert on.code == 0
    before = desk.shown()
    assert before["state"] == "complete"
    bodies = [json.dumps(body["messages"]) for body in desk.endpoint.requests]
    assert len(set(bodies)) == len(bodies)  # no question was asked twice
    readme = desk.world.repository / "README.md"
    readme.write_text("Counts have peaks, and this removes them by clipping and by damping.\n\n" + readme.read_text())
    desk.changed["ground"] = lambda _: EXHAUSTED
    stopped = desk.build("--max-cost", "1")
    assert (stopped.code, "not published, the graph is generation" in unfolded(stopped.out)) == (1, True), stopped.out
    assert "quota" in stopped.line
    assert "run the same command again to continue" in stopped.line
    assert desk.shown() == before
    del desk.changed["ground"]
    assert "published as generation" in desk.build("--max-cost", "1").out


def test_a_technique_that_failed_makes_the_paper_partial_and_is_tried_again(desk: Desk) -> None:
    desk.changed["modularize"] = lambda asked: "no JSON" if asked.technique == "Exponential damping" else None
    failed = desk.build()
    assert failed.code == 1
    assert "1 part failed; run again to retry" in failed.line
    assert "note: Exponential damping: modularize" in failed.err
    assert "no usable answer after 4 attempts" in unfolded(failed.out)
    hidden = {technique["id"]: technique["reason"] for technique in desk.shown()["hidden"]}
    why = "its code could not be written: modularize, Exponential damping: no usable answer"
    assert hidden[DAMPING].startswith(why)
    assert CLIPPING not in hidden
    assert why in " ".join(desk("show", ID, "--all").out.split())
    del desk.changed["modularize"]
    assert desk.build().code == 0


# --- estimates of costs
# ------------------------------------------------------------------------------------------------


def test_a_dry_run_asks_nothing_and_needs_no_key(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XKG_LLM_KEY")
    planned = desk.build("--dry-run")
    plan = json.loads(desk.build("--dry-run", "--json").out)
    assert planned.code == 0
    for what in ("calls", "input_tokens", "output_tokens", "dollars"):
        assert plan[what] == pytest.approx(sum(stage[what] for stage in plan["stages"]))
    assert [line.split()[0] for line in planned.out.splitlines()[2:-2]] == [
        "extract", "ground", "modularize", "debug", "check"
    ]  # fmt: skip
    assert planned.out.splitlines()[-2].split()[0] == "all"
    assert "with o4-mini; spent before: $0.00" in planned.out
    assert desk.asked == []
    assert not (desk.kg / "generations").exists()


# --- several papers ---------------------------------------------------------------------------------------------------


@pytest.mark.product("a batch with a model; tests/commands/batch has one without", every=True)
def test_of_several_papers_one_that_fails_does_not_keep_the_others(desk: Desk, tmp_path: Path) -> None:
    other = tmp_path / "other.md"
    other.write_text(desk.world.paper.read_text().replace("# Damped Peak Filtering of Noisy Counts", "# Rain Filters"))
    repository = ("--repo", desk.world.repository)
    three = [word for paper in (desk.world.paper, "nowhere.md", other) for word in ("--paper", paper, *repository)]
    built = desk("build", *three, "--json")
    assert built.code == 3
    rows = json.loads(built.out)["rows"]
    assert [(row["title"], row["state"]) for row in rows] == [
        ("Damped Peak Filtering of Noisy Counts", "built"), ("", "failed"), ("Rain Filters", "built")
    ]  # fmt: skip
    assert "nowhere.md" in rows[1]["reason"]
    again = desk("build", *three, "--progress", "json", "--jobs", "2", "--html", tmp_path / "report.html")
    assert again.code == 3
    assert re.findall(r"^ +\d+  (\w+)", again.out, re.MULTILINE) == ["unchanged", "failed", "unchanged"]
    assert "Rain Filters" in (tmp_path / "report.html").read_text()
    events = [json.loads(line) for line in again.err.splitlines() if line.startswith("{")]
    assert {event["paper"] for event in events if event["event"] == "stage"} == {str(desk.world.paper), str(other)}
    assert {event["row"]["state"] for event in events if event["event"] == "paper"} == {"unchanged", "failed"}
    plans = json.loads(desk("build", *three[:4], *three[8:], "--dry-run", "--json").out)
    assert [(plan["title"], plan["calls"]) for plan in plans] == [
        ("Damped Peak Filtering of Noisy Counts", 0), ("Rain Filters", 0)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "arguments",
    [
        ["--paper", "a.md", "--paper", "b.md", "--repo", "x"],
        ["--paper", "a.md", "--paper", "b.md", "--id", "arxiv:1"],
        ["--paper", "a.md", "--repo", "x", "--paper", "a.md", "--repo", "y"],
    ],
)
def test_papers_and_repositories_that_do_not_pair_are_refused(desk: Desk, arguments: list[str]) -> None:
    refused = desk("build", *arguments)
    assert (refused.code, refused.out) == (1, "")
    assert "--repo" in refused.line or "two repositories" in refused.line
    assert desk.asked == []
