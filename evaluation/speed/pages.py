"""Measures how fast pages appear in a real browser: first paint, and the response to a key or a click.

    python -m evaluation.speed.pages --kg DIR [--rounds 5]

DIR is any graph. `python -m evaluation.generated.perturbed_graph --folder DIR --techniques 100000` creates one. Pages
that do not exist for a graph, such as a second page of papers, are skipped and listed. A separate server is started,
Chromium opens each page with an empty cache, and every figure comes from the browser's own clock. First contentful
paint is timed from the start of navigation. An interaction is timed from the keypress or click to the paint of its
result. The output also shows the CPU time that the server needed to answer. For comparison, a page and a key that send
no request to the server are also timed."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple
from urllib.parse import quote

from playwright.sync_api import Browser, Page, sync_playwright
from rich.console import Console
from rich.table import Table

from evaluation.inputs.command import run_command
from evaluation.inputs.graph import check_graph
from xkg.embeddings.base import Embedder
from xkg.errors import InputError
from xkg.store.local.store import EmbeddedStore

PAINT_GOAL = 1000.0
INTERACTION_GOAL = 200.0
_OURS = "from xkg.cli.main import main; main()"
_START_SECONDS = 120.0
_PAINT = """() => new Promise(done => {
  const seen = () => performance.getEntriesByName('first-contentful-paint')[0];
  const look = () => seen() ? done(seen().startTime) : requestAnimationFrame(look);
  look();
})"""
_HEARD = """for (const kind of ['keydown', 'click', 'input']) addEventListener(kind, event =>
  sessionStorage.setItem('acted', performance.timeOrigin + event.timeStamp), {capture: true});"""
_WATCH = """selector => { window.shownAt = new Promise(done => {
  const painted = () => done(performance.timeOrigin + performance.now());
  const look = () => requestAnimationFrame(document.querySelector(selector) ? () => setTimeout(painted, 0) : look);
  look();
}) }"""
_ARRIVED = f"async () => performance.timeOrigin + await ({_PAINT})()"
_ACTED = "() => Number(sessionStorage.getItem('acted'))"


class Timed(NamedTuple):
    """The milliseconds for each round, the server's CPU milliseconds per round, and the target."""

    name: str
    values: Sequence[float]
    goal: float
    cpu: Sequence[float] = ()


class Examples(NamedTuple):
    """A paper in the graph, one of its techniques with code, and words from the title and the definition."""

    paper: str
    technique: str
    title: str
    words: str


def examples(folder: Path) -> Examples | None:
    """Returns examples from the paper with the most code, or None if no paper has a technique."""
    store = EmbeddedStore(folder, _nothing)
    try:
        with store.snapshot() as snapshot:
            lines = [line for line in snapshot.paper_lines() if line.techniques]
            if not lines:
                return None
            line = max(lines, key=lambda line: (sum(line.levels.values()), line.id))
            views = snapshot.techniques(list(snapshot.technique_ids(line.id)))
            view = next((view for view in views if view.code is not None), views[0])
            words = re.findall(r"[a-z]{4,}", view.technique.definition)[:6]
            return Examples(line.id, view.technique.id, line.title.split()[0], " ".join(words))
    finally:
        store.close()


def _nothing() -> Embedder:
    raise AssertionError("nothing is embedded here")


@contextmanager
def served(folder: Path) -> Iterator[str]:
    command = [sys.executable, "-c", _OURS, "--kg", str(folder), "explore", "--no-browser"]
    environment = {**os.environ, "XKG_SERVE__HTTP__PER_MINUTE": "0", "XKG_LLM__MODEL": "none"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None, "the server did not start"
            yield found[0]
        finally:
            process.terminate()


def first_paint(browser: Browser, address: str) -> tuple[float, float]:
    """Returns the milliseconds to the first contentful paint with an empty cache, and the server's CPU milliseconds."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    try:
        page = context.new_page()
        answer = page.goto(address, wait_until="load", timeout=_START_SECONDS * 1000)
        assert answer is not None
        assert answer.status == 200, (address, answer.status)
        return float(page.evaluate(_PAINT)), _cpu(answer.headers.get("server-timing", ""))
    finally:
        context.close()


def within_page(page: Page, act: Callable[[], None], selector: str) -> float:
    """Returns the milliseconds from an action's keypress or click to the paint after an element matching this selector
    appears."""
    page.evaluate(_WATCH, selector)
    act()
    return float(page.evaluate("() => window.shownAt")) - float(page.evaluate(_ACTED))


def to_page(page: Page, act: Callable[[], None], address: str) -> float:
    """Returns the milliseconds from an action's keypress or click to the first contentful paint of the page it
    opens."""
    act()
    page.wait_for_url(address)
    return float(page.evaluate(_ARRIVED)) - float(page.evaluate(_ACTED))


def _cpu(timing: str) -> float:
    match = re.search(r"cpu;dur=([\d.]+)", timing)
    return float(match[1]) if match else 0.0


def measure(browser: Browser, base: str, of: Examples, rounds: int) -> list[Timed]:
    paper, technique = quote(of.paper, safe=":"), quote(of.technique, safe=":")
    addresses = {
        "sign-in page (no graph)": "sign-in",
        "map": "",
        "papers": "papers",
        "paper": f"paper/{paper}",
        "technique": f"technique/{technique}",
        "search": f"search?q={quote(of.words)}",
        "Cypher": "cypher",
        "builds": "builds",
    }
    paint, cpu = first_paint(browser, base)
    timed = [Timed("map, at once after the start", [paint], PAINT_GOAL, [cpu])]
    for name, address in addresses.items():
        paints, cpus = zip(*(first_paint(browser, base + address) for _ in range(rounds)), strict=True)
        timed.append(Timed(f"{name}: first paint", paints, PAINT_GOAL, cpus))
    return timed + _interactions(browser, base, of, rounds)


def _interactions(browser: Browser, base: str, of: Examples, rounds: int) -> list[Timed]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.add_init_script(_HEARD)
    found: dict[str, list[float]] = {}
    cpus: dict[str, list[float]] = {}
    answers: list[float] = []
    page.on("response", lambda answer: answers.append(_cpu(answer.headers.get("server-timing", ""))))

    def visit(address: str) -> None:
        page.goto(base + address)
        answers.clear()

    def add(name: str, milliseconds: float) -> None:
        found.setdefault(name, []).append(milliseconds)
        cpus.setdefault(name, []).append(max(answers, default=0.0))

    press = page.keyboard.press
    for number in range(rounds):
        visit("sign-in")
        add("a key that asks for nothing", within_page(page, partial(press, "?"), "dialog[open]"))
        text = of.title[: 3 + number % 3] + (" " * (number // 3))
        for name, address in (("papers", "papers"), ("map", "")):
            visit(address)
            page.evaluate("() => { document.querySelector('#results').dataset.old = '1' }")
            typed = partial(page.get_by_label("Title or author").fill, text)
            add(f"{name}: type into the filter", within_page(page, typed, "#results:not([data-old])"))
        for name, address in (("papers", "papers"), ("map", "")):
            visit(address)
            if page.locator("main a[rel=next]").count():
                add(f"{name}: next page", to_page(page, partial(press, "n"), "**page=2**"))
            else:
                found[f"{name}: next page"] = []
        visit(f"paper/{quote(of.paper, safe=':')}")
        add("paper: open a technique", to_page(page, page.locator(".tree a").nth(0).click, "**/technique/**"))
        visit("search")
        page.locator("main input[type=search]").fill(f"{of.words} {number}")
        add("search: ask", to_page(page, partial(press, "Enter"), "**q=**"))
    context.close()
    return [Timed(name, values, INTERACTION_GOAL, cpus.get(name, ())) for name, values in found.items()]


def main(*, kg: Path, rounds: int = 5) -> None:
    check_graph(kg)
    path = shutil.which("chromium")
    if path is None:
        raise InputError("no chromium; run `make chromium` to install it")
    of = examples(kg)
    if of is None:
        raise InputError(f"{kg} contains no paper with techniques")
    with served(kg) as base, sync_playwright() as playwright:
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        timed = measure(browser, base, of, rounds)
        browser.close()
    table = Table("what", "median ms", "slowest ms", "server's CPU ms", "goal ms", "")
    for row in (each for each in timed if each.values):
        figures = (median(row.values), max(row.values), median(row.cpu), row.goal)
        kept = "" if median(row.values) <= row.goal else "over"
        table.add_row(row.name, *(f"{figure:.0f}" for figure in figures), kept)
    console = Console(width=100)
    console.print(table)
    absent = [row.name for row in timed if not row.values]
    if absent:
        console.print(f"not measured, since all papers in this graph are on one page: {', '.join(absent)}")


if __name__ == "__main__":
    run_command(main)
