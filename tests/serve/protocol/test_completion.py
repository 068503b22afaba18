import pytest
from mcp import Client
from mcp_types import PromptReference, ResourceTemplateReference

from xkg.serve.protocol.stdio import make_server
from xkg.serve.served import Served
from xkg.serve.service import Service

OVENS = "title:bread/ovens"


@pytest.mark.parametrize(
    ("template", "begun", "ids"),
    [
        ("paper", "OVEN", [OVENS]),
        ("paper", "bread/ov", [OVENS]),
        ("technique", "title:bread/ovens#bak", None),
        ("technique", "steam", ["title:bread/ovens#baking/steam"]),
        ("answers", "x", []),
    ],
)
async def test_ids_are_completed_by_their_beginning_or_that_of_their_last_part(
    service: Service, template: str, begun: str, ids: list[str] | None
) -> None:
    async with Client(make_server(Served(service))) as client:
        reference = ResourceTemplateReference(type="ref/resource", uri=f"xkg://{template}/{{id}}")
        found = (await client.complete(reference, {"name": "id", "value": begun})).completion
    assert found.values == ids if ids is not None else all(each.startswith(begun) for each in found.values)
    assert bool(found.values) is (ids != [])
    assert not found.has_more


async def test_arguments_of_prompts_are_completed_and_code_by_its_technique(service: Service) -> None:
    async with Client(make_server(Served(service))) as client:
        prompt = PromptReference(type="ref/prompt", name="plan_ablations")
        assert (await client.complete(prompt, {"name": "paper", "value": "ovens"})).completion.values == [OVENS]
        assert (await client.complete(prompt, {"name": "repository", "value": ""})).completion.values == []
        code = ResourceTemplateReference(type="ref/resource", uri="xkg://code/{id}")
        (found,) = (await client.complete(code, {"name": "id", "value": "steam"})).completion.values
        assert found.startswith("title:bread/ovens#baking/steam@")
