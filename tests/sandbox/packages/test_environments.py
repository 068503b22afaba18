import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.sandbox.conftest import CONTAINER, require_container
from tests.sandbox.index import Index, serving
from xkg.config import EnvironmentSettings
from xkg.errors import PackagesError
from xkg.sandbox.isolation.bubblewrap import BubblewrapRunner
from xkg.sandbox.isolation.interpreters import installed, own
from xkg.sandbox.packages.environments import UvEnvironments, newest_of
from xkg.sandbox.packages.plan import Installing
from xkg.sandbox.packages.python_choice import first_day
from xkg.sandbox.runner import Environment, Job, Runner


@pytest.fixture
def environments(tmp_path: Path) -> UvEnvironments:
    return UvEnvironments(EnvironmentSettings(folder=tmp_path / "environments", max_mb=20), BubblewrapRunner())


@pytest.fixture(params=["bubblewrap", CONTAINER])
def installing(request: pytest.FixtureRequest) -> Runner:
    """Returns each sandbox that can contain the installer."""
    return require_container() if request.param == "container" else BubblewrapRunner()


def importable(environment: Environment, *names: str) -> bool:
    job = Job(arguments=("-c", f"import {', '.join(names)}"), site=environment.site)
    return BubblewrapRunner().run(job).ok


def test_packages_with_their_dependencies_and_none_of_ours(index: Index, installing: Runner, tmp_path: Path) -> None:
    index.add("alpha", "1.0", {"alpha/__init__.py": "import beta"}, ("beta>=2",))
    index.add("beta", "1.0", {"beta.py": ""})
    index.add("beta", "2.0", {"beta.py": "value = 2"})
    settings = EnvironmentSettings(folder=tmp_path / "environments", max_mb=20)
    environment = UvEnvironments(settings, installing).make(["alpha", "os", "json"])
    assert environment.packages == ("alpha==1.0", "beta==2.0")
    assert environment.missing == {}
    assert importable(environment, "alpha", "beta")
    assert not importable(environment, "pytest")


def test_packages_that_were_asked_for_come_beside_those_of_the_code(index: Index, tmp_path: Path) -> None:
    index.add("alpha", "1.0", {"alpha.py": ""})
    for version in ("1.0", "2.0"):
        index.add("beta", version, {"beta.py": ""})
    settings = EnvironmentSettings(folder=tmp_path / "e", max_mb=20, packages=("beta<2", "gone"), cpu=True)
    made = UvEnvironments(settings, BubblewrapRunner()).make(["alpha"], ["beta==2.0"], declared=["beta==2.0"])
    assert made.packages == ("alpha==1.0", "beta==1.0")
    assert made.cpu
    [gone] = [note for note in made.notes if note.startswith("gone is ")]
    assert "but not installed" in gone
    assert "code for CUDA runs on the CPU in place of CUDA" in made.notes


def test_a_second_question_is_answered_without_the_index(
    index: Index, environments: UvEnvironments, tmp_path: Path
) -> None:
    index.add("alpha", "1.0", {"alpha.py": ""})
    first = environments.make(["alpha"])
    asked = len(index.asked)
    again = UvEnvironments(EnvironmentSettings(folder=tmp_path / "environments", max_mb=20), BubblewrapRunner())
    assert again.make(["alpha", "sys"]) == first
    assert len(index.asked) == asked


def test_another_set_with_the_same_wheel_links_to_it(index: Index, tmp_path: Path) -> None:
    index.add("alpha", "1.0", {"alpha.py": "value = 1", "alpha_data.bin": bytes(3 << 20)}, ())
    index.add("beta", "1.0", {"beta.py": ""})
    told: list[Installing] = []
    maker = UvEnvironments(EnvironmentSettings(folder=tmp_path / "e"), BubblewrapRunner(), told.append)
    first = maker.make(["alpha"])
    second = maker.make(["alpha", "beta"])
    assert second.packages == ("alpha==1.0", "beta==1.0")
    assert first.site is not None
    assert second.site is not None
    assert (first.site / "alpha.py").samefile(second.site / "alpha.py")
    assert (second.site / "__pycache__" / f"alpha.{sys.implementation.cache_tag}.pyc").exists()
    assert [str(event).partition(":")[0] for event in told] == ["installing alpha 1.0", "installing beta 1.0"]


def test_torch_is_built_for_the_cpu_if_an_index_has_that(index: Index, tmp_path: Path) -> None:
    index.add("torch", "2.0", {"torch.py": ""}, ("nvidia-cublas", "sympy"))
    index.add("torch", "2.1", {"torch.py": ""}, ("nvidia-cublas", "sympy"))
    index.add("nvidia-cublas", "12.0", {"nvidia/cublas.py": ""})
    index.add("sympy", "1.0", {"sympy.py": ""})
    with serving(Index()) as cpu:
        cpu.add("torch", "2.0+cpu", {"torch.py": ""}, ("sympy",))
        settings = EnvironmentSettings(folder=tmp_path / "e", cpu_index=cpu.url)
        made = UvEnvironments(settings, BubblewrapRunner()).make(["torch"], ["torch==2.0"])
        assert made.packages == ("sympy==1.0", "torch==2.0+cpu")
        assert importable(made, "torch")
        newest = UvEnvironments(settings, BubblewrapRunner()).make(["torch"])
        assert newest.packages == ("nvidia-cublas==12.0", "sympy==1.0", "torch==2.1")  # the index lacks torch 2.0
    with_cuda = settings.model_copy(update={"cpu_index": "none"})
    made = UvEnvironments(with_cuda, BubblewrapRunner()).make(["torch"], ["torch==2.0"])
    assert "nvidia-cublas==12.0" in made.packages


def test_what_the_repository_declares_is_installed_too(index: Index, environments: UvEnvironments) -> None:
    index.add("alpha", "1.0", {"alpha.py": ""})
    index.add("plugin", "1.0", {"plugin.py": ""}, ("alpha",))
    index.add("plugin", "2.0", {"plugin.py": ""}, ("alpha",))
    index.add("contrary", "1.0", {"contrary.py": ""}, ("alpha>=2",))
    index.add("wide", "1.0", {"wide.bin": bytes(21 << 20)})
    declared = ["plugin==1.0", "contrary", "gone==3", "wide", "cudatoolkit==11.3", "nvidia-cublas-cu12==12.1"]
    environment = environments.make(["alpha"], [*declared, "unrelated"], declared=declared)
    assert environment.missing == {}
    assert environment.packages == ("alpha==1.0", "plugin==1.0")
    assert importable(environment, "alpha", "plugin")
    told = " is declared but not installed: "
    reasons = {name: why for name, _, why in (note.partition(told) for note in environment.notes) if why}
    assert reasons.keys() == {"gone", "contrary", "wide"}
    assert reasons["gone"] == "no package gone in the registry"
    assert reasons["wide"] == "needs about 30 MB (all packages: 30 MB), limit is 20 MB (environment.max_mb)"
    cuda = "left out: cudatoolkit, nvidia-cublas-cu12 (CUDA toolkits and drivers are not installed)"
    assert cuda in environment.notes
    free = environments.make([], ["plugin"], declared=["plugin==1.0"])
    assert free.packages == ("alpha==1.0", "plugin==2.0")  # "plugin" alone is not pinned to the declared version


def test_a_module_that_later_versions_lack_comes_from_the_last_that_has_it(
    index: Index, environments: UvEnvironments
) -> None:
    index.add("setuptools", "81.0", {"setuptools.py": "", "pkg_resources.py": ""})
    index.add("setuptools", "82.0", {"setuptools.py": ""})
    assert environments.make(["pkg_resources"]).packages == ("setuptools==81.0",)
    assert environments.make(["setuptools"]).packages == ("setuptools==82.0",)


def test_names_that_only_the_table_of_conda_forge_knows(index: Index, environments: UvEnvironments) -> None:
    table = [("dm-odd", "odd"), ("odd-extra", "odd"), ("same", "same"), ("another-same", "same"), ("asked", "needed")]
    listed = {name: {"pypi_name": name, "conda_name": "x", "import_name": module} for name, module in table}
    index.add("conda-pypi", "0.13.1", {"conda_pypi/grayskull_pypi_mapping.json": json.dumps(listed)})
    for name, module in [("odd", "odd"), *table, ("needed", "needed")]:
        index.add(name, "1.0", {f"{module}.py": ""})
    environment = environments.make(["odd", "same", "needed"], ["asked"])
    assert environment.packages == ("asked==1.0", "dm-odd==1.0", "same==1.0")


def test_another_project_of_the_same_name_is_not_taken(index: Index, environments: UvEnvironments) -> None:
    index.add("lml", "1.0", {"lml/__init__.py": "from lml.plugin import load\n", "lml/plugin.py": "def load(): ...\n"})
    environment = environments.make({"lml": ["LML"]})
    assert environment.missing == {"lml": "the registry's lml is a different project: it has no LML"}
    assert environment.packages == ()
    # A single known name is enough, because another version may contain the others.
    assert environments.make({"lml": ["LML", "load"]}).packages == ("lml==1.0",)
    # The repository itself declares this package.
    assert environments.make({"lml": ["LML"]}, ["lml"]).packages == ("lml==1.0",)


def test_versions_that_conflict_give_as_many_as_fit(index: Index, environments: UvEnvironments) -> None:
    index.add("alpha", "1.0", {"alpha.py": ""}, ("shared==1.0",))
    index.add("beta", "1.0", {"beta.py": ""}, ("shared==2.0",))
    for version in ("1.0", "2.0"):
        index.add("shared", version, {"shared.py": ""})
    environment = environments.make(["alpha", "beta"])
    assert environment.packages == ("alpha==1.0", "shared==1.0")
    assert environment.missing.keys() == {"beta"}


def test_pins_choose_the_python_that_has_wheels_for_them(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    oldest = min(installed(), key=lambda version: int(version[2:]), default="3.7")
    index.add(
        "alpha",
        "1.0",
        {"alpha.py": "import sys; print(sys.version_info[1])"},
        tag=f"cp{oldest[0]}{oldest[2:]}-none-any",
    )
    index.add("alpha", "2.0", {"alpha.py": ""})
    index.add("marked", "1.0", {"marked.py": ""})
    lines = ["alpha==1.0", "marked==9; python_version >= '3.11'"]
    maker = UvEnvironments(EnvironmentSettings(folder=tmp_path / "e"), BubblewrapRunner())
    if program := installed().get(oldest):
        made = maker.make(["alpha", "marked"], lines)
        assert made.python == program
        assert made.packages == ("alpha==1.0", "marked==1.0")
        assert made.notes == ()
        job = Job(arguments=("-c", "import alpha"), site=made.site, python=made.python)
        assert BubblewrapRunner().run(job).output == f"{oldest[2:]}\n"
        assert maker.again(made.hash) is not None
    monkeypatch.setattr("xkg.sandbox.packages.environments.installed", dict)
    made = maker.make(["alpha"], lines)
    assert (made.python, made.packages) == (None, ("alpha==2.0",))
    assert any(note.startswith(f"alpha==1.0 needs Python {oldest}, which is not installed; ") for note in made.notes)


def test_the_repository_asks_for_a_python(index: Index, tmp_path: Path) -> None:
    index.add("alpha", "1.0", {"alpha.py": ""})
    maker = UvEnvironments(EnvironmentSettings(folder=tmp_path / "e"), BubblewrapRunner())
    for version, program in list(installed().items())[:1]:
        assert maker.make(["alpha"], [f"python=={version}.*", "alpha"]).python == program
        assert maker.make([], [f"python=={version}.*"]).python == program
    made = maker.make(["alpha"], ["python>=3.7", "alpha"])
    assert (made.python, made.packages, made.notes) == (None, ("alpha==1.0",), ())
    [note] = maker.make(["alpha"], ["python==2.7.*", "alpha"]).notes
    assert note == f"the repository asks for Python ==2.7.*, which is not installed; using {own().version}"


def test_the_day_of_the_packages_is_never_before_this_python_and_shared_by_a_half_year() -> None:
    first = newest_of("2009-01-01")
    assert first is not None
    assert first > "2012"
    assert first < first_day(sys.version_info.minor + 1)
    assert newest_of(None) is None
    assert newest_of("yesterday") is None

    assert newest_of("2999-01-01") == newest_of("2999-06-30") == "2999-07-01"
    assert newest_of("2999-07-01") == newest_of("2999-12-31") == "2999-12-31"


@pytest.mark.product("an index that gives parts of files, and one that does not")
@pytest.mark.parametrize("parts", [True, False])
def test_what_is_too_large_is_refused_before_it_is_downloaded(index: Index, tmp_path: Path, parts: bool) -> None:
    index.parts = parts
    index.add("alpha", "1.0", {"alpha.py": ""})
    index.add("huge", "1.0", {"huge.py": "", "huge_data/x.so": os.urandom(3 << 20) + bytes(3 << 20)}, ("alpha",))
    settings = EnvironmentSettings(folder=tmp_path / "environments", max_mb=5)
    environment = UvEnvironments(settings, BubblewrapRunner()).make(["alpha", "huge"])
    assert environment.packages == ("alpha==1.0",)
    assert environment.missing["huge"].endswith("limit is 5 MB (environment.max_mb)")
    assert not any("huge" in str(path) for path in environment.site.rglob("*")) if environment.site else False


def test_a_wheel_that_unpacks_to_more_than_it_said(tmp_path: Path, index: Index) -> None:
    index.parts = False
    index.add("bomb", "1.0", {"bomb.py": "", "bomb_data": bytes(30 << 20)})
    environments = UvEnvironments(EnvironmentSettings(folder=tmp_path / "e", max_mb=5), BubblewrapRunner())
    environment = environments.make(["bomb"])
    assert environment.site is None
    assert "bomb" in environment.missing
    assert sum(path.stat().st_size for path in (tmp_path / "e").glob("[0-9a-f]*/site/**/*")) == 0


def test_nothing_of_a_package_runs_or_leaves_its_folder(index: Index, installing: Runner, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    mark_code = f"open({str(mark)!r}, 'w')"
    index.add(
        "hostile",
        "1.0",
        {
            "hostile.py": mark_code,
            "sitecustomize.py": mark_code,
            "usercustomize.py": mark_code,
            "hostile.pth": f"import sys; {mark_code}",
            "setup.py": mark_code,
            "hostile-1.0.data/scripts/python": "#!/bin/sh",
        },
    )
    index.add("climbing", "1.0", {"climbing.py": "", "../../../../../../../../tmp/xkg-climbed": "out"})
    settings = EnvironmentSettings(folder=tmp_path / "environments", max_mb=20)
    environment = UvEnvironments(settings, installing).make(["hostile", "climbing"])
    assert not mark.exists()
    assert not Path("/tmp/xkg-climbed").exists()
    assert not list(tmp_path.rglob("xkg-climbed"))
    assert set(environment.missing) <= {"climbing", "hostile"}


def test_versions_that_unavailable_packages_are_told(index: Index, environments: UvEnvironments) -> None:
    index.add("alpha", "2.0", {"alpha.py": ""})
    assert environments.make(["alpha"], ["alpha==1.0"]).notes == (
        "versions that differ from those the repository asks for: alpha 2.0 for ==1.0 "
        "(no wheel for this Python, or they conflict with each other)",
    )
    assert environments.make(["alpha"], ["alpha>=1.0"]).notes == ()


def test_nothing_needed_and_nothing_wanted(tmp_path: Path) -> None:
    made = UvEnvironments(EnvironmentSettings(folder=tmp_path / "e"), BubblewrapRunner()).make(["os", "sys"])
    assert (made.site, made.packages, made.missing) == (None, (), {})
    off = UvEnvironments(EnvironmentSettings(folder=tmp_path / "e", max_mb=0), BubblewrapRunner()).make(["numpy"])
    assert "environment.max_mb is 0" in off.missing["numpy"]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made(tmp_path: Path, index: Index) -> None:
    (tmp_path / "file").write_text("")
    index.add("alpha", "1.0", {"alpha.py": ""})
    with pytest.raises(PackagesError, match="free disk space or correct"):
        UvEnvironments(EnvironmentSettings(folder=tmp_path / "file/e"), BubblewrapRunner()).make(["alpha"])


def test_a_set_can_be_had_again_as_it_was(index: Index, environments: UvEnvironments, tmp_path: Path) -> None:
    index.add("alpha", "1.0", {"alpha/__init__.py": ""})
    made = environments.make(["alpha"])
    index.add("alpha", "2.0", {"alpha/__init__.py": ""})
    assert environments.again(made.hash) == made
    assert made.site is not None
    shutil.rmtree(made.site.parent)
    assert environments.again(made.hash) == made
    assert importable(made, "alpha")
    assert environments.make(["alpha"], written="2026-01-01").packages != ()
    shutil.rmtree(made.site.parent)
    index.status = 500
    shutil.rmtree(tmp_path / "environments/making")
    assert environments.again(made.hash) is None
    assert environments.again("0" * 16) is None
    assert environments.again("../../../etc/passwd") is None


def test_what_can_be_had_is_installed_and_the_rest_is_named(index: Index, environments: UvEnvironments) -> None:
    index.add("pyyaml", "6.0", {"yaml/__init__.py": ""})
    index.add("odd-name", "1.0", {"strange/__init__.py": "", "strange/deep.py": ""})
    index.add("utils", "1.0", {"something_else/__init__.py": "", "utils-1.0.data/scripts/utils": "#!python"})
    index.add("broken", "1.0", {"broken.py": ""}, ("no-such-thing",))
    no_names = ["--help", "a b", "x; import os", "übung", "../up", "_hidden"]
    wanted = ["yaml", "strange", "utils", "absent", "broken", *no_names]
    environment = environments.make(wanted, ["odd-name>=0.5", "unrelated"])
    assert environment.packages == ("odd-name==1.0", "pyyaml==6.0")
    assert environment.provided == {"strange": "odd-name==1.0", "yaml": "pyyaml==6.0"}
    assert environments.make(wanted, ["odd-name>=0.5", "unrelated"]).provided == environment.provided
    assert environment.providers(("yaml", "os")) == {"yaml": "pyyaml==6.0"}
    assert environment.missing.keys() == {"utils", "absent", "broken", *no_names}
    assert environment.missing["utils"] == "the package utils does not provide it"
    assert environment.missing["absent"] == "no package absent in the registry"
    assert environment.missing["broken"] == "no package no-such-thing in the registry"


def test_versions_are_those_that_the_repository_asks_for(index: Index, environments: UvEnvironments) -> None:
    """The versions of dependencies also follow the repository. A version that no longer exists is replaced with the
    next later version, or else with the newest."""
    asked = {"alpha": "<2  # old", "beta": "==9.9", "gone": "==1.3", "early": "==2.0rc1"}
    asked |= {"along": "==1.0", "above": ">=7"}
    held = dict.fromkeys(asked, ("1.0", "2.0")) | {"gone": ("0.9", "1.4", "1.6", "3.0"), "early": ("1.0", "2.0rc1")}
    for name, versions in held.items():
        for version in versions:
            index.add(name, version, {f"{name}.py": ""}, ("along", "above") if name == "alpha" else ())
    index.add("only", "0.1b2", {"only.py": ""})
    lines = [f"{name}{versions}" for name, versions in asked.items()]
    environment = environments.make(["alpha", "beta", "gone", "early", "only"], [*lines, "only==0.1b2", "unused==1.0"])
    assert environment.missing == {}
    assert environment.packages == (
        "above==2.0", "along==1.0", "alpha==1.0", "beta==2.0", "early==2.0rc1", "gone==1.4", "only==0.1b2"
    )  # fmt: skip
    unpinned = environments.make(["early", "only"])
    assert (unpinned.packages, unpinned.missing.keys()) == (("early==1.0",), {"only"})


def test_versions_of_the_day_the_code_was_written_if_all_were_there(index: Index, environments: UvEnvironments) -> None:
    index.add("alpha", "1.0", {"alpha.py": ""}, day="2024-01-01")
    index.add("alpha", "2.0", {"alpha.py": ""}, day="2025-01-01")
    index.add("beta", "1.0", {"beta.py": ""}, day="2025-01-01")
    assert environments.make(["alpha"], written="2024-06-01").packages == ("alpha==1.0",)
    index.add("alpha", "3.0", {"alpha.py": ""}, day="2026-01-01")
    index.add("beta", "2.0", {"beta.py": ""}, day="2026-01-01")
    first = environments.make(["alpha", "beta"], written="2024-06-01")
    assert (first.packages, first.missing) == (("alpha==2.0", "beta==1.0"), {})
    note = "packages are from 2025-01-01, because fewer of them, or of the pins, are available as of 2024-07-01"
    assert note in first.notes


def test_a_pinned_version_and_its_dependencies_may_be_younger_than_the_code(
    index: Index, environments: UvEnvironments
) -> None:
    for version, day in (("1.0", "2024-01-01"), ("2.0", "2025-01-01"), ("3.0", "2026-01-01")):
        index.add("alpha", version, {"alpha.py": ""}, (f"beta=={version}",), day=day)
        index.add("beta", version, {"beta.py": ""}, day=day)
    made = environments.make(["alpha"], ["alpha==2.0", "gone==1.0"], "2024-06-01")
    assert made.packages == ("alpha==2.0", "beta==2.0")
    older = environments.make(["alpha"], ["alpha>=3.0"], "2024-06-01")
    assert older.packages == ("alpha==1.0", "beta==1.0")
    assert "or they were released after 2024-07-01" in older.notes[0]


def test_a_declared_package_may_be_younger_than_the_code(index: Index, environments: UvEnvironments) -> None:
    for version, day in (("1.0", "2024-01-01"), ("2.0", "2025-01-01")):
        index.add("alpha", version, {"alpha.py": ""}, day=day)
    index.add("tool", "1.0", {"tool.py": ""}, day="2025-01-01")
    made = environments.make(["alpha"], ["tool"], "2024-06-01", ["tool", "gone"])
    assert made.packages == ("alpha==1.0", "tool==1.0")
    assert [note.partition(" ")[0] for note in made.notes if "not installed" in note] == ["gone"]


def test_a_registry_that_does_not_answer_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, environments: UvEnvironments, index: Index
) -> None:
    index.add("alpha", "1.0", {"alpha.py": ""})
    unreached = dict.fromkeys(["alpha", "beta"], "the package registry cannot be reached")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    environment = environments.make(["alpha", "beta"])
    assert (environment.site, environment.missing, environment.incomplete) == (None, unreached, True)
    monkeypatch.setenv("UV_DEFAULT_INDEX", index.url)
    index.status = 503
    assert environments.make(["alpha", "beta"]).missing == unreached
    index.status = 200
    assert environments.make(["alpha", "beta"]).packages == ("alpha==1.0",)
