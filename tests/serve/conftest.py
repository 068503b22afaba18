"""Provides a small graph of two papers, written for the tests and published once."""

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from mcp.server import MCPServer

from tests.once import once_a_run
from xkg.config import EmbeddingSettings, Settings
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.model import (
    Code,
    Derivation,
    Evidence,
    Finding,
    Level,
    Location,
    Paper,
    PaperBundle,
    Reference,
    Repository,
    Symbol,
    Technique,
    code_id,
    symbol_id,
)
from xkg.serve.protocol.stdio import make_server
from xkg.serve.served import Served
from xkg.serve.service import Service
from xkg.store.graph_store import Snapshot
from xkg.store.local.store import EmbeddedStore


def technique(paper: str, path: str, name: str, definition: str, **fields: object) -> Technique:
    parent = path.rpartition("/")[0]
    return Technique(
        id=f"{paper}#{path}",
        name=name,
        parent=f"{paper}#{parent}" if parent else None,
        definition=definition,
        depth=path.count("/"),
        **fields,  # type: ignore[arg-type]
    )


def code(owner: Technique, implementation: str, test: str, level: Level) -> Code:
    return Code(
        id=code_id(owner.id, implementation, test),
        technique=owner.id,
        implementation=implementation,
        test=test,
        documentation=f"Implements {owner.name}.",
        packages=("numpy",),
        level=level,
        evidence=(
            Evidence(level=level, runner="bubblewrap", exit_code=0, reason="no mutants", checked_at="2026-01-01"),
        ),
        claims={"pass_exec": True},
    )


def bundles() -> list[PaperBundle]:
    bread = "title:bread/ovens"
    top = technique(bread, "baking", "Hearth Baking", "Bake loaves on a hot stone, with steam in the first minutes.")
    steam = technique(
        bread,
        "baking/steam",
        "Steam Injection (SI)",
        "Pour water on hot iron so that the crust stays soft while the loaf rises in the oven.",
        aliases=("crust steaming",),
    )
    kneading = technique(bread, "baking/knead", "Kneading", "Fold the dough.", hidden="no code was found for it")
    repository = Repository(id="github.com/baker/oven@abc", url="https://github.com/baker/oven", commit="abc")
    pour = Symbol(
        id=symbol_id(repository.id, "oven/steam.py", "pour"),
        repository=repository.id,
        path="oven/steam.py",
        qualified_name="pour",
        kind="function",
        start_line=3,
        end_line=9,
    )
    steaming = code(steam, "def steam(water):\n    return water * 1700\n", "assert steam(1) == 1700\n", Level.EXECUTED)
    score = technique(bread, "baking/score", "Scoring", "Cut the dough with a blade before it enters the oven.")
    loaf = PaperBundle(
        paper=Paper(
            id=bread,
            title="Bread  Ovens: a Study of Crust",
            abstract="How steam and stone make a crust.",
            authors=("A. Baker",),
            year=2019,
            references=(Reference(title="On Yeast"),),
            code_overview="One module.",
            nothing_in=("Bakers rise early.", "oven/door.py::open_door"),
            origin="build",
        ),
        techniques=(top, steam, score, kneading),
        code=(steaming,),
        repositories=(repository,),
        symbols=(pour,),
        locations=(Location(technique=steam.id, symbol=pour.id, score=0.75, rank=1),),
        derivations=(Derivation(code=steaming.id, symbol=pour.id),),
        findings=(Finding(id=f"{bread}#finding/1", name="Steam helps", description="Loaves rise more."),),
    )
    bees = "arxiv:2001.00001"
    keeping = technique(bees, "keeping", "Bee Keeping", "Keep colonies of honey bees in hives of wooden boxes.")
    smoke = technique(bees, "keeping/smoke", "Hive Smoking", "Blow cool smoke into the hive to calm the bees.")
    hive = PaperBundle(
        paper=Paper(id=bees, title="Calm Hives", abstract="Smoke and bees.", origin="import", arxiv_id="2001.00001"),
        techniques=(keeping, smoke),
        code=(code(smoke, "def smoke():\n    return 'calm'\n", "", Level.PARSED),),
    )
    return [loaf, hive]


def published(folder: Path, embedder: OnnxEmbedder, *papers: PaperBundle) -> Path:
    with closing(EmbeddedStore(folder / "kg", lambda: embedder)) as store:
        store.publish(papers)
    return folder / "kg"


def opened(graph: Path) -> closing[Service]:
    return closing(Service(Settings(kg=graph, embedding=EmbeddingSettings(threads=1))))


@contextmanager
def snapshot_of(graph: Path, embedder: OnnxEmbedder) -> Iterator[Snapshot]:
    with closing(EmbeddedStore(graph, lambda: embedder)) as store, store.snapshot() as snapshot:
        yield snapshot


@pytest.fixture(scope="session")
def embedder() -> OnnxEmbedder:
    return OnnxEmbedder(threads=1)


@pytest.fixture(scope="session")
def graph(tmp_path_factory: pytest.TempPathFactory, embedder: OnnxEmbedder) -> Path:
    return once_a_run(tmp_path_factory, "serve", lambda folder: published(folder, embedder, *bundles()))


@pytest.fixture
def graph_copy(graph: Path, tmp_path: Path) -> Path:
    """Creates a copy that a test may change."""
    return Path(shutil.copytree(graph, tmp_path / "kg"))


@pytest.fixture(scope="session")
def service(graph: Path) -> Iterator[Service]:
    with opened(graph) as service:
        yield service


@pytest.fixture(scope="session")
def server(service: Service) -> MCPServer:
    return make_server(Served(service))


@pytest.fixture(scope="session")
def snapshot(graph: Path, embedder: OnnxEmbedder) -> Iterator[Snapshot]:
    with snapshot_of(graph, embedder) as snapshot:
        yield snapshot
