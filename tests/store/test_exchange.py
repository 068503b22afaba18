"""Imports and exports folders of graph files and bundles."""

import json
import os
import shutil
from pathlib import Path

import pytest

from xkg.errors import InputError
from xkg.model import Evidence, Level, PaperBundle
from xkg.store import bundles
from xkg.store.exchange import export_folder, graph_files, import_files
from xkg.store.peer_format import MOST_TECHNIQUES

DATA = Path(__file__).parents[1] / "data" / "peer"


def check(_: str) -> Evidence:
    return Evidence(level=Level.PARSED)


@pytest.fixture
def papers() -> list[PaperBundle]:
    found, problems = import_files(graph_files(DATA), check)
    assert problems == []
    assert len(found) == 4
    return found


def test_out_and_in_again(papers: list[PaperBundle], tmp_path: Path) -> None:
    peer = export_folder(papers, tmp_path / "new" / "peer", "peer")
    originals = {json.dumps(json.loads(path.read_bytes())) for path in DATA.glob("*.json")}
    assert {json.dumps(json.loads(path.read_bytes())) for path in peer} == originals
    export_folder(papers, tmp_path / "bundles", "bundle")
    again, problems = import_files(graph_files(tmp_path / "bundles"), check)
    assert problems == []
    assert sorted(again, key=lambda b: b.paper.id) == sorted(papers, key=lambda b: b.paper.id)


@pytest.mark.parametrize(
    "title", ["../../etc/passwd", "CON", ".", "a/b\\c:d*?", "\0", "字" * 400, "\ud800", "x" * 4000]
)
def test_names_of_files_are_safe(papers: list[PaperBundle], tmp_path: Path, title: str) -> None:
    (bundle, *_) = papers
    odd = bundle.model_copy(update={"paper": bundle.paper.model_copy(update={"title": title})})
    (path,) = export_folder([odd], tmp_path / "out", "peer")
    assert path.parent == tmp_path / "out"
    assert path.is_file()
    assert json.loads(path.read_bytes())["paper_title"] == title


def test_a_bad_file_stops_no_other(papers: list[PaperBundle], tmp_path: Path) -> None:
    good = next(DATA.glob("without_code*"))
    shutil.copy(good, tmp_path / "b.json")
    shutil.copy(good, tmp_path / "c.json")
    (tmp_path / "a.json").write_text('{"paper_title": "half')
    (tmp_path / "d.json").mkdir()
    (tmp_path / "e.json").symlink_to("nowhere")
    data = bundles.serialise(papers[0])
    (tmp_path / "f.json").write_bytes(data[:-20])
    (tmp_path / "g.json").write_bytes(data.replace(b"Bootstrap", b"Bootstrop"))
    (tmp_path / "h.json").write_bytes(data)
    (tmp_path / "notes.txt").write_text("not ours")
    found, problems = import_files(graph_files(tmp_path), check)
    assert [b.paper.title for b in found] == ["Jackknife Estimates Without a Repository", papers[0].paper.title]
    expected = ["a.json: is not complete JSON", "c.json: has the same paper as b.json"]
    expected += ["d.json: cannot", "e.json: cannot"]
    expected += ["f.json: is not a complete bundle", "g.json: is not a complete bundle"]
    assert len(problems) == len(expected)
    for problem, says in zip(problems, expected, strict=True):
        assert says in problem
        assert "\n" not in problem


def test_a_pipe_and_a_paper_of_too_many_techniques_are_left_out(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    named = [{"name": f"Step {n}"} for n in range(MOST_TECHNIQUES + 1)]
    (tmp_path / "large.json").write_text(json.dumps({"paper_title": "Large", "techniques": named}))
    found, problems = import_files(graph_files(tmp_path), check)
    assert found == []
    assert "20,000 techniques" in problems[0]
    assert "not a regular file" in problems[1]


def test_nothing_to_import(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(InputError, match=r"\*\.json"):
            import_files(graph_files(folder), check)


def test_a_folder_that_cannot_be_written(papers: list[PaperBundle], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="choose another folder"):
        export_folder(papers, tmp_path / "file", "peer")
