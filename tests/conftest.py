"""Provides a graph made by the commands, containing the built example and the imported peer's files."""

import functools
import gc
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main
from hypothesis import HealthCheck, settings

from tests.agents.workspace.recorded_commands import RecordedCommands
from tests.kept_embedder import kept_embedder
from tests.kept_parsers import KeptTemplate
from tests.neo4j_server import neo4j_database, neo4j_server  # noqa: F401
from tests.once import once_a_run
from tests.order import LongestFirst
from tests.tiers import pytest_addoption, pytest_collection_modifyitems  # noqa: F401
from xkg.agents.parsers import agent_parsers
from xkg.build.parsing.parsers import Parsers
from xkg.commands.build import build
from xkg.commands.graph.contents import import_graphs
from xkg.config import EnvironmentSettings, LlmSettings, PruneSettings, Settings
from xkg.model import Level
from xkg.sandbox import select
from xkg.sandbox.isolation import programs

# There is no deadline, because how long an example takes depends on the machine, not on the code. The examples are the
# same in every run, so a failure is never due to chance. The first tier runs a quarter of them, and `make search` tries
# new ones.
settings.register_profile("gate", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("sample", settings.get_profile("gate"), max_examples=25)
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=2000)
settings.load_profile("gate")

# `make search` runs these folders.
collect_ignore = [] if "XKG_SEARCH" in os.environ else ["growth", "fuzz"]

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "svgd"
EXAMPLE_ID = "arxiv:1608.04471"
PEER = ROOT / "tests" / "data" / "peer"
_OF_USERS = (
    *("OPENAI_API_KEY", "OPENAI_BASE_URL", "XKG_LLM_KEY", "XKG_LLM__MODEL", "XKG_KG"),
    *("GITHUB_TOKEN", "OPENALEX_API_KEY", "SSH_AUTH_SOCK"),
)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(LongestFirst(config))
    if config.getoption("sample") and not config.getoption("hypothesis_profile", None):
        settings.load_profile("sample")


def pytest_collection_finish() -> None:
    """Thousands of collected tests live as long as the process, so the garbage collector can ignore them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _own_environments(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Isolates the tests from the user's environment. Packages installed by tests are stored separately. uv's list of
    interpreters is shared, because uv would otherwise start every interpreter in each test. The certificate authority
    is a dummy, because loading the system's takes 0.04 s per client and no test leaves this machine. The user's keys
    and addresses are removed, and the tests' own servers are reached without a proxy."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UV_CACHE_DIR", os.environ.get("UV_CACHE_DIR") or str(cache / "uv"))
        for name in _OF_USERS:
            patch.delenv(name, raising=False)
        patch.setenv("NO_PROXY", "127.0.0.1,localhost")
        patch.setenv("SSL_CERT_FILE", str(ROOT / "tests/data/nobody.pem"))
        patch.setenv("XKG_ENVIRONMENT__FOLDER", str(tmp_path_factory.mktemp("environments")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _kept() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("xkg.sandbox.isolation.confined_worker._Template", KeptTemplate)
        patch.setattr("xkg.embeddings.onnx.OnnxEmbedder", kept_embedder)
        patch.setattr("typer.main.get_command", functools.cache(typer.main.get_command))  # saves 0.03 s per command
        yield


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the graph's folder, which must not be changed. Generation 1 contains the example, and generation 2 also
    contains the peer's papers."""

    def make(folder: Path) -> Path:
        chosen = Settings(
            kg=folder / "graph",
            llm=LlmSettings(model="none"),
            environment=EnvironmentSettings(max_mb=0),  # no packages, so that no registry is contacted
            prune=PruneSettings(min_level=Level.PARSED),
        )
        build(chosen, EXAMPLE / "paper", str(EXAMPLE / "code"), paper_id=EXAMPLE_ID)
        import_graphs(chosen, PEER)
        return chosen.kg

    return once_a_run(tmp_path_factory, "published", make)


@pytest.fixture(scope="session")
def parsers() -> Iterator[Parsers]:
    """Starts the confined process that all builds and agents in the tests share."""
    with agent_parsers() as started:
        yield started


@pytest.fixture(scope="session")
def recorded_commands(tmp_path_factory: pytest.TempPathFactory) -> type[RecordedCommands]:
    """Runs each command over the same files only once."""
    folder = once_a_run(tmp_path_factory, "recordings", lambda made: made)
    return type("RecordedCommands", (RecordedCommands,), {"recordings": folder})


@pytest.fixture
def untried_sandbox() -> Iterator[None]:
    """Clears the result of the search for a working sandbox, before and after the test. Normally, a process searches
    only once."""
    for found in (select._refusal, programs.wall):
        found.cache_clear()
    yield
    for found in (select._refusal, programs.wall):
        found.cache_clear()


@pytest.fixture
def graph(published: Path, tmp_path: Path) -> Path:
    """Copies the graph, so that a test may change it."""
    return Path(shutil.copytree(published, tmp_path / "graph"))
