from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.build.repositories.test_checkout import committed
from xkg.agents.ablation.candidates import Candidate, Place, Replacement
from xkg.agents.ablation.mutation import refusal
from xkg.agents.workspace.files.apply import branch, patch
from xkg.agents.workspace.files.edits import EditError, FileEdit, applied
from xkg.agents.workspace.files.starter import read_starter
from xkg.agents.workspace.files.workspace import Workspace
from xkg.agents.workspace.files.writable_paths import refused_path
from xkg.errors import UnsafeInputError

GIT = [".git", ".GIT", "git~1", "GIT~1", ".g\u200cit", ".git\u200d", "\ufeff.git", ".git.", ".git ", ".git. .", "．git"]
REFUSED = [
    *(f"{name}/config" for name in GIT),
    *(f"lib/{name}/hooks/x.py" for name in GIT),
    ".git::$INDEX_ALLOCATION/config",
    "train.py:stream",
    ".gitattributes",
    ".gitmodules",
    ".github/workflows/x.yml",
    ".vscode/settings.json",
    ".envrc",
    ".pre-commit-config.yaml",
    "lib/.hidden.py",
    "sitecustomize.py",
    "lib/Sitecustomize/__init__.py",
    "usercustomize.py",
    "tests/conftest.py",
    "path.pth",
    "lib/evil.so",
    "lib/x.pyc",
    "Makefile",
    "setup.cfg",
    "pytest.ini",
    "a\nb.py",
    "a\\b.py",
    "a\x1b[2J.py",
    "a\u202eb.py",
    "a\u200b.py",
    "-rf.py",
    "a .py/",
    "lib /x.py",
    "a" * 300 + ".py",
    "../x.py",
    "/etc/passwd",
]
WRITABLE = [
    "lib/new.py",
    "lib/new/__init__.py",
    "configs/lr=0.1.yaml",
    "modèle.py",
    "run.sh",
    "kernel.cu",
    "notes (2).md",
]


@pytest.mark.parametrize("path", REFUSED)
def test_a_model_cannot_write_what_steers_other_tools(path: str) -> None:
    with pytest.raises(EditError, match="must not be written"):
        applied({}, [FileEdit(file=path, kind="file", target="", text="x = 1\n")])


def test_a_workspace_takes_none_of_them(workspace: Workspace) -> None:
    for path in REFUSED:
        with pytest.raises(UnsafeInputError):
            workspace.edit({path: "x = 1\n"}, "hostile")
    assert workspace.current.number == 0


@pytest.mark.parametrize("path", WRITABLE)
def test_source_settings_and_text_are_written(path: str) -> None:
    assert refused_path(path, ()) is None


@given(st.text(alphabet=st.characters(categories=("Cc", "Cf", "Zl", "Zp", "Cs", "Co")), min_size=1, max_size=3))
def test_no_character_that_is_not_seen_is_in_a_name(hidden: str) -> None:
    for path in (f"{hidden}a.py", f"a{hidden}.py", f".gi{hidden}t/config", f"lib{hidden}/a.py"):
        assert refused_path(path, {path}) is not None


def test_a_file_of_the_starter_is_edited_whatever_its_suffix_unless_it_is_hidden() -> None:
    known = {"Makefile", "setup.cfg", ".github/workflows/x.yml", "conftest.py"}
    assert {path for path in known if refused_path(path, known) is None} == {"Makefile", "setup.cfg"}


def test_a_candidate_that_changes_a_hidden_file_is_refused() -> None:
    path, text = ".config.yaml", "rate: 0.1\n"
    place = Place(path=path, start_line=1, end_line=1)
    candidate = Candidate(
        component="rate",
        kind="grid",
        value="0.5",
        baseline_value="0.1",
        description="another rate",
        places=(place,),
        replacements=(Replacement(path=path, start=6, end=9, old="0.1", new="0.5"),),
    )
    assert "must not be written" in str(refusal(candidate, {path: text}, {path: "rate: 0.5\n"}, ()))


def test_a_change_older_than_the_rule_is_not_brought_to_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = committed(tmp_path / "repository", {"train.py": "x = 1\n"})
    workspace = Workspace.create(tmp_path / "run", read_starter(str(folder), tmp_path / "cache"))
    with monkeypatch.context() as older:
        older.setattr("xkg.agents.workspace.files.workspace.refused_path", lambda *_: None)
        workspace.edit({".github/workflows/x.yml": "on: push\n"}, "as an older version did")
    with pytest.raises(UnsafeInputError, match="left out of the result"):
        patch(workspace)
    with pytest.raises(UnsafeInputError, match="left out of the result"):
        branch(workspace, "xkg/run")
