"""Counts the questions that a build would still ask, without asking any."""

from pathlib import Path

import pytest

from tests.build.guided.quick_runner import QuickRunner
from tests.build.guided.test_stages import SPENT, Builder, failing
from tests.tiny_world import declined, places
from xkg.build.guided.plan import PlannedStage, plan
from xkg.build.parsing.parsers import Parsers
from xkg.build.pipeline import open_paper
from xkg.config import LlmSettings
from xkg.llm.prices import Prices
from xkg.sandbox.runner import Job, Outcome

BEFORE = ["extract", "ground", "modularize", "debug", "check"]


@pytest.fixture
def build(tmp_path: Path, parsers: Parsers) -> Builder:
    return Builder(tmp_path, parsers)


class Never(QuickRunner):
    def run(self, job: Job) -> Outcome:
        pytest.fail(f"a plan runs {job}")


def planned(
    build: Builder, *, repository: bool = True, settings: LlmSettings | None = None, runner: bool = True
) -> dict[str, PlannedStage]:
    context = build.context(Never() if runner else None)
    if settings is not None:
        context = type(context)(
            context.settings.model_copy(update={"llm": settings}), context.embedder, context.runner, None
        )
    opened, _ = open_paper(build.world.paper, str(build.world.repository) if repository else None, context)
    stages = plan(opened, context)
    assert len({stage.stage for stage in stages}) == len(stages)
    return {stage.stage: stage for stage in stages}


def test_before_any_build_every_stage_is_counted(build: Builder) -> None:
    stages = planned(build)
    assert planned(build) == stages  # planning stores nothing that a build could mistake for an answer
    assert list(stages) == BEFORE
    assert {name: stages[name].calls for name in BEFORE[:2]} == dict.fromkeys(BEFORE[:2], 1)
    # A paper this short has as many techniques as static analysis locates.
    assert stages["check"].calls > stages["modularize"].calls >= 1
    assert all(stage.input_tokens > 300 and stage.output_tokens > 0 for stage in stages.values())
    for stage in stages.values():
        dollars = Prices({}).dollars("o4-mini", stage.input_tokens, 0, stage.output_tokens)
        assert stage.dollars == pytest.approx(dollars, rel=1e-4)  # token counts are rounded
    written = build.world.paper.read_text()
    assert stages["extract"].input_tokens > len(written) / 8


def test_after_a_build_nothing_is_left(build: Builder) -> None:
    build()
    assert planned(build) == {}
    build(modularize=failing(AssertionError("asked again")))


@pytest.mark.product("each prompt", "prompt", "left")
@pytest.mark.parametrize(
    ("prompt", "left"),
    [
        ("extract", BEFORE),
        ("ground", BEFORE[1:]),
        ("modularize", BEFORE[2:]),
        ("fidelity", BEFORE[2:]),
    ],
)
def test_after_a_stop_the_rest_is_counted(build: Builder, prompt: str, left: list[str]) -> None:
    stop = {prompt: failing(SPENT)}
    try:
        build(**stop)  # type: ignore[arg-type]
    except type(SPENT):
        assert prompt == "extract"
    assert list(planned(build)) == left


def test_none_and_declined_are_answers_that_cost_nothing_more(build: Builder) -> None:
    build(
        ground=lambda request: places(request, {"Exponential damping": "damp"}),
        modularize=lambda _: declined("It only plots."),
    )
    assert planned(build) == {}


def test_without_a_repository_only_the_paper_is_read(build: Builder) -> None:
    assert list(planned(build, repository=False)) == ["extract"]
    build(repository=False)
    assert planned(build, repository=False) == {}
    assert list(planned(build)) == BEFORE  # the paper is read together with the names in the code


def test_an_unknown_price_is_reported_only_where_it_is_unknown(build: Builder) -> None:
    stages = planned(build, settings=LlmSettings(code_model="nobody-knows"))
    unknown = {name for name, stage in stages.items() if stage.dollars is None}
    assert unknown == {"ground", "modularize", "debug", "check"}
