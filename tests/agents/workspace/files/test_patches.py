"""Checks that git can apply patches that were created without git."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xkg.agents.workspace.files.patches import changed_lines, patch, text_patch
from xkg.build.repositories.branch import TreeFile

Files = dict[str, TreeFile]

LINES = st.lists(
    st.sampled_from([b"a\n", b"b\n", b"\n", b"a\r\n", b"\x0c\n", b"\xe9\n", b"- c\n", b"\\ no\n"]), max_size=12
)
CONTENT = st.one_of(
    st.builds(lambda lines, end: b"".join(lines) + end, LINES, st.sampled_from([b"", b"a", b"\r", b"\0", b"+++ b/x"])),
    st.binary(max_size=200),
)
NAMES = st.sampled_from(["a", "b/c", "b/d e", 'q"\\t', "tab\tnew\nline", "é/ü", " b ", "-x", "a b/a b", "b/a b"])
FILES = st.dictionaries(NAMES, st.builds(TreeFile, CONTENT, st.booleans()), max_size=5)


def laid_out(folder: Path, files: Files) -> Path:
    folder.mkdir()
    for path, file in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.content)
        place.chmod(0o755 if file.executable else 0o644)
    return folder


def found(folder: Path) -> Files:
    return {
        str(path.relative_to(folder)): TreeFile(path.read_bytes(), bool(path.stat().st_mode & 0o100))
        for path in folder.rglob("*")
        if path.is_file()
    }


def git_apply(folder: Path, change: bytes, *options: str) -> None:
    subprocess.run(["git", "apply", *options, "-"], cwd=folder, input=change, check=True, capture_output=True)


@settings(max_examples=20)
@given(FILES, FILES)
def test_git_applies_a_patch_and_its_reverse(tmp_path_factory: pytest.TempPathFactory, old: Files, new: Files) -> None:
    folder = laid_out(tmp_path_factory.mktemp("patch") / "files", old)
    change = patch(old, new)
    if old == new:
        assert change == b""
        return
    git_apply(folder, change)
    assert found(folder) == new
    git_apply(folder, change, "--reverse")
    assert found(folder) == old


def test_a_file_takes_the_place_of_a_folder(tmp_path: Path) -> None:
    old, new = {"a": TreeFile(b"1\n")}, {"a/b": TreeFile(b""), "a/c": TreeFile(b"\0", executable=True)}
    folder = laid_out(tmp_path / "files", old)
    git_apply(folder, patch(old, new))
    assert found(folder) == new
    git_apply(folder, patch(new, old))
    assert found(folder) == old


@settings(max_examples=30)
@given(LINES, LINES)
def test_changed_lines_are_those_that_a_patch_adds(old: list[bytes], new: list[bytes]) -> None:
    lines = changed_lines(b"".join(old), b"".join(new))
    kept = [line for number, line in enumerate(new, 1) if number not in lines]
    remaining = iter(old)
    assert all(line in remaining for line in kept)
    added = [line for line in text_patch("x", b"".join(old), b"".join(new)).split(b"\n")[2:] if line.startswith(b"+")]
    assert len(added) == len(lines)


def test_text_made_to_take_long_is_still_compared() -> None:
    lines = [b"%d\n" % number for number in range(5_000)]
    swapped = [line for at in range(0, len(lines), 2) for line in (lines[at + 1], lines[at])]
    old, new = {"a": TreeFile(b"".join(lines))}, {"a": TreeFile(b"".join(swapped))}
    assert len(changed_lines(old["a"].content, new["a"].content)) > 2_500
    assert patch(old, new).count(b"\n+") > 2_500
