import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from xkg.store.indexes.catalogue import Catalogue


def changed(graph: Path, tmp_path: Path, change: str) -> tuple[Path, Path]:
    """The newest catalogue of a graph, and a copy with a change."""
    [newest, *_] = sorted((graph / "generations").glob("*/catalogue.sqlite"), reverse=True)
    old = Path(shutil.copy(newest, tmp_path / "catalogue.sqlite"))
    old.chmod(0o600)
    with closing(sqlite3.connect(old)) as db:
        db.execute(change)
        db.commit()
    return newest, old


@pytest.mark.parametrize("change", ["DROP TABLE line", "DELETE FROM line WHERE paper = 0"])
def test_a_catalogue_of_before_has_the_same_list_of_papers(graph: Path, tmp_path: Path, change: str) -> None:
    newest, old = changed(graph, tmp_path, change)
    with closing(Catalogue(newest)) as catalogue, closing(Catalogue(old)) as before:
        lines = catalogue.paper_lines()
        assert len(lines) == catalogue.paper_count() > 1
        assert before.paper_lines() == lines


def test_a_catalogue_of_before_gives_the_same_ids(graph: Path, tmp_path: Path) -> None:
    newest, old = changed(graph, tmp_path, "DROP INDEX technique_ids")
    with closing(Catalogue(newest)) as catalogue, closing(Catalogue(old)) as before:
        rows = [*catalogue.all_rows(), 1_000_000]
        assert len(catalogue.ids(rows)) == len(rows) - 1 > 1
        assert before.ids(rows) == catalogue.ids(rows)
