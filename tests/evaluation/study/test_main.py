import json
import sys
from pathlib import Path

import pytest

from evaluation.results.document import read
from evaluation.study.__main__ import main
from xkg.commands.graph.contents import import_graphs
from xkg.config import load
from xkg.errors import InputError

PROGRAM = """
import sys
text = open(sys.argv[1]).read() + open(sys.argv[2]).read()
print(("def entropy" in text) + 2 * ("Shannon" in text) + 4 * ("a study of shifts" in text))
"""


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    code = {"implementation": "def entropy(p):\n    return 0\n", "test": "entropy(1)"}
    file = {
        "paper_title": "Tent",
        "paper_abstract": "This is a study of shifts.",
        "techniques": [{"name": "entropy loss", "description": "Shannon entropy of predictions", "code": code}],
    }
    (folder / "tent.json").write_text(json.dumps(file))
    import_graphs(load(kg=tmp_path / "kg"), folder)
    return tmp_path / "kg"


def test_each_variant_leaves_out_what_it_names(kg: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "r.json"
    main(
        [
            *("--kg", str(kg), "--runs", "1", "--out", str(tmp_path / "study"), "--json", str(out)),
            *("--", sys.executable, "-c", PROGRAM, "{planning}", "{implementation}"),
        ]
    )
    scores = {name: next(iter(values.values())) for name, values in read(out, "study").scores.items()}
    assert scores == {
        "full": 7,
        "without paper nodes": 3,
        "without code nodes": 6,
        "without technique nodes": 5,
        "raw code": 6,  # an imported paper has no repository
        "rewritten code": 7,
        "verified code": 6,  # nothing of it was run here
        "without a graph": 0,
    }
    printed = capsys.readouterr().out
    assert "without a graph" in printed
    assert "raw code: the graph has no code in this form for 1 of 1 papers" in printed
    assert "rewritten code: the graph has no code" not in printed


def test_a_command_without_a_score_is_no_success(kg: Path, tmp_path: Path) -> None:
    options = ["--kg", str(kg), "--out", str(tmp_path / "study"), "--runs", "1", "--variant", "full"]
    with pytest.raises(InputError, match="no run has a score"):
        main([*options, "--", sys.executable, "-c", "print('words')"])
