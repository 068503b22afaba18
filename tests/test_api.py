import asyncio
import doctest
import inspect
import json
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import xkg
import xkg.api
from tests import tiny_world
from tests.cli.display.test_wording import texts
from tests.conftest import EXAMPLE_ID
from xkg.async_api import THREADS
from xkg.python_words import for_programs
from xkg.serve.context.context import ContextAnswer

HEAVY = {"pydantic", "numpy", "openai", "ladybug", "tantivy", "mcp", "onnxruntime", "asyncio", "typer"}


def public(kind: type) -> dict[str, object]:
    return {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}


def test_docstrings_show_what_happens(published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "storage").mkdir()
    (tmp_path / "storage" / "default").symlink_to(published)
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(xkg.api)
    assert result.attempted >= 10
    assert result.failed == 0


def test_importing_it_loads_nothing_heavy_and_any_name_of_it_can_be_had() -> None:
    script = (
        "import sys, json, xkg; loaded = [m for m in sys.modules]; "
        "print(json.dumps([loaded, [n for n in dir(xkg) if getattr(xkg, n) is None], xkg.UnknownIdError.__module__]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded, missing, home = json.loads(done.stdout)
    assert not HEAVY & {name.partition(".")[0] for name in loaded}
    assert [name for name in loaded if name.startswith("xkg")] == ["xkg._version", "xkg.version", "xkg"]
    assert (missing, home) == ([], "xkg.errors")
    with pytest.raises(AttributeError, match="no attribute 'Opened'"):
        xkg.Opened  # noqa: B018


def test_both_graphs_have_the_same_methods() -> None:
    plain, waiting = public(xkg.KnowledgeGraph), public(xkg.AsyncKnowledgeGraph)
    assert list(plain) == list(waiting)
    for name, method in plain.items():
        assert inspect.signature(method) == inspect.signature(waiting[name]), name  # type: ignore[arg-type]
        assert inspect.iscoroutinefunction(waiting[name]), name
    assert inspect.signature(xkg.open).parameters == inspect.signature(xkg.open_async).parameters


def test_each_error_is_exported_and_of_one_tree(published: Path) -> None:
    with xkg.open(published) as kg:
        with pytest.raises(xkg.UnknownIdError, match="no paper 'arxiv:1608' in this graph; nearest"):
            kg.paper("arxiv:1608")
        with pytest.raises(xkg.InputError, match="ask for 1 or more"):
            kg.search("kernel", 0)
        with pytest.raises(xkg.InputError, match="'proven' is not a level; choose from none, claimed"):
            kg.search("kernel", level="proven")
        with pytest.raises(xkg.InputError, match="view cannot be 'all'; choose from planning, implementation"):
            kg.context(EXAMPLE_ID, view="all")  # type: ignore[arg-type]
        with pytest.raises(xkg.InputError, match="only by the implementation view with raw code"):
            kg.context(EXAMPLE_ID, repository="elsewhere")
        with pytest.raises(xkg.InputError, match="state cannot be 'done'; choose from complete, partial"):
            kg.papers(state="done")  # type: ignore[arg-type]
        with pytest.raises(xkg.InputError, match="include cannot be 'prose'"):
            kg.context(EXAMPLE_ID, include=["prose"])  # type: ignore[list-item]
        with pytest.raises(xkg.InputError, match=r"papers must be a list; write papers=\['svgd'\]"):
            kg.search("kernel", papers="svgd")
        with pytest.raises(xkg.InputError, match="packages must be a list"):
            kg.find_implementations("kernel", packages="torch")
        with pytest.raises(xkg.InputError, match="exclude must be a list"):
            kg.related(EXAMPLE_ID, exclude="svgd")
        with pytest.raises(xkg.QueryRefusedError):
            kg.cypher("MATCH (n) DELETE n")
    assert all(issubclass(getattr(xkg, name), xkg.XkgError) for name in dir(xkg) if name.endswith("Error"))
    with pytest.raises(xkg.StoreError, match="was closed"):
        kg.papers()


def test_settings_are_those_of_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(xkg.ConfigError, match=r"store\.url"):
        xkg.open(url="http://localhost")
    with pytest.raises(xkg.ConfigError, match="first argument"):
        xkg.open(kg="folder")
    with xkg.open(tmp_path, url="bolt://127.0.0.1:1") as away, pytest.raises(xkg.StoreUnreachableError):
        away.papers()
    monkeypatch.setenv("XKG_KG", str(tmp_path / "named"))
    with xkg.open() as kg, pytest.raises(xkg.StoreError, match=r"there is no folder .*named; run kg\.build"):
        kg.papers()


async def test_the_loop_goes_on_while_a_graph_is_asked(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with xkg.open_async(published) as kg:
        inside, leave = threading.Event(), threading.Event()

        def slow() -> tuple[()]:
            inside.set()
            leave.wait()
            return ()

        monkeypatch.setattr(xkg.KnowledgeGraph, "papers", lambda _: slow())
        pending = asyncio.create_task(kg.papers())
        while not inside.is_set():
            await asyncio.sleep(0.001)
        assert isinstance(await kg.context(EXAMPLE_ID), ContextAnswer)
        pending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await pending
        leave.set()
        assert (await kg.paper(EXAMPLE_ID)).id == EXAMPLE_ID
    with pytest.raises(xkg.StoreError, match="was closed"):
        await kg.paper(EXAMPLE_ID)


async def test_a_call_cancelled_before_its_turn_is_never_made(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with xkg.open_async(published) as kg:
        leave, asked = threading.Event(), []

        def slow(paper: str) -> None:
            asked.append(paper)
            leave.wait()

        monkeypatch.setattr(xkg.KnowledgeGraph, "context", lambda _, paper: slow(paper))
        pending = [asyncio.create_task(kg.context(str(n))) for n in range(THREADS + 1)]
        while len(asked) < THREADS:
            await asyncio.sleep(0.001)
        pending[-1].cancel()
        await asyncio.sleep(0)
        leave.set()
        await asyncio.gather(*pending, return_exceptions=True)
    assert sorted(asked) == [str(n) for n in range(THREADS)]


def test_parameters_of_a_query_may_have_any_name(published: Path) -> None:
    statement = "RETURN $query AS a, $self AS b, $ask AS c"
    names = {"query": 1, "self": 2, "ask": 3}

    async def asked() -> tuple[tuple[object, ...], ...]:
        async with xkg.open_async(published) as kg:
            return (await kg.cypher(statement, **names)).rows

    with xkg.open(published) as kg:
        assert kg.cypher(statement, **names).rows == ((1, 2, 3),) == asyncio.run(asked())
        assert kg.cypher("component-tree", paper=EXAMPLE_ID, rows=2).cut


def test_a_program_does_what_the_commands_do(tmp_path: Path) -> None:
    world = tiny_world.written_to(tmp_path)
    events: list[object] = []
    offline = {"llm": {"model": "none"}, "environment": {"max_mb": 0}}
    with xkg.open(tmp_path / "new", **offline) as kg:
        with pytest.raises(xkg.StoreError, match=r"run kg\.build or kg\.import_.*xkg\.open"):
            kg.papers()
        built = kg.build(world.paper, world.repository, progress=events.append)
        assert (built.state, built.published, built.paper) == ("complete", True, tiny_world.ID)
        assert kg.papers()[0].id == tiny_world.ID
        assert any(str(event).startswith("parse ") for event in events)
        assert not kg.build(world.paper, world.repository).published

        (exported,) = kg.export(tmp_path / "out", format="bundle").files
        with pytest.raises(xkg.InputError, match="form cannot be 'csv'; choose from peer"):
            kg.export(tmp_path / "out", format="csv")  # type: ignore[arg-type]
        assert (kg.remove(tiny_world.ID).generation, kg.diff().papers[0].paper) == (2, tiny_world.ID)
        assert kg.diff(1, 2).papers == kg.diff().papers
        events.clear()
        assert kg.import_(exported, progress=events.append).papers == (tiny_world.ID,)
        assert [str(event) for event in events] == [f"reading 0/1: {Path(exported).name}", "indexing: 1 papers"]
        assert [paper.state for paper in kg.update(check=True).papers] == ["not followed"]
        assert (kg.link().open, kg.costs().total.calls) == (0, 0)


async def test_papers_that_fail_are_rows_of_the_report_also_on_a_loop(tmp_path: Path) -> None:
    (tmp_path / "torn.pdf").write_bytes(b"no")
    events: list[object] = []
    async with xkg.open_async(tmp_path / "new", llm={"model": "none"}) as kg:
        report = await kg.build_papers([(tmp_path / "nowhere.tex", None)], progress=events.append)
        assert (report.failed, [str(event) for event in events]) == (
            1,
            [f"{tmp_path / 'nowhere.tex'}: failed: {report.rows[0].reason}"],
        )
        with pytest.raises(xkg.InputError, match=r"the list .* cannot be read"):
            await kg.build_papers(tmp_path / "no.tsv")


def test_errors_and_notes_name_words_of_python(published: Path, tmp_path: Path) -> None:
    with xkg.open(published, llm={"model": "none"}) as kg:
        with pytest.raises(xkg.UnknownIdError, match=r"nor any similar one: kg\.papers\(\) lists the papers"):
            kg.paper("zzzz qqqq")
        with pytest.raises(xkg.UnknownIdError, match=r"pass the id that kg\.start_build returned"):
            kg.job(7)
        assert str(kg.search("zzqx blorp")).startswith("None of the techniques")
        with pytest.raises(xkg.InputError, match=r"kg\.schema\(\) lists them"):
            kg.cypher("nope")
        with pytest.raises(xkg.InputError, match=r"set it with run=, or in a task file with task=") as lacking:
            kg.ablate(tmp_path)
        assert "--" not in str(lacking.value)


def test_no_text_of_the_graph_names_a_tool_or_an_option_to_programs() -> None:
    foreign = re.compile(
        r"get_(paper|technique|code)|list_papers|graph_schema|plan_context|job_status|search_techniques|related_papers|"
        r"detail=|\bcursor\b|\buri\b|pass its folder|(?<![\w-])--[a-z]"
    )
    assert len([text for text in texts() if foreign.search(text)]) > 8
    assert [text for text in texts() if foreign.search(for_programs(text))] == []


def test_a_task_is_answered_with_code_whether_or_not_a_model_is_there(published: Path) -> None:
    with xkg.open(published, llm={"model": "none"}) as kg:
        task = "1. Set the kernel's bandwidth by the median heuristic.\n2. Adapt the step size of each coordinate."
        answer = kg.find_implementations(task, level="parsed")
        assert len(answer.parts) == 3
        assert "def median_bandwidth" in "".join(code.implementation for code in answer.implementations)
        assert kg.search("median heuristic", verify=True).rows[0].name == "median heuristic"
