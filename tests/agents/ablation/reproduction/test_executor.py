"""Tests a baseline that fails at first, for known causes and with repairs by a model."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import pytest

from tests.agents.ablation.model_world import METRIC, RUN, TRAIN, World, once, replace, section
from xkg.agents.ablation.campaign import Start, run_campaign
from xkg.agents.ablation.outcomes import Campaign
from xkg.agents.workspace.files.starter import read_starter
from xkg.commands.ablate import apply, patch, read_campaign
from xkg.config import SandboxSettings
from xkg.errors import BaselineError
from xkg.sandbox.isolation.interpreters import own
from xkg.sandbox.packages.environments import on_cpu
from xkg.sandbox.packages.python_choice import first_day
from xkg.sandbox.runner import Environment, EnvironmentMaker
from xkg.sandbox.select import runner_for

REPAIR = {
    "cause": "path",
    "possible": True,
    "reason": "Read the settings where they are",
    "edits": [replace("train.py", "open('gone.txt')\n", "open('parts.py')\n")],
    "requirements": [],
}


def test_a_repair_is_a_commit_that_candidates_build_on(world: World) -> None:
    begins(world, "open('gone.txt')\n")
    world.answers["fix"] = once(REPAIR)
    world.run(budget=1)
    campaign = read_campaign(world.run_folder)
    [repair] = campaign.repairs
    assert repair.failure == "missing data"
    assert "+open('parts.py')" in repair.diff
    assert not repair.in_metric
    asked = section(world.asked("fix")[0], "run")
    assert "FileNotFoundError" in asked
    assert METRIC in asked
    change = patch(world.settings, str(world.run_folder), campaign.outcomes[0].id).decode()
    assert "+open('parts.py')" in change
    assert "return x" in change
    named = apply(world.settings, str(world.run_folder), "baseline", None)
    assert "xkg/baseline-repairs" in named
    assert "Repair: Read the settings" in git(world.repository, "log", "-1", "--format=%s", "xkg/baseline-repairs")
    assert "## Repairs of the baseline" in (world.run_folder / "report.md").read_text()
    # After a kill and a restart, the run applies the stored repairs again.
    (world.run_folder / "results.json").unlink()
    questions = len(world.endpoint.requests)
    assert world.run(budget=1).candidates == 1
    assert len(world.endpoint.requests) == questions


def test_a_repair_of_the_metrics_code_is_said(world: World) -> None:
    (world.repository / "train.py").write_text(TRAIN.replace("abs(x - 1.0)", "absolute(x - 1.0)"))
    commit(world.repository)
    edit = replace("train.py", "    return absolute(x - 1.0)\n", "    return abs(x - 1.0)\n")
    world.answers["fix"] = once({**REPAIR, "edits": [edit]})
    result = world.run(budget=1)
    assert any("computes the metric (train.py:" in note for note in result.notes)


def test_a_repair_that_does_not_apply_is_asked_for_again(world: World) -> None:
    begins(world, "open('gone.txt')\n")
    answers = [{**REPAIR, "edits": [], "requirements": ["git+https://example.org/x"]}, REPAIR]
    world.answers["fix"] = lambda _: answers.pop(0)
    world.run(budget=1)
    assert "is not a requirement" in world.asked("fix")[1]["messages"][-1]["content"]


def test_what_nothing_can_repair_ends_with_the_cause(world: World) -> None:
    begins(world, "open('gone.txt')\n")
    with pytest.raises(BaselineError, match=r"missing data.*--data gone\.txt=FILE.*the model: nothing helps;"):
        world.run()


def test_a_broken_checkpoint_is_named_and_no_model_is_asked(world: World) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n"
    begins(world, "import zipfile\nzipfile.ZipFile('weights.npz')\n", {"weights.npz": pointer})
    with pytest.raises(BaselineError, match=r"broken checkpoint.*weights\.npz: a Git LFS pointer"):
        world.run()
    assert not world.asked("fix")


FIRST_DAY = first_day(own().minor)


def campaign_with(maker: EnvironmentMaker | None, world: World, **more: Any) -> Campaign:
    world.run_folder.mkdir()
    task = world.task(budget=1, **more)
    starter = read_starter(task.repo, world.folder / "cache")
    return run_campaign(Start(task, starter, world.run_folder, runner_for(SandboxSettings()), maker))


class Maker:
    """An `EnvironmentMaker` that stores nothing and offers several versions of a package."""

    def __init__(self, folder: Path, versions: Mapping[str, str]) -> None:
        self._folder = folder
        self.days: list[str | None] = []
        self.asked: list[tuple[str, ...]] = []
        for name, text in versions.items():
            (folder / name).mkdir(parents=True)
            (folder / name / "fakelib.py").write_text(text)

    def again(self, digest: str) -> Environment | None:  # noqa: ARG002
        return None

    def make(
        self,
        imports: Iterable[str] | Mapping[str, Sequence[str]],
        requirements: Sequence[str] = (),
        written: str | None = None,
        declared: Sequence[str] = (),
    ) -> Environment:
        self.days.append(written)
        self.asked.append(tuple(requirements))
        return self.made({*imports, *(line.removesuffix("-dist") for line in declared)})

    def made(self, names: Set[str]) -> Environment:
        raise NotImplementedError


class Dated(Maker):
    """Its newest package has lost a function."""

    def __init__(self, folder: Path) -> None:
        rate = "def rate(): return 0.1\n"
        versions = {"new": "def other(): pass\n", "old": rate, "oldest": f"{rate}def level(): return 0.2\n"}
        super().__init__(folder, versions)

    def made(self, names: Set[str]) -> Environment:  # noqa: ARG002
        day = self.days[-1]
        name = "oldest" if day == FIRST_DAY else "old" if day else "new"
        return Environment(site=self._folder / name, hash=name, packages=(f"fakelib=={name}",))


COMPILED = "[0][not hasattr(fakelib, 'rate')]"
"""Raises the error in the line itself, as a library's compiled code does."""
WEIGHTS = "raise __import__('pickle').UnpicklingError('Weights only load failed')"
"""This is the error message of torch 2.6."""


@pytest.mark.parametrize(
    ("code", "day"),
    [
        ("rate", "2019-05-01"),
        ("assert not 'data'", "2025-05-01"),
    ],
)
def test_errors_of_the_code_itself_are_no_matter_of_packages(world: World, tmp_path: Path, code: str, day: str) -> None:
    begins(world, f"{code}\n", day=day)
    maker = Dated(tmp_path / "sites")
    with pytest.raises(BaselineError, match=r"(?:Name|Assertion)Error"):
        campaign_with(maker, world)
    assert maker.days == [None]


def test_code_without_a_commit_gets_the_first_packages_for_this_python(world: World, tmp_path: Path) -> None:
    shutil.rmtree(world.repository / ".git")
    (world.repository / "train.py").write_text(f"import fakelib\n{COMPILED}\n{TRAIN}")
    maker = Dated(tmp_path / "sites")
    assert campaign_with(maker, world).environment == "oldest"
    assert maker.days == [None, FIRST_DAY]


@pytest.mark.product("each day")
@pytest.mark.parametrize(
    ("code", "day", "pythons", "days", "environment"),
    [
        ("fakelib.rate()", None, {}, [], "old"),
        ("fakelib.rate()", "2019-05-01", {"3.7": Path("/python3.7")}, ["2019-05-01"], "old"),
        ("fakelib.level()", "2019-05-01", {}, ["2019-05-01", FIRST_DAY], "oldest"),
        ("fakelib.level()", "2025-05-01", {}, ["2025-05-01", FIRST_DAY], "oldest"),
        (COMPILED, "2019-05-01", {}, ["2019-05-01"], "old"),
        (COMPILED, None, {}, [], "old"),
        (f"if not hasattr(fakelib, 'rate'):\n    {WEIGHTS}", None, {}, [], "old"),
    ],
)
def test_code_of_another_day_runs_with_the_packages_and_the_python_of_the_commits_day(
    world: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    code: str,
    day: str | None,
    pythons: dict[str, Path],
    days: list[str],
    environment: str,
) -> None:
    """The commit's Python is not installed, so the first packages for the current Python are used."""
    monkeypatch.setattr("xkg.agents.ablation.reproduction.executor.installed", lambda: pythons)
    begins(world, f"import fakelib\n{code}\n", day=day)
    maker = Dated(tmp_path / "sites")
    campaign = campaign_with(maker, world)
    committed = git(world.repository, "log", "-1", "--format=%cs").strip()
    assert maker.days == [None, *(days or [committed])]
    asked = {line for lines in maker.asked for line in lines if line.startswith("python==")}
    assert asked == {f"python=={version}.*" for version in pythons}
    assert campaign.environment == environment
    told = "from the first day with packages for this Python" if environment == "oldest" else "the commit's half-year"
    assert pythons or any(told in note for note in campaign.notes)


class Pinned(Maker):
    """The version that the repository pins does not run."""

    def __init__(self, folder: Path) -> None:
        rate = "def rate(): return 0.1\n"
        super().__init__(folder, {"1.0": f"from fractions import gcd\n{rate}", "2.0": rate})

    def made(self, names: Set[str]) -> Environment:  # noqa: ARG002
        version = "2.0" if self.asked[-1][0] == "fakelib>1.0" else "1.0"
        pin = f"fakelib=={version}"
        return Environment(site=self._folder / version, hash=version, packages=(pin,), provided={"fakelib": pin})


def test_a_required_version_that_does_not_run_on_this_python_gives_way(world: World, tmp_path: Path) -> None:
    begins(world, "import fakelib\nfakelib.rate()\n", {"requirement.txt": "fakelib==1.0\n"})
    maker = Pinned(tmp_path / "sites")
    campaign = campaign_with(maker, world)
    assert [asked[0] for asked in maker.asked] == ["fakelib==1.0", "fakelib>1.0"]
    [repair] = campaign.repairs
    assert repair.cause == "version"
    assert repair.reason == "fakelib 1.0, required by the repository, does not run on this Python"
    assert "+fakelib>1.0" in repair.diff


def test_a_version_that_nobody_asked_for_is_not_made_newer(world: World, tmp_path: Path) -> None:
    begins(world, "import fakelib\nfakelib.rate()\n", {"requirement.txt": "fakelib==0.5\n"})
    maker = Pinned(tmp_path / "sites")
    with pytest.raises(BaselineError, match="gcd"):
        campaign_with(maker, world)
    assert all("fakelib==0.5" in asked for asked in maker.asked)


class Plugins(Maker):
    """Provides two modules that no file imports by name."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, {})

    def made(self, names: Set[str]) -> Environment:
        found = sorted(names & {"waves", "rings"})
        site = self._folder / "-".join(["site", *found])
        site.mkdir(parents=True, exist_ok=True)
        for name in found:
            (site / f"{name}.py").write_text("")
        pins = {name: f"{name}-dist==1" for name in found}
        return Environment(site=site, hash=site.name, packages=tuple(pins.values()), provided=pins)


def test_the_package_of_a_module_that_is_missing_in_a_run_is_added(world: World, tmp_path: Path) -> None:
    begins(world, "[__import__(name) for name in ('wa' + 'ves', 'rin' + 'gs')]\n")
    maker = Plugins(tmp_path / "sites")
    campaign = campaign_with(maker, world)
    assert [repair.reason for repair in campaign.repairs] == [
        f"the module {name} is missing when the code runs" for name in ("waves", "rings")
    ]
    assert "+waves-dist" in campaign.repairs[0].diff
    assert campaign.environment == "site-rings-waves"


def test_packages_that_the_repository_declares_follow_if_the_run_lacks_something(world: World, tmp_path: Path) -> None:
    plugin = "import importlib.util\nif not importlib.util.find_spec('waves'):\n"
    plugin += "    raise ImportError('no backend: pip install one')\n"
    begins(world, plugin, {"requirement.txt": "waves-dist\n"})
    campaign = campaign_with(Plugins(tmp_path / "sites"), world)
    [repair] = campaign.repairs
    assert "+waves-dist" in repair.diff
    assert campaign.environment == "site-waves"


def test_a_drawing_backend_that_needs_a_display_is_replaced(world: World) -> None:
    message = "Cannot load backend {} which requires the 'tk' interactive framework, as 'headless' is currently running"
    refuse = f"if BACKEND != 'Agg':\n    raise ImportError({message!r}.format(repr('TkAgg')))\n"
    begins(world, f"from drawing import BACKEND\n{refuse}", {"drawing.py": "BACKEND = 'TKAgg'\n"})
    campaign = campaign_with(None, world)
    [repair] = campaign.repairs
    assert '+BACKEND = "Agg"' in repair.diff
    assert "needs a display" in repair.reason


def test_modules_of_the_repository_are_found_wherever_they_lie(world: World) -> None:
    files = {"lib/my waves/rings.py": "from own_name.bits import square\n", "bits/square.py": ""}
    begins(world, "import rings\n", files)
    world.llm = {}
    result = world.run(budget=1)
    for place in ("lib/my waves", "the top folder as own_name"):
        assert f"the command sets PYTHONPATH to include {place}" in result.notes
    command = read_campaign(world.run_folder).task.run
    assert command.endswith(RUN)
    asked = ["bash", "-eu", "-c", command.removesuffix(RUN) + 'echo "$PYTHONPATH"; readlink "$names/own_name"']
    said = subprocess.run(asked, cwd=world.repository, text=True, capture_output=True, check=True).stdout
    assert re.fullmatch(rf"{world.repository}/lib/my waves:(/\S+)\n{world.repository}\n", said)


def test_a_module_of_the_repository_comes_before_a_package_of_its_name(world: World, tmp_path: Path) -> None:
    begins(world, "from waves import HIGH\n", {"lib/waves.py": "HIGH = 2\n", "requirements.txt": "waves\n"})
    campaign = campaign_with(Plugins(tmp_path / "sites"), world)
    assert "the command sets PYTHONPATH to include lib" in campaign.notes


def test_a_folder_into_which_the_command_writes_is_made(world: World, tmp_path: Path) -> None:
    (world.repository / "train.py").write_text(TRAIN + "\nopen('out/figures/a.txt', 'w').close()\n")
    commit(world.repository)
    campaign = campaign_with(Plugins(tmp_path / "sites"), world)
    assert campaign.task.setup == "mkdir -p out/figures"
    assert "the setup creates out/figures, which the command writes to" in campaign.notes


def test_a_file_that_the_command_reads_is_not_made(world: World, tmp_path: Path) -> None:
    (world.repository / "train.py").write_text(TRAIN + "\nopen('in/a.txt')\n")
    commit(world.repository)
    with pytest.raises(BaselineError, match=r"--data in=FOLDER containing a\.txt"):
        campaign_with(Plugins(tmp_path / "sites"), world)


def test_an_extension_module_of_the_repository_is_built_first(world: World, tmp_path: Path) -> None:
    stands_for_a_compiler = "ext_modules = ['knots']\nopen('../knots.py', 'w').close()\n"
    begins(world, "import knots\n", {"lib/setup.py": stands_for_a_compiler})
    campaign = campaign_with(Plugins(tmp_path / "sites"), world)
    assert campaign.task.setup == "(cd lib && python setup.py build_ext --inplace)"
    [repair] = campaign.repairs
    assert repair.reason.startswith("the extension module knots is built first")
    assert "+cython" in repair.diff


def test_code_that_takes_the_cpu_by_itself_runs_without_the_option_for_it(world: World, tmp_path: Path) -> None:
    begins(world, "import sys\nassert '_xkg_no_gpu' not in sys.modules\n")

    class OnCpu(Plugins):
        def made(self, names: Set[str]) -> Environment:
            return on_cpu(super().made(names))

    campaign = campaign_with(OnCpu(tmp_path / "sites"), world)
    [note] = [note for note in campaign.notes if "CPU" in note]
    assert note.startswith("the code chooses the CPU itself; with --cpu, it ended with status 1: AssertionError")


def begins(world: World, code: str, files: Mapping[str, str] | None = None, day: str | None = None) -> None:
    """Commits these files and a program that begins with this code. `day` is the date of the commit."""
    for path, text in {**(files or {}), "train.py": code + TRAIN}.items():
        (world.repository / path).parent.mkdir(parents=True, exist_ok=True)
        (world.repository / path).write_text(text)
    commit(world.repository, day and f"{day}T12:00:00")


def commit(folder: Path, day: str | None = None) -> None:
    git(folder, "add", ".")
    dates = {"GIT_COMMITTER_DATE": day, "GIT_AUTHOR_DATE": day} if day else {}
    git(folder, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "change", **dates)


def git(folder: Path, *arguments: str, **variables: str) -> str:
    environment = {**os.environ, **variables}
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True, env=environment
    ).stdout
