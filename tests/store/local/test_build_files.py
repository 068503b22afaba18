"""Checks that publishing computes only the changes, and gives the same result as a complete rebuild."""

import random
import tempfile
from pathlib import Path
from typing import Any

import ladybug
import pytest
from hypothesis import Phase, event, given, settings
from hypothesis import strategies as st

from tests.store import flows
from tests.store.concepts.test_linking import ByFirstWord, paper
from tests.store.graphs import a_paper, open_store
from tests.store.local.replicas import MEMORY, changed_of, decided, edited, everything, some_techniques
from xkg.errors import StoreError
from xkg.model import Reference, Repository
from xkg.store.local import graph_rows
from xkg.store.local.store import EmbeddedStore
from xkg.store.rows import EDGES, NODES

a_number = st.integers(1, 5)
step = st.one_of(
    st.tuples(st.just("put"), st.lists(st.tuples(a_number, some_techniques), min_size=1, max_size=2)),
    st.tuples(st.just("cite"), st.tuples(a_number, a_number)),
    st.tuples(st.just("delete"), st.lists(a_number, min_size=1, max_size=2, unique=True)),
    st.tuples(st.just("decide"), st.sampled_from(["same", "variant", "different"])),
    st.tuples(st.just("restart"), st.none()),
)


def graph(store: EmbeddedStore) -> dict[str, list[object]]:
    """Returns every node and edge of the graph, with all properties."""
    with store.snapshot() as snapshot:
        file = snapshot.graph_file()
        assert file is not None
        with (
            ladybug.Database(file, read_only=True, max_db_size=1 << 32) as database,
            ladybug.Connection(database) as connection,
        ):
            found = {}
            for table in (*NODES, *EDGES):
                shape = f"(n:{table}) RETURN n" if table in NODES else f"(a)-[n:{table}]->(b) RETURN a.id, b.id, n"
                rows = connection.execute(f"MATCH {shape}").get_all()  # type: ignore[union-attr]
                found[table] = sorted(repr(_without_places(row)) for row in rows)
            return found


def _without_places(row: Any) -> Any:
    """Removes the engine's internal node and edge ids from a row."""
    if isinstance(row, dict):
        return {key: value for key, value in row.items() if key not in ("_id", "_src", "_dst")}
    return [_without_places(value) for value in row] if isinstance(row, list) else row


def require_as_rebuilt(store: EmbeddedStore, folder: Path) -> None:
    """Compares all answers, the graph and the counts with those of a graph that was built from the same papers in one
    go."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as place:
        whole = EmbeddedStore(Path(place), ByFirstWord)  # type: ignore[arg-type]
        whole.publish(list(store.bundles()))
        whole.add_ablations(store.ablations())
        whole.decide(store.decisions())
        whole.rebuild()
        assert changed_of(folder) > 0
        assert changed_of(Path(place)) == 0
        assert graph(store) == graph(whole)
        assert everything(store) == everything(whole)  # type: ignore[arg-type]
        assert store.check() == []
        whole.close()


@given(st.lists(step, min_size=2, max_size=8))
@settings(max_examples=3, phases=[Phase.generate])  # shrinking a failing example would take minutes
def test_what_is_published_bit_by_bit_is_what_a_rebuild_makes(steps: list[tuple[str, Any]]) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as place, edited():

        def opened() -> EmbeddedStore:
            return EmbeddedStore(Path(place), ByFirstWord)  # type: ignore[arg-type]

        store = opened()
        stored = {n: paper(n, ("Sparse gates", "cos0.7 z"), ("Training", f"cos0.9{n}")) for n in (1, 3)}
        store.publish(list(stored.values()))
        for what, of in steps:
            if what == "put":
                new = {number: paper(number, *content) for number, content in of}
                stored |= new
                store.publish(list(new.values()))
            elif what == "cite":
                citing, cited = of
                if citing in stored:
                    references = (Reference(title=f"Paper {cited}"), Reference(title="A work that is in no graph here"))
                    one = stored[citing]
                    paper_now = one.paper.model_copy(update={"references": references})
                    stored[citing] = one.model_copy(update={"paper": paper_now})
                    store.publish([stored[citing]])
            elif what == "delete":
                there = [stored.pop(number).paper.id for number in of if number in stored]
                if there:
                    store.remove(there)
            elif what == "decide":
                store.decide(decided(store, of))  # type: ignore[arg-type]
            else:
                store.close()
                store = opened()
        if not changed_of(Path(place)):
            event("no step changed anything")
            store.publish([paper(9, ("Bare", ""))])
        require_as_rebuilt(store, Path(place))
        with edited(share=0):
            store.publish([paper(8, ("Soft gates", "cos0.5 y"))])
            assert not changed_of(Path(place)), "after many changes, everything is built anew"
        assert store.check() == []
        store.close()


def test_papers_that_share_a_repository_come_and_go(folder: Path) -> None:
    official = Repository(id="github.com/o/r@c0ffee", url="https://github.com/o/r", commit="c0ffee", is_official=True)
    with edited():
        store = EmbeddedStore(folder, ByFirstWord)  # type: ignore[arg-type]
        store.publish([a_paper(1), a_paper(2)])
        store.publish([a_paper(3).model_copy(update={"repositories": (official,)})])
        require_as_rebuilt(store, folder)
        store.remove([a_paper(1).paper.id])
        require_as_rebuilt(store, folder)
        store.remove([a_paper(3).paper.id])
        require_as_rebuilt(store, folder)


def test_measurements_and_what_is_hidden(folder: Path) -> None:
    with edited():
        store = EmbeddedStore(folder, ByFirstWord)  # type: ignore[arg-type]
        papers = flows.bundles()
        store.publish(papers[:2])
        store.publish(papers[2:])
        store.add_ablations(flows.ablations())
        require_as_rebuilt(store, folder)
        text = [{path.name for path in (folder / "generations" / n / "text").glob("*.term")} for n in ("2", "3")]
        assert text[0] < text[1] or text[0] == text[1], "the parts of the text index are shared"
        one = next(bundle for bundle in papers if any(t.id == flows.KERNEL for t in bundle.techniques))
        hidden = tuple(
            t.model_copy(update={"hidden": "a test"}) if t.id.startswith(flows.KERNEL) else t for t in one.techniques
        )
        measured = "MATCH (t:Technique {id: $t})-[:ABLATED_IN]->(a) RETURN a"
        for share in (100.0, 0.0):
            with edited(share):
                store.publish([one.model_copy(update={"techniques": hidden})])
                assert flows.KERNEL not in {t for (t,) in store.query("MATCH (t:Technique) RETURN t.id").rows}
                assert store.query(measured, {"t": flows.KERNEL}).rows == ()
                assert store.check() == []
                store.publish([one])
                assert store.query(measured, {"t": flows.KERNEL}).rows


@pytest.mark.parametrize("how", ["damaged", "of another version"])
def test_rows_that_cannot_be_used_are_made_anew(folder: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = EmbeddedStore(folder, ByFirstWord)  # type: ignore[arg-type]
    store.publish([a_paper(1), a_paper(2)])
    for path in (folder / "rows").iterdir():
        data = bytearray(path.read_bytes())
        if how == "damaged":
            data[-9] ^= 1
        path.write_bytes(data)
    if how == "of another version":
        monkeypatch.setattr(graph_rows, "_made_by", lambda: "another")
    with edited():
        store.publish([a_paper(3)])
        require_as_rebuilt(store, folder)


@pytest.mark.parametrize("file", ["catalogue.sqlite", "vectors.faiss"])
def test_a_damaged_file_is_not_taken_over(folder: Path, file: str) -> None:
    with edited():
        store = open_store(folder)
        store.publish([a_paper(1), a_paper(2)])
        store.publish([a_paper(3)])
        store.close()
        path = folder / "generations" / "2" / file
        data = bytearray(path.read_bytes())
        data[random.Random(0).randrange(len(data) // 2, len(data))] ^= 255
        path.write_bytes(data)
        store = open_store(folder)
        assert store.check()
        try:
            store.publish([a_paper(4)])
        except StoreError:
            store.rebuild()
        assert store.check() == []
        assert len(list(store.bundles())) >= 3
