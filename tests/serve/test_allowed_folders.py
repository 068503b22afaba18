"""Tests which folders of this machine a caller may name."""

from pathlib import Path

import pytest

from xkg.errors import ConfigError, InputError
from xkg.serve.allowed_folders import open_roots, under_roots


def test_by_default_the_folder_of_the_start_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "homes" / "me"
    (home / "project").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home / "project")
    assert open_roots(None) == (home / "project",)
    for wide in (home, home.parent, Path("/")):
        monkeypatch.chdir(wide)
        assert open_roots(None) == ()
    assert open_roots((Path("~/project"),)) == (home / "project",)
    assert open_roots(()) == ()
    with pytest.raises(ConfigError, match=r"serve\.roots"):
        open_roots((home / "none",))


def test_what_lies_outside_is_refused_however_it_is_named(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "root-and-more"
    (root / "copy").mkdir(parents=True)
    outside.mkdir()
    (root / "out").symlink_to(outside)
    (root / "in").symlink_to(root / "copy")
    (root / "loop").symlink_to(root / "loop")
    (root / "file").write_text("")
    for named in (str(root / "copy"), "copy", "./copy/../copy", "in"):
        assert under_roots(named, [root]) == root / "copy"
    assert under_roots(".", [root]) == root
    for named in (
        "out",
        str(outside),
        "../root-and-more",
        "..",
        "/",
        "/etc",
        "loop",
        "file",
        "none",
        "a\0b",
        "~",
        "x" * 9999,
    ):
        with pytest.raises(InputError) as error:
            under_roots(named, [root])
        assert "\n" not in str(error.value)
    # Files outside the roots look like files that do not exist.
    said = []
    for named in (str(outside), str(tmp_path / "not-a-folder-a")):
        with pytest.raises(InputError) as error:
            under_roots(named, [root])
        said.append(str(error.value).replace(named, "NAMED"))
    assert said[0] == said[1]
    with pytest.raises(InputError, match=r"serve\.roots"):
        under_roots("copy", [])
