"""Tests the reading of files next to the starter code. Only their text is read, up to a size limit."""

import os
from pathlib import Path

import pytest

from xkg.agents.workspace.related_files import MOST_FILE_BYTES, MOST_FILES, read_related
from xkg.errors import InputError

STARTER = {"train.py": None, "lib/a.py": None, "lib/b.py": None}


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "attention"
    (folder / "deep").mkdir(parents=True)
    (folder / "model.py").write_bytes(b"\xef\xbb\xbfx = 1\r\ny = '\x1b[2J'\n")
    (folder / "deep" / "layer.py").write_text("z = 2\n")
    return folder


def test_files_and_folders_of_the_starter_are_those_of_the_starter(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("not this one\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        found = read_related(["train.py", "./lib/"], STARTER)
    assert found.of_starter == ("train.py", "lib/a.py", "lib/b.py")
    assert not found.texts
    assert found.identity == ""


def test_a_folder_and_a_file_from_elsewhere_are_copied_as_text_below_one_folder(code: Path, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "attention").write_text("w = 3\n")
    found = read_related([str(code), str(tmp_path / "more" / "attention"), "lib/a.py"], STARTER)
    assert found.of_starter == ("lib/a.py",)
    assert found.texts == {
        "related/attention/deep/layer.py": "z = 2\n",
        "related/attention/model.py": "x = 1\ny = '?[2J'\n",
        "related/attention-2": "w = 3\n",
    }
    assert found.holds("related/anything.py")
    assert not found.holds("train.py")
    (code / "model.py").write_text("x = 2\n")
    assert read_related([str(code)], STARTER).identity != read_related([str(code / "deep")], STARTER).identity


def test_copies_cannot_be_written_and_are_made_anew(code: Path, tmp_path: Path) -> None:
    found = read_related([str(code)], STARTER)
    for _ in range(2):
        found.write(tmp_path / "run")
    copy = tmp_path / "run" / "related" / "attention" / "deep" / "layer.py"
    assert copy.read_text() == "z = 2\n"
    assert copy.stat().st_mode & 0o777 == 0o444


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_links_pipes_binaries_and_large_files_of_a_folder_are_left_out(code: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    (code / "link.py").symlink_to(tmp_path / "secret.txt")
    (code / "above").symlink_to(tmp_path)
    os.mkfifo(code / "pipe.py")
    (code / "weights.bin").write_bytes(b"\0" * 100)
    (code / "latin.py").write_bytes("é".encode("latin-1"))
    (code / "huge.py").write_text("x" * (MOST_FILE_BYTES + 1))
    found = read_related([str(code)], STARTER)
    assert set(found.texts) == {"related/attention/model.py", "related/attention/deep/layer.py"}
    assert "secret" not in str(found.texts)
    [note] = found.notes
    assert "files are left out: links, files over 200 kB, or files that are not UTF-8" in note


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_what_cannot_be_read_is_refused_with_its_name(code: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "huge.py").write_text("x" * (MOST_FILE_BYTES + 1))
    (tmp_path / "weights.bin").write_bytes(b"\0\1")
    (tmp_path / "empty").mkdir()
    (code / "nothing.py").unlink(missing_ok=True)
    for name in ("pipe", "huge.py", "weights.bin", "empty", "attention/nothing.py", "\0", "x" * 5000):
        with pytest.raises(InputError, match=r"--related|empty"):
            read_related([str(tmp_path / name) if "\0" not in name else name], STARTER)
    for name in ("/", "~"):
        with pytest.raises(InputError, match="pass the folder that contains only the code"):
            read_related([name], STARTER)


def test_too_many_files_are_refused(tmp_path: Path) -> None:
    many = tmp_path / "many"
    many.mkdir()
    for number in range(MOST_FILES + 1):
        (many / f"{number}.py").write_text("x\n")
    with pytest.raises(InputError, match="exceed 200 files"):
        read_related([str(many)], STARTER)
    single = [str(many / f"{number}.py") for number in range(MOST_FILES + 1)]
    with pytest.raises(InputError, match="exceed 200 files"):
        read_related(single, STARTER)


def test_where_folders_are_open_nothing_outside_of_them_is_read(code: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("secret")
    (code / "out.py").symlink_to(tmp_path / "secret.py")
    outside = [str(tmp_path / "secret.py"), "../secret.py", str(code / "out.py"), "deep/../../secret.py", "/etc/passwd"]
    for name in outside:
        with pytest.raises(InputError, match="is not a file in the starter"):
            read_related([name], STARTER, [code])
        with pytest.raises(InputError, match="this server cannot open folder"):
            read_related([name], STARTER, [])
    assert list(read_related(["deep"], STARTER, [code]).texts) == ["related/deep/layer.py"]
