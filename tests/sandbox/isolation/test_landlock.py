"""Tests the Landlock runner on older kernels, the files it leaves behind, and the message if it cannot contain a
job."""

import os
import subprocess
import tempfile
import uuid
from pathlib import Path

import pytest

from tests.sandbox.conftest import LandlockOfOrdinaryUser, as_ordinary_user, attack_on, require_landlock
from tests.sandbox.test_hostile_limits import processes_with
from xkg.config import EnvironmentSettings
from xkg.errors import SandboxUnavailableError
from xkg.sandbox.guest import landlock
from xkg.sandbox.isolation.landlock import LandlockRunner
from xkg.sandbox.packages.environments import UvEnvironments
from xkg.sandbox.runner import Job

BREAK_OUT = """
import os, sys, time
_, mark, victim, secret = sys.argv
for change in (lambda: os.kill(int(victim), 9), lambda: os.kill(os.getppid(), 9), lambda: os.kill(1, 9),
               lambda: print(open(secret).read()), lambda: os.truncate(secret, 0), lambda: open(secret, "w"),
               lambda: os.open(secret, os.O_RDONLY | os.O_TRUNC), lambda: os.rename(secret, "taken")):
    try:
        change(); print("done")
    except OSError:
        pass
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 3)
        time.sleep(60)
    os._exit(0)
open("a", "w").write("x" * 10); os.rename("a", "b"); open("b", "w").write("mine")
time.sleep(0.2)
print(open("b").read())
"""


@pytest.mark.parametrize("abi", [1, 3, 5])
def test_older_kernels_contain_with_what_they_have(abi: int, tmp_path: Path) -> None:
    """Runs as an ordinary user, who shares a uid with other processes that could be attacked."""
    require_landlock(abi)
    mark = str(uuid.uuid4())
    secret = tmp_path / "secret"
    tmp_path.chmod(0o777)
    secret.write_text("hidden words")
    secret.chmod(0o666)
    with subprocess.Popen([*as_ordinary_user(), "/bin/sleep", "60"]) as victim:
        try:
            outcome = attack_on(LandlockOfOrdinaryUser(abi))(BREAK_OUT, mark, str(victim.pid), str(secret))
            assert victim.poll() is None
        finally:
            victim.kill()
    assert (outcome.output, outcome.exit_code) == ("mine\n", 0)
    assert secret.read_text() == "hidden words"
    assert processes_with(mark) == []


def test_nothing_stays_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_landlock()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for source in (
        "import os\nfor i in range(2000): os.mkdir('x' * 50); os.chdir('x' * 50)",
        "import os; os.mkdir('closed'); open('closed/x', 'w'); os.chmod('closed', 0); os.chmod('.', 0)",
        "open('x', 'w').write('x'); import os; os.symlink('/', 'root'); os.mkfifo('pipe')",
    ):
        LandlockRunner().run(Job(arguments=("-c", source)))
        assert list(tmp_path.iterdir()) == []


def test_a_kernel_without_landlock_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock, "version", lambda: 0)
    with pytest.raises(SandboxUnavailableError, match="no Landlock") as caught:
        LandlockRunner().run(Job(arguments=("-c", "")))
    assert "\n" not in str(caught.value)


def test_what_is_weaker_depends_on_kernel_and_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock, "version", lambda: 3)
    old = LandlockRunner().weaker
    monkeypatch.setattr(landlock, "version", lambda: 6)
    new = LandlockRunner().weaker
    assert [line for line in old if line not in new] == [line for line in old if "ABI 3" in line] != []
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert any("with your uid" in line for line in LandlockRunner().weaker)


def test_packages_are_not_installed_without_bubblewrap(tmp_path: Path) -> None:
    made = UvEnvironments(EnvironmentSettings(folder=tmp_path / "e", max_mb=20), LandlockRunner()).make(["numpy"])
    assert made.site is None
    assert "only under bubblewrap" in made.missing["numpy"]
    assert made.incomplete
