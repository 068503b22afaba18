"""Tests access to GPUs. The machines that run the tests have no GPU, so the device nodes are fakes (a zero device, a
file). The tests therefore show which nodes a run may open, but do not use CUDA."""

import os
import stat
from pathlib import Path

import pytest

from xkg.agents.workspace.command import Commands
from xkg.agents.workspace.files.starter import read_starter
from xkg.agents.workspace.files.workspace import Workspace
from xkg.config import SandboxSettings
from xkg.errors import InputError, SandboxUnavailableError
from xkg.sandbox.isolation import gpus
from xkg.sandbox.runner import Environment, Limits
from xkg.sandbox.select import runner_for

PROGRAM = """\
import os, sys
node = sys.argv[1]
with open(node, "r+b", buffering=0) as file:
    print("read", file.read(4))
    print("wrote", file.write(b"abcd"))
print("visible", os.environ["CUDA_VISIBLE_DEVICES"])
try:
    open(sys.argv[2], "rb")
except OSError as error:
    print("other", type(error).__name__)
"""


@pytest.fixture
def dev(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Creates two fake GPUs and a node that they share. A run mounts these fakes in /dev."""
    folder = tmp_path / "dev"
    folder.mkdir()
    for name in ("nvidia0", "nvidia1", "nvidiactl"):
        (folder / name).write_bytes(b"gpu?")
        (folder / name).chmod(0o666)
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.geteuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | stat.S_IXOTH)
    cards = tmp_path / "cards" / "0000:01:00.0"
    cards.mkdir(parents=True)
    (cards / "information").write_text("Model: \t None\nGPU UUID: \t GPU-0000-1\nDevice Minor: \t 1\n")
    monkeypatch.setattr(gpus, "DEV", folder)
    monkeypatch.setattr(gpus, "DRIVER", tmp_path / "cards")
    return folder


@pytest.mark.usefixtures("dev")
def test_devices_by_name() -> None:
    assert [each.number for each in gpus.gpus(["nvidia"])] == [0, 1]
    one = gpus.gpus(["nvidia:1", "nvidia:1"])
    assert [each.number for each in one] == [1]
    assert [mount.at for mount in one[0].nodes] == ["/dev/nvidia1", "/dev/nvidiactl"]
    assert one[0].variables["CUDA_VISIBLE_DEVICES"] == "GPU-0000-1"
    assert gpus.gpus(["nvidia:0"])[0].variables["CUDA_VISIBLE_DEVICES"] == "0"  # the driver does not name this GPU


@pytest.mark.parametrize(
    ("device", "message"),
    [("nvidia:7", "no /dev/nvidia7.*GPUs here: 0, 1"), ("amd", "use nvidia"), ("0", "use nvidia")],
)
@pytest.mark.usefixtures("dev")
def test_a_device_that_is_not_there_is_one_line(device: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        gpus.gpus([device])


def test_a_machine_without_a_gpu_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "DEV", tmp_path)
    with pytest.raises(InputError, match=r"no /dev/nvidia0.*omit devices"):
        gpus.gpus(["nvidia"])


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's runs open what that user may open")
def test_a_node_that_runs_may_not_open_is_named(dev: Path) -> None:
    (dev / "nvidia0").chmod(0o600)
    with pytest.raises(InputError, match="chmod o\\+rw"):
        gpus.gpus(["nvidia:0"])


@pytest.mark.parametrize("name", ["bubblewrap", "landlock"])
def test_a_run_opens_its_own_gpu_and_no_other(dev: Path, tmp_path: Path, name: str) -> None:
    try:
        runner = runner_for(SandboxSettings(runner=name))  # type: ignore[arg-type]
    except SandboxUnavailableError as error:
        pytest.skip(str(error))
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "use.py").write_text(PROGRAM)
    workspace = Workspace.create(tmp_path / "run", read_starter(str(tmp_path / "repo"), tmp_path / "cache"))
    gpu = gpus.gpus(["nvidia:1"])[0]
    own, other = ("/dev/nvidia1", "/dev/nvidia0") if name == "bubblewrap" else (dev / "nvidia1", dev / "nvidia0")
    commands = Commands(runner, Environment(site=None, hash=""), Limits(seconds=30), gpu=gpu)
    result = commands.run(workspace, f"python use.py {own} {other}")
    assert result.ok, result.output
    assert result.output.splitlines()[:3] == ["read b'gpu?'", "wrote 4", "visible GPU-0000-1"]
    assert result.output.splitlines()[3] in ("other FileNotFoundError", "other PermissionError")
    without = Commands(runner, Environment(site=None, hash=""), Limits(seconds=30))
    assert not without.run(workspace, f"python use.py {own} {other}").ok


@pytest.mark.usefixtures("dev")
def test_each_run_has_a_gpu_of_its_own() -> None:
    taken = gpus.Taken(gpus.gpus(["nvidia"]))
    with taken.one() as one, taken.one() as other:
        assert one is not None
        assert other is not None
        assert {one.number, other.number} == {0, 1}
    with gpus.Taken(()).one() as none:
        assert none is None
