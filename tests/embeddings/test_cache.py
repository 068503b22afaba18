import logging
import sqlite3
import threading
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from xkg.embeddings.base import EncodedText
from xkg.embeddings.cache import CachedEmbedder
from xkg.errors import EmbeddingError


class Counting:
    """Returns unit vectors that depend only on the text, and records the requests."""

    def __init__(self, model: str = "counting", dimension: int = 8) -> None:
        self.model, self.dimension = model, dimension
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        return np.array([self.vector(text) for text in texts], np.float32)

    def vector(self, text: str) -> NDArray[np.float32]:
        seed = zlib.crc32(text.encode("utf-8", "surrogatepass"))
        v = np.random.default_rng(seed).normal(size=self.dimension)
        return (v / np.linalg.norm(v)).astype(np.float32)


def refuse() -> Counting:
    raise AssertionError("the model was loaded")


def opened(embedder: Counting, path: Path) -> CachedEmbedder:
    return CachedEmbedder(lambda: embedder, path, embedder.model)


def test_beyond_a_bound_the_first_texts_go(tmp_path: Path) -> None:
    inner, path = Counting(), tmp_path / "cache.sqlite"

    def embed(*texts: str) -> list[str]:
        """Returns the texts that reached the model."""
        inner.asked.clear()
        with CachedEmbedder(lambda: inner, path, inner.model, most=10) as cached:
            assert np.array_equal(cached.embed(texts), [inner.vector(text) for text in texts])
        return sorted(inner.asked)

    assert embed(*"abcdefghij") == [*"abcdefghij"]
    assert embed("k") == ["k"], "the eleventh: the two oldest go"
    assert embed(*"cdefghijk") == []
    assert embed("a", "b") == ["a", "b"]
    assert len(embed(*(f"a folder of {n} files" for n in range(40)))) == 40, "more at once than the bound"
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM texts").fetchone()[0] <= 10
    connection.close()


def test_known_texts_need_no_model(tmp_path: Path) -> None:
    path = tmp_path / "new" / "cache.sqlite"
    with opened(Counting(), path) as cached:
        stored = cached.embed(["x", "y"])
    with CachedEmbedder(refuse, path, "counting") as cached:
        assert cached.dimension == 8
        assert np.array_equal(cached.embed(["y", "x", "y"]), stored[[1, 0, 1]])
        assert cached.embed([]).shape == (0, 8)


@settings(max_examples=25)
@given(calls=st.lists(st.lists(st.text(st.characters(), max_size=3), max_size=6), max_size=5))
def test_any_calls_give_the_right_vectors(tmp_path_factory: pytest.TempPathFactory, calls: list[list[str]]) -> None:
    path = tmp_path_factory.mktemp("cache") / "c"
    inner = Counting()
    for texts in calls:
        with opened(inner, path) as cached:
            expected = np.array([inner.vector(text) for text in texts], np.float32).reshape(len(texts), 8)
            assert np.array_equal(cached.embed(texts), expected)
    assert len(inner.asked) == len(set(inner.asked)) == len({text for texts in calls for text in texts})


class Wordy(Counting):
    """Also reads words. A word's code depends only on its first letter."""

    def encode(self, texts: Sequence[str]) -> list[EncodedText]:
        codes = [np.array([[ord(text[0]) % 256]], np.uint8) for text in texts]
        return [EncodedText(v, (t,), code) for v, t, code in zip(self.embed(texts), texts, codes, strict=True)]


def test_what_was_read_is_read_once(tmp_path: Path) -> None:
    inner = Wordy()
    with opened(inner, tmp_path / "c.sqlite") as cached:
        vectors = cached.embed(["a"])
        found = cached.encode_documents(["a", "b", "a"])
        assert found.codes == [b"a", b"b", b"a"]
        assert np.array_equal(found.vectors[0], vectors[0])
    assert inner.asked == ["a", "a", "b"], "a vector alone says nothing of the words"
    with CachedEmbedder(refuse, tmp_path / "c.sqlite", "counting") as again:
        known = again.encode_documents(["b", "a"])
        assert known.codes == [b"b", b"a"]
        assert np.array_equal(again.embed(["b", "a"]), known.vectors)


def test_what_was_embedded_before_an_error_is_kept(tmp_path: Path) -> None:
    class Failing(Counting):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            if len(self.asked) >= 1000:
                raise EmbeddingError("stopped")
            return super().embed(texts)

    texts = [str(n) for n in range(1500)]
    with opened(Failing(), tmp_path / "c") as cached, pytest.raises(EmbeddingError):
        cached.embed(texts)
    inner = Counting()
    with opened(inner, tmp_path / "c") as cached:
        cached.embed(texts)
    assert len(inner.asked) == 500


@pytest.mark.parametrize("damage", ["garbage", "pages"])
def test_a_corrupt_file_is_set_aside(tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "c"
    texts = [str(n) for n in range(400)]
    with opened(Counting(dimension=64), path) as cached:
        cached.embed(texts)
    good = path.read_bytes()
    path.write_bytes(
        b"not a database at all" * 99 if damage == "garbage" else good[:4096] + b"\xa5" * (len(good) - 4096)
    )
    inner = Counting(dimension=64)
    with opened(inner, path) as cached:
        assert np.array_equal(cached.embed(texts), [inner.vector(text) for text in texts])
    with CachedEmbedder(refuse, path, "counting") as cached:
        cached.embed(texts)
    assert [p.name for p in tmp_path.glob("*.corrupt-*")]
    assert "set aside" in caplog.text


def test_a_flipped_bit_in_a_vector_is_noticed(tmp_path: Path) -> None:
    with opened(Counting(), tmp_path / "c") as cached:
        cached.embed(["x"])
    database = sqlite3.connect(tmp_path / "c")
    (vector,) = database.execute("SELECT vector FROM texts").fetchone()
    with database:
        database.execute("UPDATE texts SET vector = ?", (bytes([vector[0] ^ 1]) + vector[1:],))
    database.close()
    inner = Counting()
    with opened(inner, tmp_path / "c") as cached:
        assert np.array_equal(cached.embed(["x"]), [inner.vector("x")])
    assert inner.asked == ["x"]


def test_a_file_that_cannot_be_written_is_still_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "c"
    with opened(Counting(), path) as cached:
        cached.embed(["x"])
    connect: Callable[..., sqlite3.Connection] = sqlite3.connect

    def read_only(database: Any, **options: Any) -> sqlite3.Connection:
        uri = database if options.get("uri") else f"file:{database}?mode=ro"
        return connect(uri, **{**options, "uri": True})

    monkeypatch.setattr(sqlite3, "connect", read_only)
    inner = Counting()
    with opened(inner, path) as cached:
        assert np.array_equal(cached.embed(["x", "y"]), [inner.vector("x"), inner.vector("y")])
        cached.embed(["z"])
    assert inner.asked == ["y", "z"]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_a_full_disk_does_not_fail_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    connect: Callable[..., sqlite3.Connection] = sqlite3.connect

    def small(database: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(database, **options)
        connection.execute("PRAGMA max_page_count = 8")
        return connection

    monkeypatch.setattr(sqlite3, "connect", small)
    inner = Counting(dimension=384)
    texts = [str(n) for n in range(2000)]
    with opened(inner, tmp_path / "c") as cached:
        assert np.array_equal(cached.embed(texts), [inner.vector(text) for text in texts])
    assert "disk is full" in caplog.text
    assert len(caplog.records) == 1


def test_threads_share_one_embedding(tmp_path: Path) -> None:
    inner = Counting()
    with opened(inner, tmp_path / "c") as cached:
        threads = [threading.Thread(target=cached.embed, args=(["x", "y"],)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(inner.asked) == ["x", "y"]


class Slow(Counting):
    """Waits for permission before embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.let = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.begun.set()
        assert self.let.wait(60)
        return super().embed(texts)


@pytest.mark.parametrize("what", ["embed", "encode_documents"])
def test_what_is_known_does_not_wait_for_what_is_embedded(tmp_path: Path, what: str) -> None:
    with opened(Wordy(), tmp_path / "c") as cached:
        cached.encode_documents(["known"])
    slow = Slow()
    with opened(slow, tmp_path / "c") as cached, ThreadPoolExecutor(2) as pool:
        embedding = pool.submit(cached.embed, ["unknown"])
        assert slow.begun.wait(60)
        try:
            pool.submit(getattr(cached, what), ["known"]).result(60)
        finally:
            slow.let.set()
        assert embedding.result(60).shape == (1, 8)


def test_another_model_of_the_same_name_starts_anew(tmp_path: Path) -> None:
    with opened(Counting(), tmp_path / "c") as cached:
        cached.embed(["x", "y"])
    other = Counting(dimension=5)
    with opened(other, tmp_path / "c") as cached:
        assert np.array_equal(cached.embed(["x", "z"]), [other.vector("x"), other.vector("z")])
        assert cached.embed(["y"]).shape == (1, 5)


def test_a_factory_that_makes_another_model_is_refused(tmp_path: Path) -> None:
    with CachedEmbedder(Counting, tmp_path / "c", "wanted") as cached, pytest.raises(EmbeddingError, match="counting"):
        cached.embed(["x"])


def test_opening_while_a_bad_file_is_set_aside_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c"
    path.write_bytes(b"not a database at all" * 99)
    replace = Path.replace
    others: list[CachedEmbedder] = []

    def other() -> None:
        others.append(opened(Counting(), path))
        others[0].embed(["x"])

    beside = threading.Thread(target=other)

    def replaced(self: Path, target: Path) -> Path:
        moved = replace(self, target)
        if not beside.ident:
            beside.start()
            beside.join(2)
        return moved

    monkeypatch.setattr(Path, "replace", replaced)
    with opened(Counting(), path) as first:
        beside.join(60)
        with others[0], CachedEmbedder(refuse, path, "counting") as third:
            assert third.embed(["x"]).shape == (1, 8)
            first.embed(["y"])
            assert third.embed(["y"]).shape == (1, 8)


def test_who_is_at_work_while_it_is_closed_goes_without(tmp_path: Path) -> None:
    cached = opened(Counting(), tmp_path / "c")
    cached.embed(["x"])
    cached.close()
    assert cached.embed(["y"]).shape == (1, 8)


def test_without_a_folder_vectors_are_remembered_in_memory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    inner = Counting()
    with opened(inner, tmp_path / "file" / "c") as cached:
        cached.embed(["x"])
        cached.embed(["x"])
    assert inner.asked == ["x"]
    assert len(caplog.records) == 1
