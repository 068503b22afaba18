"""A curation whose questions an agent answers over a pipe, with what it found on the web."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.build.curation.conftest import TARGET, scholarly, world  # noqa: F401
from tests.build.scholarly_stand_in import Scholarly
from tests.commands.test_curate import agent, with_the_uncited
from tests.conftest import ROOT
from tests.serve.test_building import ask, refused

pytestmark = pytest.mark.product("arXiv is asked at its pace; the curation is in tests/commands", every=True)


def server(kg: Path, blacklist: Path, world: Scholarly) -> StdioServerParameters:  # noqa: F811
    settings = {
        "XKG_SERVE__BUILD__ALLOWED": "true",
        "XKG_SERVE__ROOTS": str(kg.parent),
        "XKG_SERVE__EXCLUDE": str(blacklist),
        "XKG_ARXIV__URL": world.url,
        "XKG_CURATION__OPENALEX": world.openalex,
        "XKG_CURATION__GITHUB": world.github,
    }
    command = ["-m", "xkg.commands.serve", "--kg", str(kg)]
    return StdioServerParameters(command=sys.executable, args=command, env={**os.environ, **settings}, cwd=str(ROOT))


async def answered(client: Client, job: int, most: int) -> list[str]:
    """The ids of the questions of a job that were answered: so many, or all up to its end."""
    done: list[str] = []
    while True:
        shown = await ask(client, "questions", job=job, k=1)
        for question in shown["questions"]:
            if len(done) == most:
                return done
            answer = agent(question["instructions"], question["prompt"])
            if "works" in answer:
                await checked(client, job, question, answer)
            await ask(client, "answer", job=job, question=question["question"], answer=answer)
            done.append(question["question"])
        if shown["state"] not in ("queued", "running"):
            return done


async def checked(client: Client, job: int, question: dict[str, Any], answer: dict[str, Any]) -> None:
    """The question marks what it quotes, and takes no answer of another form."""
    assert question["prompt"].count("<<<target ") == 1
    assert "Wave Transport for Particle Sampling" in question["prompt"], "it says what is known"
    for odd in ({"works": answer["works"] * 5}, {**answer, "more": 1}, {"works": [{"title": "One"}]}):
        assert "answer it again" in await refused(client, "answer", job=job, question=question["question"], answer=odd)


async def test_what_an_agent_finds_is_checked_and_another_session_goes_on(
    world: Scholarly,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "XKG_LLM_KEY", "XKG_LLM__MODEL"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "kg").mkdir()
    paper = tmp_path / "paper.tex"
    paper.write_bytes(TARGET)
    blacklist = with_the_uncited(world, tmp_path)
    started = server(tmp_path / "kg", blacklist, world)
    async with Client(stdio_client(started)) as client:
        asked = await ask(client, "curate", paper=str(paper))
        assert (asked["kind"], "You answer the job's questions" in asked["note"]) == ("curate", True)
        first = await answered(client, asked["job"], most=2)
    async with Client(stdio_client(started)) as client:
        asked = await ask(client, "curate", paper=str(paper))
        second = await answered(client, asked["job"], most=100)
        assert not set(first) & set(second), "no question is asked twice"
        [job] = (await ask(client, "job_status", job=asked["job"]))["jobs"]
        assert (job["state"], job["error"]) == ("done", "")
        found = {paper["arxiv_id"]: paper for paper in job["curated"]["papers"] if paper["origin"] == "model"}
        assert list(found) == ["2406.00006"]
        assert found["2406.00006"]["repositories"][0]["url"] == "https://github.com/qquay/flows"
        whole = await client.call_tool("job_status", {"job": asked["job"]})
        text = whole.content[0].text  # type: ignore[union-attr]
        assert text.index("<<<data") < text.index("Harbour Flows"), "titles are quoted"
