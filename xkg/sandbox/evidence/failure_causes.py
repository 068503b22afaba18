"""Classifies why a test failed, based on its output."""

import re
import sys
from collections.abc import Set
from enum import StrEnum

from xkg.sandbox.runner import Outcome


class Cause(StrEnum):
    """The outcome of running a code node. `PASSES`: the test passes, and is known to fail on wrong code.
    `PROVES_NOTHING`: the test passes, but would also pass if the code did something else. `NOT_SETTLED`: the test
    passes, but the machine was too slow to check more. All other values are reasons for failure."""

    PASSES = "passes"
    PROVES_NOTHING = "test proves nothing"
    NOT_SETTLED = "not settled"
    OWN_BUG = "own bug"
    REMOVED_API = "removed API"
    MISSING_PACKAGE = "missing package"
    DOWNLOAD = "wants a download"
    TIME = "time"
    MEMORY = "memory"
    KILLED = "killed its runner"
    NO_TEST = "no test"
    LANGUAGE = "language that is not run"


# Matches messages from libraries that cannot reach the network or that need a download first.
_DOWNLOAD = re.compile(
    r"getaddrinfo|gaierror|name resolution|Name or service not known|nodename nor servname|Network is unreachable"
    r"|Max retries exceeded|NameResolutionError|NewConnectionError|ConnectionRefusedError|URLError"
    r"|(?:requests|httpx|urllib3|aiohttp|httpcore)[\w.]{0,80}Connect\w{0,40}Error"
    r"|LocalEntryNotFoundError|OfflineModeIsEnabled|[Oo]ffline mode|couldn't connect to|could not connect to"
    r"|[Cc]an(?:'|no)t load (?:the )?(?:tokenizer|model|image processor|feature extractor|processor|config\w*) for"
    r"|is not a local folder and is not a valid model identifier|Couldn't reach .{0,200} on the Hub"
    r"|NLTK Downloader|\[E050\]|download=True to download|huggingface\.co"
)
_REMOVED = re.compile(
    r"has been removed|was removed (?:from|in)|were removed in|no longer (?:supported|available|exists|part of)"
    r"|is not supported (?:since|anymore|any more)|numpy\.dtype size changed|binary incompatibility"
)
_NOT_INSTALLED = re.compile(
    r"requires? (?:the )?[\w.-]+ (?:library|package|to be installed)|(?:please|you need to|need to) (?:pip )?install"
    r"|is not installed|cannot open shared object file|pip install ",
    re.IGNORECASE,
)
_ABSENT = re.compile(
    r"No module named '([\w.]{1,100})|[Mm]issing optional dependency '(\w{1,100})'|Import (\w{1,100})`? failed"
    # The rich library indents and wraps tracebacks in logs.
    r"|^[^\S\n]{0,200}[\w.]{0,100}(?:Error|Installed): (?:[^\n]{0,300}\W)?(\w{1,100}) is not\s{1,300}installed",
    re.MULTILINE,
)
_NO_SUCH_NAME = re.compile(r"cannot import name '(\w{1,100})' from '([\w.]{1,100})'")
_NO_ATTRIBUTE = re.compile(r"(?<!initialized )module '([\w.]{1,100})' has no attribute '(\w{1,100})'")
_LAST = re.compile(r"^(?P<kind>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?$")
_FRAME = re.compile(r'^[^\S\n]++File "(?P<path>[^"]+)", line \d+(?:, in (?P<function>.*))?$', re.MULTILINE)
_OWN = ("implementation.py", "test.py", "harness.py")


def cause_of(outcome: Outcome, own_names: Set[str] = frozenset()) -> Cause:
    """Returns the cause of a failed run. `own_names` are the node's own classes and functions. A missing attribute on
    one of these classes is not blamed on a library."""
    text = outcome.output
    if outcome.ended == "memory":
        return Cause.MEMORY
    if outcome.ended == "timeout":
        return Cause.DOWNLOAD if _DOWNLOAD.search(text) else Cause.TIME
    if outcome.ended != "exited":
        return Cause.KILLED
    chain = _chain(text)
    kind, message = last_error(text)
    if kind == "MemoryError" or "can't allocate memory" in message or "OutOfMemoryError" in kind:
        return Cause.MEMORY
    if kind == "ModuleNotFoundError":
        return _missing_module(message)
    if _DOWNLOAD.search(chain):
        return Cause.DOWNLOAD
    if _REMOVED.search(message):
        return Cause.REMOVED_API
    if kind == "ImportError":
        return _import_error(message)
    if _NOT_INSTALLED.search(message):
        return Cause.MISSING_PACKAGE
    if kind == "AttributeError":
        return _attribute_error(message, chain, own_names)
    if kind == "TypeError":
        return _type_error(message, own_names)
    return Cause.OWN_BUG


def last_error(text: str) -> tuple[str, str]:
    """Returns the class and message of the last uncaught exception in a run's output, or two empty strings if there is
    no exception. The message extends to the end of the output, because some libraries raise multi-line messages."""
    lines = _chain(text).splitlines()
    for i in range(len(lines) - 1, -1, -1):
        match = _LAST.match(lines[i])
        if match and i and lines[i - 1].startswith(" "):
            return match["kind"].rpartition(".")[2], "\n".join([match["message"] or "", *lines[i + 1 :]]).strip()
    return "", ""


def _chain(text: str) -> str:
    """Returns the last traceback in the output, including chained exceptions."""
    parts = text.split("Traceback (most recent call last):")
    if len(parts) == 1:
        return text[-4000:]
    chain = [parts[-1]]
    for part in reversed(parts[1:-1]):
        end = part.rstrip()
        if not end.endswith(("direct cause of the following exception:", "another exception occurred:")):
            break
        chain.insert(0, part)
    return "".join(chain)


def missing_modules(output: str) -> list[str]:
    """Returns the dotted names of the modules that the last error and its causes report as missing, in order. Libraries
    may report a package name that differs from the module name."""
    return list(dict.fromkeys(name for names in _ABSENT.findall(_chain(output)) for name in names if name))


def lacking_modules(output: str) -> list[tuple[str, str]]:
    """Returns the names that modules lack according to the last error, as pairs of a module's dotted name and the
    missing name."""
    last = output.rpartition("Traceback (most recent call last):")[2]
    found = [(module, name) for name, module in _NO_SUCH_NAME.findall(last)] + _NO_ATTRIBUTE.findall(last)
    return list(dict.fromkeys(found))


def missing_packages(output: str) -> list[str]:
    """Returns the top-level names of the modules found by `missing_modules`."""
    return list(dict.fromkeys(module.partition(".")[0] for module in missing_modules(output)))


def _missing_module(message: str) -> Cause:
    match = re.search(r"No module named '([\w.]+)'(; '[\w.]+' is not a package)?", message)
    name = match[1] if match else ""
    # If a submodule or a former standard library module is missing, its API was removed.
    removed = "." in name or name in _REMOVED_MODULES
    return Cause.REMOVED_API if removed else Cause.MISSING_PACKAGE


# These standard library modules were removed by PEP 594, PEP 632 and earlier changes.
_REMOVED_MODULES = {
    *"aifc asynchat asyncore audioop cgi cgitb chunk crypt distutils imghdr imp lib2to3 mailcap msilib nis".split(),
    *"nntplib ossaudiodev pipes smtpd sndhdr spwd sunau telnetlib uu xdrlib".split(),
} - sys.stdlib_module_names | {"imp", "distutils", "asynchat", "asyncore", "smtpd"}


def _import_error(message: str) -> Cause:
    match = re.match(r"cannot import name '[^']+' from (?:partially initialized module )?'([\w.]+)'", message)
    if match is None:
        return Cause.MISSING_PACKAGE if _NOT_INSTALLED.search(message) else Cause.OWN_BUG
    return Cause.OWN_BUG if match[1] in ("implementation", "__main__") else Cause.REMOVED_API


def _attribute_error(message: str, chain: str, own_names: Set[str]) -> Cause:
    module = re.match(r"(?:partially initialized )?module '([\w.]+)' has no attribute", message)
    if module:
        return Cause.OWN_BUG if module[1] in ("implementation", "__main__") else Cause.REMOVED_API
    of = re.match(r"(?:type object )?'([\w.]+)'(?: object)? has no attribute", message)
    if of is None:
        return Cause.REMOVED_API if _raised_elsewhere(chain) else Cause.OWN_BUG
    name = of[1].rpartition(".")[2]
    if name in own_names or name in _PLAIN:
        return Cause.OWN_BUG
    return Cause.REMOVED_API


_PLAIN = {*"NoneType list tuple dict set frozenset str bytes int float bool function method generator".split()}


def _type_error(message: str, own_names: Set[str]) -> Cause:
    call = re.match(r"([\w.<>]+)\(\) got an unexpected keyword argument", message)
    if call is None:
        return Cause.OWN_BUG
    # A method is identified by its class, because every library has an `__init__`.
    return Cause.OWN_BUG if call[1].partition(".")[0] in own_names else Cause.REMOVED_API


def _raised_elsewhere(chain: str) -> bool:
    frames = [match["path"] for match in _FRAME.finditer(chain)]
    return bool(frames) and not frames[-1].endswith(_OWN)
