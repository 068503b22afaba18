"""The requirements of a repository, from every kind of file that states them, as plain lines. Nothing is run."""

import ast
import configparser
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import yaml

from xkg.sandbox.evidence.python_ast import syntax_tree
from xkg.sandbox.packages.toml_text import read_toml

# A conda match specification: channel::name, version, build.
_CONDA = re.compile(r"^(?:[\w./-]+::)?([A-Za-z0-9][\w.-]*)\s*([=<>!~][^\s]*)?(?:\s+\S+)?$")
# Names in conda's channels that the registry lacks, or has for something else.
_CONDA_NAMES = {
    "cudatoolkit": None,
    "cudnn": None,
    "opencv": "opencv-python",
    "pip": None,
    "py-opencv": "opencv-python",
    "py-xgboost": "xgboost",
    "pytables": "tables",
    "python": None,
    "pytorch": "torch",
    "pytorch-cpu": "torch",
    "pytorch-cuda": None,
    "pytorch-gpu": "torch",
    "pyg": "torch-geometric",
}
# What readers raise for text that is not of the kind that its file's name suggests, or nested too deep.
_NOT_OF_ITS_KIND = (
    ValueError, SyntaxError, RecursionError, MemoryError, configparser.Error, yaml.YAMLError, AttributeError, TypeError,
)  # fmt: skip
_LONGEST_YAML = 100_000  # characters; the parser takes half a second for them
_ASIDE = re.compile(r"(?i)(^|[^a-z])(dev|develop|tests?|testing|docs?|lint|third_party|vendor)([^a-z]|$)")


def requirement_lines(files: Mapping[str, str], mark: Callable[[str], None] = lambda _: None) -> list[str]:
    """Lines as `files` (path → text) state them for use, not for development: those of the outermost files first, of
    files for tests and documentation last. A package that comes from a git repository is `name @ git+…` or `git+…`;
    options and paths are omitted, files that do not parse ignored. `mark` is called with the path of each file.

    Files: `requirements*.txt` and `.in`, `pyproject.toml` (PEP 621 and Poetry), `setup.cfg`, literal lists in
    `setup.py`, conda's `environment.yml`, `Pipfile`."""
    lines: dict[str, None] = {}
    for path, text in sorted(
        files.items(), key=lambda file: (bool(_ASIDE.search(file[0])), file[0].count("/"), file[0])
    ):
        mark(path)
        name = path.rpartition("/")[2]
        try:
            stated = list(_reader(name)(text))
        except _NOT_OF_ITS_KIND:
            continue
        lines |= dict.fromkeys(line for raw in stated if (line := _plain(raw)))
    return list(lines)


def without_versions(lines: Iterable[str]) -> list[str]:
    """The same lines with the names of packages alone; lines with a URL do not change."""
    bare_lines: dict[str, None] = {}
    for line in lines:
        bare = re.match(r"([A-Za-z0-9][\w.-]*)(\[[^\]]*\])?(?=\s*($|[<>=!~;(,]|--))[^;]*(;.*)?", line)
        bare_lines[bare[1] + (bare[4] or "") if bare else line] = None
    return list(bare_lines)


def _plain(raw: object) -> str:
    line = re.sub(r"(^|\s)#.*", "", raw).strip() if isinstance(raw, str) else ""
    line = re.sub(r"^(-e|--editable)[\s=]+(?=git\+)", "", line)
    return "" if line.startswith(("-", ".", "/")) else line


def _reader(name: str) -> Callable[[str], Iterable[object]]:
    exact: dict[str, Callable[[str], Iterable[object]]] = {
        "pyproject.toml": _pyproject,
        "setup.cfg": _setup_cfg,
        "setup.py": _setup_py,
        "Pipfile": lambda text: _tables(read_toml(text).get("packages", {})),
    }
    if name in exact:
        return exact[name]
    return _conda if name.endswith((".yml", ".yaml")) else str.splitlines


def _pyproject(text: str) -> Iterator[object]:
    table = read_toml(text)
    project = table.get("project", {})
    yield from project.get("dependencies", ())
    for extra in project.get("optional-dependencies", {}).values():
        yield from extra
    yield from _tables(table.get("tool", {}).get("poetry", {}).get("dependencies", {}))


def _tables(packages: Mapping[str, Any]) -> Iterator[str]:
    """Poetry's and Pipenv's `name = "version"`, `name = {version = …}` or `name = {git = …}`."""
    for name, value in packages.items():
        if isinstance(value, dict) and isinstance(value.get("git"), str):
            yield f"{name} @ git+{value['git']}"
            continue
        if isinstance(value, dict) and "path" in value:
            continue
        version = value.get("version", "") if isinstance(value, dict) else value
        if name == "python" or not isinstance(version, str):
            continue
        if match := re.fullmatch(r"[\^~](\d[\w.]*)", version):
            version = f">={match[1]}"  # the tool adds the upper bound by default; it is not the authors' knowledge
        yield name + ("" if version in ("*", "") else version if version[0] in "<>=!~" else f"=={version}")


def _setup_cfg(text: str) -> Iterator[str]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    yield from parser.get("options", "install_requires", fallback="").splitlines()
    if parser.has_section("options.extras_require"):
        for _, extra in parser.items("options.extras_require"):
            yield from extra.splitlines()


def _setup_py(text: str) -> Iterator[object]:
    tree = syntax_tree(text)
    bound = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for call in ast.walk(tree):
        for keyword in call.keywords if isinstance(call, ast.Call) else ():
            if keyword.arg in ("install_requires", "extras_require"):
                value = keyword.value
                value = bound.get(value.id, value) if isinstance(value, ast.Name) else value
                for listed in ast.walk(value):  # lists that are added, and those of extras
                    if isinstance(listed, ast.List | ast.Tuple):
                        yield from (e.value for e in listed.elts if isinstance(e, ast.Constant))


class _Plain(yaml.SafeLoader):  # type: ignore[misc]
    """Without aliases: a few lines of them can expand to more values than fit into memory."""

    def compose_node(self, parent: object, index: object) -> object:
        if self.check_event(yaml.AliasEvent):
            raise yaml.composer.ComposerError(None, None, "an alias", self.peek_event().start_mark)
        return super().compose_node(parent, index)


def _conda(text: str) -> Iterator[object]:
    if len(text) > _LONGEST_YAML:
        raise ValueError(f"YAML of {len(text):,} characters is more than any honest environment has")
    for entry in yaml.load(text, _Plain).get("dependencies", ()):
        if isinstance(entry, dict):
            yield from entry.get("pip", ())
        elif isinstance(entry, str) and (match := _CONDA.match(entry.strip())):
            name = _CONDA_NAMES.get(match[1].lower(), match[1])
            if name is not None:
                yield name + _conda_version(match[2] or "")


def _conda_version(version: str) -> str:
    """conda's `=1.2` (any 1.2) and `=1.2=build` as a specifier; '' where there is no counterpart."""
    if match := re.fullmatch(r"=?=(\d[\w.]*)(\.\*)?(=[^=]*)?", version):
        exact = version.startswith("==") and not match[2]
        return f"=={match[1]}" if exact else f"=={match[1]}.*"
    return version if re.fullmatch(r"([<>]=?|!=|~=)\d[\w.]*(,([<>]=?|!=|~=)\d[\w.]*)*", version) else ""
