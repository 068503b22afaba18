"""Tests measured importance in answers for techniques, searches and plans."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.store.flows import FLOW, FLOWS, KERNEL, ablations, bundles
from tests.store.graphs import FakeHashEmbedder, open_store
from xkg.config import Settings
from xkg.serve.answer_text import text
from xkg.serve.search.query_encoder import SharedModel
from xkg.serve.service import Service


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    folder = tmp_path / "kg"
    settings = Settings(kg=folder)
    with closing(open_store(folder)) as store:
        store.publish(bundles())
        store.add_ablations(ablations())
    monkeypatch.setattr(Service, "_opened", lambda self: self.__dict__.setdefault("_embedded", open_store(self.folder)))
    monkeypatch.setattr(SharedModel, "__call__", lambda _: FakeHashEmbedder())
    with closing(Service(settings)) as opened:
        yield opened


def test_a_technique_says_what_was_measured_the_largest_change_first(service: Service) -> None:
    answer = service.technique(FLOW)
    assert [m.change for m in answer.measured] == [0.5, -0.02]
    assert not any(m.diff or m.commit for m in answer.measured)
    assert all(m.diff and m.commit for m in service.technique(FLOW, full=True).measured)
    shown = text(answer)
    assert "+50.0% [+40.0%, +60.0%] of loss, 2 to 3: the term repulsion → off (3 seeds)" in shown


def test_rows_of_a_search_have_the_largest_change(service: Service) -> None:
    answer = service.search("RBF kernel", 5)
    measured = {row.id: row.measured for row in answer.rows}
    assert measured[KERNEL] == -0.75
    assert "measured -0.75" in text(answer)


def test_a_plan_says_what_was_measured(service: Service) -> None:
    assert "measured -75.0% of loss" in str(service.context(FLOWS, 4000))
