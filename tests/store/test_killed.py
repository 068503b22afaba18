"""Kills a writer at any moment, and checks that no stored data is lost."""

import os
import random
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.graphs import a_paper, open_store
from xkg.model import PaperBundle
from xkg.store.local import build_files

# Python 3.12 and later warn about forks in a process with threads. The children do not touch the threads' data.
pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")


@pytest.fixture
def in_memory(tmp_path: Path) -> Iterator[Path]:
    """Creates a folder in memory if the system supports it. A kill loses data that was not written, but not data that
    was not synced."""
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        yield Path(folder)


@pytest.mark.parametrize("kills", [4, pytest.param(10, marks=pytest.mark.product("more kills"))])
@pytest.mark.parametrize("whole", [True, False], ids=["all anew", "changed"])
def test_kills_at_random_moments(in_memory: Path, whole: bool, kills: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if not whole:
        monkeypatch.setattr(build_files, "SMALL", 0)
        monkeypatch.setattr(build_files, "SHARE", 5)
    store = open_store(in_memory)
    stored = {b.paper.id: b for b in (a_paper(1), a_paper(2))}
    store.publish(list(stored.values()))
    store.close()

    def publishing(papers: list[PaperBundle]) -> int:
        """Returns the process id of a child that publishes. The fork has all modules loaded, so that a kill interrupts
        the publishing."""
        child = os.fork()
        if child == 0:
            try:
                open_store(in_memory).publish(papers)
            finally:
                os._exit(0)
        return child

    began = time.monotonic()
    os.waitpid(publishing(list(stored.values())), 0)
    seconds = time.monotonic() - began
    moments = random.Random(7)
    finished = 0
    for n in range(kills):
        replaced, added = a_paper(1, note=str(n)), a_paper(100 + n)
        child = publishing([replaced, added])
        if n:  # on any machine, the first process finishes and the second one is killed immediately
            time.sleep(moments.uniform(0, 1.3 * seconds) if n > 1 else 0)
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        survivor = open_store(in_memory)
        found = {b.paper.id: b for b in survivor.bundles()}
        after = {**stored, replaced.paper.id: replaced, added.paper.id: added}
        assert found in (stored, after), "all of a publish or nothing"
        finished += found == after
        stored = found
        if n % 5 == 4:
            survivor.publish([a_paper(2, note=str(n))])
            stored["arxiv:2101.00002"] = a_paper(2, note=str(n))
            extra = [i for i in stored if i >= "arxiv:2101.00100"]
            if extra:
                survivor.remove(extra)
                stored = {i: b for i, b in stored.items() if i not in extra}
            assert survivor.check() == []
        survivor.close()
    assert 0 < finished < kills
    final = open_store(in_memory)
    final.publish([a_paper(3)])
    assert {b.paper.id: b for b in final.bundles()} == {**stored, a_paper(3).paper.id: a_paper(3)}
    assert final.check() == []
    folders = [in_memory / name for name in ("bundles", "rows", "generations")]
    left = [path.name for folder in folders for path in folder.iterdir() if path.name[0] == "."]
    assert left == [], "what the killed left behind is gone"
