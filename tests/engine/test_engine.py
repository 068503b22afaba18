"""Tests the items, events and errors that every engine must support, using processes on this machine."""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT
from xkg.commands.engines import engine_of
from xkg.engine.engine import NoWorkerError, Site, WorkFailed
from xkg.engine.local import ITEMS_OF_A_PROCESS, LocalEngine
from xkg.errors import ConfigError, InputError, StoreError, XkgError


@dataclass(frozen=True)
class Halves:
    """Halves even numbers."""

    unusable: str = ""
    name: str = "halves"
    gpus: int = 0
    imports: tuple[str, ...] = ()

    @property
    def services(self) -> Mapping[str, Callable[[], object]]:
        return {}

    @property
    def places(self) -> Mapping[str, int]:
        return {}

    @contextmanager
    def open(self, site: Site) -> Iterator[Callable[[int], tuple[int, int]]]:
        if self.unusable:
            raise StoreError(self.unusable)

        def halve(number: int) -> tuple[int, int]:
            site.notify(f"halving {number}")
            if number == 13:
                os.kill(os.getpid(), signal.SIGKILL)
            if number % 2:
                raise InputError(f"{number} is odd")
            return number // 2, os.getpid()

        yield halve


@dataclass(frozen=True)
class Variables(Halves):
    @contextmanager
    def open(self, _site: Site) -> Iterator[Callable[[str], str | None]]:  # type: ignore[override]
        yield os.environ.get


def test_a_process_has_the_environment_of_its_own_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are forked from a shared process, which may have started with a different environment."""
    found = []
    for value in ("here", "there"):
        monkeypatch.setenv("XKG_TEST_PLACE", value)
        (worker,) = LocalEngine(1).workers(Variables(), 1)
        found.append(worker.run("XKG_TEST_PLACE", lambda _: None))
        worker.close()
    assert found == ["here", "there"]


def test_a_script_needs_no_guard_and_is_not_run_again(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "print('begins')\n"
        "from tests.engine.test_engine import Halves\n"
        "from xkg.engine.local import LocalEngine\n"
        "(worker,) = LocalEngine().workers(Halves(), 1)\n"
        "print(worker.run(8, print)[0], __spec__)\n"
        "worker.close()\n"
    )
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert (done.stdout.split(), done.stderr) == (["begins", "halving", "8", "4", "None"], "")


def test_items_events_and_failures_come_back() -> None:
    (worker,) = LocalEngine(4).workers(Halves(), 1)
    events: list[object] = []
    half, first = worker.run(4, events.append)
    assert (half, events) == (2, ["halving 4"])
    with pytest.raises(WorkFailed, match="3 is odd") as failed:
        worker.run(3, events.append)
    assert failed.value.lasting
    with pytest.raises(WorkFailed, match="signal 9") as killed:
        worker.run(13, events.append)
    assert not killed.value.lasting
    half, second = worker.run(8, events.append)
    assert half == 4
    assert second != first
    worker.close()


def test_what_keeps_every_item_is_no_failure_of_one() -> None:
    (worker,) = LocalEngine().workers(Halves("the disk is full"), 1)
    with pytest.raises(NoWorkerError, match="the disk is full"):
        worker.run(2, lambda _: None)
    worker.close()


def test_a_cluster_without_tokens_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    from xkg.engine import ray_cluster

    monkeypatch.setattr(ray_cluster, "_ray", lambda: object())
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    with (
        pytest.raises(ConfigError, match="RAY_AUTH_MODE=token"),
        engine_of({"engine": "ray", "address": "127.0.0.1:6379"}),
    ):
        pass
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(ConfigError, match="--address"), engine_of({"engine": "ray"}):
        pass


def test_without_ray_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(XkgError, match=r"pip install '\.\[ray\]'"),
        engine_of({"engine": "ray", "address": "127.0.0.1:6379"}),
    ):
        pass


def test_work_on_papers_is_sent_without_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from xkg.commands.batch.build_papers import BuildPapers
    from xkg.config import Settings

    keys = ("XKG_LLM_KEY", "OPENAI_API_KEY", "XKG_EMBEDDING_KEY", "NEO4J_PASSWORD", "GITHUB_TOKEN", "RAY_AUTH_TOKEN")
    for name in keys:
        monkeypatch.setenv(name, "a-secret-of-here")
    work = BuildPapers.of(Settings(kg=tmp_path), [])
    services = [pickle.dumps(make) for make in work.services.values()]
    assert all(b"a-secret-of-here" not in sent for sent in (pickle.dumps(work), *services))


def test_a_process_is_replaced_after_many_items() -> None:
    (worker,) = LocalEngine(1).workers(Halves(), 1)
    ids = {worker.run(2 * number, lambda _: None)[1] for number in range(20, 23 + ITEMS_OF_A_PROCESS)}
    worker.close()
    assert len(ids) == 2
