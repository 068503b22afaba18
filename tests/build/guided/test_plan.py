"""Counts the questions that a build would still ask, without asking any."""

from pathlib import Path

import pytest

from tests.build.guided.test_stages import SPENT, Builder, failing
from tests.tiny_world import declined, places
from xkg.build.guided.plan import PlannedStage, expected_techniques, plan
from xkg.build.paper.document import Document
from xkg.build.parsing.parsers import Parsers
from xkg.build.pipeline import open_paper
from xkg.config import LlmSettings, Price
from xkg.errors import AnswerError
from xkg.llm.prices import Prices
from xkg.sandbox.runner import Job, Outcome

BEFORE = ["extract", "ground", "modularize", "debug", "check"]


@pytest.fixture
def build(tmp_path: Path, parsers: Parsers) -> Builder:
    return Builder(tmp_path, parsers)


class Never:
    name = "quick"
    weaker: tuple[str, ...] = ()

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


def test_it_keeps_nothing_that_a_build_would_take_for_an_answer(build: Builder) -> None:
    first = planned(build)
    assert planned(build) == first
    built = build()
    assert built.bundle.paper.state == "complete"
    assert {"extract", "ground", "modularize"} <= set(build.requests)


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


def test_what_failed_is_counted_again_and_alone(build: Builder) -> None:
    build(modularize=failing(AnswerError("modularize: none"), "Median peak clipping"))
    stages = planned(build)
    assert next(iter(stages)) == "modularize"
    # The filter is rebuilt with another component, which is not known yet.
    assert stages["modularize"].calls == 1


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
    own = planned(build, settings=LlmSettings(model="mine", prices={"mine": Price(input=1000, output=0)}))
    assert own["extract"].dollars == pytest.approx(own["extract"].input_tokens / 1000)


def test_another_model_is_another_build(build: Builder) -> None:
    build()
    assert list(planned(build, settings=LlmSettings(code_model="gpt-4o"))) == BEFORE[1:]


def test_the_build_without_a_sandbox_is_planned_apart(build: Builder) -> None:
    build(runner=None)
    assert planned(build, runner=False) == {}
    assert list(planned(build)) == ["modularize", "debug", "check"]


@pytest.mark.parametrize(
    ("found", "characters", "expected"),
    [(2, 60_000, 9), (14, 60_000, 12), (11, 60_000, 11), (3, 10_000, 4), (4, 900, 4)],
)
def test_an_ordinary_paper_is_expected_to_have_more_than_it_says(found: int, characters: int, expected: int) -> None:
    document = Document(format="markdown", title="A", abstract="", text="x" * characters)
    assert expected_techniques(found, document) == expected


def test_a_longer_paper_costs_more_though_no_more_is_found_in_it(build: Builder) -> None:
    short = planned(build)
    build.world.paper.write_text(build.world.paper.read_text() + "\n\n" + "Nothing is proposed here. " * 1200)
    longer = planned(build)
    assert (
        longer["modularize"].calls == 2 > short["modularize"].calls
    )  # eight techniques take several questions, some of which must be repeated
    for stage in ("modularize", "check"):
        assert longer[stage].input_tokens / longer[stage].calls == pytest.approx(
            short[stage].input_tokens / short[stage].calls, rel=0.3
        )
