import shutil
from contextlib import closing
from pathlib import Path

import pytest

from tests.store.graphs import a_paper, open_store
from xkg.errors import StoreError
from xkg.store.index_entries import entries
from xkg.store.local import ladybug
from xkg.store.local.graph_rows import rows_of
from xkg.store.local.ladybug import GraphWriter

PAPERS = 60
CODE_BYTES = 200_000


def test_a_graph_that_is_larger_than_the_usual_memory_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ladybug, "_BUFFER_POOL", 1 << 24)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with closing(GraphWriter(scratch)) as writer:
        for number in range(PAPERS):
            bundle = a_paper(number)
            code = tuple(
                c.model_copy(update={"implementation": f"{number:07}#" * (CODE_BYTES // 8)}) for c in bundle.code
            )
            bundle = bundle.model_copy(update={"code": code})
            writer.add_rows(rows_of(bundle, list(entries(bundle))))
        writer.load(tmp_path / "graph.lbug")
    assert (tmp_path / "graph.lbug").stat().st_size > PAPERS * CODE_BYTES


def test_a_disk_without_room_is_refused_before_the_engine_ends_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine ends the program if it cannot write its log on a full disk."""
    store = open_store(tmp_path / "kg")
    store.publish([a_paper(1)])
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr("xkg.store.local.ladybug.shutil.disk_usage", lambda _: usage._replace(free=1 << 20))
    with pytest.raises(StoreError, match=r"No space left on device.*nothing was changed"):
        store.publish([a_paper(2)])
    monkeypatch.undo()
    assert store.publish([a_paper(2)]) == 2
    store.close()
