"""Selects the runner for this machine and its settings."""

import contextlib
import functools
import platform
import re
from collections.abc import Callable, Iterator, Mapping

from xkg.config import SandboxSettings
from xkg.errors import SandboxUnavailableError
from xkg.sandbox.isolation.bubblewrap import BubblewrapRunner
from xkg.sandbox.isolation.container import ContainerRunner
from xkg.sandbox.isolation.fork_server import WarmRunner
from xkg.sandbox.isolation.landlock import LandlockRunner
from xkg.sandbox.isolation.subprocess import UnsafeSubprocessRunner
from xkg.sandbox.runner import Job, Limits, Runner

# Lists the modules that take seconds to import, by package.
# None of these modules starts threads, which would rule out forking.
# The second value is the prefix of environment variables that the package reads on import.
_PRELOADED = {
    "numpy": (("numpy",), None),
    "torch": (("torch", "torch._dynamo"), "TORCH"),
    "jax": (("jax", "jax.numpy"), "JAX_"),
    "flax": (("flax", "flax.linen"), "JAX_"),
    "optax": (("optax",), "JAX_"),
    "scipy": (("scipy", "scipy.linalg", "scipy.optimize", "scipy.special", "scipy.stats"), None),
}
_RUNNERS: Mapping[str, Callable[[], Runner]] = {
    "bubblewrap": BubblewrapRunner,
    "landlock": LandlockRunner,
    "container": ContainerRunner,
}
_IMPORTED = re.compile(r"^[ \t]*+(?:import|from)[ \t]++(\w++)", re.MULTILINE)


def runner_for(settings: SandboxSettings) -> Runner:
    """Returns the configured runner. The first call in a process tests it with a trial run.

    `auto` tries bubblewrap, then Landlock, then a container. All three runners confine code, to different degrees (see
    `weaker`). `auto` never chooses an unconfined runner. Raises `SandboxUnavailableError` with one line on what to
    install or allow."""
    return chosen_runner(settings)[0]


def chosen_runner(settings: SandboxSettings) -> tuple[Runner, str]:
    """Returns the configured runner and the reason for the choice. Raises the same errors as `runner_for`."""
    if settings.runner == "unsafe-subprocess":
        return UnsafeSubprocessRunner(), "set by XKG_SANDBOX__RUNNER"
    refusals: list[str] = []
    for name in _RUNNERS if platform.system() == "Linux" else ("container",):
        if settings.runner in ("auto", name):
            refusal = _refusal(name)
            if refusal is None:
                if settings.runner == name:
                    return _RUNNERS[name](), "set in the settings"
                return _RUNNERS[name](), "; ".join(refusals) or "the first runner that works on this machine"
            refusals.append(refusal)
    if not refusals:
        refusals = [f"{settings.runner} needs Linux; leave sandbox.runner at auto, or set it to container"]
    raise SandboxUnavailableError(
        f"{'; and '.join(refusals)}; "
        "or set XKG_SANDBOX__RUNNER=unsafe-subprocess to run untrusted code with your own permissions"
    )


@contextlib.contextmanager
def warmed(runner: Runner) -> Iterator[Runner]:
    """Yields a runner that imports slow packages only once for many jobs with the same packages."""
    if not isinstance(runner, BubblewrapRunner | LandlockRunner):
        yield runner
        return
    with WarmRunner(runner, preloaded_modules) as warm:
        yield warm


def preloaded_modules(job: Job) -> list[str]:
    """Returns the modules worth importing before a job, from the packages that it imports. Excludes modules that the
    job configures with environment variables, because those would be set too late."""
    texts = [*job.files.values(), *job.arguments]
    imported = {name for text in texts for name in _IMPORTED.findall(text)}
    return [
        module
        for package, (modules, variables) in _PRELOADED.items()
        if package in imported and not (variables and any(variables in text for text in texts))
        for module in modules
    ]


def limits_for(settings: SandboxSettings) -> Limits:
    """Returns the limits for one job under these settings."""
    return Limits(seconds=settings.seconds, memory_mb=settings.memory_mb)


@functools.cache
def _refusal(name: str) -> str | None:
    runner = _RUNNERS[name]()
    trial = Job(arguments=("-c", "print('contained')"), limits=Limits(seconds=20))
    detail = ""
    for _ in range(2):  # on a busy machine, the first trial may fail
        try:
            outcome = runner.run(trial)
        except SandboxUnavailableError as error:
            return str(error)
        if outcome.ok and outcome.output.strip() == "contained":
            return None
        detail = (outcome.output.strip().splitlines()[-1:] or [outcome.ended])[0]
    return f"a trial run in {name} failed ({detail[:200]}); check that the interpreter is readable by other users"
