import threading
from pathlib import Path

import pytest

from tests.commands.library.graphs import graph, settings_of
from tests.store.graphs import a_paper
from xkg.commands.graph.open import open_store
from xkg.commands.library import follow
from xkg.commands.library.push import push
from xkg.errors import UnreachableError


def test_a_server_takes_what_is_new_and_gets_over_a_library_that_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, reader = str(tmp_path / "library"), settings_of(tmp_path / "reader")
    push(graph(tmp_path / "writer", [a_paper(1)]), library)
    pulled, pull = threading.Semaphore(0), follow.pull

    def once_away(*arguments: object, times: list[int] = [1]) -> object:  # noqa: B006
        try:
            if times:
                times.clear()
                raise UnreachableError("it is away\x1b[31m")
            return pull(*arguments)  # type: ignore[arg-type]
        finally:
            pulled.release()

    monkeypatch.setattr(follow, "pull", once_away)
    with follow.following(reader, [library], 0.0001):
        assert pulled.acquire(timeout=60)
        assert pulled.acquire(timeout=60)
    with open_store(reader) as store, store.snapshot() as snapshot:
        assert snapshot.paper_ids() == ["arxiv:2101.00001"]
