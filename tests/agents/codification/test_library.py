import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.serve.conftest import bundles
from xkg.agents.codification.library import Library
from xkg.build.context import BuildContext
from xkg.build.pipeline import build_paper
from xkg.config import LlmSettings, Settings
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.serve.service import Service
from xkg.store.local.store import EmbeddedStore

EXAMPLE = Path(__file__).parents[3] / "examples" / "svgd"
PAPER = "title:a-short-account-of-stein-variational-gradient-descent"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds the example without a model and without running anything, and imports another paper."""
    folder = tmp_path_factory.mktemp("library") / "kg"
    embedder = OnnxEmbedder(threads=1)
    context = BuildContext(Settings(kg=folder, llm=LlmSettings(model="none")), embedder, None, None)
    bundle = build_paper(EXAMPLE / "paper" / "svgd.tex", str(EXAMPLE / "code"), context).bundle
    store = EmbeddedStore(folder, lambda: embedder)
    store.publish([bundle, bundles()[1]])
    store.close()
    return folder


@contextmanager
def library(folder: Path, *, graph: bool = True) -> Iterator[Library]:
    with closing(Service(Settings(kg=folder, llm=LlmSettings(model="none")))) as service:
        yield Library(service, graph=graph)


def test_a_paper_is_its_method_whole_with_code_beside_it(built: Path) -> None:
    with library(built) as graph:
        method = graph.method(PAPER)
    assert method is not None
    assert method.notes == ()
    for words in ("until they no longer move", "average over all pairs", "Algorithm 1: Stein", "does not depend on"):
        assert words in method.text, words
    assert "We compare" not in method.text
    assert "median heuristic" in method.parts
    assert "def median_bandwidth(squared_distances):" in method.library
    assert "[parsed]" in method.library


def test_a_technique_is_its_definition_and_the_sections_that_it_is_from(built: Path) -> None:
    with library(built) as graph:
        found = graph.search("median heuristic for the bandwidth")
        method = graph.method(f"{PAPER}#stein-variational-gradient-descent/rbf-kernel-with-median-heuristic")
    assert "median" in found
    assert method is not None
    assert method.parts == ("median heuristic",)
    assert "We use the radial basis function kernel" in method.text
    assert "average over all pairs" not in method.text
    assert "def median_bandwidth(squared_distances):" in method.library


def test_where_the_paper_s_text_is_elsewhere_the_graph_s_is_taken_and_said(built: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(built, tmp_path / "kg"))
    shutil.rmtree(copy / "work")
    with library(copy) as graph:
        method, imported = graph.method(PAPER), graph.method("arxiv:2001.00001")
    for found, words in ((method, "median heuristic"), (imported, "hive")):
        assert found is not None
        assert words in found.text
        assert "the paper's text is not on this machine" in found.notes[0]
