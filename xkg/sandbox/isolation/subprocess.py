"""Runs a job as a plain child process with the permissions of the user who runs xkg (`unsafe-subprocess`).

The runner limits time, output and memory, and provides a clean environment and a scratch folder. These measures protect
only against accidents, not against malicious code. The job can read and write everything that its user can, access the
network, and leave a daemon running."""

import os
import subprocess
import tempfile
from pathlib import Path

from xkg.errors import InputError
from xkg.sandbox.isolation.bubblewrap_mounts import QUIET
from xkg.sandbox.isolation.interpreters import at
from xkg.sandbox.isolation.scratch import fill
from xkg.sandbox.isolation.watchdog import kill_tree, watch
from xkg.sandbox.runner import Job, Outcome


class UnsafeSubprocessRunner:
    """Runs a job without confining it. Raises `InputError` in the same cases as `BubblewrapRunner`."""

    name = "unsafe-subprocess"
    weaker: tuple[str, ...] = ("nothing is sandboxed: code has the same access to files and the network as its user",)

    def run(self, job: Job) -> Outcome:
        with tempfile.TemporaryDirectory(prefix="xkg-job-", ignore_cleanup_errors=True) as folder:
            scratch = Path(folder)
            fill(scratch, job.files)
            variables = QUIET | {"HOME": folder, "TMPDIR": folder, "PATH": os.defpath}
            if job.site is not None:
                variables["PYTHONPATH"] = str(job.site.resolve())
            try:
                process = subprocess.Popen(
                    (str(at(job.python).program), *job.arguments),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    env=variables,
                    cwd=scratch,
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                raise InputError(f"the job cannot be started ({error}); pass long code as a file") from error
            with process:
                watched = watch(process, job.limits, lambda: kill_tree(process.pid))
                kill_tree(process.pid)
        return watched.outcome(process.returncode, self.name, ("python", *job.arguments))
