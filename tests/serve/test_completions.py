"""Arguments are completed to ids that the graph has."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp_types import Completion, PromptReference, ResourceTemplateReference

from xkg.config import EmbeddingSettings, Settings
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.model import Paper, PaperBundle, Technique
from xkg.serve.service import Service
from xkg.serve.stdio import make_server
from xkg.store.local.store import EmbeddedStore

BREAD, BEES = "title:bread/ovens", "arxiv:2001.00001"
STEAM = f"{BREAD}#baking/steam"
PAPER, TECHNIQUE, CODE = (ResourceTemplateReference(uri=f"xkg://{k}/{{id}}") for k in ("paper", "technique", "code"))


@pytest.fixture(scope="module")
def server(graph: Path) -> Iterator[MCPServer]:
    service = Service(Settings(kg=graph, embedding=EmbeddingSettings(threads=1)))
    yield make_server(service)
    service.close()


async def completed(
    server: MCPServer, ref: ResourceTemplateReference | PromptReference, value: str, name: str = "id", **given: str
) -> Completion:
    async with Client(server) as client:
        assert client.server_capabilities.completions is not None
        return (await client.complete(ref, {"name": name, "value": value}, given or None)).completion


@pytest.mark.parametrize(
    ("ref", "value", "expected"),
    [
        (PAPER, "", [BEES, BREAD]),
        (PAPER, "arxiv:", [BEES]),
        (PAPER, "CRUST", [BREAD]),
        (PAPER, "calm h", [BEES]),
        (TECHNIQUE, "steam", [STEAM]),
        (TECHNIQUE, "title:bread/ovens#baking/s", [f"{BREAD}#baking/score", STEAM]),
        (TECHNIQUE, "hive", [f"{BEES}#keeping/smoke"]),
        (TECHNIQUE, "kneading", []),
        (CODE, "", [f"{BEES}#keeping/smoke", STEAM]),
        (PAPER, "蜂\x00' OR 1=1 \ud800", []),
        (PAPER, "x" * 100_000, []),
    ],
)
async def test_a_resource_is_found_by_id_and_by_name(
    server: MCPServer, ref: ResourceTemplateReference, value: str, expected: list[str]
) -> None:
    if "\ud800" in value:
        value = value.replace("\ud800", "")
    found = await completed(server, ref, value)
    assert (found.values, found.total, found.has_more) == (expected, len(expected), False)


async def test_arguments_of_prompts_are_completed(server: MCPServer) -> None:
    replicate = PromptReference(name="replicate_paper")
    assert (await completed(server, replicate, "bread", "paper")).values == [BREAD]
    assert (await completed(server, replicate, "/home", "repository")).values == []
    ablate = PromptReference(name="plan_ablations")
    assert (await completed(server, ablate, "a", "paper")).values == [BEES, BREAD]


async def test_no_more_than_a_hundred_are_proposed(tmp_path: Path, embedder: OnnxEmbedder) -> None:
    store = EmbeddedStore(tmp_path / "kg", lambda: embedder)
    many = tuple(Technique(id=f"title:a#t{n}", name=f"Turn {n}") for n in range(101))
    store.publish([PaperBundle(paper=Paper(id="title:a", title="A", origin="build"), techniques=many)])
    store.close()
    service = Service(Settings(kg=tmp_path / "kg", embedding=EmbeddingSettings(threads=1)))
    found = await completed(make_server(service), TECHNIQUE, "turn")
    assert (len(found.values), found.total, found.has_more) == (100, None, True)
    exact = await completed(make_server(service), TECHNIQUE, "turn 100")
    assert (exact.values, exact.total) == (["title:a#t100"], 1)
    service.close()


async def test_an_empty_graph_proposes_nothing(tmp_path: Path) -> None:
    service = Service(Settings(kg=tmp_path / "none", embedding=EmbeddingSettings()))
    assert (await completed(make_server(service), PAPER, "a")).values == []
