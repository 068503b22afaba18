"""Reads the import names of a repository's own packages from its project files, without running code."""

import ast
import configparser
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from xkg.sandbox.evidence.python_ast import syntax_tree
from xkg.sandbox.packages.toml_text import read_toml

# The readers raise these errors if a file's content does not match its name, or is nested too deeply.
_NOT_OF_ITS_KIND = (
    ValueError, SyntaxError, RecursionError, MemoryError, configparser.Error, AttributeError, TypeError,
)  # fmt: skip


def declared_packages(files: Mapping[str, str]) -> frozenset[str]:
    """Returns top-level import names in lower case, as declared in `files` (path → text): `setup.py` (literals),
    `setup.cfg`, `pyproject.toml` (PEP 621, setuptools, Poetry, Flit, Hatch). The project's name is also included. Files
    that do not parse are ignored."""
    readers: dict[str, Callable[[str], Iterable[object]]] = {
        "pyproject.toml": _pyproject,
        "setup.cfg": _setup_cfg,
        "setup.py": _setup_py,
    }
    names = set()
    for path, text in files.items():
        if reader := readers.get(path.rpartition("/")[2]):
            try:
                stated = list(reader(text))
            except _NOT_OF_ITS_KIND:
                continue
            names |= {_top(name) for name in stated if isinstance(name, str)}
    return frozenset(names - {""})


def _top(name: str) -> str:
    return name.strip().partition(".")[0].replace("-", "_").lower()


def _setup_py(text: str) -> Iterator[object]:
    for call in ast.walk(syntax_tree(text)):
        for keyword in call.keywords if isinstance(call, ast.Call) and _is_setup(call.func) else ():
            match keyword.arg, keyword.value:
                case "name", ast.Constant(value=name):
                    yield name
                case "packages" | "py_modules", ast.List(elts=listed) | ast.Tuple(elts=listed):
                    yield from (item.value for item in listed if isinstance(item, ast.Constant))
                case "package_dir", ast.Dict(keys=keys):
                    yield from (key.value for key in keys if isinstance(key, ast.Constant))


def _is_setup(function: ast.expr) -> bool:
    return getattr(function, "id", None) == "setup" or getattr(function, "attr", None) == "setup"


def _setup_cfg(text: str) -> Iterator[object]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    yield parser.get("metadata", "name", fallback="")
    for key in ("packages", "py_modules", "package_dir"):
        lines = parser.get("options", key, fallback="").replace(",", "\n").splitlines()
        yield from (line.partition("=")[0] for line in lines if not line.strip().startswith("find"))


def _pyproject(text: str) -> Iterator[object]:
    table = read_toml(text)
    tool = table.get("tool", {})
    yield table.get("project", {}).get("name")
    poetry = tool.get("poetry", {})
    yield poetry.get("name")
    yield from (entry.get("include") for entry in poetry.get("packages", ()))
    yield from _setuptools(tool.get("setuptools", {}))
    yield tool.get("flit", {}).get("module", {}).get("name")
    wheel = tool.get("hatch", {}).get("build", {}).get("targets", {}).get("wheel", {})
    yield from (path.rstrip("/").rpartition("/")[2] for path in wheel.get("packages", ()))


def _setuptools(table: Mapping[str, Any]) -> Iterator[object]:
    packages = table.get("packages", ())
    yield from packages if isinstance(packages, list) else ()
    yield from table.get("py-modules", ())
    yield from table.get("package-dir", {})
