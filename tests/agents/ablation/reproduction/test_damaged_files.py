import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.agents.ablation.reproduction.damaged_files import damaged, empty_folders, fault
from xkg.agents.workspace.files.starter import read_starter
from xkg.agents.workspace.files.workspace import Workspace

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n"


def arrays() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, weights=np.arange(500.0))
    return buffer.getvalue()


def seen(name: str, content: bytes) -> str | None:
    return fault(name, content[:66_000], content[-66_000:], len(content))


@given(st.floats(0.01, 0.99))
def test_an_archive_that_was_cut_off_anywhere_is_named(share: float) -> None:
    whole = arrays()
    assert seen("model.npz", whole) is None
    assert seen("model.npz", whole[: int(len(whole) * share)]) is not None


@given(st.binary(max_size=300), st.sampled_from(["a.npz", "a.npy", "a.h5", "a.pkl", "a.csv", "a.pt"]))
def test_any_bytes_are_judged(content: bytes, name: str) -> None:
    seen(name, content)


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("model.pt", POINTER, "Git LFS pointer"),
        ("model.npz", b"<html>not found</html>", "not an archive"),
        ("model.npz", b"", "empty"),
        ("model.npz", arrays(), "None"),
        ("model.pkl", b"\x80.", "None"),
        ("notes.txt", b"", "None"),
        ("data.csv", b"a,b\n1,2\n", "None"),
    ],
)
def test_what_is_wrong_is_said(name: str, content: bytes, why: str) -> None:
    assert why in str(seen(name, content))


def test_files_of_the_tree_and_of_the_data(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "weights.pt").write_bytes(POINTER)
    workspace = Workspace.create(tmp_path / "w", read_starter(str(tmp_path / "repo"), tmp_path / "cache"))
    data, empty = tmp_path / "data", tmp_path / "empty"
    (data / "deep").mkdir(parents=True)
    (data / "deep" / "a.zip").write_bytes(b"PK\x03\x04rest")
    empty.mkdir()
    found = damaged(workspace, {"mounted": data})
    assert [line.partition(":")[0] for line in found] == ["weights.pt", "mounted/deep/a.zip"]
    assert empty_folders({"mounted": data, "none": empty}) == [f"none ({empty}) has no files"]
