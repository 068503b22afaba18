import re

import pytest

from tests.sandbox.conftest import require_landlock
from xkg.config import SandboxSettings
from xkg.errors import SandboxUnavailableError, UnsafeInputError
from xkg.sandbox.isolation.bubblewrap import BubblewrapRunner
from xkg.sandbox.isolation.landlock import LandlockRunner
from xkg.sandbox.isolation.subprocess import UnsafeSubprocessRunner
from xkg.sandbox.runner import Job, Limits
from xkg.sandbox.select import limits_for, preloaded_modules, runner_for

pytestmark = pytest.mark.usefixtures("untried_sandbox")


def test_the_runner_that_contains_is_the_default() -> None:
    assert runner_for(SandboxSettings()).name == "bubblewrap"
    limits = limits_for(SandboxSettings(seconds=7, memory_mb=99))
    assert (limits.seconds, limits.memory_mb) == (7, 99)


def test_without_bubblewrap_landlock_is_taken_where_the_kernel_has_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    require_landlock()
    monkeypatch.setenv("PATH", str(tmp_path_factory.mktemp("empty")))
    runner = runner_for(SandboxSettings())
    assert runner.name == "landlock"
    assert runner.weaker
    assert all("\n" not in line for line in runner.weaker)
    assert runner.run(Job(arguments=("-c", "print(1 + 1)"))).output == "2\n"
    with pytest.raises(SandboxUnavailableError, match="apt-get install bubblewrap"):
        runner_for(SandboxSettings(runner="bubblewrap"))


def test_without_both_it_refuses_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path_factory.mktemp("empty")))
    monkeypatch.setattr("xkg.sandbox.guest.landlock.version", lambda: 0)
    with pytest.raises(SandboxUnavailableError, match=r"apt-get install bubblewrap.*no Landlock") as caught:
        runner_for(SandboxSettings())
    assert "\n" not in str(caught.value)
    for runner in (BubblewrapRunner(), LandlockRunner()):
        with pytest.raises(SandboxUnavailableError):
            runner.run(Job(arguments=("-c", "")))
    assert runner_for(SandboxSettings(runner="unsafe-subprocess")).name == "unsafe-subprocess"


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("bwrap: setting up uid map: Permission denied", "apparmor_restrict_unprivileged_userns"),
        ("bwrap: No permissions to create new namespace, likely because ...", "allow user namespaces"),
        ("bwrap: Unknown option --json-status-fd", "apt-get install bubblewrap"),
        ("bwrap: execvp /python: Permission denied", "chmod -R o+rX"),
    ],
)
def test_a_kernel_that_refuses_is_told_apart(
    said: str, advice: str, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("bin")
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    with pytest.raises(SandboxUnavailableError, match=re.escape(advice)) as caught:
        runner_for(SandboxSettings(runner="bubblewrap"))
    assert "\n" not in str(caught.value)


def test_the_unsafe_runner_tells_the_truth_too() -> None:
    runner = UnsafeSubprocessRunner()
    limits = Limits(seconds=1, memory_mb=150, output_kb=8)
    endings = {
        "print('hi')": ("exited", 0),
        "1 / 0": ("exited", 1),
        "import os; os.abort()": ("killed", 134),
        "import time; time.sleep(30)": ("timeout", None),
        "held = [bytearray(1 << 20) for _ in range(10_000)]": ("memory", None),
        "while True: print('x' * 10_000)": ("output", None),
    }
    for source, ending in endings.items():
        allowed = limits.model_copy(update={"seconds": 1 if "sleep" in source else 20})
        outcome = runner.run(Job(arguments=("run.py",), files={"run.py": source}, limits=allowed))
        assert (outcome.ended, outcome.exit_code) == ending, outcome
        assert outcome.runner == "unsafe-subprocess"


def test_the_unsafe_runner_passes_no_variables_and_keeps_files_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XKG_TEST_TOKEN", "secret")
    outcome = UnsafeSubprocessRunner().run(Job(arguments=("-c", "import os; print(dict(os.environ))")))
    assert "secret" not in outcome.output
    with pytest.raises(UnsafeInputError):
        UnsafeSubprocessRunner().run(Job(arguments=("-c", ""), files={"../x": ""}))


@pytest.mark.parametrize(
    ("source", "modules"),
    [
        ("import numpy as np\nfrom jax import numpy as jnp\n", ["numpy", "jax", "jax.numpy"]),
        ("    import torch\n", ["torch", "torch._dynamo"]),
        ("import json\n# import torch\n", []),
        ("import os\nos.environ['JAX_ENABLE_X64'] = '1'\nimport jax, numpy\nimport numpy\n", ["numpy"]),
    ],
)
def test_what_a_job_imports_is_preloaded_unless_variables_would_come_too_late(source: str, modules: list[str]) -> None:
    job = Job(arguments=("harness.py",), files={"harness.py": "import sys\n", "loaded.py": source})
    assert preloaded_modules(job) == modules
