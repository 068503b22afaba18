"""Tests answers about code from other people. Such code does not count as tested until a trusted key attests it."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest

from tests.attestations.conftest import LAB, UNI
from tests.serve.conftest import bundles, opened, published
from tests.serve.http_server import running
from xkg.attestations import trust
from xkg.attestations.bundles import received
from xkg.attestations.envelope import attest
from xkg.config import HttpSettings, LlmSettings
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.errors import InputError
from xkg.model import Level
from xkg.serve.answer_text import text
from xkg.serve.answers.paper_list import PaperFilters
from xkg.serve.search.filters import Filters
from xkg.serve.service import Service

STEAM = "title:bread/ovens#baking/steam"


@pytest.fixture
def service(tmp_path: Path, embedder: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    loaf, hive = bundles()
    [code] = loaf.code
    envelopes = [attest(code, code.evidence[-1], (), signer) for signer in (LAB, UNI)]
    with opened(published(tmp_path, embedder, received(loaf, envelopes), hive)) as service:
        yield service


def levels(service: Service) -> list[str]:
    """Returns the level that each kind of answer shows."""
    [row] = [row for row in service.search("steam injection", 3).rows if row.id == STEAM]
    code = service.code(STEAM)
    [line] = [line for line in service.paper("title:bread/ovens").techniques if line.id == STEAM]
    return [row.level, code.level, service.technique(STEAM).level, line.level]


def test_all_answers_follow_trust_at_once(service: Service) -> None:
    assert levels(service) == ["claimed"] * 4
    keys = f"(?:{re.escape(LAB.key.fingerprint)}|{re.escape(UNI.key.fingerprint)}) and 1 more"
    claim = f"claimed to be executed, but not run here; attested by {keys}, not trusted here"
    assert re.match(claim, service.code(STEAM).proven)
    trust.add(LAB.key, "LAB")
    assert levels(service) == ["executed, attested by LAB"] * 4
    assert "level executed, attested by LAB" in text(service.search("steam injection", 1))
    assert service.code(STEAM).proven.startswith("executed, attested by LAB, checked 2026-01-01 by bubblewrap")
    assert "[executed, attested by LAB]" in str(service.context("title:bread/ovens", 2000, "implementation"))
    trust.add(UNI.key, "UNI")
    assert levels(service) == ["executed, attested by LAB and UNI"] * 4
    trust.revoke("LAB")
    trust.revoke("UNI")
    assert levels(service) == ["claimed"] * 4


def test_a_filter_asks_for_what_a_certain_key_attests(service: Service) -> None:
    def found(by: str, level: Level | None = None) -> bool:
        rows = service.search("steam injection", 3, filters=Filters.of(attested_by=by, level=level)).rows
        return [row.id for row in rows] == [STEAM]

    trust.add(LAB.key, "LAB")
    assert found("LAB", Level.EXECUTED)
    assert found(LAB.key.fingerprint)
    assert not found("LAB", Level.TESTED)
    with pytest.raises(InputError, match="no key 'UNI' is trusted"):
        found("UNI")
    asked = Filters.of(attested_by="LAB")
    assert "attested by LAB" in service.search("steam injection", 1, filters=asked).searched
    trust.revoke("LAB")
    assert STEAM not in [row.id for row in service.search("steam injection", 1, filters=asked).rows]


def test_filters_ask_for_claims_and_for_what_is_attested(service: Service) -> None:
    def found(level: Level) -> bool:
        rows = service.search("steam injection", 3, filters=Filters.of(level=level)).rows
        return STEAM in [row.id for row in rows]

    def papers(level: Level) -> list[str]:
        return [row.id for row in service.list_papers(None, PaperFilters(level=level)).rows]

    assert (found(Level.CLAIMED), found(Level.PARSED), papers(Level.EXECUTED)) == (True, False, [])
    trust.add(UNI.key, "UNI")
    assert (found(Level.EXECUTED), found(Level.TESTED), papers(Level.EXECUTED)) == (True, False, ["title:bread/ovens"])
    with service.snapshot() as snapshot:
        [line] = [line for line in service.paper_list(snapshot).lines if line.id == "title:bread/ovens"]
        assert line.levels == {Level.EXECUTED: 1}
    trust.revoke("UNI")
    assert (found(Level.EXECUTED), papers(Level.EXECUTED)) == (False, [])


def test_cypher_has_what_is_claimed_and_by_whom(service: Service) -> None:
    statement = (
        "WITH $trusted AS trusted MATCH (c:Code) WHERE any(key IN c.attested_by WHERE key IN trusted) "
        "RETURN c.level, c.claimed, c.attested_by"
    )
    assert service.cypher(statement, {}, 10).rows == ()
    trust.add(LAB.key, "LAB")
    [(level, claimed, keys)] = service.cypher(statement, {}, 10).rows
    assert (level, claimed, sorted(keys)) == ("claimed", "executed", sorted([LAB.key.fingerprint, UNI.key.fingerprint]))
    others = service.cypher("MATCH (c:Code {level: 'parsed'}) RETURN c.claimed, c.attested_by", {}, 10).rows
    assert [(claimed, list(keys or ())) for claimed, keys in others] == [(None, [])]


def test_pages_say_who_attests_and_a_name_is_no_markup(service: Service) -> None:
    with running(service.folder, http=HttpSettings(per_minute=0), llm=LlmSettings(model="none")) as server:

        def pages() -> list[str]:
            places = (f"technique/{quote(STEAM)}", f"paper/{quote('title:bread/ovens')}", "search?q=steam+injection")
            return [httpx2.get(f"{server.base}/{place}", timeout=100).text for place in places]

        assert all("</svg>claimed</span>" in page for page in pages())
        trust.add(LAB.key, "<b>LAB</b>")
        words = "</svg>executed, attested by &lt;b&gt;LAB&lt;/b&gt;</span>"
        assert all(words in page and "<b>LAB" not in page for page in pages())
        assert "1 executed" in httpx2.get(f"{server.base}/papers", timeout=100).text
        asked = {"q": "steam injection", "attested_by": "<b>LAB</b>"}
        page = httpx2.get(f"{server.base}/search", params=asked, timeout=100).text
        assert words in page
        assert "<option selected>&lt;b&gt;LAB&lt;/b&gt;</option>" in page
        trust.revoke("<b>LAB</b>")
        assert all("</svg>claimed</span>" in page for page in pages())
        refused = httpx2.get(f"{server.base}/search", params=asked, timeout=100)
        assert (refused.status_code, "trusted keys: none" in refused.text) == (400, True)
