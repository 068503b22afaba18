"""Saves a paper and the report as single files without dependencies."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.web.conftest import HOSTILE, MUTANT, SCRIPT, WITHOUT
from tests.web.looking import looking
from xkg.commands.graph.contents import export_graphs
from xkg.commands.pages import report
from xkg.config import LlmSettings, Settings


def test_a_paper_as_one_file(browser: Browser, web_graph: Path, tmp_path: Path) -> None:
    settings = Settings(kg=web_graph, llm=LlmSettings(model="none"))
    [file] = export_graphs(settings, ["A Short Account of Stein Variational Gradient Descent"], tmp_path, "html").files
    with looking(browser, "file://") as page:
        page.goto(f"file://{file}")
        expect(page.locator("h1")).to_have_text("A Short Account of Stein Variational Gradient Descent")
        page.locator(".importance").get_by_role("link", name="repulsive force").click()
        expect(page.locator("tr:target")).to_contain_text(WITHOUT)
        page.locator(".tree").get_by_role("link", name="repulsive force").click()
        article = page.locator("article.in-file", has=page.get_by_role("heading", name="repulsive force"))
        expect(article.locator("mark")).to_contain_text("pushes particles away")
        expect(article.locator(".note")).to_contain_text(MUTANT)
        assert page.locator("script").count() == 0


def test_what_a_paper_says_stays_text_in_its_file(browser: Browser, web_graph: Path, tmp_path: Path) -> None:
    settings = Settings(kg=web_graph, llm=LlmSettings(model="none"))
    [file] = export_graphs(settings, [HOSTILE], tmp_path, "html").files
    with looking(browser, "file://") as page:
        page.goto(f"file://{file}")
        expect(page.get_by_text(SCRIPT).first).to_be_attached()
        assert page.title() != "owned"
        assert page.locator("script, img").count() == 0


def test_the_report_has_each_paper_and_the_scores_of_tests(browser: Browser, web_graph: Path, tmp_path: Path) -> None:
    report(Settings(kg=web_graph, llm=LlmSettings(model="none")), tmp_path / "report.html")
    with looking(browser, "file://") as page:
        page.goto(f"file://{tmp_path}/report.html")
        row = page.get_by_role("row").filter(has_text="A Short Account of Stein")
        expect(row.get_by_role("img", name="8 tested")).to_be_visible()
        expect(page.locator("tbody")).to_contain_text(SCRIPT[:20])
        expect(page.get_by_text("The median mutation score of 8 tests is 90 %; 8 detect")).to_be_visible()
