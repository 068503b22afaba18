"""Tests the pages in a real browser: each page, navigation, the keyboard, and hostile papers."""

import json
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from tests.serve.http_server import Running, running
from tests.web.conftest import HOSTILE, LONG, MUTANT, SCRIPT, WITHOUT
from tests.web.looking import NARROW, WIDE, looking
from xkg.config import HttpSettings, LlmSettings, ServeBuildSettings
from xkg.files import file_lock
from xkg.serve.http.tokens import Tokens
from xkg.serve.jobs.table import JobTable

PAPER = "title:a-short-account-of-stein-variational-gradient-descent"
TECHNIQUE = f"{PAPER}#stein-variational-gradient-descent/stein-update-direction/repulsive-force"

ADDRESSES = [
    "/",
    "/?q=stein&level=tested",
    "/papers",
    "/papers?q=nothing+like+it",
    f"/paper/{PAPER}",
    f"/paper/{HOSTILE}",
    f"/paper/{LONG}",
    f"/technique/{quote(LONG + '#long')}",
    f"/technique/{quote(TECHNIQUE)}",
    f"/technique/{quote(HOSTILE + '#attack')}",
    "/search",
    "/search?q=repulsive+force",
    "/cypher",
    "/cypher?name=papers-by-year",
    f"/cypher?name=component-tree&p.paper={PAPER}",
    f"/cypher?name=component-tree&p.paper={PAPER}&view=graph",
    "/builds",
    "/builds?by=stage",
    "/sign-in",
]


@pytest.mark.product("each width, each theme")
@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (NARROW, "dark")])
def test_every_page_shows_itself_whole(browser: Browser, pages: Running, width: int, scheme: str) -> None:
    with looking(browser, pages.base, width, scheme) as page:  # type: ignore[arg-type]
        for address in ADDRESSES:
            answer = page.goto(address)
            assert answer is not None
            assert answer.status == 200, address
            expect(page.locator("h1").first).to_be_visible()
            assert page.title() != "owned", address
            assert not page.evaluate("document.documentElement.scrollWidth > innerWidth"), address


def test_a_walk_from_the_map_to_a_mutant_that_survived(browser: Browser, pages: Running) -> None:
    with looking(browser, pages.base) as page:
        page.goto("/")
        page.get_by_role("link", name=re.compile("A Short Account of Stein")).first.click()
        panel = page.get_by_role("complementary", name="Neighbours")
        expect(panel).to_contain_text("Techniques")
        panel.get_by_role("link", name="A Short Account of Stein").click()
        expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("A Short Account of Stein"))
        page.locator(".tree").get_by_role("link", name="repulsive force").click()
        expect(page.locator("mark")).to_contain_text("pushes particles away from one another")
        assert page.url.endswith(quote(TECHNIQUE, safe=":"))
        expect(page.locator("#ours .line.survivor + .note")).to_contain_text(MUTANT)
        expect(page.locator("#done")).to_be_hidden()
        page.get_by_role("tab", name="Code").press("ArrowRight")
        expect(page.locator("#mutants")).to_contain_text(MUTANT)
        expect(page.locator("#test")).to_contain_text("assert True")
        page.get_by_role("tab", name="Repository").click()
        expect(page.locator("#done .line").first).to_contain_text("def repulsive_force")
        expect(page.locator("#done .line.focus").first).to_be_visible()


def test_the_keyboard_alone_leads_everywhere(browser: Browser, pages: Running) -> None:
    with looking(browser, pages.base) as page:
        page.goto("/")
        page.keyboard.press("Tab")
        expect(page.locator(".skip")).to_be_focused()
        page.keyboard.press("g")
        page.keyboard.press("p")
        page.wait_for_url("**/papers")
        page.keyboard.press("j")
        expect(page.locator("tr.at a.title")).to_be_focused()
        page.keyboard.press("Enter")
        page.wait_for_url("**/paper/**")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_url("**/technique/**")
        first = page.url
        page.keyboard.press("n")
        page.wait_for_url(lambda url: url != first)
        page.keyboard.press("u")
        page.wait_for_url("**/paper/**")
        page.keyboard.press("/")
        expect(page.locator("#quick")).to_be_focused()
        page.keyboard.type("repulsive force")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search?q=repulsive+force")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_be_hidden()


def test_what_was_measured_leads_to_what_was_changed(browser: Browser, pages: Running) -> None:
    with looking(browser, pages.base) as page:
        page.goto(f"/paper/{PAPER}")
        table = page.locator(".importance")
        expect(table.get_by_role("row")).to_have_count(2)
        expect(table).to_contain_text("+61.0 % … +105.0 %")
        table.get_by_role("link", name="repulsive force").click()
        page.wait_for_url("**/technique/**#change-*")
        rows = page.locator("#measured tbody tr")
        expect(rows).to_have_count(2)
        expect(rows.first).to_contain_text(WITHOUT)
        expect(rows.first.locator(".line.removed")).to_have_text("-    return gradient / n\n")
        expect(rows.first.locator(".line.added")).to_be_visible()
        expect(rows.nth(1).locator(".line.added")).to_be_hidden()
        expect(rows.nth(1)).to_contain_text("run once")


def test_what_a_paper_says_never_becomes_markup(browser: Browser, pages: Running) -> None:
    with looking(browser, pages.base) as page:
        for address in ("/papers", f"/paper/{HOSTILE}", f"/technique/{quote(HOSTILE + '#attack')}", "/search?q=attack"):
            page.goto(address)
            expect(page.get_by_text(SCRIPT).first).to_be_attached()
            assert page.locator("main script, main img, main [onclick]").count() == 0, address
            assert page.title() != "owned"


def test_search_shows_what_agents_get(browser: Browser, pages: Running) -> None:
    with looking(browser, pages.base) as page:
        page.goto("/search?q=repulsive+force")
        row = page.locator(".results > li").first
        expect(row.locator(".score strong")).to_have_text("1.00")
        expect(row.get_by_role("link", name=re.compile("repulsive force", re.I)).first).to_be_visible()
        page.get_by_text("Filters and verification").click()
        page.get_by_label("Code at least").select_option("faithful")
        page.get_by_role("button", name="Search", exact=True).click()
        expect(page.get_by_role("heading", name="No technique here does this")).to_be_visible()


def test_cypher_as_table_graph_and_file(browser: Browser, pages: Running) -> None:
    with looking(browser, pages.base) as page:
        page.goto("/cypher")
        page.get_by_label("Find a query").fill("component")
        page.get_by_role("link", name="component-tree").click()
        page.get_by_label("paper *").fill(PAPER)
        page.get_by_role("button", name="Run").first.click()
        expect(page.locator("#results")).to_contain_text("8 rows")
        with page.expect_download() as download:
            page.get_by_role("link", name="CSV").click()
        lines = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
        assert lines[0].startswith("position,depth,technique")
        assert len(lines) == 9
        pairs = "MATCH (p:Paper)-[:PROPOSES]->(t:Technique) RETURN p.id, t.id"
        page.goto(f"/cypher?statement={quote(pairs)}&view=graph")
        expect(page.locator(".map .node.paper")).to_have_count(3)
        page.locator(".map .node.technique").first.click()
        page.get_by_role("complementary", name="Neighbours").get_by_role("link").first.click()
        page.wait_for_url("**/technique/**")


def test_a_statement_is_completed_and_remembered(browser: Browser, pages: Running) -> None:
    with looking(browser, pages.base) as page:
        page.goto("/cypher")
        expect(page.get_by_role("region", name="Schema")).to_contain_text("IMPLEMENTED_BY")
        field = page.get_by_label("Statement")
        field.press_sequentially("MATCH (t:Tec")
        expect(page.get_by_role("option").first).to_have_text("Technique")  # a label, not the property `technique`
        field.fill("")
        field.press_sequentially("MATCH (p:Pap")
        expect(page.get_by_role("option", name="Paper", exact=True)).to_be_visible()
        field.press("Tab")
        field.press_sequentially(") RETURN p.id")
        field.press("Control+Enter")
        expect(page.locator("#results")).to_contain_text("3 rows")
        page.goto("/cypher")
        page.get_by_text("History in this browser").click()
        page.get_by_role("link", name="MATCH (p:Paper) RETURN p.id").click()
        expect(page.locator("#results")).to_contain_text("3 rows")


def test_a_statement_that_writes_is_refused(browser: Browser, pages: Running) -> None:
    context = browser.new_context(base_url=pages.base)
    page = context.new_page()
    answer = page.goto("/cypher?statement=" + quote("MATCH (p:Paper) DELETE p"))
    assert answer is not None
    assert answer.status == 400
    expect(page.locator(".notice.bad")).to_be_visible()
    context.close()


def test_a_job_is_seen_at_work(browser: Browser, web_graph_copy: Path) -> None:
    table = JobTable(web_graph_copy / "jobs")
    row, _ = table.add("arxiv:2001.00001", "https://github.com/o/r", "ada", waiting=5, per_day=5)
    log = web_graph_copy / "jobs" / f"{row.id}.log"
    known = {"calls": 3, "dollars": 0.25}

    def event(**fields: object) -> str:
        return json.dumps({**fields, **known}) + "\n"

    log.write_text(event(event="stage", name="parse", seconds=0.5, reused=False, summary="10 sections"))
    build = ServeBuildSettings(allowed=True)
    # Another server watches the job, and this server only shows it.
    lock = (web_graph_copy / "jobs" / f"{row.id}.json").open("wb")
    table.started(row.id, 1)
    from xkg.files import try_lock

    assert try_lock(lock.fileno())
    with running(web_graph_copy, HttpSettings(), llm=LlmSettings(model="none"), build=build) as server:
        with looking(browser, server.base) as page:
            page.goto("/builds")
            page.get_by_role("link", name=str(row.id), exact=True).click()
            expect(page.locator("#live")).to_contain_text("10 sections")
            expect(page.locator("#live")).to_contain_text("$0.25")
            with log.open("a") as more:
                more.write(event(event="progress", stage="modularize", done=3, total=10, about="x"))
            expect(page.locator("tr.now")).to_contain_text("modularize 3/10")
        table.cancel(row.id)
        lock.close()


def test_a_paper_is_added_and_its_build_followed_where_that_is_allowed(browser: Browser, web_graph_copy: Path) -> None:
    tokens = Tokens(web_graph_copy)
    builder, reader = tokens.create("ada", ["read", "build"]), tokens.create("bob", ["read"])
    lock = web_graph_copy / "jobs" / "turn.lock"
    lock.parent.mkdir(exist_ok=True)
    build = ServeBuildSettings(allowed=True)
    # The job has to wait for its turn, because the turn is locked.
    with (
        file_lock(lock),
        running(web_graph_copy, HttpSettings(), llm=LlmSettings(model="none"), build=build) as server,
    ):
        with looking(browser, server.base) as page:
            page.goto("/builds")
            page.get_by_label("Token").fill(builder)
            page.get_by_role("button", name="Sign in").click()
            page.get_by_label("Paper", exact=True).fill("1608.04471")
            page.get_by_label("Repository").fill("https://github.com/o/r")
            page.get_by_role("button", name="Build").click()
            page.wait_for_url("**/builds/1")
            expect(page.locator("#live")).to_contain_text("https://arxiv.org/abs/1608.04471")
            page.get_by_role("button", name="Cancel").click()
            expect(page.locator("h1 + .state")).to_have_text("cancelled")
        own = {
            "sec-fetch-site": "same-origin",
            "content-type": "application/x-www-form-urlencoded",
            "accept": "text/html",
        }
        wrong = server.client(builder, **own).post("/builds", content=b"paper=file%3A///etc/passwd")
        assert (wrong.status_code, "or use an arXiv id" in wrong.text) == (400, True)
        assert server.client(reader, **own).post("/builds", content=b"paper=1608.04471").status_code == 403
        assert "Add a paper" not in server.client(reader, **own).get("/builds").text


def test_an_empty_graph_says_how_to_fill_it(browser: Browser, tmp_path: Path) -> None:
    with running(tmp_path / "none", llm=LlmSettings(model="none")) as server, looking(browser, server.base) as page:
        page.goto("/")
        expect(page.locator("main")).to_contain_text("xkg import FOLDER")
