"""Parses repositories from texts keyed by path, without files on disk."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from xkg.build.code.codebase import Codebase
from xkg.build.code.repository import parse_repository
from xkg.build.repositories.checkout import Checkout, File
from xkg.model import Repository

MADE = "local:made@0123456789"


def codebase_of(files: Mapping[str, str], identity: str = MADE, commit: str | None = None) -> Codebase:
    def read(paths: Iterable[str]) -> Iterator[bytes]:
        return (files[path].encode() for path in paths)

    entries = tuple(File(path, "file", len(text.encode())) for path, text in sorted(files.items()))
    return parse_repository(Checkout(Repository(id=identity, url="", commit=commit), entries, (), read))


def run(source: str, **names: Any) -> dict[str, Any]:
    """Runs a module and returns its names."""
    namespace = {"__name__": "made", "__file__": "made.py", **names}
    exec(compile(source, "made.py", "exec", dont_inherit=True), namespace)
    return namespace


def symbol(name: str) -> str:
    """Returns the symbol with id `path::name`."""
    return f"{MADE}:{name}"
