import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from xkg.errors import InputError
from xkg.files import (
    lies_under,
    private_file,
    private_folder,
    read_regular,
    said_when_full,
    write_whole,
)

OLD, NEW = b"old" * 200_000, b"new" * 200_000

WRITER = """
import sys
from pathlib import Path
from xkg.files import write_whole
old, new = b"old" * 200_000, b"new" * 200_000
print("ready", flush=True)
while True:
    write_whole(Path(sys.argv[1]), new)
    write_whole(Path(sys.argv[1]), old)
"""


@pytest.mark.parametrize("moment", ["write", "fsync", "replace"])
def test_an_interruption_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    path = tmp_path / "bundle.json"
    write_whole(path, OLD)

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    if moment == "write":
        monkeypatch.setattr("pathlib.Path.open", fail)
    elif moment == "fsync":
        monkeypatch.setattr("os.fsync", fail)
    else:
        monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, NEW)
    monkeypatch.undo()
    assert path.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [path]


def test_the_content_is_on_disk_before_the_name_points_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, Path.replace
    monkeypatch.setattr("os.fsync", lambda fd: (steps.append("fsync"), fsync(fd))[1])
    monkeypatch.setattr("pathlib.Path.replace", lambda a, b: (steps.append("replace"), replace(a, b))[1])
    write_whole(tmp_path / "bundle.json", NEW)
    assert steps == ["fsync", "replace", "fsync"]  # the last call makes the new name durable


def test_a_writer_that_is_killed_leaves_old_or_new_never_half(tmp_path: Path) -> None:
    path = tmp_path / "bundle.json"
    write_whole(path, OLD)
    for round_ in range(3):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(0.01 * round_)
            writer.send_signal(signal.SIGKILL)
        assert path.read_bytes() in (OLD, NEW)
    write_whole(path, NEW)
    assert path.read_bytes() == NEW


def test_nobody_waits_for_a_pipe_and_a_large_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"12345")
    assert read_regular(tmp_path / "file", 5) == b"12345"
    for path, most, said in ((tmp_path / "pipe", 10, "not a regular file"), (tmp_path / "file", 4, "more than")):
        with pytest.raises(OSError, match=said):
            read_regular(path, most)
    with pytest.raises(OSError, match="not a regular file"):
        read_regular(Path("/dev/zero"), 10)


def test_what_is_private_is_made_so_and_never_changed(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o755)
    private_folder(shared)
    private_folder(tmp_path / "a" / "own")
    private_file(tmp_path / "a" / "secret")
    (tmp_path / "a" / "secret").chmod(0o640)
    private_file(tmp_path / "a" / "secret")
    modes = [path.stat().st_mode & 0o777 for path in (shared, tmp_path / "a" / "own", tmp_path / "a" / "secret")]
    assert modes == [0o755, 0o700, 0o640]


@pytest.mark.parametrize(
    "fault",
    [
        OSError(errno.ENOSPC, "full", "/run/x"),
        OSError(errno.EROFS, "read-only"),
        shutil.Error([("a", "b", f"[Errno 28] {os.strerror(errno.ENOSPC)}: 'a' -> 'b'")]),
    ],
)
def test_a_full_disk_is_one_line_with_what_to_do(fault: OSError, tmp_path: Path) -> None:
    line = r"run cannot be written \(.*\); free some space$"
    with pytest.raises(InputError, match=line), said_when_full(tmp_path / "run", "free some space"):
        raise fault


def test_a_folder_is_known_by_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "root/inside").mkdir(parents=True)
    (tmp_path / "rooted").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "root")
    assert lies_under(tmp_path / "root/inside/not/there", [tmp_path / "root"])
    assert lies_under(tmp_path / "root", [tmp_path / "alias"])
    assert not lies_under(tmp_path / "rooted", [tmp_path / "root"])
    assert not lies_under(tmp_path / "gone", [tmp_path / "root", tmp_path / "missing"])


def test_another_fault_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), said_when_full(tmp_path, "free some space"):
        (tmp_path / "absent").read_text()
