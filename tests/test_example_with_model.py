"""Builds the example with recorded answers of a language model, over real HTTP, with the real SDK and the real
sandbox."""

from pathlib import Path

import numpy as np
import pytest

from tests.conftest import EXAMPLE, ROOT
from tests.llm_endpoint import ScriptedEndpoint
from tests.once import once_a_run
from tests.replayed_model import replay
from xkg.build.context import BuildContext, Built
from xkg.build.pipeline import build_paper
from xkg.config import LlmSettings, Settings
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.llm.client import LanguageModel
from xkg.model import Level
from xkg.sandbox.isolation.bubblewrap import BubblewrapRunner
from xkg.sandbox.runner import Environment

RECORDING = ROOT / "tests" / "data" / "recordings" / "svgd.json"


class Lent:
    """Provides environments with the packages of the tests' own interpreter, so nothing is downloaded."""

    def make(self, *_: object) -> Environment:
        return Environment(site=Path(np.__file__).parents[1], hash="lent")

    def again(self, _: str) -> Environment | None:
        return None


@pytest.fixture(
    scope="module", params=[pytest.param("svgd", marks=pytest.mark.product("the build of test_cli_llm, larger"))]
)
def answered(tmp_path_factory: pytest.TempPathFactory) -> tuple[Built, Built, int, int]:
    """Builds the example twice, and counts the questions of each build."""
    return once_a_run(tmp_path_factory, "answered", _build_twice)


def _build_twice(folder: Path) -> tuple[Built, Built, int, int]:
    with pytest.MonkeyPatch.context() as patch, ScriptedEndpoint(replay(RECORDING)) as endpoint:
        patch.setenv("OPENAI_BASE_URL", endpoint.url)
        patch.setenv("OPENAI_API_KEY", "recorded")
        settings = Settings(kg=folder, llm=LlmSettings(model="recorded"))

        def build() -> Built:
            with LanguageModel(settings.llm, settings.kg) as model:
                context = BuildContext(settings, OnnxEmbedder(), BubblewrapRunner(), Lent(), model=model)
                return build_paper(EXAMPLE / "paper" / "svgd.tex", str(EXAMPLE / "code"), context)

        first = build()
        asked = len(endpoint.requests)
        second = build()
        return first, second, asked, len(endpoint.requests) - asked


def test_every_technique_of_the_example_has_faithful_code(answered: tuple[Built, Built, int, int]) -> None:
    bundle = answered[0].bundle
    assert bundle.paper.state == "complete", bundle.paper.incomplete
    top, *parts = bundle.techniques
    assert top.name == "Stein Variational Gradient Descent"
    assert {t.parent for t in parts} == {top.id}
    assert "Kernelized Stein Discrepancy" in {t.name for t in parts}
    assert {c.level for c in bundle.code} == {Level.FAITHFUL}, [c.evidence[-1].reason for c in bundle.code]
    assert {c.technique for c in bundle.code} == {t.id for t in bundle.techniques}
    assert not any(t.hidden for t in bundle.techniques)


def test_what_is_built_leads_back_to_the_paper_and_to_the_repository(answered: tuple[Built, Built, int, int]) -> None:
    bundle = answered[0].bundle
    assert all(e.path and e.line for t in bundle.techniques for e in t.excerpts)
    derived = {d.code: d.symbol for d in bundle.derivations}
    assert set(derived) == {c.id for c in bundle.code}
    assert set(derived.values()) <= {s.id for s in bundle.symbols}


def test_a_composite_calls_the_code_of_its_components(answered: tuple[Built, Built, int, int]) -> None:
    bundle = answered[0].bundle
    whole = bundle.code_of(bundle.techniques[0].id)
    assert whole is not None
    assert "component" in whole.implementation
    evidence = whole.evidence[-1]
    assert evidence.mutation_score is not None
    assert evidence.mutation_score >= 0.6
    assert evidence.fidelity is not None
    assert evidence.fidelity.share >= 0.7


def test_a_second_build_asks_nothing_and_gives_the_same(answered: tuple[Built, Built, int, int]) -> None:
    first, second, asked, again = answered
    assert asked == 4
    assert again == 0
    assert second.bundle == first.bundle
