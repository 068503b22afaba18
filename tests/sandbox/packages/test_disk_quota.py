import os
import time
from pathlib import Path

from xkg.sandbox.packages.disk_quota import in_use, prune
from xkg.sandbox.runner import Environment


def test_old_environments_make_room(tmp_path: Path) -> None:
    names = [f"{n:016x}" for n in range(4)]
    for age, name in enumerate(names):
        (tmp_path / name / "site").mkdir(parents=True)
        (tmp_path / name / "site/data").write_bytes(bytes(1 << 20))
        os.utime(tmp_path / name, (time.time() - age * 7200,) * 2)
    (tmp_path / "requests").mkdir()
    assert prune(tmp_path, 2) == names[2:]
    assert {path.name for path in tmp_path.iterdir()} == {*names[:2], "requests"}
    assert prune(tmp_path, 0) == names[1:2]  # the newest may be in use


def test_what_is_in_use_stays_however_old(tmp_path: Path) -> None:
    for name in ("a" * 16, "b" * 16):
        (tmp_path / name / "site").mkdir(parents=True)
        (tmp_path / name / "site/data").write_bytes(bytes(1 << 20))
        os.utime(tmp_path / name, (time.time() - 7200,) * 2)
    with in_use(Environment(site=tmp_path / ("a" * 16) / "site", hash="a" * 16)):
        os.utime(tmp_path / ("a" * 16), (time.time() - 9000,) * 2)
        assert prune(tmp_path, 0) == ["b" * 16]
    os.utime(tmp_path / ("a" * 16), (time.time() - 9000,) * 2)
    assert prune(tmp_path, 0) == ["a" * 16]


def test_downloads_go_before_environments(tmp_path: Path) -> None:
    home = tmp_path / ("a" * 16)
    for folder in (home / "site", tmp_path / "making/cache"):
        folder.mkdir(parents=True)
    (home / "site/data").write_bytes(bytes(1 << 20))
    (tmp_path / "making/cache/shared").hardlink_to(home / "site/data")
    os.utime(home, (time.time() - 7200,) * 2)
    assert prune(tmp_path, 1) == []
    assert (tmp_path / "making").exists()
    (tmp_path / "making/cache/own").write_bytes(bytes(1 << 20))
    assert prune(tmp_path, 1) == []
    assert not (tmp_path / "making").exists()
    assert home.exists()


def test_environments_without_a_folder_can_be_in_use(tmp_path: Path) -> None:
    with in_use(Environment(site=None, hash="")), in_use(Environment(site=tmp_path / "gone/site", hash="x")):
        assert list(tmp_path.iterdir()) == []
