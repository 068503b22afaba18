"""Defines `Codebase`, the data model for a parsed repository. `parse_repository` creates a codebase for grounding and
slicing."""

from typing import Literal

from pydantic import Field

from xkg.build.code.settings import Setting
from xkg.model import Repository, Symbol
from xkg.value import Value

LanguageName = Literal[
    "python", "cython", "javascript", "typescript", "c", "cpp", "cuda", "julia", "rust", "java", "go", "csharp", "php",
    "r", "matlab",
]  # fmt: skip
CommentMark = Literal["#", "//", "%"]


def comment_mark(language: LanguageName) -> CommentMark:
    """Returns the characters that start a line comment in a language."""
    if language == "matlab":
        return "%"
    return "#" if language in ("python", "cython", "julia", "r") else "//"


class Import(Value):
    """One name bound by an import statement.

    `import a.b as c` has name "c", module "a.b" and attribute None. `from .m import f as g` has name "g", module ".m"
    and attribute "f". `from m import *` has name "*" and attribute "*". `target` is the path that `module` refers to,
    or None for modules outside the repository."""

    name: str
    module: str
    attribute: str | None
    line: int
    target: str | None = None


class SourceSymbol(Value):
    """A symbol with its docstring, comments and the id of the enclosing symbol."""

    symbol: Symbol
    docstring: str = ""
    comments: str = ""
    parent: str | None = None


class Module(Value):
    """A parsed source file. `broken` is True if the parser reported errors, for example because of Python 2 or a
    truncated file. Symbols may be missing from a broken file.

    For a notebook, `text` is the concatenation of its code cells, and line numbers refer to that text. `imports` is
    filled in for Python only."""

    path: str
    text: str
    language: LanguageName = "python"
    dotted: str = ""
    imports: tuple[Import, ...] = ()
    symbols: tuple[SourceSymbol, ...] = ()
    broken: bool = False


SkipReason = Literal[
    "binary", "generated", "vendored", "submodule", "lfs-pointer", "too-large", "other-language", "unreadable", "link",
    "broken-notebook", "too-slow", "out-of-memory", "crashed",
]  # fmt: skip
# The parsing process died on the file.
DEADLY: frozenset[SkipReason] = frozenset({"too-slow", "out-of-memory", "crashed"})


class Skipped(Value):
    """Files left unparsed for the same reason, with a few examples."""

    reason: SkipReason
    count: int
    examples: tuple[str, ...] = ()


class Codebase(Value):
    """A parsed repository. `files` lists every path in the commit. `requirements` and `declared` come from
    `read_requirements`. `roots` contains the folders that the repository imports under its own name (see
    `root_packages`). `settings` contains the values in the repository's configuration files."""

    repository: Repository
    files: tuple[str, ...] = ()
    modules: tuple[Module, ...] = ()
    readme: str = ""
    requirements: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    roots: dict[str, tuple[str, ...]] = Field(default={})
    settings: tuple[Setting, ...] = ()
    skipped: tuple[Skipped, ...] = ()

    def symbols(self) -> dict[str, SourceSymbol]:
        """Returns all symbols, keyed by id, in path and line order."""
        return {s.symbol.id: s for m in self.modules for s in m.symbols}

    def module(self, symbol: Symbol) -> Module:
        """Returns the file that contains a symbol."""
        return next(m for m in self.modules if m.path == symbol.path)

    def source(self, symbol: Symbol) -> str:
        """Returns the lines of a symbol in its file."""
        return "\n".join(self.module(symbol).text.split("\n")[symbol.start_line - 1 : symbol.end_line])


# The maximum number of symbols that cover a line, on average.
_MOST_COVERED = 50
_FREE_CHARACTERS = 100_000


def is_tangled(module: Module) -> bool:
    """Returns whether the file has more nested symbols, or more symbols on shared lines, than a hand-written file
    would. Processing such a file symbol by symbol would take quadratic time."""
    ends = [0]
    for line in module.text.split("\n"):
        ends.append(ends[-1] + len(line) + 1)
    last = len(ends) - 1
    spans = ((s.symbol.start_line, s.symbol.end_line) for s in module.symbols)
    covered = sum(max(0, ends[min(end, last)] - ends[max(0, min(start, last) - 1)]) for start, end in spans)
    return covered > _MOST_COVERED * len(module.text) + _FREE_CHARACTERS
