"""Checks that papers in `serve.exclude` appear in no answer of the server: tools, resources, prompts and pages."""

from pathlib import Path
from urllib.parse import quote

from tests.serve.http_server import Running, call, rpc, running
from xkg.config import HttpSettings, LlmSettings

PAPER = "arxiv:2001.00001"
TECHNIQUE = f"{PAPER}#keeping/smoke"
CODE = "MATCH (c:Code) RETURN c.id, c.implementation"
WORDS = ("Calm Hives", "Hive Smoking", "Bee Keeping", "calm the bees", "Smoke and bees", "return 'calm'")
"""These words occur in the excluded paper but not in its ids."""


MESSAGES = [
    call("list_papers"),
    call("search_techniques", query="smoking bees in hives", k=20, detail="full"),
    call("find_implementations", task="calm a hive with smoke", detail="full"),
    call("get_paper", paper=PAPER, include_code=True, detail="full"),
    call("get_paper", paper="Calm Hive"),
    call("get_technique", id=TECHNIQUE, detail="full"),
    call("get_technique", id="hive smoke"),
    call("get_code", id=TECHNIQUE, detail="full"),
    call("plan_context", paper=PAPER),
    call("related_papers", paper="title:bread/ovens"),
    call("related_papers", paper=PAPER),
    call("locate", technique="blow cool smoke"),
    call("cypher", query="MATCH (p:Paper) RETURN p.title"),
    call("cypher", query="papers-by-year"),
    rpc("resources/read", uri=f"xkg://paper/{quote(PAPER, safe='')}"),
    rpc("resources/read", uri=f"xkg://technique/{quote(TECHNIQUE, safe='')}"),
    rpc("resources/read", uri=f"xkg://code/{quote(TECHNIQUE, safe='')}"),
    rpc("prompts/get", name="plan_ablations", arguments={"paper": PAPER}),
    rpc("prompts/get", name="replicate_paper", arguments={"paper": "calm hive"}),
    rpc("resources/list"),
    rpc("tools/list"),
]
PAGES = [
    "/",
    "/?q=hives",
    "/papers",
    "/papers?q=hives",
    f"/paper/{PAPER}",
    f"/paper/{PAPER}?part=related",
    "/paper/title:bread/ovens",
    "/paper/title:bread/ovens?part=related",
    f"/technique/{quote(TECHNIQUE)}",
    f"/technique/{quote(PAPER + '#keeping/smoking')}",
    "/search?q=smoking+bees",
    "/cypher?statement=" + quote("MATCH (p:Paper) RETURN p.title"),
    "/cypher.csv?statement=" + quote("MATCH (t:Technique) RETURN t.name, t.definition"),
    "/builds",
    "/builds?by=stage",
    "/metrics",
]


def answers(server: Running) -> dict[str, str]:
    """Returns all answers, keyed by request."""
    client = server.client()
    found = {str(message): client.post("/mcp", json=message).text for message in MESSAGES}
    viewer = server.client(accept="text/html")
    return found | {path: viewer.request("GET", path, follow_redirects=True).text for path in PAGES}


def test_no_entry_point_shows_what_is_excluded(graph_copy: Path, tmp_path: Path) -> None:
    blacklist = tmp_path / "blacklist.txt"
    blacklist.write_text("2001.00001\n")
    http, llm = HttpSettings(per_minute=0), LlmSettings(model="none")
    with running(graph_copy, http, llm=llm) as server:
        shown = {asked for asked, answer in answers(server).items() if any(word in answer for word in WORDS)}
    assert len(shown) > 20, "the words are those of the paper"
    with running(graph_copy, http, llm=llm, exclude=blacklist) as server:
        found = answers(server)
    leaks = {asked: word for asked, answer in found.items() for word in WORDS if word in answer and word not in asked}
    assert not leaks
    assert "xkg_papers 1.0" in found["/metrics"]
    assert all(len(answer) > 50 for answer in found.values())
