"""Selects a repository's source files, and records why other files are skipped."""

import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable

from xkg.build.code.codebase import Skipped
from xkg.build.code.languages.cython import SUFFIXES as CYTHON
from xkg.build.code.languages.grammars import SUFFIXES
from xkg.build.code.languages.r import SUFFIXES as R
from xkg.build.repositories.checkout import File
from xkg.build.repositories.clone import MAX_READ_BYTES

MAX_SOURCE_BYTES = 1_000_000
_EXAMPLES = 5
_HASHED = ("py", "ipynb", *CYTHON, *R)

_VENDORED = {
    "vendor", "vendors", "_vendor", "vendored", "third_party", "thirdparty", "third-party", "3rdparty", "external",
    "externals", "extern", "site-packages", "dist-packages", "node_modules", "bower_components", "venv", ".venv",
    ".tox",
}  # fmt: skip
_OTHER_SOURCE = {
    "rmd": "R", "lua": "Lua", "scala": "Scala", "kt": "Kotlin", "swift": "Swift", "rb": "Ruby", "pl": "Perl",
    "mm": "Objective-C", "f": "Fortran",
    "f90": "Fortran", "sh": "shell", "bash": "shell",
    "pyi": "Python stub", "hs": "Haskell", "ml": "OCaml", "sql": "SQL",
}  # fmt: skip
# JavaScript in these folders is build output or web page code, mostly copied from libraries.
_WEB_PAGE = {"docs", "doc", "website", "static", "_static", "assets", "public", "dist", "_site"}
_SCRIPTS = {"js", "mjs", "cjs"}
_LARGEST_POINTER = 200  # bytes in a Git LFS pointer
_OBJECTIVE_C = re.compile(rb"(?m)^(?:#import\b|@(?:interface|implementation|import|protocol)\b)")
_GENERATED_NAME = re.compile(
    r"_pb2(_grpc)?\.py$|(^|/)\.ipynb_checkpoints/|\.pb\.(h|cc|c)$|\.grpc\.pb\.|[.-]min\.[cm]?js$|\.bundle\.js$|(^|/)moc_[^/]*\.cpp$"
)
_GENERATED_HEAD = re.compile(r"(?i)auto-?\s?generated|generated (by|from|with) |do not edit|@generated")


class Skips:
    def __init__(self) -> None:
        self.skipped: dict[str, list[str]] = {}

    def add(self, reason: str, path: str) -> None:
        self.skipped.setdefault(reason, []).append(path)

    def listed(self) -> tuple[Skipped, ...]:
        return tuple(
            Skipped.model_validate(
                {"reason": reason, "count": len(paths), "examples": tuple(sorted(paths)[:_EXAMPLES])}
            )
            for reason, paths in sorted(self.skipped.items())
        )


def suffix(path: str) -> str:
    """Returns a file name's suffix in lower case, without the dot. Returns '' if the name has no suffix."""
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name[1:] else ""


def is_wanted(file: File, skipped: Skips) -> bool:
    """Returns whether a file may be source in a supported language, according to its name and size."""
    ending = suffix(file.path)
    readable = ending in _HASHED or ending in SUFFIXES
    folders = file.path.split("/")[:-1]
    vendored = not _VENDORED.isdisjoint(folders) or (ending in _SCRIPTS and not _WEB_PAGE.isdisjoint(folders))
    reason = None
    if file.kind == "link":
        reason = "link"
    elif file.kind == "submodule":
        reason = "submodule"
    elif (readable or ending in _OTHER_SOURCE) and vendored:
        reason = "vendored"
    elif file.size is None:
        reason = "unreadable"
    elif ending in _OTHER_SOURCE:
        reason = "other-language"
    elif readable and _GENERATED_NAME.search(file.path):
        reason = "generated"
    elif readable and file.size > (MAX_READ_BYTES if ending == "ipynb" else MAX_SOURCE_BYTES):
        reason = "too-large"
    if reason:
        skipped.add(reason, file.path)
        return False
    size = file.size or 0
    return readable or size <= _LARGEST_POINTER or (not ending and size < 100_000)


def is_source(path: str, content: bytes, skipped: Skips) -> bool:
    """Returns whether the content is hand-written source code."""
    ending = suffix(path)
    if ending and ending not in _HASHED and ending not in SUFFIXES:
        return False  # the file was read because it could be a Git LFS pointer
    if not ending and not re.match(rb"#![^\n]*\bpython", content):
        return False  # without a suffix, only a shebang makes it Python
    if ending == "m" and _OBJECTIVE_C.search(content):
        skipped.add("other-language", path)
        return False
    if b"\0" in content[:8192] and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        skipped.add("binary", path)
        return False
    lines = content[:2000].decode("utf-8", "replace").split("\n")[:10]
    marks = ("#",) if suffix(path) in (*_HASHED, "") else ("//", "/*", "*", "#", "%")
    head = [line for line in lines if line.lstrip().startswith(marks)]
    longest = max((len(line) for line in content.split(b"\n")), default=0)
    minified = longest > 20_000 and longest * 2 > len(content)
    if minified or any(_GENERATED_HEAD.search(line) for line in head):
        skipped.add("generated", path)
        return False
    return True


def is_pointer(content: bytes) -> bool:
    """Returns whether the file is a Git LFS pointer (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md)."""
    return content.startswith(b"version https://git-lfs.github.com/spec/")


def unread_languages(files: Iterable[File]) -> dict[str, int]:
    """Counts the files in each recognised but unsupported language. The most common language comes first."""
    counts = Counter(_OTHER_SOURCE[ending] for f in files if (ending := suffix(f.path)) in _OTHER_SOURCE)
    return dict(counts.most_common())


def decode(content: bytes) -> str:
    """Decodes the text with its declared encoding (PEP 263). Replaces undecodable bytes with U+FFFD and all line
    endings with line feeds."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = content.decode("utf-16", "replace")
    else:
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
            text = content.decode(encoding, "replace")
        except (SyntaxError, LookupError, UnicodeError):
            text = content.decode("utf-8", "replace")
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
