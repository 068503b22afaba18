"""Copies graphs between local folders. The tests of copies to a server are in `tests/store/neo4j`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.graphs import a_paper
from xkg.commands.graph import copy
from xkg.commands.graph.open import open_store
from xkg.config import Settings
from xkg.errors import ConfigError, StoreError, UnknownIdError
from xkg.store.graph_store import Decision, GraphStore


@pytest.fixture
def stores(graph: Path, tmp_path: Path) -> Iterator[tuple[GraphStore, GraphStore]]:
    """Yields a graph and an empty graph to copy it to."""
    with (
        open_store(copy.at(Settings(), str(graph))) as source,
        open_store(copy.at(Settings(), str(tmp_path / "copy"))) as target,
    ):
        yield source, target


def test_a_copy_has_all_papers_and_what_was_decided(stores: tuple[GraphStore, GraphStore]) -> None:
    source, target = stores
    decision = Decision(first="a#x", second="b#x", judged="0", relation="different", by="p")
    source.decide([decision])
    seen: list[int] = []
    result = copy.copy(source, target, seen.append)
    assert list(target.bundles()) == list(source.bundles())
    assert target.decisions() == (decision,)
    assert result.counts["papers"] == len(list(source.bundles())) == seen[-1]
    assert result.others == 0
    again = copy.copy(source, target)
    assert again.sha256 == result.sha256


def test_papers_that_were_there_before_stay(stores: tuple[GraphStore, GraphStore]) -> None:
    source, target = stores
    other = a_paper()
    target.publish([other])
    assert copy.copy(source, target).others == 1
    assert other in list(target.bundles())


def test_a_copy_that_is_not_equal_is_said(
    stores: tuple[GraphStore, GraphStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = stores
    publish = target.publish
    monkeypatch.setattr(target, "publish", lambda new: publish(list(new)[1:]))
    with pytest.raises(StoreError, match="differ from the papers that were sent"):
        copy.copy(source, target)


@pytest.mark.parametrize("place", ["http://localhost:7474", "bolt://me:secret@localhost", "neo4j+s://"])
def test_what_is_no_place_is_refused_without_telling_a_secret(place: str) -> None:
    with pytest.raises(ConfigError) as caught:
        copy.at(Settings(), place)
    assert "secret" not in str(caught.value)


def test_a_graph_without_papers_is_no_source(tmp_path: Path) -> None:
    with (
        open_store(copy.at(Settings(), str(tmp_path / "a"))) as source,
        open_store(copy.at(Settings(), str(tmp_path / "b"))) as target,
        pytest.raises(UnknownIdError, match="nothing to copy"),
    ):
        copy.copy(source, target)
