"""Tests two machines that build one list into a shared, real Neo4j."""

from pathlib import Path

import pytest

from tests.commands.test_claims import store_of
from tests.neo4j_server import Neo4jServer
from tests.store.graphs import FakeHashEmbedder, a_paper
from tests.store.neo4j.stores import MODEL
from xkg.commands.batch.paper_list import ListedPaper
from xkg.commands.batch.records import Row
from xkg.commands.batch.shared_records import SharedRecords
from xkg.config import LlmSettings, Settings, StoreSettings
from xkg.errors import LeaseHeldError
from xkg.store.neo4j.store import Neo4jStore

PAPER = a_paper()
LISTED = ListedPaper(line=7, paper="2402.00001", repository="https://github.com/owner/name")
BUILT = Row(line=7, name=LISTED.paper, state="built", paper=PAPER.paper.id, techniques=3, seconds=90.0, cost_usd=0.4)


def machine(server: Neo4jServer, folder: Path, model: str = "none") -> Settings:
    folder.mkdir(exist_ok=True)
    store = store_of(server, folder)
    return Settings(kg=folder / "kg", store=store, embedding=MODEL, llm=LlmSettings(model=model))


def row_for(settings: Settings, listed: ListedPaper) -> Row | None:
    with SharedRecords(settings, None, first=False) as records, records.turn(listed) as row:
        return row


def enter(settings: Settings, listed: ListedPaper, row: Row) -> None:
    with SharedRecords(settings, None, first=False) as records, records.turn(listed):
        records.enter(listed, row)


def test_what_one_machine_built_another_does_not_build_again(neo4j_database: Neo4jServer, tmp_path: Path) -> None:
    one, other = machine(neo4j_database, tmp_path / "one"), machine(neo4j_database, tmp_path / "other")
    store = Neo4jStore(one, FakeHashEmbedder)
    store.publish([PAPER])
    assert row_for(other, LISTED) is None
    enter(one, LISTED, BUILT)
    row = row_for(other, LISTED.model_copy(update={"line": 2}))
    assert row is not None
    assert (row.line, row.state, row.paper, row.seconds) == (2, "unchanged", PAPER.paper.id, 0.0)
    assert row.notes == ("another machine built it",)
    # A different version, repository or model makes a different record.
    assert row_for(other, LISTED.model_copy(update={"repository": "https://github.com/owner/other"})) is None
    assert row_for(machine(neo4j_database, tmp_path / "third", model="o4-mini"), LISTED) is None
    store.remove([PAPER.paper.id])
    assert row_for(other, LISTED) is None
    store.close()


def test_files_of_one_machine_are_not_those_of_another(neo4j_database: Neo4jServer, tmp_path: Path) -> None:
    one = machine(neo4j_database, tmp_path / "one")
    store = Neo4jStore(one, FakeHashEmbedder)
    store.publish([PAPER])
    store.close()
    (tmp_path / "paper.tex").touch()
    listed = LISTED.model_copy(update={"paper": str(tmp_path / "paper.tex")})
    enter(one, listed, BUILT)
    assert row_for(machine(neo4j_database, tmp_path / "other"), listed) is None


def test_a_server_that_is_away_knows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_USERNAME", "neo4j")
    monkeypatch.setenv("NEO4J_PASSWORD", "of nobody")
    away = Settings(kg=tmp_path / "kg", store=StoreSettings(url="bolt://127.0.0.1:9"), embedding=MODEL)
    enter(away, LISTED, BUILT)
    assert row_for(away, LISTED) is None


def test_a_paper_that_another_machine_builds_has_its_turn_there(neo4j_database: Neo4jServer, tmp_path: Path) -> None:
    one, other = machine(neo4j_database, tmp_path / "one"), machine(neo4j_database, tmp_path / "other")
    store = Neo4jStore(one, FakeHashEmbedder)
    store.publish([PAPER])
    store.close()
    with SharedRecords(one, None, first=False) as records, records.turn(LISTED):
        with pytest.raises(LeaseHeldError, match=r"^2402\.00001 is being built by"):
            row_for(other, LISTED)
        records.enter(LISTED, BUILT)
    assert row_for(other, LISTED) is not None
