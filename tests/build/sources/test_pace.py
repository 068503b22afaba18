import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from tests.build import scholarly_stand_in
from tests.clock import TurnedClock
from xkg.build.sources import pace
from xkg.build.sources.download import Web
from xkg.build.sources.pace import Pace

PAUSE = 0.2


def ask_twice(url: str) -> None:
    web = Web(PAUSE, "try later", seconds=10)
    for _ in range(2):
        web.fetch(f"{url}/api/query?id_list=1", 1_000_000)


def test_processes_keep_the_pause_together(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with scholarly_stand_in.serving() as server:
        started = multiprocessing.get_context("spawn")
        processes = [started.Process(target=ask_twice, args=(server.url,)) for _ in range(3)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        times = sorted(server.times)
    assert len(times) == 6
    # A request starts only when the pause after the previous request is over.
    assert min(later - earlier for earlier, later in pairwise(times)) >= PAUSE * 0.99


def test_a_turn_among_machines_surrounds_that_of_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(pace, "_shared", {})
    seen: list[object] = []

    @contextmanager
    def turn(host: str, seconds: float) -> Iterator[None]:
        seen.append((host, seconds))
        yield
        seen.append("given back")

    pace.share("elsewhere", turn)
    with Pace("example.org:80", 3.0, TurnedClock()).turn():
        seen.append("request")
    assert seen == [("example.org:80", 3.0), "request", "given back"]
    pace.share("elsewhere", None)
    with Pace("example.com:80", 3.0, TurnedClock()).turn():
        assert seen[-1] == "given back"


def test_a_clock_that_was_set_back_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    clock = TurnedClock()
    pace = Pace("example.org:80", 3.0, clock)
    with pace.turn():
        pass
    [stamp] = (tmp_path / "xkg" / "pace").iterdir()
    stamp.write_text(repr(clock.now() + 1e6))
    with pace.turn():
        pass
    stamp.write_text("damaged")
    with pace.turn():
        pass
    assert clock.pauses == [3.0]


def test_without_a_folder_the_pause_holds_in_the_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    clock = TurnedClock()
    pace = Pace("example.org:80", 3.0, clock)
    for _ in range(2):
        with pace.turn():
            pass
    assert clock.pauses == pytest.approx([3.0])
