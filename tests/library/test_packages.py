"""Tests malicious packages and nodes, and the transfer of vectors."""

import json
import struct
from pathlib import Path

import pytest

from tests.store.graphs import FakeHashEmbedder, a_paper, no_embedder
from xkg.embeddings.cache import CachedEmbedder
from xkg.errors import UnsafeInputError
from xkg.library import packages
from xkg.library.layout import Files, Head, Package, Row, Version, unzip, zipped
from xkg.library.packages import Part, contents, pack, parts_of, put_vectors, unpack
from xkg.model import PaperBundle
from xkg.store import bundles
from xkg.store.index_entries import searched_entries, vector_text
from xkg.store.peer_format import MOST_TECHNIQUES


def embedder(path: Path, make: object = FakeHashEmbedder) -> CachedEmbedder:
    return CachedEmbedder(make, path, FakeHashEmbedder().model)  # type: ignore[arg-type]


def version(bundle: PaperBundle) -> Version:
    return Version(content=bundles.sha256(bundle), packages=(Package(name="0" * 64, size=0),), pushed="")


def test_vectors_travel_and_replace_nothing(tmp_path: Path) -> None:
    bundle = a_paper(1)
    texts = [vector_text(entry) for entry in searched_entries(bundle)]
    with embedder(tmp_path / "one") as one, embedder(tmp_path / "two", no_embedder) as two:
        parts = unpack(pack(parts_of(bundle, ["envelope"], [], one)))
        found = contents(parts, bundle.paper.id, version(bundle), "there")
        assert (found.bundle, found.envelopes) == (bundle, ("envelope",))
        put_vectors([found], two)
        assert (two.encode_documents(texts).vectors == one.embed(texts)).all()
        [vectors] = found.vectors
        forged = Part(vectors.kind, vectors.data[:-1] + bytes([vectors.data[-1] ^ 1]))
        other = Part("vectors another-model", vectors.data)
        endless = struct.pack("<2I", 2**32 - 1, 0) + bytes(4 * MOST_TECHNIQUES)
        damaged = (forged, other, *(Part(vectors.kind, data) for data in (b"\xff" * 99, b"", endless)))
        put_vectors([found._replace(vectors=damaged)], two)
        assert two.encode_documents(texts).codes == one.encode_documents(texts).codes
    with embedder(tmp_path / "three", no_embedder) as three:
        put_vectors([found._replace(bundle=a_paper(2))], three)  # the texts belong to another paper
        with pytest.raises(AssertionError, match="nothing is to be embedded"):
            three.embed(texts)


def test_a_compression_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "MOST_UNPACKED", 1 << 20)
    with pytest.raises(UnsafeInputError, match="1 MB"):
        unpack(zipped(bytes(30 << 20)))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        zipped(b'["xkg-package-1", []]\n')[:-3],
        zipped(b'["xkg-package-1", []]\n') + b"more",
        zipped(b'["xkg-package-1", [["bundle", 5]]]\nabc'),
        zipped(b'["xkg-package-1", [["a", 9], ["b", -6]]]\nabc'),
        zipped(b'["xkg-package-1", [["../../etc/passwd", 1e99]]]\n'),
        zipped(b"[" * 100_000),
        zipped(json.dumps(["xkg-package-1", [["a", 0]] * 6000]).encode() + b"\n"),
    ],
    ids=range(8),
)
def test_what_is_no_package_is_refused(data: bytes) -> None:
    with pytest.raises(UnsafeInputError):
        unpack(data)


def test_a_package_of_another_paper_or_with_another_bundle_is_refused() -> None:
    bundle, other = a_paper(1), a_paper(1, note="another")
    parts = [Part("bundle", bundles.serialise(bundle))]
    for paper, expected in ((bundle.paper.id, other), ("arxiv:2101.00002", bundle)):
        with pytest.raises(UnsafeInputError):
            contents(parts, paper, version(expected), "there")
    with pytest.raises(UnsafeInputError):
        contents([], bundle.paper.id, version(bundle), "there")


def rows(first: int, last: int) -> list[Row]:
    versions = (Version(content="0" * 64, packages=(Package(name="0" * 64, size=0),), pushed=""),)
    return [Row(paper=f"p-{n}", title=f"Method {n}: a title", versions=versions) for n in range(first, last)]


def test_many_papers_are_found_by_few_small_files_and_only_what_is_new_is_read() -> None:
    stored: dict[str, bytes] = {}
    head = Head()
    for first, last in ((0, 1), (1, 9000), (9000, 9001)):
        files = Files(stored.__getitem__)
        head = files.with_rows(head, rows(first, last))
        stored |= files.new
    asked: list[str] = []

    def read(name: str) -> bytes:
        asked.append(name)
        return stored[name]

    for key in ("p-0", "p-8999", "title:method-9000"):
        [found] = Files(read).find(head, key)
        assert found.paper.rpartition("-")[2] == key.rpartition("-")[2]
    assert len(asked) <= 6
    assert sum(len(stored[name]) for name in asked) < 200_000
    assert {row.paper for row in Files(read).since(head, 0)} == {f"p-{n}" for n in range(9001)}
    asked.clear()
    assert [row.paper for row in Files(read).since(head, 9000)] == ["p-9000"]
    assert len(asked) == 1
    renamed = [rows(5, 6)[0].model_copy(update={"title": "Renamed"})]
    files = Files(stored.__getitem__)
    head = files.with_rows(head, renamed)
    assert files.find(head, "title:method-5") == []
    assert [row.title for row in files.find(head, "title:renamed")] == ["Renamed"]


@pytest.mark.parametrize(
    "update", [{"entries": 10**9}, {"entries": 1}, {"chunks": ("1" * 64,)}, {"index": {"88": "2" * 64}}]
)
def test_a_head_that_lies_about_its_log_or_index_is_refused(update: dict[str, object]) -> None:
    files = Files(dict[str, bytes]().__getitem__)
    head = files.with_rows(Head(), rows(0, 3))
    files.new |= {"1" * 64: zipped(b"{}"), "2" * 64: zipped(b'{"items": [{"key": 1}]}')}
    lying = head.model_copy(update=update)
    with pytest.raises(UnsafeInputError):
        [*files.since(lying, 0), *(files.find(lying, f"{n}") for n in range(2000))]


def test_unzip_takes_no_more_than_one_stream() -> None:
    assert unzip(zipped(b"a"), 1, "it") == b"a"
    with pytest.raises(UnsafeInputError):
        unzip(zipped(b"a") * 2, 5, "it")
