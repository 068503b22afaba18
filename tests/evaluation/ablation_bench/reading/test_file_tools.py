"""What agents read of files."""

from pathlib import Path

import anyio
import pytest
from inspect_ai.tool import ToolError

from evaluation.ablation_bench.reading.file_tools import Files, find_text, read_lines


def test_a_hit_is_shown_where_a_line_is_a_whole_paragraph(tmp_path: Path) -> None:
    (tmp_path / "paper.md").write_text("dough " * 500 + "STEAM rises " + "dough " * 500 + "\nsteam\n")
    found = str(anyio.run(find_text(Files(tmp_path)), "steam")).splitlines()
    assert len(found) == 2
    assert "STEAM rises" in found[0]
    assert len(found[0]) < 450
    assert found[0].startswith("paper.md:1: …")
    assert found[1] == "paper.md:2: steam"


def test_a_line_behind_the_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "paper.md").write_text("one\ntwo\n")
    tool = read_lines(Files(tmp_path))
    assert str(anyio.run(tool, "paper.md", 2)) == "2\ttwo\n(the end of the file)"
    with pytest.raises(ToolError, match="has 2 lines"):
        anyio.run(tool, "paper.md", 3)
