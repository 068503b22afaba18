"""Tests runs of drafts. A draft runs only once, with the packages that it needs, and at most two runs are in
progress."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import pytest

from tests.build.guided.drafts import draft_of
from tests.build.guided.quick_runner import QuickRunner
from tests.build.test_package_versions import IN_PACKAGE
from xkg.build.guided.coding.trial import Trials
from xkg.build.guided.draft import Draft
from xkg.model import Level
from xkg.sandbox.evidence.failure_causes import Cause
from xkg.sandbox.runner import Environment, Job, Limits, Outcome

DAY = "2024-03-25"
MODULE = "def twice(x):\n    return x + x\n"
TEST = "from implementation import twice\n\nassert twice(3) == 6\nassert twice(-0.5) == -1.0\n"


def draft(implementation: str = MODULE, test: str = TEST) -> Draft:
    return draft_of(implementation, test, documentation="D.", excerpt="lines")


def ended(how: Literal["exited", "killed", "timeout"], output: str = "") -> Outcome:
    code = 1 if how == "exited" else None
    return Outcome(ended=how, exit_code=code, output=output, seconds=0, peak_memory_mb=0, runner="quick", command="")


class Place(QuickRunner):
    """Replaces the runner and the environment maker, and records every request. Packages do not work in the
    environments whose numbers are in `failing`. If `same` is True, all environments are the same."""

    def __init__(self, failing: Sequence[int] = (), *, same: bool = False, without: Sequence[int] = ()) -> None:
        self.failing = failing
        self.same = same
        self.without = without
        self.requests: list[tuple[dict[str, Sequence[str]], list[str], str | None]] = []
        self.jobs: list[Job] = []
        self.ended: Outcome | None = None
        self.outputs: dict[int, str] = {}
        self.pause = 0.0
        self.under_way: list[Job] = []
        self.most_under_way = 0

    def make(self, imports: Mapping[str, Sequence[str]], requirements: Sequence[str], day: str | None) -> Environment:
        request = (dict(imports), list(requirements), day)
        self.requests.append(request)
        number = 0 if self.same else self.requests.index(request)
        site = None if number in self.without else Path(f"/nowhere/{number}/site")
        provided = {name: f"{name}==1.{number}" for name in imports}
        return Environment(site=site, hash=f"h{number}", provided=provided)

    def run(self, job: Job) -> Outcome:
        self.jobs.append(job)
        self.under_way.append(job)
        self.most_under_way = max(self.most_under_way, len(self.under_way))
        time.sleep(self.pause)
        try:
            if self.ended is not None:
                return self.ended
            outputs = dict.fromkeys(self.failing, IN_PACKAGE) | self.outputs
            if job.site is not None and (number := int(job.site.parent.name)) in outputs:
                return ended("exited", outputs[number])
            return super().run(job)
        finally:
            self.under_way.pop()

    def trials(
        self,
        folder: Path,
        requirements: Sequence[str] = ("flax==0.7",),
        base: Mapping[str, Sequence[str]] | None = None,
        limits: Limits | None = None,
    ) -> Trials:
        return Trials(folder, self, limits or Limits(), self.make, requirements, DAY, base or {})


def test_the_same_draft_is_run_once_also_by_a_later_build(tmp_path: Path) -> None:
    place = Place()
    trials = place.trials(tmp_path)
    first = trials(draft())
    assert (first.evidence.level, first.cause) == (Level.TESTED, Cause.PASSES)
    runs = len(place.jobs)
    assert trials(draft()) == first
    assert place.trials(tmp_path)(draft()) == first
    assert len(place.jobs) == runs
    assert trials.final


def test_a_module_that_only_a_run_misses_is_added(tmp_path: Path) -> None:
    place = Place()
    late = "Traceback (most recent call last):\n  x\nImportError: Import msgpack failed\n"
    place.outputs = {0: late}
    assert place.trials(tmp_path, ()).__call__(draft()).evidence.level is Level.TESTED
    assert [sorted(request[0]) for request in place.requests] == [[], ["msgpack"]]


@pytest.mark.parametrize("change", ["implementation", "test", "limits", "runner", "documentation"])
def test_only_what_decides_a_run_is_run_anew(tmp_path: Path, change: str) -> None:
    place = Place()
    place.trials(tmp_path)(draft())
    runs = len(place.jobs)
    limits = Limits(seconds=5) if change == "limits" else None
    if change == "runner":
        place.name = "other"
    texts = {"implementation": "def twice(x):\n    return 2 * x\n", "test": TEST + "\n", "documentation": "Other."}
    other = draft().model_copy(update={name: text for name, text in texts.items() if name == change})
    place.trials(tmp_path, limits=limits)(other)
    assert (len(place.jobs) > runs) == (change != "documentation")


def test_packages_are_those_of_the_paper_with_the_draft_s_own_and_its_test_s(tmp_path: Path) -> None:
    place = Place()
    implementation = "import math\nimport jax.numpy as jnp\nfrom torch import nn, optim\n\ndef f(x):\n    return x\n"
    test = "from implementation import f\nimport scipy\n\nassert f(1) == 1\n"
    place.trials(tmp_path, base={"numpy": (), "torch": ("Tensor",)})(draft(implementation, test))
    imports, requirements, day = next(request for request in place.requests if "jax" in request[0])
    assert sorted(imports) == ["jax", "numpy", "scipy", "torch"]
    assert set(imports["torch"]) == {"Tensor", "nn", "optim"}
    assert (requirements, day) == (["flax==0.7"], DAY)


def test_a_proof_names_what_the_code_ran_with(tmp_path: Path) -> None:
    place = Place(same=True)
    trials = place.trials(tmp_path, base={"numpy": (), "jax": ()})
    proof = trials(draft("import numpy\n" + MODULE))
    assert proof.evidence.distributions == {"numpy": "numpy==1.0"}
    assert trials.installed().provided == {"numpy": "numpy==1.0", "jax": "jax==1.0"}


def test_where_a_package_fails_other_versions_are_tried(tmp_path: Path) -> None:
    place = Place(failing=[0, 1])
    proof = place.trials(tmp_path)(draft())
    assert [request[1:] for request in place.requests] == [(["flax==0.7"], DAY), (["flax"], DAY), (["flax"], None)]
    assert (proof.evidence.level, proof.evidence.environment) == (Level.TESTED, "h2")


def test_what_prompts_say_is_installed_imports_and_is_what_runs(tmp_path: Path) -> None:
    place = Place(failing=[0])
    trials = place.trials(tmp_path, base={"numpy": ()})
    assert trials.installed().hash == "h1"
    proof = trials(draft())  # the draft runs in the environment that the prompt named
    assert (proof.evidence.level, proof.evidence.environment) == (Level.TESTED, "h1")


def test_versions_that_import_no_more_than_the_repository_s_do_not_replace_them(tmp_path: Path) -> None:
    place = Place(failing=[0, 1, 2])
    assert place.trials(tmp_path, base={"numpy": ()}).installed().hash == "h0"


def test_the_best_of_several_versions_counts_and_then_the_first(tmp_path: Path) -> None:
    place = Place(failing=[0, 1, 2])
    trials = place.trials(tmp_path)
    proof = trials(draft())
    assert (proof.evidence.level, proof.evidence.environment) == (Level.PARSED, "h0")
    assert set(trials.environments) == {"h0", "h1", "h2"}
    assert place.trials(tmp_path)(draft()) == proof


def test_a_failure_of_its_own_is_not_tried_with_other_versions(tmp_path: Path) -> None:
    place = Place()
    assert place.trials(tmp_path)(draft("1 / 0\n" + MODULE)).evidence.level is Level.PARSED
    assert len(place.requests) == 1


def test_versions_that_come_to_the_same_or_to_nothing_are_not_run(tmp_path: Path) -> None:
    same = Place(failing=[0], same=True)
    same.trials(tmp_path / "same")(draft())
    assert (len(same.requests), len(same.jobs)) == (3, 1)
    nothing = Place(failing=[0], without=[1, 2])
    nothing.trials(tmp_path / "nothing")(draft())
    assert (len(nothing.requests), len(nothing.jobs)) == (3, 1)


def test_two_run_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xkg.sandbox.evidence.run_slots.processors", lambda: 2)
    place = Place()
    place.pause = 0.02
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(place.trials(tmp_path), [draft(test=f"{TEST}assert twice({n}) == {2 * n}\n") for n in range(6)]))
    assert place.most_under_way == 2


@pytest.mark.parametrize(("how", "cause"), [("killed", Cause.KILLED), ("timeout", Cause.TIME)])
def test_a_run_that_was_ended_is_not_stored(tmp_path: Path, how: Literal["killed", "timeout"], cause: Cause) -> None:
    place = Place()
    place.ended = ended(how)
    assert place.trials(tmp_path)(draft()).cause is cause
    place.ended = None
    assert place.trials(tmp_path)(draft()).cause is Cause.PASSES
