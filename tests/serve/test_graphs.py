"""Tests several graphs behind one server. Tests that tools, resources, tokens and pages select the right graph."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serve.conftest import bundles
from tests.serve.http_server import Running, call, rpc, running
from xkg.config import LlmSettings, ServeBuildSettings, ServeSettings, Settings
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.errors import InputError
from xkg.serve.answers.types import uri
from xkg.serve.graphs import asking, served_folders
from xkg.serve.http.tokens import Tokens
from xkg.store.local.store import EmbeddedStore

BREAD = "title:bread/ovens"


@pytest.fixture
def other(tmp_path: Path, embedder: OnnxEmbedder) -> Path:
    """Creates a graph of the paper about bread."""
    store = EmbeddedStore(tmp_path / "bread", lambda: embedder)
    store.publish([bundle for bundle in bundles() if bundle.paper.id == BREAD])
    store.close()
    return tmp_path / "bread"


@pytest.fixture
def both(graph_copy: Path, other: Path) -> Iterator[Running]:
    with running(graph_copy, graphs=(other,)) as server:
        yield server


def told(server: Running, tool: str, token: str | None = None, **arguments: Any) -> dict[str, Any]:
    answer = server.client(token).post("/mcp", json=call(tool, **arguments))
    return dict(answer.json().get("result") or {"status": answer.status_code})


def titles(answer: dict[str, Any]) -> set[str]:
    return {row["title"] for row in answer["structuredContent"]["rows"]}


def test_a_call_chooses_its_graph_and_addresses_of_resources_keep_it(both: Running) -> None:
    first, second = (titles(told(both, "list_papers", **chosen)) for chosen in ({}, {"graph": "bread"}))
    assert len(second) == 1 < len(first)
    assert second < first
    with asking("bread", "kg"):
        address = uri("paper", BREAD)
    assert address.startswith("xkg://bread/paper/")
    assert BREAD in asked(both, "resources/read", uri=address)["contents"][0]["text"]
    assert told(both, "list_papers", graph="none")["isError"]


def test_a_token_reads_the_graphs_that_it_names(graph_copy: Path, other: Path) -> None:
    bread = Tokens(graph_copy).create("bread", graphs=["bread"])
    foreign = Tokens(graph_copy).create("foreign", graphs=["elsewhere"])
    whole = Tokens(graph_copy).create("whole")
    with running(graph_copy, graphs=(other,)) as server:
        assert len(titles(told(server, "list_papers", bread, graph="bread"))) == 1
        refused = told(server, "list_papers", bread)
        assert (refused["isError"], "does not cover the graph kg" in refused["content"][0]["text"]) == (True, True)
        assert len(titles(told(server, "list_papers", whole))) > 1
        assert told(server, "list_papers", foreign) == {"status": 401}
        page = server.client(bread, accept="text/html").get("/papers")
        assert ("bread</" in page.text, "/?graph=kg" in page.text) == (True, False)
        assert server.client(bread, accept="text/html").get("/papers?graph=kg").status_code == 400
    with running(graph_copy) as server:
        assert told(server, "list_papers", bread) == {"status": 401}


def asked(server: Running, method: str, token: str | None = None, **params: Any) -> dict[str, Any]:
    return dict(server.client(token).post("/mcp", json=rpc(method, **params)).json()["result"])


def test_prompts_completion_and_the_list_of_resources_know_all_graphs(graph_copy: Path, other: Path) -> None:
    bread = Tokens(graph_copy).create("bread", graphs=["bread"])
    whole = Tokens(graph_copy).create("whole")
    with running(graph_copy, graphs=(other,)) as server:
        arguments = {"paper": BREAD, "graph": "bread"}
        first, last = asked(server, "prompts/get", bread, name="replicate_paper", arguments=arguments)["messages"]
        assert "plan_context" in first["content"]["text"]
        assert 'graph="bread"' in last["content"]["text"]

        def completed(token: str, value: str, name: str = "paper", **chosen: str) -> list[str]:
            reference = {"type": "ref/prompt", "name": "replicate_paper"}
            argument = {"name": name, "value": value}
            given = {"ref": reference, "argument": argument, "context": {"arguments": chosen}}
            return list(asked(server, "completion/complete", token, **given)["completion"]["values"])

        assert completed(bread, "oven", graph="bread") == [BREAD]
        assert completed(bread, "oven") == []  # "oven" is in the first graph, to which this token gives no access
        assert (completed(whole, "", "graph"), completed(bread, "", "graph")) == (["kg", "bread"], ["bread"])
        template = {"type": "ref/resource", "uri": "xkg://bread/paper/{id}"}
        found = asked(server, "completion/complete", bread, ref=template, argument={"name": "id", "value": "ov"})
        assert found["completion"]["values"] == [BREAD]

        def papers(token: str) -> list[str]:
            listed = [each["uri"] for each in asked(server, "resources/list", token)["resources"]]
            return [address for address in listed if "/paper/" in address]

        assert len(papers(whole)) == 3
        (address,) = papers(bread)
        assert BREAD in asked(server, "resources/read", bread, uri=address)["contents"][0]["text"]


def test_jobs_belong_to_the_graph_that_they_were_asked_for(graph_copy: Path, other: Path, tmp_path: Path) -> None:
    token = Tokens(graph_copy).create("builder", ("read", "build"))
    (tmp_path / "paper.md").write_text("# Rye\n\nWe propose Slow Rye.\n")
    build = ServeBuildSettings(allowed=True)
    roots, llm = (tmp_path,), LlmSettings(model="none")
    with running(graph_copy, graphs=(other,), build=build, roots=roots, llm=llm) as server:
        paper = {"paper": str(tmp_path / "paper.md"), "graph": "bread"}
        assert told(server, "build", token, **paper)["structuredContent"]["job"] == 1
        assert (other / "jobs" / "jobs.sqlite").is_file()
        assert told(server, "job_status", token)["structuredContent"]["jobs"] == []
        assert len(told(server, "job_status", token, graph="bread")["structuredContent"]["jobs"]) == 1
        assert not told(server, "cancel_job", token, job=1, graph="bread")["isError"]


def test_pages_show_the_graph_that_a_reader_chooses(both: Running) -> None:
    ask = both.client(accept="text/html")
    whole, chosen = ask.get("/papers"), ask.get("/papers?graph=bread")
    assert "/?graph=bread" in whole.text
    assert len(chosen.text) < len(whole.text)
    cookie = chosen.headers["set-cookie"].partition(";")[0]
    assert ask.get("/?graph=bread").headers["location"] == "/paper/title:bread%2Fovens"
    assert both.client(accept="text/html", cookie=cookie).get("/papers").text.count("<tr") == chosen.text.count("<tr")


def test_graphs_need_names_of_their_own(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="two graphs have the same name"):
        served_folders(Settings(kg=tmp_path / "a" / "kg", serve=ServeSettings(graphs=(tmp_path / "b" / "kg",))))
