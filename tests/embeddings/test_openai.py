"""Tests embeddings over HTTP, from working and failing servers."""

import json
import logging
import traceback
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.clock import TurnedClock
from tests.command import run
from tests.llm_endpoint import Fault, Handler, ScriptedEndpoint, cut, raw, silent, status, trickling
from xkg.commands import doctor
from xkg.commands.graph.open import open_service, open_store
from xkg.config import EmbeddingSettings, Settings, load
from xkg.embeddings.openai import OpenAIEmbedder
from xkg.errors import ConfigError, EmbeddingError, ModelMismatchError

KEY = "sk-never-to-be-seen-0123456789"
DIMENSION = 12


def vector(text: str, dimension: int = DIMENSION) -> NDArray[np.float64]:
    """Returns a vector of any length except one, because the client scales it to unit length."""
    return np.random.default_rng(zlib.crc32(text.encode())).normal(size=dimension)


class Server(ScriptedEndpoint):
    """Answers requests for embeddings. The `faults` are sent first, one per request."""

    def __init__(self) -> None:
        super().__init__(lambda _: self.faults.pop(0) if self.faults else embeddings(DIMENSION))
        self.faults: list[Fault] = []


def embeddings(dimension: int) -> Fault:
    def answer(handler: Handler) -> None:
        texts = handler.server.owner.requests[-1]["input"]
        data = [{"index": i, "embedding": vector(t, dimension).tolist()} for i, t in enumerate(texts)]
        handler.reply(200, json.dumps({"object": "list", "data": data[::-1], "model": "any"}).encode())

    return answer


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("XKG_EMBEDDING__MODEL", "XKG_EMBEDDING__PROVIDER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XKG_EMBEDDING_KEY", KEY)
    monkeypatch.chdir(tmp_path)


def connected(server: Server, *, patience: float = 30, timeout: float = 20) -> OpenAIEmbedder:
    return OpenAIEmbedder("some-model", server.url, patience=patience, timeout=timeout, clock=TurnedClock())


def settings(server: Server, folder: Path) -> Settings:
    chosen = EmbeddingSettings(provider="openai", model="some-model", base_url=server.url)
    return Settings(kg=folder, embedding=chosen)


def refused(embedder: OpenAIEmbedder) -> str:
    """Returns the error message. Checks that neither the message nor the traceback from -v contains the key."""
    with pytest.raises(EmbeddingError) as caught:
        embedder.embed(["a text"])
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_any_number_of_texts_gives_unit_vectors_in_their_order(server: Server) -> None:
    texts = [f"text {n}" for n in range(70)]
    embedder = connected(server)
    vectors = embedder.embed(texts)
    assert vectors.dtype == np.float32
    assert vectors.shape == (70, DIMENSION)
    expected = np.array([vector(text) / np.linalg.norm(vector(text)) for text in texts])
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    assert [len(request["input"]) for request in server.requests] == [32, 32, 6]
    assert {request["model"] for request in server.requests} == {"some-model"}
    assert set(server.keys) == {f"Bearer {KEY}"}
    assert (embedder.model, embedder.dimension) == ("openai:some-model", DIMENSION)


def test_any_string_can_be_sent(server: Server) -> None:
    vectors = connected(server).embed(["", "\ud800 lone", "\x00", "中文 🙂", "x" * 100_000])
    assert np.isfinite(vectors).all()
    sent = server.requests[0]["input"]
    assert sent[:4] == [" ", "? lone", "\x00", "中文 🙂"]
    assert len(sent[4]) == 8000


@pytest.mark.parametrize(
    "fault",
    [status(429, retry_after="0.01"), status(503), cut],
)
def test_what_passes_is_tried_again(server: Server, fault: Fault) -> None:
    server.faults = [fault, fault]
    assert connected(server).embed(["a text"]).shape == (1, DIMENSION)
    assert len(server.requests) == 3


@pytest.mark.parametrize("code", [401, 403])
def test_a_refused_key_is_not_repeated_or_shown(server: Server, caplog: pytest.LogCaptureFixture, code: int) -> None:
    caplog.set_level(logging.DEBUG)
    server.faults = [status(code, f"Incorrect API key provided: {KEY[:8]}***; you sent {KEY}")]
    line = refused(connected(server))
    assert "XKG_EMBEDDING_KEY" in line
    assert KEY[:8] not in line
    assert caplog.records
    assert KEY not in caplog.text
    assert len(server.requests) == 1


def test_a_refused_request_says_in_the_servers_words_why(server: Server) -> None:
    server.faults = [status(404, f"The model `some-model`\ndoes not exist for {KEY} \x1b[2J")]
    line = refused(connected(server))
    assert "HTTP 404 for model some-model (The model `some-model` does not exist for [key]" in line
    assert "embedding.model" in line
    assert line.isprintable()
    assert len(server.requests) == 1


@pytest.mark.parametrize("fault", [silent, trickling])
def test_an_answer_that_does_not_come_is_given_up(server: Server, fault: Fault) -> None:
    server.faults = [fault] * 50
    assert "did not answer in time" in refused(connected(server, patience=0.6, timeout=0.3))


def item(index: object, embedding: object) -> bytes:
    return json.dumps({"data": [{"index": index, "embedding": embedding}]}).encode()


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xfe{",
        b"[" * 100_000,
        item(0, "AACAPw=="),
        item(0, [10**400]),
        b'{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}',
    ],
)
def test_what_is_no_list_of_embeddings_is_one_line_and_not_tried_again(server: Server, body: bytes) -> None:
    server.faults = [raw(body)]
    line = refused(connected(server))
    assert "did not return a list of 1 embeddings" in line
    assert "embedding.base_url" in line
    assert len(server.requests) == 1


@pytest.mark.parametrize("embedding", [b"[0, 0]", b"[1e400, 1]"])
def test_a_vector_without_direction_is_refused(server: Server, embedding: bytes) -> None:
    server.faults = [raw(b'{"data": [{"index": 0, "embedding": ' + embedding + b"}]}")]
    assert "zero vector" in refused(connected(server))


def test_another_dimension_than_before_is_refused(server: Server) -> None:
    embedder = connected(server)
    embedder.embed(["a"])
    server.faults = [embeddings(5)]
    assert "returned 5 numbers for a text, but 12 before" in refused(embedder)


def test_an_answer_without_end_is_cut_off(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xkg.embeddings.openai._MAX_BYTES", 100)
    assert "without end" in refused(connected(server))


def test_the_key_of_openai_goes_to_no_other_server(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XKG_EMBEDDING_KEY")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    connected(server).embed(["a"])
    assert server.keys == ["Bearer none"]


@pytest.mark.parametrize("key", ["sk-a\nb", "sk-\u201c", "sk-\x1b[0m"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XKG_EMBEDDING_KEY", key)
    with pytest.raises(ConfigError, match="XKG_EMBEDDING_KEY") as caught:
        OpenAIEmbedder("m", "http://127.0.0.1:9/v1")
    assert "sk-" not in "".join(traceback.format_exception(caught.value))


def test_a_key_among_the_settings_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XKG_EMBEDDING__KEY", KEY)
    with pytest.raises(ConfigError, match=r"embedding\.key") as caught:
        load()
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_another_provider_is_refused_until_the_index_is_rebuilt(
    server: Server, graph: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before, chosen = Settings(kg=graph), settings(server, graph)
    with open_service(chosen) as service, pytest.raises(ModelMismatchError) as caught:
        service.search("kernel", 1)
    assert str(caught.value).startswith(
        "the indexes were built with embedding model 'all-MiniLM-L6-v2', but 'openai:some-model' is configured"
    )
    assert "`xkg index rebuild`" in str(caught.value)
    assert not server.requests

    for name, value in chosen.embedding.model_dump(include={"provider", "model", "base_url"}).items():
        monkeypatch.setenv(f"XKG_EMBEDDING__{name.upper()}", value)
    server.faults = [status(401)]
    assert run("--kg", graph, "index", "rebuild") == 1
    assert "rejects the key" in capsys.readouterr().err
    with open_store(before) as store:
        assert store.check() == [], "a rebuild that fails changes nothing"

    assert run("--kg", graph, "index", "rebuild") == 0
    with open_store(chosen) as store, store.snapshot() as snapshot:
        assert store.check() == []
        techniques = len(snapshot.vector_index())
        (hit,) = snapshot.find_text("kernel", 1)
        name = snapshot.technique(hit.id).technique.name
    assert sum(len(request["input"]) for request in server.requests[1:]) >= techniques
    with open_service(chosen) as service:
        assert name in [row.name for row in service.search(name, 3).rows]
    with open_service(before) as service, pytest.raises(ModelMismatchError, match="openai:some-model"):
        service.search("kernel", 1)


def test_the_doctor_says_what_answers(server: Server, tmp_path: Path) -> None:
    def look() -> doctor.Check:
        report = doctor.examine(settings(server, tmp_path / "kg"))
        return next(finding for finding in report.findings if finding.name == "embedding model")

    works = look()
    assert works.ok
    assert works.seen == f"openai:some-model, {DIMENSION} dimensions, from {server.url}"
    server.faults = [status(401)]
    broken = look()
    assert not broken.ok
    assert "rejects the key" in broken.seen
    assert "embedding.base_url" in broken.remedy


def test_openai_itself_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XKG_EMBEDDING_KEY")
    with pytest.raises(EmbeddingError, match="OPENAI_API_KEY or XKG_EMBEDDING_KEY"):
        OpenAIEmbedder("text-embedding-3-small")
