"""Takes the screenshots for docs/howto/explore.md with Chromium: `make screenshots`. The graph contains the example,
built with a model's recorded answers, and made-up papers. Each screenshot is smaller than 200 KB."""

import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from PIL import Image
from playwright.sync_api import sync_playwright

from evaluation.speed.pages import served
from tests.llm_endpoint import ScriptedEndpoint
from tests.replayed_model import replay
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.model import Code, Level, Paper, PaperBundle, Reference, Technique, code_id, slug
from xkg.store.local.store import EmbeddedStore

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
LARGEST = 200_000
PAPER = "title:a-short-account-of-stein-variational-gradient-descent"
TECHNIQUE = f"{PAPER}#stein-variational-gradient-descent/rbf-kernel-with-median-heuristic"
PICTURES = {
    "explore-map": "",
    "explore-paper": f"paper/{PAPER}",
    "explore-technique": f"technique/{quote(TECHNIQUE, safe=':')}",
    "explore-search": f"search?q={quote('how is the bandwidth of the kernel chosen')}",
}


class Made(NamedTuple):
    title: str
    year: int
    level: str
    cites: tuple[int, ...]
    techniques: tuple[str, ...]


# Each entry has a title, a year, the level of its code, the numbers of the papers that it cites, and its techniques.
# `*` marks techniques without code.
PAPERS = [
    Made(
        "Particle Flows on Manifolds", 2018, "tested", (), ("Particle Flow", "Tangent Projection", "Kernel Bandwidth*")
    ),
    Made(
        "Annealed Particle Samplers", 2019, "tested", (0,), ("Annealed Sampler", "Temperature Ladder", "Particle Flow")
    ),
    Made("Message Passing Samplers for Sparse Graphs", 2020, "executed", (0, 1), ("Graph Sampler", "Local Kernel*")),
    Made(
        "Sliced Discrepancies for Particle Samplers",
        2021,
        "faithful",
        (0, 1, 2),
        ("Sliced Discrepancy", "Random Slices"),
    ),
    Made(
        "Minibatch Langevin Samplers without Bias", 2017, "imported", (), ("Debiased Langevin Step", "Control Variate")
    ),
    Made(
        "Pruning Attention by Rank",
        2020,
        "tested",
        (),
        ("Rank Pruning", "Head Importance Score", "Knowledge Distillation"),
    ),
    Made("Attention that Forgets", 2021, "executed", (5,), ("Decaying Cache", "Head Importance Score")),
    Made(
        "Small Attention Models by Distillation", 2022, "tested", (5, 6), ("Knowledge Distillation", "Layer Matching")
    ),
    Made("Attention over Long Tables", 2023, "parsed", (6,), ("Row Attention", "Column Embedding*", "Decaying Cache")),
    Made("Quantized Attention without Retraining", 2023, "faithful", (5, 7), ("Round to Nearest", "Scale Search")),
    Made("Calibration under Shifted Labels", 2019, "tested", (), ("Label Shift Weights", "Temperature Scaling")),
    Made("Calibration of Small Ensembles", 2020, "executed", (10,), ("Ensemble Average", "Temperature Scaling")),
    Made("Conformal Calibration for Streams", 2022, "faithful", (10, 11), ("Sliding Quantile", "Coverage Correction")),
    Made("Calibration with Few Labels", 2023, "parsed", (10,), ("Pseudo Label Bins*", "Label Shift Weights")),
    Made("Offline Policies from Mixed Data", 2021, "tested", (), ("Advantage Filter", "Mixed Replay")),
    Made("Conservative Policies, Quickly", 2022, "executed", (14,), ("Lower Bound Critic", "Mixed Replay")),
    Made("Policies that Ask", 2024, "tested", (14, 15), ("Query Budget", "Advantage Filter")),
]


def _bundle(paper: Made) -> PaperBundle:
    """Returns a made-up paper. The code was never run, so its levels are made up, too."""
    identity = f"title:{slug(paper.title)}"
    techniques, code = [], []
    for number, name in enumerate(paper.techniques):
        top = techniques[0].id if techniques else None
        own = f"{top or identity}{'/' if top else '#'}{slug(name)}"
        words = f"{name.rstrip('*')}, as {paper.title} has it."
        techniques.append(Technique(id=own, name=name.rstrip("*"), parent=top, depth=int(number > 0), definition=words))
        if not name.endswith("*"):
            body = f"def {slug(name).replace('-', '_')}(x):\n    return x\n"
            code.append(Code(id=code_id(own, body, ""), technique=own, implementation=body, level=Level(paper.level)))
    references = tuple(Reference(title=PAPERS[other].title) for other in paper.cites)
    node = Paper(id=identity, title=paper.title, year=paper.year, origin="build", references=references)
    return PaperBundle(paper=node, techniques=tuple(techniques), code=tuple(code))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        kg = Path(folder) / "example"
        store = EmbeddedStore(kg, OnnxEmbedder)
        store.publish(list(map(_bundle, PAPERS)))
        store.close()
        _build(kg)
        _photograph(kg)


def _build(kg: Path) -> None:
    """Builds the example with a model's recorded answers."""
    with ScriptedEndpoint(replay(ROOT / "tests/data/recordings/svgd.json")) as endpoint:
        environment = {**os.environ, "OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": "recorded"}
        example = ROOT / "examples/svgd"
        command = [str(Path(sys.executable).with_name("xkg")), f"--kg={kg}", "build", "--llm=recorded"]
        command += [f"--paper={example / 'paper/svgd.tex'}", f"--repo={example / 'code'}"]
        subprocess.run(command, env=environment, check=True)


def _photograph(kg: Path) -> None:
    path = shutil.which("chromium")
    assert path is not None, "no chromium: `make chromium` installs it"
    with served(kg) as base, sync_playwright() as playwright:
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        page = browser.new_page(viewport={"width": 1360, "height": 850})
        for name, address in PICTURES.items():
            page.goto(base + address, wait_until="networkidle")
            taken = Image.open(io.BytesIO(page.screenshot())).convert("RGB").quantize(128)
            target = IMAGES / f"{name}.png"
            taken.save(target, optimize=True)
            size = target.stat().st_size
            assert size <= LARGEST, f"{target} has {size} bytes"
            print(f"{target.relative_to(ROOT)}: {size // 1000} KB")
        browser.close()


if __name__ == "__main__":
    main()
