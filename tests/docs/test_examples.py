"""Runs every example in the README and docs/ as a reader would, page by page, in a folder with the graph from `make
demo`.

Some addresses are outside this machine. The test replaces these addresses with a git repository, an arXiv server, a
language model and a Neo4j on this machine. Commands that install or build something do not run; the test checks only
that they exist."""

import importlib.util
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests import tiny_world
from tests.build.arxiv_server import serving
from tests.build.paper.pdfs import column, pdf
from tests.conftest import EXAMPLE, PEER, ROOT
from tests.docs.examples import Block, Call, blocks, calls
from tests.llm_endpoint import ScriptedEndpoint
from tests.neo4j_server import Neo4jServer
from tests.once import once_a_run
from xkg import config
from xkg.cli.main import main
from xkg.commands.build import build
from xkg.store.cypher import named_queries

NEEDS_MODEL = "docs/howto/models.md"
NEEDS_AGENT = "docs/howto/implement.md"
NEEDS_NEO4J = "docs/howto/neo4j.md"
CATALOGUE = "docs/reference/queries.md"
PAGES = [
    name
    for name in (
        "README.md",
        "CONTRIBUTING.md",
        *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")),
    )
    if name not in (NEEDS_MODEL, NEEDS_AGENT, NEEDS_NEO4J, CATALOGUE) and blocks(ROOT / name)
]
TRIED = {"sh", "python", "yaml", "json", "toml"}
ELSEWHERE = {"text", "cypher", "pycon"}
"""Blocks that are not run: usage lines, signatures, statements for another engine, and calls in tests/test_api.py."""


@dataclass(frozen=True)
class Outcome:
    call: Call
    out: str


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Creates the graph of `make demo` without a package registry."""

    def make(folder: Path) -> Path:
        chosen = config.Settings(
            kg=folder / "graph",
            llm=config.LlmSettings(model="none"),
            environment=config.EnvironmentSettings(max_mb=0),
        )
        build(chosen, EXAMPLE / "paper/svgd.tex", str(EXAMPLE / "code"))
        return chosen.kg

    return once_a_run(tmp_path_factory, "demo", make)


@pytest.fixture
def here(demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Creates a reader's folder with the graph, the examples, a paper in each format, and a clone next to it."""
    folder = tmp_path / "here"
    shutil.copytree(demo, folder / "storage/demo")
    shutil.copytree(EXAMPLE, folder / "examples/svgd")
    shutil.copytree(PEER, folder / "peer-graphs")
    world = tiny_world.written_to(folder)
    world.repository.rename(tmp_path / "clone")
    shutil.copy(EXAMPLE / "paper/svgd.tex", folder / "paper.tex")
    (folder / "corpus.tsv").write_text("examples/svgd/paper\texamples/svgd/code\tarxiv:1608.04471\npaper.tex\n")
    (folder / "arxiv-source.tar.gz").write_bytes(_archive(EXAMPLE / "paper"))
    (folder / "paper.pdf").write_bytes(pdf([column(_PRINTED, 60, 100)], title="A Printed Paper"))
    (folder / "paper.html").write_text(_HTML, encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XKG_ENVIRONMENT__MAX_MB", "0")
    for name in ("CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


_PRINTED = (
    "# 1 Introduction",
    "",
    "Counts of wagons are noisy, and a filter for them has to be cheap.",
    "",
    "# 2 Method",
    "",
    "# 2.1 Median Peak Clipping",
    "",
    "Median peak clipping sorts the counts and takes the one in the",
    "middle. Every count above three times that is replaced by it.",
    "",
    "# 3 Conclusion",
    "",
    "The filter is small enough for a counter that stands in the rain.",
)
_HTML = """<html><head><title>A Paper of the Web</title></head><body><article class="ltx_document">
<h1 class="ltx_title ltx_title_document">A Paper of the Web</h1>
<section class="ltx_section"><h2 class="ltx_title ltx_title_section">1 Method</h2>
<section class="ltx_subsection"><h3 class="ltx_title ltx_title_subsection">1.1 Median Peak Clipping</h3>
<div class="ltx_para"><p class="ltx_p">Median peak clipping sorts the counts and takes the one in the middle. Every
count above three times that is replaced by it.</p></div></section></section>
</article></body></html>"""


def _archive(folder: Path) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for path in sorted(folder.iterdir()):
            archive.add(path, path.name)
    return data.getvalue()


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Yields the address of a git repository with the tag v1.0."""
    folder = tmp_path_factory.mktemp("git") / "name"
    shutil.copytree(EXAMPLE / "code", folder)
    person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for command in (("init", "-q"), ("add", "."), (*person, "commit", "-qm", "All"), ("tag", "v1.0")):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder.as_uri()


@pytest.fixture
def arxiv(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with serving() as server:
        server.publish("2402.17135", source=_archive(EXAMPLE / "paper"))
        monkeypatch.setenv("XKG_ARXIV__URL", server.url)
        yield


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedEndpoint]:
    """Yields a language model that answers only the questions from a build of paper.md."""
    monkeypatch.setenv("XKG_LLM_KEY", "key")
    with ScriptedEndpoint(tiny_world.answers(modularize=tiny_world.sound)) as endpoint:
        monkeypatch.setenv("XKG_LLM__BASE_URL", endpoint.url)
        yield endpoint


@pytest.fixture(autouse=True)
def served(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces the HTTP server, which would never return. Tests in tests/serve/http start real ones."""
    monkeypatch.setattr("xkg.serve.http.run.serve_http", lambda *_, **__: None)


def test_the_examples_with_a_model_work(here: Path, model: ScriptedEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    _try(NEEDS_MODEL, here, str, monkeypatch)
    assert len(model.requests) > 3


@pytest.mark.product("each page × its examples")
@pytest.mark.parametrize("name", PAGES)
@pytest.mark.usefixtures("arxiv")
def test_the_examples_of_a_page_work(name: str, here: Path, repository: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _try(name, here, lambda text: text.replace("https://github.com/owner/name", repository), monkeypatch)


def test_examples_of_the_shared_store(here: Path, neo4j_database: Neo4jServer, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = {"neo4j+s://graph.example.org": neo4j_database.url, "…": neo4j_database.password}
    monkeypatch.setenv("NEO4J_USERNAME", neo4j_database.user)
    _try(NEEDS_NEO4J, here, lambda text: stand_in.get(text, text), monkeypatch)


def test_the_examples_of_the_named_queries_fit_them(tmp_path: Path) -> None:
    shell = "".join(block.text for block in blocks(ROOT / CATALOGUE) if block.language == "sh")
    called = calls(shell, tmp_path)
    assert len(called) == len(named_queries.queries())
    for call in called:
        _, name, *options = call.arguments
        named_queries.bind(named_queries.find(name), dict(value.split("=", 1) for value in options[1::2]))


def _try(name: str, here: Path, stand_in: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = blocks(ROOT / name)
    assert {block.language for block in found} <= TRIED | ELSEWHERE
    shell = "".join(block.text for block in found if block.language == "sh")
    outcomes = []
    for call in calls(shell, here):
        with monkeypatch.context() as patch:
            for variable, value in call.environment.items():
                patch.setenv(variable, stand_in(value))
            arguments = [stand_in(argument) for argument in call.arguments]
            outcomes.append(Outcome(call, _CHECKS[call.program](call.program, arguments)))
    python: dict[str, object] = {}
    for block in found:
        match block:
            case Block("python", text) if _missing(text):
                compile(text, name, "exec")
            case Block("python", text):
                with redirect_stdout(io.StringIO()):
                    exec(compile(text, name, "exec"), python)
            case Block("yaml", text):
                _loads(text, here)
            case Block("json", text):
                assert json.loads(text) == json.loads((here / ".mcp.json").read_text(encoding="utf-8"))
            case Block("toml", text):
                assert tomllib.loads(text) in [tomllib.loads(o.out) for o in outcomes if o.out.startswith("[")]


def _missing(source: str) -> list[str]:
    """Returns the packages of a program that are not installed here. The page says which versions were used to try such
    a program by hand."""
    imported = re.findall(r"^(?:from|import) (\w+)", source, re.M)
    return [name for name in imported if importlib.util.find_spec(name) is None]


def _loads(settings: str, here: Path) -> None:
    """Checks that the settings on a page can be loaded."""
    file = here / "xkg.yaml"
    file.write_text(settings, encoding="utf-8")
    loaded = config.load()
    file.unlink()
    assert yaml.safe_load(settings).keys() <= loaded.model_dump().keys()


def _xkg(_: str, arguments: list[str]) -> str:
    if "serve" in arguments and "--http" not in arguments:
        return _serves(arguments)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code in (0, None), f"xkg {' '.join(arguments)}\n{err.getvalue()}"
    return out.getvalue()


def _serves(arguments: list[str]) -> str:
    """Starts a server over stdio, whose client leaves immediately."""
    command = [sys.executable, "-m", "xkg.cli.main", *arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _make(_: str, arguments: list[str]) -> str:
    done = subprocess.run(["make", "-n", "-C", ROOT, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _installs(program: str, arguments: list[str]) -> str:
    """Checks that uv knows these options, and that the project has the extras."""
    if program == "uv":
        uv = Path(sys.executable).with_name("uv")
        known = subprocess.run([uv, *_words(arguments), "--help"], capture_output=True, text=True)
        assert known.returncode == 0, known.stderr
        assert [a for a in arguments if a.startswith("--") and a not in known.stdout] == []
    for argument in arguments:
        if wheel := re.fullmatch(r"(\.|dist/xkg-.*\.whl)\[(.*)\]", argument):
            assert set(wheel[2].split(",")) <= set(_PROJECT["optional-dependencies"])
    return ""


def _words(arguments: list[str]) -> list[str]:
    """Returns the subcommands at the beginning of a call of uv."""
    count = 2 if arguments[0] in ("tool", "pip") else 1
    return arguments[:count]


def _packages(_: str, arguments: list[str]) -> str:
    installed = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert arguments[0] == "install"
    assert [name for name in arguments[1:] if name not in installed] == []
    return ""


def _compose(_: str, arguments: list[str]) -> str:
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    assert arguments[:3] == ["compose", "up", "-d"]
    assert arguments[3] in compose["services"]
    return ""


def _exists(program: str, arguments: list[str]) -> str:
    if program == "scripts/neo4j-dev":
        assert arguments[0] in (ROOT / program).read_text(encoding="utf-8")
    else:
        assert all((ROOT / path).exists() for path in arguments if path.startswith("tests/"))
        assert arguments[0] != "-m" or importlib.util.find_spec(arguments[1]) is not None
    return ""


_CHECKS: dict[str, Callable[[str, list[str]], str]] = {
    "xkg": _xkg,
    "make": _make,
    "uv": _installs,
    "pip": _installs,
    "apt-get": _packages,
    "docker": _compose,
    "scripts/neo4j-dev": _exists,
    ".venv/bin/python": _exists,
}
