"""Checks the contents of the wheel, and that it works outside the clone, in an environment that does not refer to
it."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests import tiny_world
from tests.conftest import PEER, ROOT
from tests.once import once_a_run

UV = Path(sys.executable).with_name("uv")
_ALL = """
import json, sys
from xkg.cli.main import main
for words in json.loads(sys.argv[1]):
    try:
        main(words)
    except SystemExit as ended:
        assert not ended.code, words
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds a copy of the clone with `uv build` and the installed build backend."""
    return once_a_run(tmp_path_factory, "wheel", _build)


def _build(folder: Path) -> Path:
    for name in ("xkg", "cypher"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    command = [UV, "build", "--wheel", "--quiet", "--offline", "--no-build-isolation", "--python", sys.executable]
    subprocess.run(command, cwd=folder, check=True)
    return next((folder / "dist").glob("xkg-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Creates a new environment with the wheel and the tests' dependencies."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    subprocess.run([UV, "venv", "--quiet", "--offline", "--python", sys.executable, folder], check=True)
    python = folder / "bin/python"
    command = [UV, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", python, wheel]
    subprocess.run(command, check=True)
    # A folder named by a .pth is not a site folder, so its own .pth, which leads to the clone, is not read.
    packages = folder / Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def test_it_holds_all_that_is_no_module_too(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    sources = [path.relative_to(ROOT) for path in (ROOT / "xkg").rglob("*") if path.is_file()]
    wanted = {str(path) for path in sources if "__pycache__" not in path.parts}
    wanted |= {f"xkg/store/cypher/files/{path.relative_to(ROOT / 'cypher')}" for path in (ROOT / "cypher").rglob("*.*")}
    assert wanted <= held
    assert {name.partition("/")[0] for name in held} == {"xkg", wheel.stem.partition("-py3")[0] + ".dist-info"}
    assert any(name.endswith("licenses/LICENSE") for name in held)


@pytest.mark.product("builds and installs the wheel", every=True)
def test_it_works_where_there_is_no_clone(installed: Path, tmp_path: Path) -> None:
    world = tiny_world.written_to(tmp_path)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XKG_", "PYTHON"))}
    environment |= {"XKG_ENVIRONMENT__MAX_MB": "0", "XKG_LLM__MODEL": "none"}

    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = run(str(installed / "bin/python"), "-c", "import xkg; print(xkg.__file__, xkg.__version__)")
    home, version = where.split()
    assert Path(home).is_relative_to(installed)
    assert run(str(installed / "bin/xkg"), "--version").split() == ["xkg", version]
    commands = [("build", *world.arguments), ("import", str(PEER)), ("search", "exponential damping")]
    commands += [("cypher", "paper-coverage", "--format", "csv")]
    said = run(str(installed / "bin/python"), "-c", _ALL, json.dumps(commands))
    assert "Exponential damping  [score 1, level imported]" in said
    assert said.count(tiny_world.ID) >= 2
