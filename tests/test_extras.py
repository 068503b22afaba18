"""Tests xkg without the packages of its extras. The tests run in a separate process that cannot import these
packages."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests import tiny_world
from tests.conftest import PEER, ROOT

_EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
_MODULES = {"faiss_cpu": "faiss", "genai_prices": "genai_prices", "pygithub": "github"}
_KEPT = {"urllib3"}
"""Modules of extras, and modules that are always installed."""
_RUN = """
import contextlib, json, pathlib, sys
for name in sys.argv[1].split():
    sys.modules[name] = None
from xkg.cli.main import main
said = []
for arguments in json.loads(sys.argv[2]):
    with open("out", "w") as out, open("err", "w") as err:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main(arguments)
            except SystemExit as ended:
                code = ended.code or 0
    said.append([code, pathlib.Path("out").read_text(), pathlib.Path("err").read_text()])
pathlib.Path("said").write_text(json.dumps(said))
"""


def _hidden(*extras: str) -> str:
    lines = [line for extra in extras for line in _EXTRAS[extra] if not line.startswith("xkg[")]
    names = {re.split(r"[^A-Za-z0-9-]", line)[0].lower().replace("-", "_") for line in lines} - _KEPT
    return " ".join(sorted(_MODULES.get(name, name) for name in names))


def _xkg(folder: Path, hidden: str, *commands: tuple[str, ...]) -> list[tuple[int, str, str]]:
    """Returns the exit code, the output and the errors of each command. All commands run in one process that cannot
    import the hidden packages."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XKG_", "OPENAI_"))}
    environment["XKG_ENVIRONMENT__FOLDER"] = str(folder / "environments")  # `doctor` adds up the files in this folder
    lines = json.dumps([[f"--kg={folder / 'graph'}", *words] for words in commands])
    called = (sys.executable, "-c", _RUN, hidden, lines)
    done = subprocess.run(called, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [tuple(each) for each in json.loads((folder / "said").read_text())]


@pytest.fixture
def bare() -> str:
    return _hidden("build", "curation", "faiss", "library", "llm", "neo4j", "s3", "st") + " onnx tokenizers"


def test_a_graph_is_imported_searched_and_asked_without_any_extra(bare: str, tmp_path: Path) -> None:
    asked = (("search", "bootstrap"), ("cypher", "MATCH (p:Paper) RETURN p.id"), ("index", "rebuild"), ("serve",))
    asked += (("push", "library", "--claims-only"), ("pull", "library"))
    imported, *others, doctor = _xkg(tmp_path, bare, ("import", str(PEER)), *asked, ("doctor",))
    assert "imported 4 papers" in imported[1]
    assert [code for code, _, _ in others] == [0] * len(asked), others
    assert "papers: 4" in " ".join(doctor[1].split())
    assert "'.[faiss]'" in doctor[1]


def test_what_is_missing_names_the_extra_in_one_line(bare: str, tmp_path: Path) -> None:
    world = tiny_world.written_to(tmp_path)
    pulls = (("pull", "ftp://lab.example/library"), ("pull", "s3://lab/library"))
    commands = (("build", *world.arguments, "--llm", "none"), *pulls)
    for (code, _, said), extra in zip(_xkg(tmp_path, bare, *commands), ("build", "library", "s3"), strict=True):
        assert code == 1
        assert re.fullmatch(rf"xkg: .*run `pip install '\.\[{extra}\]'` in a clone of xkg\n", said)
