"""Loading the embedded engine."""

from contextlib import closing
from pathlib import Path

import pytest

from tests.store.graphs import a_paper
from xkg.store.index_entries import entries
from xkg.store.local import ladybug
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
            writer.add(bundle, list(entries(bundle)))
        counts = writer.load(tmp_path / "graph.lbug")
    assert counts["Paper"] >= PAPERS
    assert counts["Code"] >= PAPERS
