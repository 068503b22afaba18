"""Values in files that are named by their bytes, of two kinds as they are in use."""

from pathlib import Path

import pytest

from xkg.errors import CorruptStoreError
from xkg.store.graph_store import Decision
from xkg.store.hashed_files import HashedFiles

FILES = HashedFiles("kept", Decision, lambda decision: decision.key, "`xkg concepts` decides again")


def decision(first: str, by: str = "a") -> Decision:
    return Decision(first=first, second="z#t", judged="0", relation="same", by=by)


def test_what_is_written_is_read_and_named_by_its_bytes(tmp_path: Path) -> None:
    one, two = decision("a#t"), decision("b#t")
    name = FILES.write(tmp_path, [two, one])
    assert name == FILES.write(tmp_path, [one, decision("b#t", "earlier"), two])
    assert list(FILES.read(tmp_path, name).values()) == [one, two]
    assert FILES.write(tmp_path, []) == ""
    assert FILES.read(tmp_path, "") == {}


def test_a_damaged_file_is_set_aside_for_the_newest_that_can_be_read(tmp_path: Path) -> None:
    good, bad = FILES.write(tmp_path, [decision("a#t")]), FILES.write(tmp_path, [decision("b#t")])
    (tmp_path / "kept" / bad).write_bytes(b"[]")
    with pytest.raises(CorruptStoreError, match="not what was written"):
        FILES.read(tmp_path, bad)
    found, notes = FILES.readable(tmp_path, bad)
    assert found == good
    assert len(notes) == 1
    assert "set aside: `xkg concepts` decides again" in notes[0]
    assert (tmp_path / "kept" / bad).with_suffix(".damaged").exists()


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    assert FILES.readable(tmp_path, None) == ("", [])
    assert FILES.readable(tmp_path, "") == ("", [])
    found, notes = FILES.readable(tmp_path, "0.json")
    assert (found, len(notes)) == ("", 1)
    assert "is missing" in notes[0]
