import os
import resource
import shutil
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.store.graphs import FakeHashEmbedder, a_paper, no_embedder, open_store
from xkg.errors import CorruptStoreError, ModelMismatchError, StoreError
from xkg.store.local.snapshot import EmbeddedSnapshot
from xkg.store.local.store import EmbeddedStore

# Python 3.12 and later warn about forks in a process with threads. The children do not touch the threads' data.
pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Creates a graph with two papers in generation 2."""
    folder = tmp_path_factory.mktemp("integrity") / "kg"
    store = open_store(folder)
    store.publish([a_paper(1)])
    store.publish([a_paper(2)])
    store.close()
    return folder


@pytest.fixture
def kg(made: Path, tmp_path: Path) -> Path:
    """Creates a copy that a test may damage."""
    return Path(shutil.copytree(made, tmp_path / "kg"))


def flip(path: Path, place: float = 0.5) -> None:
    data = bytearray(path.read_bytes())
    data[int(place * (len(data) - 1))] ^= 0x10
    path.write_bytes(bytes(data))


def files_of(kg: Path) -> list[str]:
    return sorted(str(p.relative_to(kg)) for p in (kg / "generations" / "2").rglob("*") if p.is_file())


def ask_everything(snapshot: EmbeddedSnapshot) -> None:
    snapshot.papers()
    snapshot.find_text("layer normalisation", 3)
    snapshot.find_vector(FakeHashEmbedder().embed(["x"])[0], 3)
    snapshot.graph_file()


def test_a_flipped_bit_in_any_file_is_reported_never_searched_and_repaired(kg: Path) -> None:
    for n, name in enumerate([*files_of(kg), "CURRENT"]):
        shutil.copytree(kg, copy := kg.parent / "copy")
        flip(copy / name, (0.0, 0.4, 0.7, 1.0)[n % 4])
        store = open_store(copy)
        assert len(store.check()) == 1, name
        with pytest.raises(CorruptStoreError, match="xkg index rebuild"), store.snapshot() as snapshot:
            ask_everything(snapshot)
        if name in ("CURRENT", "generations/2/manifest.json", "generations/2/vectors.faiss"):
            store.rebuild()
            assert store.check() == []
            assert list(store.bundles()) == [a_paper(1), a_paper(2)]
        store.close()
        shutil.rmtree(copy)


def test_a_file_that_is_damaged_under_an_open_store_gives_no_further_answer(kg: Path) -> None:
    for name in files_of(kg):
        if name.endswith("manifest.json"):  # this file is read once and then kept in memory
            continue
        shutil.copytree(kg, copy := kg.parent / "copy")
        store = open_store(copy)
        with store.snapshot() as snapshot:
            ask_everything(snapshot)
        flip(copy / name)
        with pytest.raises(CorruptStoreError, match="xkg index rebuild"), store.snapshot() as snapshot:
            ask_everything(snapshot)
        if name.endswith("vectors.faiss"):
            store.rebuild()
            with store.snapshot() as snapshot:
                ask_everything(snapshot)
        store.close()
        shutil.rmtree(copy)


def test_a_missing_or_cut_file_is_refused_on_opening(kg: Path) -> None:
    for name in [*files_of(kg), "CURRENT"]:
        for damage in (Path.unlink, lambda p: os.truncate(p, 3)):
            shutil.copytree(kg, copy := kg.parent / "copy")
            damage(copy / name)
            store = EmbeddedStore(copy, no_embedder)
            with pytest.raises(CorruptStoreError, match="xkg index rebuild"), store.snapshot():
                pass
            with pytest.raises(CorruptStoreError):
                store.remove(["arxiv:2101.00001"])
            shutil.rmtree(copy)


def test_a_damaged_bundle_is_named_and_the_other_papers_stay_readable(kg: Path) -> None:
    damaged = next((kg / "bundles").glob("arxiv-2101.00001-*"))
    flip(damaged)
    store = open_store(kg)
    assert [damaged.name in line for line in store.check()] == [True]
    with store.snapshot() as snapshot:
        assert snapshot.bundle("arxiv:2101.00002") == a_paper(2)
        with pytest.raises(CorruptStoreError, match=damaged.name):
            snapshot.bundle("arxiv:2101.00001")
        ask_everything(snapshot)
    for write in (lambda: store.publish([a_paper(3)]), store.rebuild):
        with pytest.raises(CorruptStoreError, match=damaged.name):
            write()
    store.publish([a_paper(1)])
    assert store.check() == []
    assert list(store.bundles()) == [a_paper(1), a_paper(2)]


def test_without_a_manifest_the_newest_bundles_are_taken_and_the_rest_is_named(kg: Path) -> None:
    store = open_store(kg)
    store.publish([a_paper(1, note="newer")])
    damaged = next((kg / "bundles").glob("arxiv-2101.00002-*"))
    flip(damaged)
    (kg / "generations" / "3" / "manifest.json").write_bytes(b"")
    number, notes = store.rebuild()
    assert number == 4
    assert list(store.bundles()) == [a_paper(1, note="newer")]
    assert any("newest bundle" in note for note in notes)
    assert any(damaged.name in note for note in notes)
    assert damaged.with_suffix(".damaged").exists(), "what cannot be read may still be wanted"


def test_indexes_of_another_model_are_refused_until_rebuilt(kg: Path) -> None:
    other = EmbeddedStore(kg, lambda: FakeHashEmbedder("fake-other", 24), model="fake-other")
    with pytest.raises(ModelMismatchError, match="xkg index rebuild"), other.snapshot():
        pass
    with pytest.raises(ModelMismatchError, match=r"fake-hash.*fake-other"):
        other.publish([a_paper(3)])
    assert any("fake-other" in line for line in other.check())
    assert list(open_store(kg).bundles()) == [a_paper(1), a_paper(2)]
    other.rebuild()
    with other.snapshot() as snapshot:
        assert len(snapshot.find_vector(FakeHashEmbedder("fake-other", 24).embed(["x"])[0], 10)) == 6


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "kg").write_text("")
    store = open_store(tmp_path / "kg")
    for attempt in (lambda: store.publish([a_paper()]), lambda: list(store.bundles()), store.rollback):
        with pytest.raises(StoreError, match="is a file, not a folder"):
            attempt()
    with pytest.raises(StoreError, match="cannot be written"):
        open_store(tmp_path / "kg" / "inside").publish([a_paper()])


def in_child(work: Callable[[], None]) -> int:
    """Runs `work` in a forked child, so that this process keeps its privileges. Returns 0 if nothing was raised."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.product("each file of a generation × a full disk")
@pytest.mark.parametrize("limit", [0, 3000, 100_000])
def test_a_full_disk_changes_nothing(kg: Path, limit: int) -> None:
    """Limits every file to `limit` bytes. In at least one case, each kind of file is truncated."""

    def publish() -> None:
        store = open_store(kg)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        with pytest.raises(StoreError, match="cannot be written") as caught:
            store.publish([a_paper(3)])
        assert "\n" not in str(caught.value)
        assert list(store.bundles()) == [a_paper(1), a_paper(2)]

    assert in_child(publish) == 0
    store = open_store(kg)
    assert store.check() == []
    assert len(list((kg / "bundles").iterdir())) == 2
    store.publish([a_paper(3)])
    assert len(list(store.bundles())) == 3


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """Creates a folder that other users can enter. Other users cannot enter pytest's own folders."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_a_folder_that_may_only_be_read_is_read_and_not_written(kg: Path, open_to_all: Path) -> None:
    copy = Path(shutil.copytree(kg, open_to_all / "kg"))
    for path in (copy, *copy.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)

    def use() -> None:
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        store = open_store(copy)
        with store.snapshot() as snapshot:
            ask_everything(snapshot)
        assert store.check() == [], "which asks the graph too"
        with pytest.raises(StoreError, match="cannot be written") as caught:
            store.publish([a_paper(3)])
        assert "\n" not in str(caught.value)
        store.close()

    status = in_child(use)
    for path in (copy, *(p for p in copy.rglob("*") if p.is_dir())):
        path.chmod(0o755)
    assert status == 0
