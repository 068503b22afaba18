import os
import subprocess
import sys
from pathlib import Path

from xkg.config import EmbeddingSettings, Settings
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.sandbox.isolation.watchdog import descendants
from xkg.serve.service import Service
from xkg.store.local.store import EmbeddedStore


def test_what_is_being_loaded_is_waited_for_before_the_process_ends(graph: Path) -> None:
    code = f"""
import time
from pathlib import Path
from xkg.config import Settings
from xkg.serve.service import Service
service = Service(Settings(kg=Path({str(graph)!r})))
service.warm_beside()
time.sleep(0.3)
service.close()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_asked_again_is_answered_from_the_graph_as_it_is(graph: Path) -> None:
    service = Service(Settings(kg=graph, embedding=EmbeddingSettings()))
    first = service.search("hearth baking", 1)
    assert service.search("hearth baking", 1) is first
    assert service.search("hearth baking", 2) is not first
    store = EmbeddedStore(graph, OnnxEmbedder)
    store.remove([first.rows[0].id.partition("#")[0]])
    assert first.rows[0].id not in [row.id for row in service.search("hearth baking", 1).rows]
    store.rollback()
    assert service.search("hearth baking", 1) == first
    store.close()
    service.close()


def test_closing_leaves_no_descriptor_open(graph_copy: Path, tmp_path: Path) -> None:
    """Covers the graph, the queries, the cache of vectors, and the parser process."""
    (tmp_path / "oven.py").write_text("def bake(loaf):\n    return loaf\n")

    def opened() -> list[str]:
        descriptors = [Path(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")]  # noqa: PTH208
        links = [str(descriptor.readlink()) for descriptor in descriptors if descriptor.is_symlink()]
        return [link for link in links if f"{graph_copy}/" in link]

    def locate() -> None:
        service = Service(Settings(kg=graph_copy, embedding=EmbeddingSettings()))
        service.locate("a loaf that is baked", tmp_path)
        assert opened()
        service.close()
        assert not opened()

    locate()  # the tests keep the process that forks parsers alive
    processes = set(descendants(os.getpid()))
    locate()
    assert set(descendants(os.getpid())) <= processes
