import asyncio
import doctest
import inspect
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import xkg
import xkg.api
from tests.conftest import EXAMPLE_ID
from xkg.async_api import THREADS
from xkg.serve.context.context import ContextAnswer

HEAVY = {"pydantic", "numpy", "openai", "ladybug", "tantivy", "mcp", "onnxruntime", "asyncio", "typer"}


def public(kind: type) -> dict[str, object]:
    return {name: value for name, value in vars(kind).items() if not name.startswith("_")}


def test_what_the_docstrings_show_is_what_happens(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        with pytest.raises(xkg.InputError, match="'proven' is no level of code: choose from none, parsed"):
            kg.search("kernel", level="proven")
        with pytest.raises(xkg.InputError, match="view cannot be 'all': choose from planning, implementation"):
            kg.context(EXAMPLE_ID, view="all")  # type: ignore[arg-type]
        with pytest.raises(xkg.InputError, match="include cannot be 'prose'"):
            kg.context(EXAMPLE_ID, include=["prose"])  # type: ignore[list-item]
        with pytest.raises(xkg.InputError, match=r"papers is a list: write papers=\['svgd'\]"):
            kg.search("kernel", papers="svgd")
        with pytest.raises(xkg.InputError, match="packages is a list"):
            kg.find_implementations("kernel", packages="torch")
        with pytest.raises(xkg.InputError, match="exclude is a list"):
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
    with xkg.open() as kg, pytest.raises(xkg.StoreError, match=r"the graph in .*named is empty"):
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


async def test_a_call_that_is_cancelled_before_its_turn_is_never_made(
    published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_task_is_answered_with_code_whether_or_not_a_model_is_there(published: Path) -> None:
    with xkg.open(published, llm={"model": "none"}) as kg:
        task = "1. Set the kernel's bandwidth by the median heuristic.\n2. Adapt the step size of each coordinate."
        answer = kg.find_implementations(task, level="parsed")
        assert len(answer.parts) == 3
        assert "def median_bandwidth" in "".join(code.implementation for code in answer.implementations)
        assert kg.search("median heuristic", verify=True).rows[0].name == "median heuristic"
