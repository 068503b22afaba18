import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.build.repositories.test_checkout import git
from xkg import files
from xkg.agents.workspace.files import versions
from xkg.agents.workspace.files import workspace as workspaces
from xkg.agents.workspace.files.apply import branch, patch
from xkg.agents.workspace.files.starter import read_starter
from xkg.agents.workspace.files.workspace import Workspace
from xkg.errors import CorruptStoreError, InputError, UnsafeInputError


def test_edits_are_versions_with_reasons_and_survive_a_restart(workspace: Workspace, starter: Path) -> None:
    workspace.edit({"lib/model.py": "def step(x):\n    return x\n", "lib/new.py": "y = 1\n"}, "simpler")
    workspace.edit({"lib/new.py": None}, "not needed")
    again = Workspace.open(workspace.folder)
    assert [version.reason for version in again.versions] == ["starter code", "simpler", "not needed"]
    assert again.text("lib/model.py") == "def step(x):\n    return x\n"
    assert (again.tree / "lib/model.py").read_text() == "def step(x):\n    return x\n"
    assert not (again.tree / "lib/new.py").exists()
    assert again.changed() == ["lib/model.py"]
    assert again.changed_lines() == {"lib/model.py": frozenset({2})}
    assert "+    return x\n" in again.diff()
    assert again.diff(paths=["train.py", "lib/mod"]) == ""
    assert again.diff(paths=["lib"]) == again.diff(paths=["lib/model.py"]) == again.diff()
    assert (starter / "lib/model.py").read_text().startswith("def step(x):\n    if x > 5:")


def test_undo_goes_back_edit_by_edit(workspace: Workspace) -> None:
    workspace.edit({"a.py": "1\n"}, "one")
    workspace.edit({"a.py": "2\n"}, "two")
    assert workspace.undo().reason == "Undo: two"
    assert workspace.text("a.py") == "1\n"
    workspace.edit({"a.py": "3\n"}, "three")
    workspace.undo()
    assert workspace.undo().reason == "Undo: one"
    assert "a.py" not in workspace.files
    assert not (workspace.tree / "a.py").exists()
    with pytest.raises(InputError, match="no edit to undo"):
        workspace.undo()


def test_an_edit_without_a_difference_is_refused(workspace: Workspace) -> None:
    with pytest.raises(InputError, match="changes nothing"):
        workspace.edit({"train.py": workspace.text("train.py"), "absent.py": None}, "nothing")
    assert workspace.current.number == 0


@pytest.mark.parametrize("path", ["../x.py", "/etc/passwd", "a/../../x", ".git/config", "lib//x", "", "x\0y", "./x"])
def test_paths_outside_are_refused(workspace: Workspace, path: str) -> None:
    with pytest.raises(UnsafeInputError, match="outside"):
        workspace.edit({path: "x"}, "escape")
    with pytest.raises(UnsafeInputError, match="outside"):
        workspace.text(path)


def test_repository_data_is_there_and_large_files_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xkg.agents.workspace.files.starter.MAX_BYTES", 9 << 20)
    (tmp_path / "starter").mkdir()
    for name, size in (("run.py", 10), ("train.csv", 4 << 20), ("dev.csv", 3 << 20), ("weights.bin", 5 << 20)):
        (tmp_path / "starter" / name).write_bytes(b"1" * size)
    starter = read_starter(str(tmp_path / "starter"), tmp_path / "cache")
    assert sorted(starter.files) == ["dev.csv", "run.py", "train.csv"]
    assert "left out: 1 file too large or unreadable (weights.bin); see --data" in starter.notes


def test_an_unknown_file_names_its_neighbours(workspace: Workspace) -> None:
    with pytest.raises(InputError, match=r"nearest: lib/model\.py"):
        workspace.text("lib/modle.py")
    with pytest.raises(InputError, match="binary"):
        workspace.text("logo.png")


@settings(max_examples=15)
@given(st.lists(st.sampled_from(["a", "b", "undo"]), max_size=7), st.integers(0, 7))
def test_a_rewound_workspace_is_older(tmp_path_factory: pytest.TempPathFactory, steps: list[str], until: int) -> None:
    folder = tmp_path_factory.mktemp("rewind")
    (folder / "starter").mkdir()
    (folder / "starter" / "a").write_text("0")
    workspace = Workspace.create(folder / "run", read_starter(str(folder / "starter"), folder / "cache"))
    undoable = [0]
    for number, step in enumerate(steps):
        try:
            workspace.undo() if step == "undo" else workspace.edit({step: str(number)}, step)
        except InputError:
            continue
        undoable.append(len(workspace.current.undo))
    until = min(until, workspace.current.number)
    expected = workspace.files_of(until)
    workspace.rewind(until)
    assert Workspace.open(workspace.folder).files == expected == workspace.files
    assert len(workspace.current.undo) == undoable[until]


def test_a_run_killed_at_a_write_is_consistent(starter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulates a power cut after each write in turn."""
    read, real = read_starter(str(starter), tmp_path / "cache"), files.write_whole

    def killed_after(writes: int) -> Path:
        left, folder = writes, tmp_path / f"run-{writes}"

        def write(*given: Any, **named: Any) -> None:
            nonlocal left
            if not left:
                raise KeyboardInterrupt
            left -= 1
            real(*given, **named)

        for module in (workspaces, versions):
            monkeypatch.setattr(module, "write_whole", write)
        with contextlib.suppress(KeyboardInterrupt):
            workspace = Workspace.create(folder, read)
            workspace.edit({"train.py": None, "new.py": "x = 1\n"}, "edit")
            workspace.undo()
            workspace.copied(folder / "copy")
        monkeypatch.undo()
        return folder

    for writes in (0, 1):
        with pytest.raises(InputError, match="does not contain a run"):
            Workspace.open(killed_after(writes))
        assert Workspace.create(tmp_path / f"run-{writes}", read).files == read.files
    reached = []
    for writes in range(2, 10):
        workspace = Workspace.open(killed_after(writes))
        assert ("train.py" in workspace.files) == ("new.py" not in workspace.files)
        workspace.edit({"more.py": ""}, "goes on")
        reached.append(Workspace.open(workspace.folder).current.number)
    assert reached == [1, 1, 2, 2, 3, 3, 3, 3]
    with pytest.raises(InputError, match="does not contain a run"):
        Workspace.open(tmp_path / "run-9" / "copy")
    assert Workspace.open(killed_after(10) / "copy").files == read.files


def test_a_run_of_another_xkg_is_refused_in_one_line(workspace: Workspace) -> None:
    place = workspace.folder / "workspace.json"
    place.write_text(place.read_text().replace('"digest"', '"commit"'))
    with pytest.raises(CorruptStoreError, match="cannot be read; remove the run"):
        Workspace.open(workspace.folder)


def test_a_damaged_or_missing_version_is_said(workspace: Workspace) -> None:
    place = workspace.folder / "versions" / f"{workspace.current.digest}.zip"
    place.write_bytes(place.read_bytes()[:-1])
    with pytest.raises(CorruptStoreError, match="is damaged; remove the run"):
        Workspace.open(workspace.folder)
    place.unlink()
    with pytest.raises(CorruptStoreError, match="No such file or directory"):
        Workspace.open(workspace.folder)


def test_what_is_left_out_of_a_starter_is_said(starter: Path, tmp_path: Path) -> None:
    (starter / "link").symlink_to("/etc/passwd")
    with (starter / "weights.bin").open("wb") as file:
        file.truncate(51 << 20)
    (starter / "data.npz").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n")
    read = read_starter(str(starter), tmp_path / "cache")
    notes = "\n".join(read.notes)
    assert "1 symbolic link" in notes
    assert "weights.bin" in notes
    assert "Git LFS pointer" in notes
    assert "link" not in read.files


def users_repository(starter: Path, tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "trunk", str(starter))
    git(starter, "add", "-A")
    git(starter, "commit", "-qm", "one")
    return starter


def test_a_branch_reaches_a_dirty_repository_without_touching_it(starter: Path, tmp_path: Path) -> None:
    users_repository(starter, tmp_path)
    (starter / "lib/model.py").write_text("def step(x):\n    return x + 7\n")
    read = read_starter(str(starter), tmp_path / "cache")
    assert any("uncommitted" in note for note in read.notes)
    workspace = Workspace.create(tmp_path / "run", read)
    workspace.edit({"lib/model.py": "def step(x):\n    return x + 8\n"}, "eight")
    before = git(starter, "status", "--porcelain")
    branch(workspace, "xkg/run")
    assert git(starter, "status", "--porcelain") == before
    assert git(starter, "show", "xkg/run:lib/model.py").endswith("x + 8")
    assert git(starter, "log", "--format=%s", "trunk..xkg/run").splitlines()[0] == "eight"
    assert git(starter, "show", "xkg/run~1:lib/model.py").endswith("x + 7")


def test_a_patch_applies_to_a_folder_without_git(workspace: Workspace, starter: Path) -> None:
    with pytest.raises(InputError, match="changed nothing"):
        patch(workspace)
    workspace.edit({"lib/model.py": "def step(x):\n    return 9\n", "logo.png": b"\0new"}, "nine")
    (starter.parent / "changes.patch").write_bytes(patch(workspace))
    git(starter, "apply", "../changes.patch")
    assert (starter / "lib/model.py").read_text() == "def step(x):\n    return 9\n"
    with pytest.raises(InputError, match="not a git repository"):
        branch(workspace, "xkg/run")


def test_the_users_hooks_filters_and_configuration_run_nowhere(starter: Path, tmp_path: Path) -> None:
    users_repository(starter, tmp_path)
    touched = tmp_path / "touched"
    for hook in ("post-checkout", "reference-transaction", "post-index-change", "pre-commit", "post-commit"):
        place = starter / ".git/hooks" / hook
        place.write_text(f"#!/bin/sh\ntouch {touched}\n")
        place.chmod(0o755)
    (starter / ".gitattributes").write_text("*.py filter=evil diff=evil\n")
    with (starter / ".git/config").open("a") as config:
        config.write(
            f'[filter "evil"]\n\tclean = touch {touched}\n\tsmudge = touch {touched}\n'
            f'[diff "evil"]\n\tcommand = touch {touched}\n\ttextconv = touch {touched}\n'
            f"[core]\n\tfsmonitor = touch {touched}\n"
        )
    workspace = Workspace.create(tmp_path / "run", read_starter(str(starter), tmp_path / "cache"))
    workspace.edit({"train.py": "print('loss: 1')\n"}, "less")
    workspace.diff()
    branch(workspace, "xkg/run")
    assert not touched.exists()
