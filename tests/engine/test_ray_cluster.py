"""Runs batches on a real Ray cluster of three nodes, with a scripted model on loopback (`make ray`)."""

import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import tiny_world
from tests.llm_endpoint import Answer, ScriptedEndpoint
from tests.neo4j_server import Neo4jServer
from tests.ray_nodes import Nodes, token_environment
from xkg.commands.batch.paper_list import PaperList, read_list
from xkg.commands.batch.run import BatchReport, run
from xkg.commands.batch.side_by_side import Event
from xkg.commands.graph.open import open_store
from xkg.config import LlmSettings, Settings, StoreSettings
from xkg.engine.engine import BegunAgain, NoWorkerError
from xkg.engine.local import LocalEngine

pytestmark = [
    pytest.mark.ray,
    pytest.mark.filterwarnings("default"),
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="`make ray` installs it"),
]
RIVERS = ("Rhine", "Elbe", "Oder", "Weser", "Main", "Spree")


@pytest.fixture(scope="module", autouse=True)
def token(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("OPENAI_API_KEY", "XKG_LLM_KEY", "RAY_ADDRESS"):
            patch.delenv(name, raising=False)
        environment = token_environment(tmp_path_factory.mktemp("token"))
        for name, value in environment.items():
            patch.setenv(name, value)
        yield environment


@pytest.fixture
def nodes(tmp_path: Path, token: dict[str, str]) -> Iterator[Nodes]:
    """Starts three nodes, of which a test may kill one."""
    with Nodes(tmp_path, 3, token) as started:
        yield started


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, token: dict[str, str]) -> Iterator[Nodes]:
    """Starts two nodes that tests share and must not change."""
    with Nodes(tmp_path_factory.mktemp("pair"), 2, token) as started:
        yield started


def worlds(folder: Path) -> PaperList:
    """Creates six papers about one method, each with counts from a different river. The list also names a missing
    paper."""
    lines = []
    for river in RIVERS:
        world = tiny_world.written_to(folder / river)
        text = world.paper.read_text().replace("Noisy Counts", f"Noisy Counts of the {river}")
        world.paper.write_text(text.replace("Counts of passing wagons", f"Counts of wagons along the {river}"))
        lines.append(f"{river}/paper.md\t{river}/counts")
    (folder / "list").write_text("\n".join([*lines, "missing.tex"]))
    return read_list(folder / "list")


def bundles(settings: Settings) -> dict[str, Any]:
    """Returns the graph without times, costs and source folders."""
    with open_store(settings) as store, store.snapshot() as snapshot:
        found = {}
        for paper in snapshot.papers():
            text = snapshot.bundle(paper.id).model_dump_json()
            found[paper.id] = _timeless(json.loads(text))
        return found


def _timeless(value: Any) -> Any:
    moments = {"built_at", "checked_at", "seconds", "cost_usd", "generation", "peak_memory_mb"}
    if isinstance(value, dict):
        return {key: _timeless(child) for key, child in value.items() if key not in moments}
    return [_timeless(child) for child in value] if isinstance(value, list) else value


def states(report: BatchReport) -> list[str]:
    return [row.state for row in report.rows]


def questions(endpoint: ScriptedEndpoint) -> Counter[str]:
    return Counter(json.dumps(body["messages"], sort_keys=True) for body in endpoint.requests)


def test_a_node_that_dies_loses_nothing_and_nothing_is_paid_twice(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    from xkg.engine.ray_cluster import RayEngine

    papers = worlds(tmp_path / "papers")
    with ScriptedEndpoint(tiny_world.answers()) as alone, monkeypatch.context() as keyed:
        keyed.setenv("XKG_LLM_KEY", "key-of-this-machine")
        local = tiny_world.settings_for(tmp_path / "local", alone.url, max_total_cost=5.0)
        assert states(run(local, papers, LocalEngine(1))) == [*["built"] * 6, "failed"]
    expected = bundles(local)

    victim: list[int] = []
    killed = threading.Event()
    usual = tiny_world.answers()

    def answer(body: dict[str, Any]) -> Answer:
        if victim and not killed.is_set() and sum(f"key-of-node-{victim[0]}" in key for key in endpoint.keys) >= 4:
            killed.set()
            nodes.kill(victim[0])
        return usual(body)

    again: list[BegunAgain] = []

    def notify(event: Event) -> None:
        if isinstance(event[1], BegunAgain):
            again.append(event[1])

    with ScriptedEndpoint(answer) as endpoint, RayEngine(nodes.address) as engine:
        assert engine.jobs == 3
        here = ray.get_runtime_context().get_node_id()
        victim.append(next(nodes.number_of(n["RayletSocketName"]) for n in ray.nodes() if n["NodeID"] != here))
        settings = tiny_world.settings_for(tmp_path / "cluster", endpoint.url, max_total_cost=5.0, concurrency=2)
        report = run(settings, papers, engine, notify=notify)
        assert killed.is_set(), (victim, Counter(endpoint.keys), [row.reason for row in report.rows])
        assert states(report) == [*["built"] * 6, "failed"], [row.reason for row in report.rows]
        assert again
        paid = questions(endpoint)
        # Only questions that were in progress on the dead node are asked again.
        assert sum(paid.values()) - len(paid) <= 2, again
        assert set(paid) == set(questions(alone))
        assert {key.removeprefix("Bearer ") for key in endpoint.keys} <= {f"key-of-node-{n}" for n in range(3)}
        assert len(set(endpoint.keys)) == 3
        assert bundles(settings) == expected
        asked = len(endpoint.requests)
        second = run(settings, papers, engine)
        assert states(second) == [*["unchanged"] * 6, "failed"]
        assert len(endpoint.requests) == asked


def test_limits_hold_in_the_whole_cluster(pair: Nodes, tmp_path: Path) -> None:
    from xkg.engine.ray_cluster import RayEngine
    from xkg.llm.costs import costs

    papers = worlds(tmp_path / "papers")
    at_once, most, lock = [0], [0], threading.Lock()
    usual = tiny_world.answers()

    def answer(body: dict[str, Any]) -> Answer:
        with lock:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
        given = usual(body)
        threading.Event().wait(0.05)
        with lock:
            at_once[0] -= 1
        return given

    with ScriptedEndpoint(answer) as endpoint, RayEngine(pair.address) as engine:
        settings = tiny_world.settings_for(tmp_path / "kg", endpoint.url, max_total_cost=0.05, concurrency=1)
        report = run(settings, papers, engine)
        assert most == [1]
        assert any("--max-total-cost" in row.reason for row in report.rows), report
        rows = costs(settings.kg, settings.llm).rows
        assert 0 < sum(row.dollars or 0.0 for row in rows) <= 0.05


def test_nodes_publish_into_a_neo4j_themselves(pair: Nodes, neo4j_database: Neo4jServer, tmp_path: Path) -> None:
    from xkg.engine.ray_cluster import RayEngine

    credentials = tmp_path / "credentials"
    credentials.write_text(f"NEO4J_USERNAME={neo4j_database.user}\nNEO4J_PASSWORD={neo4j_database.password}\n")
    settings = tiny_world.settings_for(tmp_path / "kg", "http://127.0.0.1:9/v1").model_copy(
        update={
            "llm": LlmSettings(model="none"),
            "store": StoreSettings(url=neo4j_database.url, credentials=credentials),
        }
    )
    papers = worlds(tmp_path / "papers")
    with RayEngine(pair.address) as engine:
        assert states(run(settings, papers, engine)) == [*["built"] * 6, "failed"]
        assert states(run(settings, papers, engine)) == [*["unchanged"] * 6, "failed"]
    assert len(bundles(settings)) == 6


def test_a_node_without_tokens_is_named(token: dict[str, str]) -> None:
    from xkg.engine import ray_node

    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RAY_AUTH_MODE")
        patch.setattr(ray_node.ray.util, "get_node_ip_address", lambda: "10.0.0.9")
        job = ray_node.Job("1", None, {}, None, ray_node.source_version())  # type: ignore[arg-type]
        assert "node 10.0.0.9 was started without token" in (ray_node.unfit(job) or "")
    assert token
    assert ray_node.unfit(job) is None


def test_nodes_of_another_version_are_named(pair: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from xkg.engine import ray_node
    from xkg.engine.ray_cluster import RayEngine

    papers = worlds(tmp_path / "papers")
    settings = tiny_world.settings_for(tmp_path / "kg", "http://127.0.0.1:9/v1")
    with RayEngine(pair.address) as engine, monkeypatch.context() as patch:
        patch.setattr(ray_node, "source_version", lambda: "0.0.1 (source 0123)")
        with pytest.raises(NoWorkerError, match=r"node .* has xkg .* but this machine has 0\.0\.1"):
            run(settings, papers, engine)


def test_a_wrong_token_is_not_let_in(pair: Nodes, tmp_path: Path) -> None:
    program = "import sys; from xkg.cli.main import main; main(sys.argv[1:])"
    (tmp_path / "list").write_text("1608.04471\n")
    command = ["--kg", str(tmp_path / "kg"), "build", "--papers", str(tmp_path / "list"), "--llm", "none"]
    wrong = {**os.environ, **pair.environment, "RAY_AUTH_TOKEN": "0" * 64}
    done = subprocess.run(
        [sys.executable, "-c", program, *command, "--engine", "ray", "--address", pair.address],
        env=wrong, capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip
    assert done.returncode == 1
    assert "cannot be joined" in done.stderr
    assert "Traceback" not in done.stderr
