import os
import shutil
import time
from pathlib import Path

from xkg.config import EnvironmentSettings
from xkg.sandbox.packages.disk_quota import in_use, planning, prune, quota
from xkg.sandbox.runner import Environment


def test_old_environments_make_room(tmp_path: Path) -> None:
    names = [f"{n:016x}" for n in range(4)]
    for age, name in enumerate(names):
        (tmp_path / name / "site").mkdir(parents=True)
        (tmp_path / name / "site/data").write_bytes(bytes(1 << 20))
        os.utime(tmp_path / name, (time.time() - age * 7200,) * 2)
    (tmp_path / "requests").mkdir()
    assert prune(tmp_path, 2) == names[:1:-1]
    assert {path.name for path in tmp_path.iterdir()} == {*names[:2], "requests", ".planning"}
    assert prune(tmp_path, 0) == names[1:2]  # the newest environment may be in use


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


def test_downloads_and_wheels_that_nothing_uses_go_before_environments(tmp_path: Path) -> None:
    home, making = tmp_path / ("a" * 16), tmp_path / "making"
    used, loose = making / "wheels/used", making / "wheels/loose"
    for folder in (home / "site", making / "cache", used):
        folder.mkdir(parents=True)
    (used / "data").write_bytes(bytes(1 << 20))
    for link in (home / "site/data", making / "cache/data"):
        link.hardlink_to(used / "data")
    os.utime(home, (time.time() - 7200,) * 2)
    assert prune(tmp_path, 1) == []
    assert (making / "cache").exists()  # links take no space
    loose.mkdir()
    (loose / "data").write_bytes(bytes(1 << 20))
    (making / "work-killed").mkdir()
    with planning(tmp_path):  # planning protects the cache
        assert prune(tmp_path, 1) == []
        assert (making / "cache").exists()
    assert not loose.exists()
    loose.mkdir()
    (loose / "data").write_bytes(bytes(1 << 20))
    assert prune(tmp_path, 1) == []
    assert not loose.exists()
    assert not (making / "work-killed").exists()
    assert not (making / "cache").exists()
    assert used.exists()
    assert prune(tmp_path, 0) == [home.name]
    assert not used.exists()


def test_limits_follow_from_the_disk_unless_settings_state_them(tmp_path: Path) -> None:
    half = shutil.disk_usage(tmp_path).free // 2 >> 20
    free = quota(tmp_path / "not" / "there", EnvironmentSettings())
    assert free.one == min(12_000, free.total)
    assert abs(free.total - half) < 2_000  # other programs write to the disk, too
    assert quota(tmp_path, EnvironmentSettings(total_mb=300))[:2] == (300, 300)
    assert quota(tmp_path, EnvironmentSettings(max_mb=100, total_mb=300)) == (100, 300, "environment.max_mb")
