"""Provides a graph with all kinds of nodes, its pages over real HTTP, and a real browser."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.conftest import EXAMPLE
from tests.once import once_a_run
from tests.serve.conftest import technique
from tests.serve.http_server import Running, running
from xkg.build.context import BuildContext
from xkg.build.pipeline import build_paper
from xkg.config import HttpSettings, LlmSettings, Settings
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.model import (
    Ablation,
    Code,
    Evidence,
    Fidelity,
    Level,
    Paper,
    PaperBundle,
    Reference,
    Survivor,
    ablation_id,
    code_id,
)
from xkg.store.local.store import EmbeddedStore

HOSTILE = "title:hostile"
LONG = "title:long"
SCRIPT = "<script>document.title = 'owned'</script>"
MUTANT = "0.5 became 1.5"
WITHOUT = "the repulsive force is left out"


def hostile() -> PaperBundle:
    """Returns a paper in which every text contains markup."""
    top = technique(HOSTILE, "attack", f"An {SCRIPT} attack", f"{SCRIPT} and $\\text{{<img src=x onerror=alert(1)>}}$")
    twin = technique(
        HOSTILE,
        "attack/repulsive",
        "Repulsive force",
        "Pushes particles apart, <b onclick=alert(1)>says</b> \ud800 nobody.",
    )
    implementation = f"def attack():\n    return {SCRIPT!r}\n"
    own = Code(
        id=code_id(top.id, implementation, ""),
        technique=top.id,
        implementation=implementation,
        documentation=SCRIPT,
        level=Level.NONE,
        evidence=(Evidence(level=Level.NONE, reason=SCRIPT, output_end=SCRIPT),),
        claims={SCRIPT: SCRIPT},
    )
    return PaperBundle(
        paper=Paper(
            id=HOSTILE,
            title=f"A title with {SCRIPT}",
            abstract=f"{SCRIPT} \ud800 \x0c $0\x0c0$",
            authors=(SCRIPT,),
            year=2020,
            origin="import",
            references=(Reference(title=SCRIPT),),
        ),
        techniques=(top, twin),
        code=(own,),
    )  # fmt: skip


def long() -> PaperBundle:
    """Returns a paper with names that are words of 400 letters, or run from right to left."""
    top = technique(LONG, "long", "L" + "o" * 400 + "ng", "A technique.")
    child = technique(LONG, "long/right", "\u05de" * 300 + " (v2)", "Its part.")
    paper = Paper(id=LONG, title="W" * 400, authors=("A" * 300,), year=2021, origin="import")
    return PaperBundle(paper=paper, techniques=(top, child))


def tested(bundle: PaperBundle) -> PaperBundle:
    """Returns the example as if its tests had been run, with a mutant that survived."""
    code = tuple(
        each.model_copy(
            update={
                "level": Level.TESTED,
                "test": "from implementation import *\nassert True\n",
                "evidence": (
                    Evidence(
                        level=Level.TESTED, runner="bubblewrap", command="python harness.py", exit_code=0, mutants=10,
                        mutation_score=0.9, survivors=(Survivor(line=2, change=MUTANT),), covered_lines=(2,),
                        fidelity=Fidelity(share=0.8), checked_at="2026-01-01T00:00:00+00:00",
                    ),
                ),
            }
        )
        for each in bundle.code
    )  # fmt: skip
    return bundle.model_copy(update={"code": code})


def measured(bundle: PaperBundle) -> list[Ablation]:
    """Returns ablations of a technique, one with an interval and one without."""
    technique = next(t.id for t in bundle.techniques if t.id.endswith("/repulsive-force"))
    head = "--- a/stein.py\n+++ b/stein.py\n@@ -20,2 +20,2 @@\n"
    diff = f"{head}-    return gradient / n\n+    return 0 * gradient  # {SCRIPT}\n"
    return [
        Ablation(
            id=ablation_id(technique, "0" * 40, what, "python train.py", "mmd"), technique=technique, metric="mmd",
            direction="min", baseline=0.02, value=0.02 * (1 + change), change=change, low=low, high=high, seeds=seeds,
            kind="toggle", description=what, diff=diff, commit="0" * 40, command="python train.py",
            measured_at="2026-01-01T00:00:00+00:00",
        )
        for what, change, low, high, seeds in ((WITHOUT, 0.83, 0.61, 1.05, 5), (f"halved {SCRIPT}", 0.1, None, None, 1))
    ]  # fmt: skip


@pytest.fixture(scope="session")
def web_graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds the example without a model and without running anything, and adds a hostile paper."""

    def make(folder: Path) -> Path:
        embedder = OnnxEmbedder(threads=1)
        settings = Settings(kg=folder / "kg", llm=LlmSettings(model="none"))
        context = BuildContext(settings, embedder, None, None)
        built = build_paper(EXAMPLE / "paper" / "svgd.tex", str(EXAMPLE / "code"), context).bundle
        store = EmbeddedStore(settings.kg, lambda: embedder)
        store.publish([tested(built), hostile(), long()])
        store.add_ablations(measured(built))
        store.close()
        return settings.kg

    return once_a_run(tmp_path_factory, "web", make)


@pytest.fixture
def web_graph_copy(web_graph: Path, tmp_path: Path) -> Path:
    """Creates a copy that a test may change."""
    return Path(shutil.copytree(web_graph, tmp_path / "kg"))


@pytest.fixture(scope="session")
def pages(web_graph: Path) -> Iterator[Running]:
    with running(web_graph, http=HttpSettings(per_minute=0), llm=LlmSettings(model="none")) as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Starts the Chromium from `make chromium`. It is closed after each module, because no other event loop can run
    here while it is open."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    assert path is not None, "no chromium: `make chromium` installs it"
    # Chromium's sandbox does not start as root. The browser only shows our own pages.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()
