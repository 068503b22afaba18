"""Classifies failed runs by their output."""

import re
from collections.abc import Collection, Mapping
from typing import Literal

from xkg.agents.workspace.command import RunResult
from xkg.agents.workspace.run_hints import NO_DISPLAY, PYTHON_2
from xkg.sandbox.diagnosis.downloads import NETWORK
from xkg.sandbox.evidence.failure_causes import last_error, missing_packages
from xkg.sandbox.evidence.tracebacks import TRACEBACK
from xkg.sandbox.isolation.bubblewrap_mounts import HOME
from xkg.sandbox.packages.distributions import distribution_of

Failure = Literal[
    "no place", "does not apply", "refused", "shape", "empty data", "missing data", "broken checkpoint", "removed API",
    "missing package", "missing library", "Python 2", "needs the network", "needs a GPU", "needs a terminal",
    "needs a display", "time", "memory", "disk", "output", "no metric", "not in force", "not a number", "killed",
    "own error", "error",
]  # fmt: skip

_ADVICE: dict[Failure, str] = {
    "missing library": "install the system package that provides the library; runs can use this machine's libraries "
    "(for OpenGL: apt-get install libgl1 libegl1 libosmesa6)",
    "Python 2": "convert the code to Python 3 first",
    "own error": "the repository's own code is inconsistent; fix the failing line, or use another commit",
    "missing data": "runs only see files from the repository, from --data PATH=FOLDER, and from --setup",
    "broken checkpoint": "fetch the whole file (git lfs pull), then pass its folder with --data",
    "empty data": "the loader found no data; check the folder passed with --data",
    "needs the network": "put the files that the code downloads into a folder; pass the folder with --data PATH=FOLDER",
    "needs a GPU": "or run the command on a machine with a GPU, using --device nvidia",
    "needs a terminal": "answer the prompt, as in --run \"printf '\\n%.0s' {1..99} | python …\", or use a command that "
    "does not prompt",
    "needs a display": "runs have no display; turn off drawing with a command option, or remove the line that draws",
    "time": "raise --seconds, or train for fewer epochs",
    "memory": "raise --memory-mb, or use a smaller batch",
    "disk": "raise --disk-mb, or write less",
    "no metric": "set --metric to a pattern for a line of output, or to a file that the run writes "
    "(scores.json:loss:min)",
    "not a number": "training diverges, or the metric's pattern matches something else",
}

_BY_MESSAGE: tuple[tuple[Failure, re.Pattern[str]], ...] = (
    ("needs a terminal", re.compile(r"EOFError|not a tty|Inappropriate ioctl|termios\.error|no stdin", re.I)),
    ("needs a display", NO_DISPLAY),
    (
        "needs the network",
        re.compile(
            rf"{NETWORK}|URLError|NewConnectionError|ConnectionRefusedError|couldn't connect to|huggingface\.co"
        ),
    ),
    (
        "broken checkpoint",
        re.compile(
            r"BadZipFile|UnpicklingError|PytorchStreamReader|git-lfs|EOF in archive"
            r"|ReadError: unexpected end of data|not a gzip|\btruncated\b|invalid load key"
        ),
    ),
    ("Python 2", PYTHON_2),
    ("removed API", re.compile(r"No module named '\w+\.|dtype size changed|binary incompatib|_ARRAY_API not found")),
    ("missing package", re.compile(r"ModuleNotFoundError|No module named")),
    (
        "removed API",
        re.compile(
            r"module '[\w.]+' has no attribute|cannot import name|has been removed|was removed (?:in|from)|no longer"
            r"|is deprecated|got an unexpected keyword argument"
        ),
    ),
    (
        "empty data",
        re.compile(
            r"num_samples=0|0 sample\(s\)|[Ff]ound array with 0|empty (?:sequence|list|dataset|slice|array)"
            r"|arg is an empty|zero-size array|need at least one array"
        ),
    ),
    (
        "missing library",
        re.compile(r"cannot open shared object file|(?:OpenGL|EGL|GLX|OSMesa|glfw)\b.{0,80}(?:not|fail|[Ee]rror)"),
    ),
    ("missing data", re.compile(r"FileNotFoundError|No such file or directory|is not a directory")),
    (
        "shape",
        re.compile(
            r"shapes? .{0,300}(?:not aligned|mismatch|broadcast|incompatible)|size mismatch|mat1 and mat2|dimension"
            r"|could not be broadcast|inhomogeneous shape|too many indices|axis \d+ is out of bounds|matmul"
        ),
    ),
    ("memory", re.compile(r"MemoryError|[Oo]ut of memory|Cannot allocate memory")),
    ("disk", re.compile(r"No space left on device|File too large")),
)
_TAIL = 4000
_INSTALL = re.compile(r"pip3? install (?:-\S+ ){0,3}['\"]?([A-Za-z][\w.-]{0,99}+)(?!\[)")
_REMOVED_IN = re.compile(
    r"removed (?:in|from)(?: the)?(?: ([A-Za-z][\w-]{0,99}))??(?: since)?(?: version)? v?(\d{1,4}(?:\.\d{1,4})+)"
)
# NumPy's message mentions only the version that deprecated the aliases:
# https://numpy.org/doc/stable/release/1.24.0-notes.html
_ALIAS = re.compile(r"was a deprecated alias for the builtin")
_OF_MODULE = re.compile(r"(?:module|from|named) '(\w{1,100})[\w.]{0,200}'")
_CALL = re.compile(
    r"([\w.<>]{1,200})\(\) (?:got an unexpected|got multiple values|missing \d+ required|takes (?:from )?(?:no|\d+) )"
)
_LAST_FRAME = re.compile(
    rf'File "(?:{HOME}/work/)?(?P<path>[^"\n]{{1,300}})", line \d++[^\n]{{0,300}}+\n(?P<code>[^\n]{{0,1000}}+)'
)
_CALLED = re.compile(r"(\w{1,100})\(")


def advice_on(kind: Failure, output: str) -> str:
    """Returns a remedy for a kind of failure, with details from the run's output."""
    _, message = last_error(output[-_TAIL:])
    if kind == "missing package":
        stated, modules = _INSTALL.search(message), missing_packages(output.rpartition(TRACEBACK)[2])
        package = stated[1] if stated else distribution_of(modules[0]) or modules[0] if modules else "PACKAGE"
        return (
            f"add the package that provides the module, as in --with {package}, or free disk space if the package is "
            "too large"
        )
    if kind != "removed API":
        return _ADVICE.get(kind, "get the command to run on its own first")
    module, removed = _OF_MODULE.search(message), _REMOVED_IN.search(message)
    name = module[1] if module else "PACKAGE"
    package = (removed[1] if removed else None) or distribution_of(name) or name
    version = "1.24" if _ALIAS.search(message) else removed[2] if removed else "VERSION"
    older = f"--with '{package.lower() if removed else package}<{version}'"
    return f"add {older}" + ("" if version != "VERSION" else ", where VERSION is the version that removed the name")


def failure_of(result: RunResult, files: Mapping[str, bytes] | None = None) -> Failure:
    """Classifies a failed run. `files` contains the repository's files by path."""
    kind = _kind(result)
    return "own error" if kind in ("removed API", "error") and _is_own(result.output[-_TAIL:], files or {}) else kind


def _is_own(output: str, files: Mapping[str, bytes]) -> bool:
    """Returns whether the repository caused the error: its code called its own function with wrong arguments, or
    imported a module that its own package lacks."""
    error, message = last_error(output)
    if error == "ModuleNotFoundError":
        return any(f"/{package}/" in f"/{path}" for package in missing_packages(message) for path in files)
    frames = list(_LAST_FRAME.finditer(output.rpartition(TRACEBACK)[2]))
    call = _CALL.match(message) if error == "TypeError" else None
    if call is None or not frames or frames[-1]["path"] not in files:
        return False
    *outer, name = call[1].replace(".<locals>", "").split(".")
    # Before Python 3.10, error messages omit a method's class, so the class is read from the failing line.
    is_method = name.startswith("__")
    names = outer[-1:] or (_CALLED.findall(frames[-1]["code"]) if is_method else [name])
    defined = [rb"^[ \t]*(?:async )?(?:def|class) %s\b" % re.escape(each.encode()) for each in names]
    return any(re.search(each, files[path], re.M) for path in files if path.endswith(".py") for each in defined)


def raised_by_itself(output: str, files: Collection[str]) -> bool:
    """Returns whether the last error comes from a `raise` or `assert` in one of the repository's `files`. If another
    line failed, the error may come from a library, because tracebacks do not show compiled code."""
    frames = list(_LAST_FRAME.finditer(output.rpartition(TRACEBACK)[2]))
    return bool(frames) and frames[-1]["path"] in files and frames[-1]["code"].split()[:1] in (["raise"], ["assert"])


def _kind(result: RunResult) -> Failure:
    by_limit: dict[str, Failure] = {
        "timeout": "time", "memory": "memory", "disk": "disk", "output": "output", "killed": "killed",
    }  # fmt: skip
    if result.ended in by_limit:
        return by_limit[result.ended]
    if result.downloads or result.refused:
        return "needs the network"
    if result.lacks_gpu:
        return "needs a GPU"
    _, traceback, raised = result.output[-_TAIL:].partition(TRACEBACK)
    # If there is a traceback, search only its messages, and ignore its source lines and earlier output.
    shown = (
        [line for line in raised.splitlines() if not line.startswith(" ")]
        if traceback
        else result.output[-_TAIL:].splitlines()
    )
    lines = [line[:600] for line in shown if line.strip()]
    for text in ("\n".join(lines[-1:]), "\n".join(lines)):
        for kind, pattern in _BY_MESSAGE:
            if pattern.search(text):
                return kind
    return "error"


_NOT_A_NUMBER = re.compile(r"(?<![a-z])(?:nan|inf|infinity)(?![a-z])", re.IGNORECASE)


def metric_failure(problem: str, output: str) -> Failure:
    """Classifies a run that exited normally but reported no metric, or a metric that is not a number. The last lines of
    the output may reveal the cause."""
    if "no number" in problem or "diverged" in problem:
        return "not a number"
    return "not a number" if _NOT_A_NUMBER.search("\n".join(output[-_TAIL:].splitlines()[-3:])) else "no metric"
