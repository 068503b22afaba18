"""Runs a script on code from the graph, in the code's environment, for the command, the Python API, the MCP tool and
the web page.

Runs are not stored, do not change the graph or its evidence, and do not affect later runs."""

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from xkg.build.verify import environments_for
from xkg.config import Settings
from xkg.errors import InputError, PackagesError, SandboxUnavailableError
from xkg.model import Code, Level, paper_of
from xkg.sandbox.evidence.failure_causes import Cause, cause_of
from xkg.sandbox.evidence.static_checks import check_parsed, failure, lacking
from xkg.sandbox.packages.disk_quota import in_use
from xkg.sandbox.packages.environments import UvEnvironments
from xkg.sandbox.runner import Environment, Outcome, Runner
from xkg.sandbox.script_run import LeftFile, ScriptRun, run_script
from xkg.sandbox.select import limits_for, runner_for
from xkg.serve.answers.lookup import code_node
from xkg.serve.answers.quoting import one_line
from xkg.serve.running.answer import MediaType, RunAnswer, RunFile
from xkg.serve.running.example import example
from xkg.serve.running.pictures import picture_of
from xkg.text.unicode import printable_line

if TYPE_CHECKING:
    from xkg.sandbox.packages.plan import Installing
    from xkg.serve.service import Service

LONGEST_SCRIPT = 200_000
_LONGEST_NAME = 200
_SIGNS = frozenset("_-.+=@,()[] ")


class Runs:
    """Runs scripts on code from `service`'s graph. Thread-safe.

    Methods raise `UnknownIdError` if the code is unknown, and the same errors as `Service`."""

    def __init__(self, service: "Service", settings: Settings) -> None:
        self._service = service
        self._settings = settings
        self._made: dict[str, Environment] = {}

    def code(self, reference: str) -> tuple[Code, str]:
        """Returns the code with this id, technique id or technique name, and the name of its technique. Raises
        `InputError` if the code cannot be run."""
        with self._service.snapshot() as snapshot:
            code, name = code_node(snapshot, reference)
        if code.language != "python":
            raise InputError(f"this code is {code.language}, but only Python can be run")
        parsed = check_parsed(code.implementation)
        if parsed.level is Level.NONE:
            raise InputError(f"this code cannot run on its own: {one_line(parsed.reason or '')}")
        return code, name

    def example(self, reference: str) -> str:
        """Returns an example script for this code. Raises the same errors as `code`."""
        code, name = self.code(reference)
        return example(code, name)

    def environment(self, code: Code, notify: "Callable[[Installing], None]" = lambda _: None) -> Environment:
        """Returns the code's environment, which contains the same packages as in `xkg verify` and any packages listed
        in the settings. `notify` receives the packages to be installed. Raises `PackagesError` with the reason if a
        required package is missing, and `SandboxUnavailableError` if there is no sandbox."""
        known = self._made.get(code.id)
        if known is not None and (known.site is None or known.site.is_dir()):
            return known
        maker = UvEnvironments(self._settings.environment, self._runner(), notify)
        with self._service.snapshot() as snapshot:
            bundle = snapshot.bundle(paper_of(code.id))
        given, paper = self._settings.environment, bundle.paper
        paper = paper.model_copy(update={"packages": (*paper.packages, *given.packages), "cpu": paper.cpu or given.cpu})
        bundle = bundle.model_copy(update={"paper": paper, "code": (code,)})
        made = environments_for([bundle], maker)[code.id]
        if absent := lacking(check_parsed(code.implementation), code.implementation, made):
            raise PackagesError(one_line(absent.reason or ""))
        self._made[code.id] = made
        return made

    def run(
        self,
        reference: str,
        script: str,
        *,
        file_name: str = "script.py",
        seconds: float | None = None,
        notify: "Callable[[Installing], None]" = lambda _: None,
    ) -> RunAnswer:
        """Runs the script and returns the result, which includes any errors in the script. `seconds` defaults to
        `sandbox.seconds`. `file_name` is the script's name in tracebacks. Raises the same errors as `code` and
        `environment`, and `InputError` if the script is empty or too long."""
        if not script.strip():
            raise InputError("the script is empty; pass lines of Python that use the code")
        if len(script) > LONGEST_SCRIPT:
            raise InputError(f"the script has {len(script):,} characters; use at most {LONGEST_SCRIPT:,}")
        code, name = self.code(reference)
        runner, limits = self._runner(), limits_for(self._settings.sandbox)
        if seconds is not None:
            limits = limits.model_copy(update={"seconds": seconds})
        environment = self.environment(code, notify)
        with in_use(environment):
            ran = run_script(code.implementation, script, runner, environment, limits, file_name)
        return _answer(code, name, environment, ran, _error(ran.outcome, failure(ran.outcome, limits)))

    def _runner(self) -> Runner:
        runner = runner_for(self._settings.sandbox)
        if runner.name == "unsafe-subprocess":
            raise SandboxUnavailableError(
                "scripts run only in a sandbox; unset XKG_SANDBOX__RUNNER, and run `xkg doctor`"
            )
        return runner


def _error(outcome: Outcome, why: str) -> str:
    if outcome.ok:
        return ""
    status = f"status {outcome.exit_code}: " if outcome.ended == "exited" else ""
    remedy = " (runs have no network)" if cause_of(outcome) is Cause.DOWNLOAD else ""
    if outcome.ended == "timeout":
        remedy += "; pass a larger `seconds`, or do less"
    return f"{status}{one_line(why)}{remedy}"


def _answer(code: Code, name: str, environment: Environment, ran: ScriptRun, error: str) -> RunAnswer:
    files: list[RunFile] = []
    left_out: list[str] = []
    for left in ran.files:
        if (why := _refused_name(left.name)) is None:
            files.append(_file(left))
        else:
            left_out.append(f"{printable_line(left.name)[:_LONGEST_NAME]}: {why}")
    left_out += [f"{printable_line(other.name)[:_LONGEST_NAME]}: {printable_line(other.why)}" for other in ran.left_out]
    files.sort(key=lambda file: not file.media_type.startswith("image/"))
    if ran.more > 0:
        left_out.append(f"{ran.more:,} more")
    return RunAnswer(
        code=code.id,
        name=name,
        ended=ran.outcome.ended,
        exit_code=ran.outcome.exit_code,
        error=error,
        output=ran.outcome.output,
        files=tuple(files),
        left_out=tuple(left_out),
        seconds=round(ran.outcome.seconds, 3),
        peak_memory_mb=round(ran.outcome.peak_memory_mb, 1),
        runner=ran.outcome.runner,
        packages=environment.packages,
    )


def _refused_name(path: str) -> str | None:
    """Returns the reason why a file with this name must not be returned, or None if the name is safe. Hidden files can
    affect shells and editors, and some characters have a special meaning on other systems."""
    if len(path) > _LONGEST_NAME:
        return "its name is too long"
    for part in path.split("/"):
        if not part or part.startswith(".") or part != part.strip(" ").rstrip("."):
            return "its name is hidden, or refers to a different file on other systems"
        if not all(sign.isalnum() or sign in _SIGNS for sign in part):
            return "its name contains more than letters, digits and _ - . + = @ , ( ) [ ]"
    return None


def _file(left: LeftFile) -> RunFile:
    media_type: MediaType = "application/octet-stream"
    content, written = left.content, ""
    picture = picture_of(content)
    if picture is not None:
        media_type, content = picture.media_type, picture.content
    if picture is None or media_type == "image/svg+xml":
        with contextlib.suppress(UnicodeDecodeError):
            written = content.decode() if b"\0" not in content else ""
            if picture is None and b"\0" not in content:
                media_type = "text/plain"
    return RunFile(name=left.name, media_type=media_type, size=len(content), written=written, content=content)
