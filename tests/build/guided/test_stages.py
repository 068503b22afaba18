"""Tests a whole guided build with a scripted model."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.build.guided.fake_model import FakeModel
from tests.build.guided.quick_runner import QuickRunner
from tests.store.graphs import FakeHashEmbedder
from tests.timeless import timeless
from tests.tiny_world import (
    CLIPPING,
    DAMPING,
    FILTER,
    GAPS,
    PLACES,
    Question,
    World,
    declined,
    places,
    script,
    settings_for,
    sound,
    verdict,
    written_to,
)
from xkg.build.context import BuildContext, Built
from xkg.build.parsing.parsers import Parsers
from xkg.build.pipeline import build_paper
from xkg.build.stage_cache import Event, Progress
from xkg.build.verify import apply
from xkg.errors import AnswerError, BudgetError, ModelUnavailableError
from xkg.model import Level, PaperBundle
from xkg.sandbox.runner import Job, Outcome, Runner

NOT_FOUND = "not found among the lines ranked highest by a search of the repository: nothing does it"
STAGES = ["parse", "fetch", "symbols", "extract", "ground", "code", "prune"]


class Builder:
    """Builds the tiny paper in one folder with the given answers. Each call is a separate build."""

    def __init__(self, folder: Path, parsers: Parsers) -> None:
        self.world: World = written_to(folder)
        self.parsers = parsers
        self.kg = folder / "kg"
        self.events: list[Event] = []
        self.model = FakeModel({})

    def __call__(
        self,
        *,
        repository: bool = True,
        runner: Runner | None = QuickRunner(),  # noqa: B008
        **changed: Callable[[Question], Any],
    ) -> Built:
        self.events = []
        self.model = FakeModel(script(**changed))
        context = self.context(runner, self.model)
        return build_paper(self.world.paper, str(self.world.repository) if repository else None, context)

    def context(self, runner: Runner | None = QuickRunner(), model: FakeModel | None = None) -> BuildContext:  # noqa: B008
        settings = settings_for(self.kg, "http://127.0.0.1:9/v1", concurrency=1)
        return BuildContext(
            settings,
            FakeHashEmbedder(),
            runner,
            None,
            self.events.append,
            (),
            model,  # type: ignore[arg-type]
            self.parsers,
        )

    @property
    def requests(self) -> list[str]:
        """Returns the prompts that were answered, in order."""
        return [name for name, *_ in self.model.requests]


@pytest.fixture
def build(tmp_path: Path, parsers: Parsers) -> Builder:
    return Builder(tmp_path, parsers)


def failing(error: Exception, technique: str | None = None) -> Callable[[Question], Any]:
    """Returns an answer that raises an error, for all techniques or for one."""

    def answer(request: Question) -> Any:
        if technique is None or request.technique == technique:
            raise error

    return answer


def hidden(bundle: PaperBundle) -> dict[str, str]:
    return {t.id: t.hidden for t in bundle.techniques if t.hidden is not None}


def test_every_stage_in_its_order_to_faithful_code(build: Builder) -> None:
    built = build()
    assert [report.name for report in built.stages] == STAGES
    bundle = built.bundle
    assert (bundle.paper.state, bundle.paper.incomplete, built.stopped, built.notes) == ("complete", (), None, ())
    assert bundle.paper.cost_usd == 0.5
    assert "- `counts/clipping.py`: clip_peaks" in bundle.paper.code_overview
    assert {c.technique: c.level for c in bundle.code} == dict.fromkeys((FILTER, CLIPPING, DAMPING), Level.FAITHFUL)
    assert {t.id: t.grounding for t in bundle.techniques} == {
        FILTER: "located",
        CLIPPING: "located",
        DAMPING: "located",
        GAPS: "none",
    }
    assert hidden(bundle) == {GAPS: NOT_FOUND}
    (damping,) = (t for t in bundle.techniques if t.id == DAMPING)
    assert "$r = 0.25$" in damping.definition
    assert set(build.requests) == set(script())
    summaries = {report.name: report.summary for report in built.stages}
    assert summaries["code"] == "3 faithful; 2 of 3 ran on the first try, 3 repairs"
    assert summaries["ground"] == "3 of 4 techniques located"
    progress = [event for event in build.events if isinstance(event, Progress)]
    assert [(event.stage, event.done, event.total) for event in progress] == [("code", n, 3) for n in (1, 2, 3)]


def test_a_second_build_asks_nothing_and_is_equal(build: Builder) -> None:
    first = build()
    again = build()
    assert build.requests == []
    assert again.bundle == first.bundle
    fresh = {report.name for report in again.stages if not report.reused}
    assert fresh == {"parse", "fetch", "code"}  # the last stage reports the results that it kept for each technique


def test_without_a_repository_definitions_are_all(build: Builder) -> None:
    built = build(repository=False)
    assert [report.name for report in built.stages] == ["parse", "extract", "prune"]
    assert (built.bundle.code, hidden(built.bundle), built.bundle.paper.state) == ((), {}, "complete")
    assert build.requests == ["extract"]
    assert built.notes == ("no repository was given (--repo), so techniques have no code",)


def test_without_a_sandbox_code_is_visible_at_parsed(build: Builder) -> None:
    built = build(runner=None, modularize=sound)
    assert {c.level for c in built.bundle.code} == {Level.PARSED}
    assert set(hidden(built.bundle)) == {GAPS}
    assert any("no sandbox on this machine" in note for note in built.notes)
    assert {"repair", "fidelity"}.isdisjoint(build.requests)
    contained = build()
    assert {c.level for c in contained.bundle.code} == {Level.FAITHFUL}


# --- what the model failed to do --------------------------------------------------------------------------------------


def test_what_could_not_be_located_says_so(build: Builder) -> None:
    built = build(ground=failing(AnswerError("ground: none")))
    assert built.bundle.paper.state == "partial"
    assert hidden(built.bundle)[FILTER] == "not located: ground: none"
    assert built.bundle.code == ()
    assert build().bundle.paper.state == "complete"


def test_none_for_every_technique_is_a_complete_answer(build: Builder) -> None:
    built = build(ground=lambda request: places(request, {}))
    assert (built.bundle.paper.state, built.bundle.code) == ("complete", ())
    assert set(hidden(built.bundle).values()) == {NOT_FOUND}
    assert len(hidden(built.bundle)) == 4
    build(ground=failing(AssertionError("asked again")))
    assert build.requests == []


def test_unrelated_code_is_hidden_whatever_its_level(build: Builder) -> None:
    def judged(request: Question) -> Any:
        if request.technique == "Median peak clipping":
            return verdict(("unrelated", "it sorts"))
        return None

    built = build(modularize=sound, fidelity=judged)
    assert hidden(built.bundle)[CLIPPING] == "its code was judged to do something else: it sorts"
    assert built.bundle.paper.state == "complete"


def test_reasons_outlive_a_verification(build: Builder) -> None:
    built = build(
        ground=lambda request: places(request, {n: f for n, f in PLACES.items() if "filter" not in n}),
        modularize=lambda a: declined("It only plots.") if a.technique == "Median peak clipping" else sound(a),
    )
    assert built.bundle.paper.state == "complete"
    where = "the model found no code for the technique in the lines shown of clip_peaks"
    assert hidden(built.bundle)[CLIPPING] == f"{where}: It only plots."
    assert apply(built.bundle, {}, None) == built.bundle
    damping = built.bundle.code_of(DAMPING)
    assert damping is not None
    fallen = apply(built.bundle, {damping.id: damping.evidence[-1].model_copy(update={"level": Level.IMPORTED})}, None)
    assert set(hidden(fallen)) == {FILTER, CLIPPING, DAMPING, GAPS}
    assert hidden(fallen)[CLIPPING] == hidden(built.bundle)[CLIPPING]


# --- builds that stop early -------------------------------------------------------------------------------------------

SPENT = BudgetError("$0.50 of the $0.50 allowed are spent; run again with a higher --max-cost to go on")
STOPS = {
    "ground": "ground",
    "modularize": "code",
    "repair": "code",
    "strengthen": "code",
    "fidelity": "code",
    "revise": "code",
    "recheck": "code",
}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, parsers: Parsers) -> PaperBundle:
    return timeless(Builder(tmp_path_factory.mktemp("undisturbed"), parsers)().bundle)


@pytest.mark.product("each prompt")
@pytest.mark.parametrize("prompt", STOPS)
def test_a_stop_names_its_stage_and_the_next_goes_on(build: Builder, undisturbed: PaperBundle, prompt: str) -> None:
    stage = STOPS[prompt]
    changed: dict[str, Any] = {prompt: failing(SPENT)}
    built = build(**changed)
    assert built.stopped is not None
    assert str(built.stopped) == f"the build stopped in stage {stage}: {SPENT}"
    assert built.bundle.paper.state == "partial"
    assert built.bundle.paper.incomplete == (str(built.stopped),)
    reasons = hidden(built.bundle)
    if stage == "code":
        assert reasons[GAPS] == NOT_FOUND
        written = {c.technique for c in built.bundle.code}
        left = {FILTER, CLIPPING, DAMPING} - written
        assert left
        why = "the build stopped before its code was written"
        assert {reasons.get(t, why) for t in left} == {why}
    else:
        assert set(reasons.values()) == {f"the build stopped in stage {stage}, before its code was located"}
        assert len(reasons) == 4
    finished = {report.name for report in built.stages} - {"parse", "fetch", "code"}
    again = build()
    reused = {report.name for report in again.stages if report.reused}
    assert finished - {"prune"} <= reused
    assert again.stopped is None
    assert finished.isdisjoint(build.requests)
    assert timeless(again.bundle) == undisturbed


@pytest.mark.parametrize("error", [SPENT, ModelUnavailableError("extract: the endpoint is down"), AnswerError("none")])
def test_without_techniques_there_is_no_paper(build: Builder, error: Exception) -> None:
    with pytest.raises(type(error)) as caught:
        build(extract=failing(error))
    message = str(error).removeprefix("extract: ")
    assert str(caught.value) == f"the build stopped in stage extract: {message}"
    assert build().bundle.paper.state == "complete"


class Counting(QuickRunner):
    def __init__(self) -> None:
        self.modules: list[str] = []

    def run(self, job: Job) -> Outcome:
        self.modules.append(job.files["implementation.py"])
        return super().run(job)


@pytest.mark.parametrize("upgraded", [False, True])
def test_a_killed_build_proves_nothing_again(
    build: Builder, monkeypatch: pytest.MonkeyPatch, *, upgraded: bool
) -> None:
    def killed(_: Question) -> Any:
        raise KeyboardInterrupt

    first = Counting()
    with pytest.raises(KeyboardInterrupt):
        build(modularize=sound, fidelity=killed, runner=first)
    finished = set(first.modules)
    assert len(finished) >= 3
    if upgraded:  # an upgrade changes prompts or the paper parser, but not proofs
        monkeypatch.setattr("xkg.build.stage_cache.pipeline_version", lambda: "of tomorrow")
    second = Counting()
    built = build(modularize=sound, runner=second)
    assert not second.modules
    assert {c.level for c in built.bundle.code} == {Level.FAITHFUL}
