"""Runs a caller's script against a node's code in a separate sandbox, and returns its output and files.

Nothing persists after a run. All results (the output, file names and file contents) come from untrusted code."""

import json
from typing import Literal

from pydantic import Base64Bytes, Field

from xkg.sandbox.guest.source import guest_source
from xkg.sandbox.isolation.watchdog import Ended
from xkg.sandbox.runner import Environment, Job, Limits, Outcome, Runner
from xkg.value import Value

MOST_FILES = 20
FILE_BYTES, ALL_BYTES = 1 << 20, 4 << 20
OUTPUT_CHARACTERS = 128 << 10
"""Maximum length of the output. Only the end of a longer output is returned."""
_GRACE_SECONDS = 10
_OUTPUT_KB = (4 * OUTPUT_CHARACTERS + 2 * ALL_BYTES) >> 10


class LeftFile(Value):
    name: str = Field(max_length=5000)
    content: Base64Bytes


class LeftOut(Value):
    name: str = Field(max_length=5000)
    why: str = Field(max_length=200)


class ScriptRun(Value):
    """The result of a script. `files` are the files in the script's working folder. `left_out` lists files beyond the
    limits on number and size, and entries that are not files. `more` counts the entries that did not fit in
    `left_out`."""

    outcome: Outcome
    files: tuple[LeftFile, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    more: int = 0


class _Report(Value):
    ended: Literal["exited", "timeout"]
    exit_code: int | None
    files: tuple[LeftFile, ...] = Field(max_length=MOST_FILES)
    others: tuple[LeftOut, ...] = Field(max_length=100)
    more: int


def run_script(
    implementation: str, script: str, runner: Runner, environment: Environment, limits: Limits, name: str = "script.py"
) -> ScriptRun:
    """Runs `script` in a namespace that starts with the names from `implementation`. The `seconds` in `limits` apply to
    the script alone. Tracebacks show `name` as the script's file name. Raises `SandboxUnavailableError` as the runner
    does, but never because of what the script does."""
    request = {
        "name": name,
        "script": script,
        "seconds": limits.seconds,
        "most_files": MOST_FILES,
        "file_bytes": FILE_BYTES,
        "all_bytes": ALL_BYTES,
    }
    outcome = runner.run(
        Job(
            arguments=("run_script.py",),
            files={
                "run_script.py": guest_source("run_script"),
                **({"no_gpu.py": guest_source("no_gpu")} if environment.cpu else {}),
                "code/implementation.py": implementation,
                "request.json": json.dumps(request),
            },
            site=environment.site,
            python=environment.python,
            limits=limits.model_copy(update={"seconds": limits.seconds + _GRACE_SECONDS, "output_kb": _OUTPUT_KB}),
        )
    )
    output, _, last = outcome.output.rpartition("\n")
    try:
        report = _Report.model_validate_json(last if outcome.ok else "")
    except ValueError:  # the program that writes the report was killed by the script or a limit
        ended: Ended = "killed" if outcome.ended == "exited" else outcome.ended
        stopped = {"ended": ended, "exit_code": None, "output": outcome.output[-OUTPUT_CHARACTERS:]}
        return ScriptRun(outcome=outcome.model_copy(update=stopped))
    update: dict[str, object] = {"ended": report.ended, "exit_code": report.exit_code}
    update["output"] = output[-OUTPUT_CHARACTERS:]
    if report.exit_code is not None and report.exit_code < 0:
        update |= {"ended": "killed", "exit_code": 128 - report.exit_code}
    ran = outcome.model_copy(update=update)
    return ScriptRun(outcome=ran, files=report.files, left_out=report.others, more=report.more)
