"""Builds hostile source distributions: real archives from an index on loopback, with the real uv and sandbox."""

import platform
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.sandbox.index import Index
from xkg.config import EnvironmentSettings
from xkg.sandbox.isolation.bubblewrap import BubblewrapRunner
from xkg.sandbox.isolation.subprocess import UnsafeSubprocessRunner
from xkg.sandbox.packages import source_builds
from xkg.sandbox.packages.environments import UvEnvironments
from xkg.sandbox.packages.plan import Installing
from xkg.sandbox.runner import Environment, Job, Limits

PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
# This build backend uses only the standard library. The source defines `attack`, and may define the wheel's members and
# its name.
BACKEND = """
import os, zipfile
from attack import *
NAME = globals().get("NAME", "alpha-1.0-py3-none-any.whl")
def build_wheel(folder, config_settings=None, metadata_directory=None):
    value = attack()
    info = "alpha-1.0.dist-info"
    with zipfile.ZipFile(os.path.join(folder, NAME), "w") as wheel:
        wheel.writestr("alpha.py", f"value = {value!r}\\n")
        metadata = "Metadata-Version: 2.1\\nName: alpha\\nVersion: 1.0\\n"
        wheel.writestr(f"{info}/METADATA", globals().get("METADATA", metadata))
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{info}/RECORD", "")
        for name, text in globals().get("MEMBERS", {}).items():
            wheel.writestr(name, text)
    return NAME
"""


def made(index: Index, folder: Path, attack: str, **more: str) -> Environment:
    """Returns the environment for `import alpha`. The index offers alpha only as a source distribution."""
    index.add_source("alpha", "1.0", {"pyproject.toml": PROJECT, "backend.py": BACKEND, "attack.py": attack, **more})
    folder.chmod(0o755)
    return UvEnvironments(EnvironmentSettings(folder=folder / "e", max_mb=20), BubblewrapRunner()).make(["alpha"])


def value(environment: Environment) -> str:
    job = Job(arguments=("-c", "import alpha; print(alpha.value)"), site=environment.site)
    outcome = BubblewrapRunner().run(job)
    assert outcome.ok, outcome.output
    return outcome.output.strip()


LOOKS = """
import glob, os, socket
def attack():
    seen = [name for name in os.environ if "_KEY" in name or "INDEX" in name or "PROXY" in name]
    seen += [place for place in ("/etc/shadow", "/root/.ssh", "/home", HOST) if os.path.exists(place)]
    for kind, address in ((socket.AF_INET, ("127.0.0.1", PORT)), (socket.AF_UNIX, "/registry")):
        try:
            with socket.socket(kind) as opened:
                opened.connect(address)
                seen.append("network")
        except OSError:
            pass
    for place in ("/make", "/built", STORE, *glob.glob("/site*"), "/usr/lib", SOURCE):
        try:
            with open(os.path.join(place, "planted"), "w"):
                seen.append("wrote " + place)
        except OSError:
            pass
    return seen
"""


def test_a_build_finds_no_key_network_or_store(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
    home = tmp_path / "home"
    home.mkdir()
    (home / "secret").write_text("key")
    settings = f"HOST = {str(home)!r}\nSTORE = {str(tmp_path / 'e')!r}\nSOURCE = {str(Path(__file__).parent)!r}\n"
    port = index.url.rpartition(":")[2].partition("/")[0]
    environment = made(index, tmp_path, f"{settings}PORT = {port}\n{LOOKS}")
    assert environment.packages == ("alpha==1.0",), environment.missing
    assert value(environment) == "[]"
    assert not list(tmp_path.rglob("planted"))
    # The package is built only once. Another environment with the package uses the stored wheel.
    index.add("beta", "1.0", {"beta.py": ""})
    index.asked.clear()
    maker = UvEnvironments(EnvironmentSettings(folder=tmp_path / "e", max_mb=20), BubblewrapRunner())
    assert maker.make(["alpha", "beta"]).packages == ("alpha==1.0", "beta==1.0")
    assert not any(path.endswith(".tar.gz") for path in index.asked)


ENDLESS = {
    "fills the disk": "def attack():\n    for n in range(9):\n        open(f'{n}', 'wb').write(bytes(20 << 20))\n",
    "forks": "import os, time\ndef attack():\n    while True:\n        os.fork() or time.sleep(60)\n",
    "never ends": "import time\ndef attack():\n    time.sleep(600)\n",
    "takes memory": "def attack():\n    return len([bytearray(50 << 20) for _ in range(100)])\n",
}


@pytest.mark.product("each limit; other tests have limits", every=True)
@pytest.mark.parametrize("what", ENDLESS)
def test_a_build_without_end_is_ended(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    limits = Limits(seconds=4, memory_mb=500, disk_mb=50, processes=40)
    monkeypatch.setattr(source_builds, "LIMITS", limits)
    environment = made(index, tmp_path, ENDLESS[what])
    assert environment.site is None
    assert environment.missing["alpha"].startswith("no wheel, and its build ")
    used = sum(place.lstat().st_size for place in tmp_path.rglob("*") if place.is_file())
    assert used < 20 << 20


PWNED = "import os; os.environ['PWNED'] = '1'; import pwned"


def test_what_a_built_wheel_holds_is_checked_like_any_other(index: Index, tmp_path: Path) -> None:
    members = {"zz.pth": PWNED, "sitecustomize.py": PWNED, "pwned.py": "", "../../../../../tmp/xkg-climbed.py": "x"}
    environment = made(index, tmp_path, f"MEMBERS = {members!r}\ndef attack():\n    return 1\n")
    assert not Path("/tmp/xkg-climbed.py").exists()
    assert not list(tmp_path.rglob("xkg-climbed.py"))
    if environment.site is not None:
        job = Job(arguments=("-c", "import alpha, sys; print('pwned' in sys.modules)"), site=environment.site)
        assert BubblewrapRunner().run(job).output == "False\n"


OTHERS = {
    "another name": 'NAME = "beta-1.0-py3-none-any.whl"\n',
    "another version": 'NAME = "alpha-9.0-py3-none-any.whl"\n',
    "a path": 'NAME = "../alpha-1.0-py3-none-any.whl"\n',
    "another name inside": 'METADATA = "Metadata-Version: 2.1\\nName: beta\\nVersion: 1.0\\n"\n',
    "another version inside": 'METADATA = "Metadata-Version: 2.1\\nName: alpha\\nVersion: 9.0\\n"\n',
}


@pytest.mark.product("each other thing that it builds", every=True)
@pytest.mark.parametrize("what", OTHERS)
def test_a_source_builds_itself_or_nothing(index: Index, tmp_path: Path, what: str) -> None:
    environment = made(index, tmp_path, f"{OTHERS[what]}def attack():\n    return 1\n")
    assert environment.packages == ()
    assert environment.missing.keys() == {"alpha"}


def test_a_build_that_fails_is_named_and_not_tried_again(index: Index, tmp_path: Path) -> None:
    failing = "def attack():\n    raise ValueError('no such option')\n"
    environment = made(index, tmp_path, failing)
    reason = "no wheel, and its build failed (ValueError: no such option)"
    assert environment.missing == {"alpha": reason}
    index.add("beta", "1.0", {"beta.py": ""})
    index.asked.clear()
    maker = UvEnvironments(EnvironmentSettings(folder=tmp_path / "e", max_mb=20), BubblewrapRunner())
    assert maker.make(["alpha", "beta"]).missing == {"alpha": reason}
    assert not any(path.endswith(".tar.gz") for path in index.asked)


def test_without_a_sandbox_nothing_is_built(index: Index, tmp_path: Path) -> None:
    index.add_source("alpha", "1.0", {"setup.py": f"open({str(tmp_path / 'ran')!r}, 'w')"})
    maker = UvEnvironments(EnvironmentSettings(folder=tmp_path / "e", max_mb=20), UnsafeSubprocessRunner())
    assert maker.make(["alpha"]).missing == {"alpha": "no wheel, and sources are built only in bubblewrap"}
    assert not (tmp_path / "ran").exists()


def test_a_dependency_without_a_wheel_does_not_make_its_package_old(index: Index, tmp_path: Path) -> None:
    index.add("beta", "1.0", {"beta.py": ""})
    index.add("beta", "2.0", {"beta.py": "import alpha"}, ("alpha==1.*",))
    attack = "def attack():\n    return 1\n"
    index.add_source("alpha", "1.0", {"pyproject.toml": PROJECT, "backend.py": BACKEND, "attack.py": attack})
    tmp_path.chmod(0o755)
    maker = UvEnvironments(EnvironmentSettings(folder=tmp_path / "e", max_mb=20), BubblewrapRunner())
    assert maker.make(["beta"], ["beta"]).packages == ("alpha==1.0", "beta==2.0")
    assert maker.make(["beta"], ["beta==1.0"]).packages == ("beta==1.0",)


OK = "def attack():\n    return 1\n"


def built(
    folder: Path, imports: list[str], lines: list[str], declared: Sequence[str] = ()
) -> tuple[Environment, list[str]]:
    """Returns the environment, and the packages that were built for it."""
    folder.chmod(0o755)
    told: list[Installing] = []
    maker = UvEnvironments(EnvironmentSettings(folder=folder / "e", max_mb=20), BubblewrapRunner(), told.append)
    return maker.make(imports, lines, None, declared), [event.packages for event in told if event.from_source]


def test_c_code_older_than_every_python_here_is_not_built(index: Index, tmp_path: Path) -> None:
    index.add("alpha", "2.0", {"alpha.py": ""})
    index.add_source("alpha", "1.0", {"pyproject.toml": PROJECT, "backend.py": BACKEND, "attack.py": OK})
    system = f"manylinux2014_{platform.machine()}"
    tags = {"cp36-none-any": ("1.0", ["alpha 1.0"]), f"cp36-cp36m-{system}": ("2.0", [])}
    for tag, (version, sources) in tags.items():
        index.add("alpha", "1.0", {"alpha.py": ""}, tag=tag)
        (tmp_path / version).mkdir()
        environment, names = built(tmp_path / version, ["alpha"], ["alpha==1.0"])
        assert (environment.packages, names) == ((f"alpha=={version}",), sources)


def test_a_source_that_is_gone_is_replaced_by_the_next_later_one(index: Index, tmp_path: Path) -> None:
    for version in ("0.9", "1.0", "2.0"):
        source = {"pyproject.toml": PROJECT, "backend.py": BACKEND.replace("1.0", version), "attack.py": OK}
        index.add_source("alpha", version, source)
    environment, names = built(tmp_path, ["alpha"], ["alpha==0.95"])
    assert (environment.packages, names) == (("alpha==1.0",), ["alpha 1.0"])


def test_sources_that_nothing_imports_are_built_only_if_they_are_declared(index: Index, tmp_path: Path) -> None:
    source = {"pyproject.toml": PROJECT, "backend.py": BACKEND.replace("alpha.py", "waves.py"), "attack.py": OK}
    index.add_source("alpha", "1.0", source)
    environment, names = built(tmp_path, ["waves"], ["alpha"])
    assert (list(environment.missing), names) == (["waves"], [])
    environment, names = built(tmp_path, ["waves"], ["alpha"], declared=["alpha"])
    assert (environment.provided, names) == ({"waves": "alpha==1.0"}, ["alpha 1.0"])


def test_a_program_that_a_build_starts_comes_from_its_package(index: Index, tmp_path: Path) -> None:
    entry = "[console_scripts]\nweave = weave:main\n"
    files = {"weave.py": "def main(): print(7)", "weave-1.0.dist-info/entry_points.txt": entry}
    index.add("weave", "1.0", files, day="2020-01-01")
    attack = "import subprocess\ndef attack():\n    try:\n        return int(subprocess.check_output(['weave']))\n"
    attack += (
        "    except OSError as error:\n        raise ValueError(\"command 'weave' failed: No such file\") from error\n"
    )
    assert value(made(index, tmp_path, attack)) == "7"


def test_a_built_package_has_its_sound_extras(index: Index, tmp_path: Path) -> None:
    index.add("boxes", "2.3", {"boxes.py": ""})
    lines = ["boxes (==2.*) ; extra == 'box'", "boxes>=1. ; extra == 'bad'"]
    metadata = "Metadata-Version: 2.1\nName: alpha\nVersion: 1.0\nProvides-Extra: box\nProvides-Extra: bad\n"
    metadata += "".join(f"Requires-Dist: {line}\n" for line in lines)
    source = {"pyproject.toml": PROJECT, "backend.py": BACKEND, "attack.py": f"METADATA = {metadata!r}\n{OK}"}
    index.add_source("alpha", "1.0", source)
    environment, _ = built(tmp_path, ["alpha"], ["alpha[box]"])
    assert environment.packages == ("alpha==1.0", "boxes==2.3")


def test_packages_later_than_the_code_come_from_their_first_day_with_its_sources(index: Index, tmp_path: Path) -> None:
    index.add("beta", "1.0", {"beta.py": "import alpha"}, ("alpha==1.0",), day="2025-01-01")
    index.add("beta", "2.0", {"beta.py": ""}, day="2026-01-01")
    attack = "def attack():\n    return 1\n"
    source = {"pyproject.toml": PROJECT, "backend.py": BACKEND, "attack.py": attack}
    index.add_source("alpha", "1.0", source, day="2024-01-01")
    tmp_path.chmod(0o755)
    maker = UvEnvironments(EnvironmentSettings(folder=tmp_path / "e", max_mb=20), BubblewrapRunner())
    assert maker.make(["beta"], written="2024-06-01").packages == ("alpha==1.0", "beta==1.0")


def test_what_is_not_asked_for_is_never_built(index: Index, tmp_path: Path) -> None:
    """A source's code must not run when a version is chosen, or when other sources are searched for."""
    mark = "import pathlib\npathlib.Path('/make/wheels/planted').write_text('x')\n"
    index.add_source("alpha", "2.0", {"setup.py": mark, "pyproject.toml": PROJECT, "backend.py": mark})
    index.add("alpha", "1.0", {"alpha.py": "value = 1"})
    maker = UvEnvironments(EnvironmentSettings(folder=tmp_path / "e", max_mb=20), BubblewrapRunner())
    assert maker.make(["alpha"]).packages == ("alpha==1.0",)
    assert maker.make(["alpha"], ["alpha==2.0"]).packages == ("alpha==1.0",)
    assert not list(tmp_path.rglob("planted"))
