import pytest

from xkg.agents.ablation.candidates import COMMAND, LeftOut, Place
from xkg.agents.ablation.failures import Failure
from xkg.agents.ablation.outcomes import RunOutcome
from xkg.agents.ablation.reproduction.baseline import baseline_of, noise_note, seeds_needed
from xkg.agents.ablation.space.exclusions import LENGTH
from xkg.agents.ablation.task import Task
from xkg.errors import BaselineError

TASK = Task(repo=".", run="python train.py", metrics=("loss: ([0-9.]+):min",))


def runs(*values: float) -> list[RunOutcome]:
    return [RunOutcome(seed=seed, command="c", values=(value,), seconds=1.0) for seed, value in enumerate(values)]


def test_equal_runs_of_other_seeds_repeat_exactly_and_different_ones_have_a_noise() -> None:
    assert baseline_of(TASK, runs(1.0, 1.0, 1.0), {}, varied=["a.py:1: 0 → 1000"]).exact
    varied = baseline_of(TASK, runs(1.0, 1.1, 0.9), {}, unknown="a.py:1: seeded by hand")
    assert not varied.one_seed
    assert varied.noise == pytest.approx(0.1)


@pytest.mark.parametrize(("noise", "seeds"), [(0.01, 1), (0.05, 16), (0.5, 1568)])
def test_seeds_that_an_effect_of_five_per_cent_needs(noise: float, seeds: int) -> None:
    assert seeds_needed(noise) == seeds


def test_a_noisy_baseline_is_told_what_would_help() -> None:
    place = Place(path="a.py", start_line=3, end_line=3)
    left = [LeftOut(name=name, place=place, reason=LENGTH) for name in ("n_episodes", "n_steps")]
    left.append(LeftOut(name="n-steps", place=Place(path=COMMAND, start_line=1, end_line=1), reason=LENGTH))
    some, many = (noise_note(TASK, baseline_of(TASK, runs(*v), {}), left) for v in ((1.0, 1.1, 0.9), (1.0, 1.5, 0.5)))
    assert (some or "").endswith("use about 63 seeds (--seed), or raise n_episodes (a.py:3)")
    assert (many or "").endswith("that takes more seeds than are practical, so raise n_episodes (a.py:3)")
    assert noise_note(TASK, baseline_of(TASK, runs(1.0, 1.001, 0.999), {}), left) is None


@pytest.mark.parametrize(("failure", "is_told"), [("error", True), ("needs the network", False)])
def test_a_failed_baseline_says_what_its_python_lacks_if_that_may_be_why(failure: Failure, is_told: bool) -> None:
    failed = RunOutcome(seed=0, command="c", values=(), seconds=1.0, failure=failure, problem="it ended")
    with pytest.raises(BaselineError) as raised:
        baseline_of(TASK, [failed], {}, notes=["uv python install 3.13"])
    assert ("uv python install 3.13" in str(raised.value)) is is_told


@pytest.mark.parametrize(
    ("reason", "advised"), [("no package ham in the registry", "--with PACKAGE"), ("too large", "--with ham")]
)
def test_a_name_that_the_registry_lacks_is_not_advised_again(reason: str, advised: str) -> None:
    said = "ModuleNotFoundError: No module named 'ham'"
    failed = RunOutcome(
        seed=0, command="c", values=(), seconds=1.0, failure="missing package", problem=said, output_end=said
    )  # fmt: skip
    with pytest.raises(BaselineError) as raised:
        baseline_of(TASK, [failed], {"ham": reason})
    assert advised in str(raised.value)
    assert ("--with ham" in str(raised.value)) is (advised == "--with ham")
