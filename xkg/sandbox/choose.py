"""Which runner a machine and its settings give."""

import functools

from xkg.config import SandboxSettings
from xkg.errors import SandboxUnavailableError
from xkg.sandbox import Job, Limits, Runner
from xkg.sandbox.bubblewrap import BubblewrapRunner
from xkg.sandbox.unsafe import UnsafeSubprocessRunner


def runner_for(settings: SandboxSettings) -> Runner:
    """The runner that the settings name, after a trial run (once a process). Raises `SandboxUnavailableError` with one
    line on what to install or allow; there is no silent step down to a weaker runner."""
    if settings.runner == "unsafe-subprocess":
        return UnsafeSubprocessRunner()
    refusal = _refusal()
    if refusal is not None:
        raise SandboxUnavailableError(
            f"{refusal}; or set sandbox.runner: unsafe-subprocess to run code that nobody trusts with your own rights"
        )
    return BubblewrapRunner()


def limits_for(settings: SandboxSettings) -> Limits:
    """The limits of one job under these settings."""
    return Limits(seconds=settings.seconds, memory_mb=settings.memory_mb)


@functools.cache
def _refusal() -> str | None:
    trial = Job(arguments=("-c", "print('contained')"), limits=Limits(seconds=20))
    try:
        outcome = BubblewrapRunner().run(trial)
    except SandboxUnavailableError as error:
        return str(error)
    if outcome.ok and outcome.output.strip() == "contained":
        return None
    said = outcome.output.strip().splitlines()[-1:] or [outcome.ended]
    return f"a trial run in the sandbox failed ({said[0][:200]}): is the interpreter readable for other users?"
