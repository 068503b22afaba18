import json
from pathlib import Path

from evaluation.inputs.graph import read_graph
from evaluation.inputs.rows import read_rows
from xkg.value import Value


class Row(Value):
    pair: str
    verdict: str


def peer_file(folder: Path, title: str) -> None:
    text = {"paper_title": title, "techniques": [{"name": "Tent", "code": {"implementation": "def f(): return 1"}}]}
    (folder / f"{title}.json").write_text(json.dumps(text))


def test_a_folder_of_graph_files_with_one_that_is_broken(tmp_path: Path) -> None:
    peer_file(tmp_path, "one")
    (tmp_path / "two.json").write_text("{")
    graph = read_graph(tmp_path)
    assert [bundle.paper.title for bundle in graph.bundles] == ["one"]
    assert len(graph.problems) == 1
    assert "two.json" in graph.problems[0]


def test_rows_that_are_malformed_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b'{"pair": "p", "verdict": "v"}\n\n{"pair": 3}\nnot json\n\xff\n[]\n')
    rows, problems = read_rows(file, Row)
    assert rows == [Row(pair="p", verdict="v")]
    assert [problem.split(": ")[1] for problem in problems] == ["line 3", "line 4", "line 5", "line 6"]
