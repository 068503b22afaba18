"""Tests a paper's plan from the command, the library and the MCP prompt, with and without a scripted model."""

import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

import xkg
from tests.llm_endpoint import Answer, ScriptedEndpoint, asked, status
from xkg.agents.planning.ablations import plan_ablations
from xkg.agents.planning.plan import AblationPlan
from xkg.build.paper.document import Document
from xkg.cli.display.output import in_commands
from xkg.cli.main import main
from xkg.commands import serve
from xkg.config import EmbeddingSettings, LlmSettings, Settings
from xkg.errors import InputError
from xkg.python_words import for_programs
from xkg.serve.answers.notes import reworded
from xkg.serve.protocol.stdio import make_server
from xkg.serve.served import Served
from xkg.serve.service import Service

BREAD = "title:bread/ovens"
STEAM = f"{BREAD}#baking/steam"
NO_STEAM = {
    "component": 1,
    "name": "Steam against a damp cloth",
    "ablated_part": "steam in the oven",
    "action": "REPLACE",
    "replacement": ["a damp cloth", "no steam at all"],
    "metrics": ["volume of the loaf"],
    "why": "It tests that steam helps; an equal volume speaks against it.",
}
LONGER = {**NO_STEAM, "component": 0, "name": "Longer proofing", "action": "ADD", "replacement": ["one hour more"]}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XKG_LLM_KEY", "test")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def service(folder: Path, url: str | None = None) -> Service:
    llm = LlmSettings(model="none") if url is None else LlmSettings(model="m", base_url=url)
    return Service(Settings(kg=folder, llm=llm, embedding=EmbeddingSettings(threads=1)))


def planned(folder: Path, paper: str = BREAD, k: int = 5, url: str | None = None) -> AblationPlan:
    kg = service(folder, url)
    plan = plan_ablations(kg, paper, k)
    kg.close()
    return plan


def test_a_measure_is_a_table_that_names_the_component(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "\\begin{tabular}{lc}\nwithout crust steaming & 1.2 \\\\\n\\end{tabular}"
    text = f"# Results\n\nTable 2. Volume of the loaf (l). Means of five.\n{rows}\n\nTable 3. Ovens that were used.\n"
    examples = "\\begin{tabular}{ll}\ncrust steaming & with a pan \\\\\n\\end{tabular}"
    text += f"\nTable 4. Examples of crust steaming.\n{examples}\n"
    document = Document.model_construct(text=text, asides=())
    monkeypatch.setattr("xkg.build.parsed_papers.parsed_paper", lambda *_: document)
    plan = planned(graph)
    assert {a.component: a.metrics for a in plan.ablations} == {
        STEAM: ("Table 2. Volume of the loaf (l). Means of five.",),
        f"{BREAD}#baking/score": (),
    }


def test_without_a_model_the_plan_comes_from_the_graph_and_says_so(graph: Path) -> None:
    plan = planned(graph, "Bread Ovens: a Study of Crust")
    assert plan.paper == BREAD
    assert "from the graph alone" in plan.planned_by
    assert [a.component for a in plan.ablations] == [STEAM, f"{BREAD}#baking/score"]
    steam = plan.ablations[0]
    assert (steam.action, steam.replacement) == ("REMOVE", ())
    assert [(p.path, p.start_line, p.end_line) for p in steam.places] == [("oven/steam.py", 3, 9)]
    assert "no location" in plan.ablations[1].note
    assert "oven/steam.py:3-9" in str(plan)


def test_a_model_plans_with_what_the_graph_knows_and_is_paid_once(graph_copy: Path) -> None:
    with ScriptedEndpoint([{"ablations": [NO_STEAM, LONGER]}]) as endpoint:
        plan, again = (planned(graph_copy, k=2, url=endpoint.url) for _ in range(2))
        assert len(endpoint.requests) == 1
        prompt = asked(endpoint.requests[0])
    assert plan == again
    assert plan.planned_by == "by m with the graph"
    assert "Steam Injection" in prompt
    assert "Pour water on hot iron" in prompt
    first, second = plan.ablations
    assert first.component == STEAM
    assert first.places[0].path == "oven/steam.py"
    assert first.replacement == ("a damp cloth", "no steam at all")
    assert (second.component, second.places, second.action) == ("", (), "ADD")
    assert "not a component in the graph" in second.note


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ([{**NO_STEAM, "component": 9}], "9 is not a number"),
        ([{**NO_STEAM, "name": f"n{n}"} for n in range(3)], "give 1 to 2 ablations"),
        ([NO_STEAM, {**LONGER, "name": NO_STEAM["name"]}], "no two ablations"),
    ],
)
def test_a_wrong_plan_is_asked_for_again_with_what_is_wrong(
    graph_copy: Path, wrong: list[dict[str, Any]], complaint: str
) -> None:
    with ScriptedEndpoint([{"ablations": wrong}, {"ablations": [NO_STEAM]}]) as endpoint:
        plan = planned(graph_copy, k=2, url=endpoint.url)
        assert complaint in asked(endpoint.requests[1])
    assert [a.name for a in plan.ablations] == [NO_STEAM["name"]]


@pytest.mark.parametrize("answer", [status(401), {"ablations": []}])
def test_where_the_model_fails_the_graph_plans_and_the_reason_is_said(graph_copy: Path, answer: Answer) -> None:
    with ScriptedEndpoint(lambda _: answer) as endpoint:
        plan = planned(graph_copy, url=endpoint.url)
    assert plan.planned_by.startswith("from the graph alone, without a language model: ")
    assert plan.ablations[0].component == STEAM


def test_lines_are_those_of_the_working_copy(graph: Path, tmp_path: Path) -> None:
    (tmp_path / "steam.py").write_text("def pour(iron):\n    return iron * 1700  # water on hot iron makes steam\n")
    kg = service(graph)
    plan = plan_ablations(kg, BREAD, 1, tmp_path)
    with pytest.raises(InputError):
        plan_ablations(kg, BREAD, 1, tmp_path, roots=[])
    kg.close()
    assert plan.searched == f"{tmp_path}, 1 source files"
    assert plan.ablations[0].places or plan.ablations[0].note
    assert all(place.repository == str(tmp_path) for place in plan.ablations[0].places)


async def test_command_library_and_prompt_give_the_same_plan(
    graph: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XKG_LLM__MODEL", "none")
    with xkg.open(graph) as kg:
        plan = kg.ablations(BREAD)
    for arguments in (["--json"], []):
        with pytest.raises(SystemExit) as end:
            main(["--kg", str(graph), "ablations", BREAD, *arguments])
        assert not end.value.code
    printed = capsys.readouterr().out
    decoded, text_starts = json.JSONDecoder().raw_decode(printed)
    stored = AblationPlan.model_validate(decoded)
    graph_service = service(graph)
    raw = plan_ablations(graph_service, BREAD)
    assert (stored, plan) == (in_commands(raw), reworded(raw, for_programs))
    assert printed[text_starts:].split() == str(stored).split()  # the command folds long lines
    server = make_server(Served(graph_service, planner=serve.planner(graph_service, ())))
    async with Client(server) as client:
        messages = (await client.get_prompt("plan_ablations", {"paper": BREAD})).messages
        elsewhere = (await client.get_prompt("plan_ablations", {"paper": BREAD, "repository": "/not/here"})).messages
    graph_service.close()
    assert "Bread" not in str(messages[0].content.text).replace(BREAD, "")  # type: ignore[union-attr]
    assert str(raw) in messages[1].content.resource.text  # type: ignore[union-attr]
    assert "The folder was not searched: " in elsewhere[1].content.resource.text  # type: ignore[union-attr]
