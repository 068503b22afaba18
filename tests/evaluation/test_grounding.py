"""The measurement itself, on a gold file for the hand-made repository."""

import json
from pathlib import Path

import pytest

from evaluation.grounding import is_right, line_scores, main, read_gold
from evaluation.lines.overlap import span
from xkg.model import Symbol

DATA = Path(__file__).parent.parent / "data" / "ground"


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    rows: list[dict[str, object]] = [
        {
            "technique": "Echo memory",
            "definition": "Slots of past spectra.",
            "file": "tern/memory.py",
            "start": 4,
            "end": 26,
        },
        {"technique": "Echo memory", "file": "tern/memory.py", "start": 18, "end": 22},
        {"technique": "Byte pair encoding", "definition": "Merges tokens.", "file": None, "start": None, "end": None},
    ]
    path = tmp_path / "tern.jsonl"
    path.write_text("".join(json.dumps({"repository": str(DATA), **row}) + "\n" for row in rows))
    return path


def test_lines_of_one_technique_are_equally_right_places(gold: Path) -> None:
    (read,) = read_gold(gold)
    assert [(t.id, t.name) for t in read.techniques] == [
        ("tern#echo-memory", "Echo memory"),
        ("tern#byte-pair-encoding", "Byte pair encoding"),
    ]
    assert read.places["tern#echo-memory"] == (("tern/memory.py", 4, 26), ("tern/memory.py", 18, 22))
    assert read.places["tern#byte-pair-encoding"] == ()


def test_half_of_the_lines_must_be_shared() -> None:
    symbol = Symbol(
        id="s", repository="r", path="a.py", qualified_name="f", kind="function", start_line=11, end_line=20
    )
    assert is_right(symbol, [("a.py", 11, 30)])
    assert not is_right(symbol, [("a.py", 11, 31)])
    assert not is_right(symbol, [("b.py", 11, 20)])
    assert not is_right(symbol, [])


def test_lines_by_hand(gold: Path) -> None:
    (read,) = read_gold(gold)
    # of the first answer's 4 lines one lies in a place, the smaller of which has 5; of both answers' 15 lines 9 do
    ranked = [span("tern/memory.py", 1, 3) | {("tern/memory.py", 18)}, span("tern/memory.py", 18, 29)]
    scores = line_scores({"tern#echo-memory": ranked}, read)
    assert {name: values["tern#echo-memory"] for name, values in scores.items()} == {
        "P lines@1": 1 / 4,
        "R lines@1": 1 / 5,
        "P lines@5": 9 / 15,
        "R lines@5": 1.0,
    }


def test_the_table_names_every_method_and_compares_runs_by_technique(
    gold: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "r.json")
    main([str(gold), "--json", file])
    printed = capsys.readouterr().out
    for method in ("BM25", "vectors", "fused", "grounding", "locate"):
        assert f"  {method} " in printed
    assert "certain 1 of 1, 0 of 1 that are not there" in printed
    main([str(gold), "--against", file])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("grounding, focus: R lines@1")]
    assert "+0.000" in rows[-1]
    assert rows[-1].endswith("0 + 0")
