"""Reads a repository's requirements as plain lines, from every kind of file that may declare them, without running
code."""

import ast
import configparser
import json
import posixpath
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import groupby
from typing import Any, NamedTuple

import yaml
from packaging.requirements import InvalidRequirement, Requirement

from xkg.sandbox.evidence.python_ast import syntax_tree
from xkg.sandbox.packages.toml_text import read_toml

# Matches a conda specification: a channel and name, a version and a build.
_CONDA = re.compile(r"^(?:[\w./-]+::)?([A-Za-z0-9][\w.-]*)\s*([=<>!~][^\s]*)?(?:\s+\S+)?$")
# Matches a package file in a channel, as printed by `conda list --explicit`.
_CONDA_FILE = re.compile(
    r"\S{1,300}/(?:linux|osx|win|noarch)[\w-]{0,20}/([A-Za-z0-9][\w.-]{0,100})-([^-/\s]{1,60})-([^-/\s]{1,60})"
    r"\.(?:conda|tar\.bz2)(?:#\w+)?"
)
# Conda package names that PyPI lacks or uses for a different package.
_CONDA_NAMES = {
    "opencv": "opencv-python",
    "pip": None,
    "py-opencv": "opencv-python",
    "py-xgboost": "xgboost",
    "pytables": "tables",
    "pytorch": "torch",
    "pytorch-cpu": "torch",
    "pytorch-gpu": "torch",
    "pyg": "torch-geometric",
}
# Parsers raise these errors for content that does not match the file name or is nested too deeply.
_NOT_OF_ITS_KIND = (
    ValueError, SyntaxError, RecursionError, MemoryError, configparser.Error, yaml.YAMLError, AttributeError, TypeError,
)  # fmt: skip
_LONGEST_YAML = 100_000  # characters; parsing this many takes half a second
_ASIDE = re.compile(r"(?i)(^|[^a-z])(dev|develop|tests?|testing|docs?|lint|third_party|vendor)([^a-z]|$)")
_PROJECTS = ("pyproject.toml", "setup.py", "setup.cfg")
_TEXTS = re.compile(r"(?i)requirement|constraint|conda|^environment|^spec[-_]?(file|list)|^req.*\.txt$")
_MAIN = re.compile(r"requirements?\.(txt|in)|environment\.ya?ml|Pipfile")
_LOCKS = ("uv.lock", "poetry.lock", "Pipfile.lock")
_LOCKED = re.compile(
    r"""^[ -]{0,4}name(?:: | = )"?([A-Za-z0-9][\w.-]{0,99})"?\n[ ]{0,4}version(?:: | = )['"]?(\d[\w.+!]{0,60})""", re.M
)
_README = re.compile(r"(?i)^readme(\.(md|rst|txt|org|markdown))?$")
_PIP_INSTALL = re.compile(
    r"(?:^[ \t>$!%]{0,8}(?:python3?[ \t]{1,4}-m[ \t]{1,4}|uv[ \t]{1,4})?|`)"
    r"pip3?[ \t]{1,4}install[ \t]{1,4}([^\n`#&|]{1,500})",
    re.M,
)
_INCLUDED = re.compile(r"^[ \t]*+(-r|--requirement|-e|--editable)[ \t=]*+([^\s#;\[]{1,300})", re.M)


def is_readme(path: str) -> bool:
    """Returns whether a path is the repository's README."""
    return bool(_README.match(path))


def states_requirements(path: str) -> bool:
    """Returns whether the file at this path may declare packages that the code needs."""
    folder, _, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    if name in _PROJECTS or name == "Pipfile" or _is_lock(name) or is_readme(path):
        return True
    if ending in ("yml", "yaml"):
        return "environment" in stem or stem.startswith("conda") or stem == "env"
    if not dot or ending not in ("txt", "in"):
        return False
    inside = folder.rpartition("/")[2] == "requirements" and bool(stem)
    return inside or bool(_TEXTS.search(name))


class Requirements(NamedTuple):
    """A repository's requirements. `lines` contains the lines from all files that declare requirements. `declared`
    lists the runtime requirements from the outermost files, without extras, development groups and packages that appear
    only in a lock file."""

    lines: list[str]
    declared: list[str]


class _Aside(NamedTuple):
    """A requirement that is not needed at run time, from an extra, a development group, a lock file or a conda
    export."""

    entry: object


def read_requirements(files: Mapping[str, str], mark: Callable[[str], None] = lambda _: None) -> Requirements:
    """Returns the requirements in `files`, which maps paths to texts.

    Outermost files come first, test and documentation files come last, and lock files precede other files in the same
    folder. A package from a git repository is returned as `name @ git+…` or `git+…`. Omits options and paths, and
    ignores files that do not parse. `mark` is called with the path of each file. A project's required Python version
    becomes a `python` line, which does not count as declared.

    Supports `requirements*.txt` and `.in` with the files that they include, `pyproject.toml` (PEP 621, PEP 735 and
    Poetry), `setup.cfg` and literal lists in `setup.py`. Also supports `environment.yml`, exports, file lists and lock
    files from conda, `Pipfile`, lock files from uv, Poetry and Pipenv, and `pip install` commands in a README."""
    lines: dict[str, None] = {}
    for_use: dict[str, list[str]] = {}
    for path in sorted(files, key=_order):
        mark(path)
        name = path.rpartition("/")[2]
        try:
            stated = list(_reader(name)(files[path]))
        except _NOT_OF_ITS_KIND:
            continue
        named = [line for raw in stated if (line := _plain(raw))]
        lines |= dict.fromkeys(line for line in named if not (_ASIDE.search(path) and _name(line) == "python"))
        for_use[path] = [line for raw in stated if not isinstance(raw, _Aside) and (line := _plain(raw))]
    own = declared_packages(files)
    declared = [line for line in _declared(for_use, files) if _name(line) not in own]
    return Requirements(list(lines), declared)


def declared_packages(files: Mapping[str, str]) -> frozenset[str]:
    """Returns the top-level import names of a repository's own packages in lower case.

    `files` maps paths to texts. The names come from `setup.py` (literals), `setup.cfg` and `pyproject.toml` (PEP 621,
    setuptools, Poetry, Flit, Hatch). Includes the project's name. Ignores files that do not parse."""
    readers: dict[str, Callable[[str], Iterable[object]]] = {
        "pyproject.toml": _names_in_pyproject,
        "setup.cfg": _names_in_setup_cfg,
        "setup.py": _names_in_setup_py,
    }
    names = set[str]()
    for path, text in files.items():
        with suppress(*_NOT_OF_ITS_KIND):
            reader = readers.get(path.rpartition("/")[2])
            names |= {_top(name) for name in list(reader(text) if reader else ()) if isinstance(name, str)}
    return frozenset(names - {""})


def _order(path: str) -> tuple[bool, int, bool, str]:
    return bool(_ASIDE.search(path)), path.count("/"), not _is_lock(path.rpartition("/")[2]), path


def _declared(for_use: Mapping[str, list[str]], files: Mapping[str, str]) -> list[str]:
    """Returns the requirement lines from the outermost files that contain requirements, or from the README if there are
    no such files. Files with the usual names come first."""
    candidates = [path for path in for_use if not _ASIDE.search(path) and not is_readme(path)]
    for _, beside in groupby(candidates, key=lambda path: path.count("/")):
        paths = list(beside)
        usual = [path for path in paths if _MAIN.fullmatch(path.rpartition("/")[2]) or path.endswith(_PROJECTS)]
        for chosen in (usual, paths):
            found = [line for path in _with_included(chosen, files) for line in for_use.get(path, ())]
            if found:
                return list(dict.fromkeys(found))
    return [line for path, stated in for_use.items() if is_readme(path) for line in stated]


def _with_included(paths: Iterable[str], files: Mapping[str, str]) -> list[str]:
    """Returns the files, those that they include with `-r`, and those of projects that they install with `-e`."""
    found: dict[str, None] = {}
    waiting = list(paths)
    while waiting:
        path = waiting.pop(0)
        if path in found or path not in files:
            continue
        found[path] = None
        if path.endswith((".txt", ".in")):
            for option, place in _INCLUDED.findall(files[path]):
                target = posixpath.normpath(posixpath.join(posixpath.dirname(path), place))
                names = ("",) if option in ("-r", "--requirement") else _PROJECTS
                waiting += [posixpath.normpath(posixpath.join(target, name)) for name in names]
    return list(found)


def _name(line: str) -> str:
    match = re.match(r"[\w.-]+", line)
    return match[0].replace("-", "_").lower() if match else ""


def _is_lock(name: str) -> bool:
    return name in _LOCKS or name.endswith(("conda-lock.yml", "conda-lock.yaml"))


def without_versions(lines: Iterable[str]) -> list[str]:
    """Reduces the lines to package names, except for lines with a URL."""
    bare_lines: dict[str, None] = {}
    for line in lines:
        bare = re.match(r"([A-Za-z0-9][\w.-]*)(\[[^\]]*\])?(?=\s*($|[<>=!~;(,]|--))[^;]*(;.*)?", line)
        bare_lines[bare[1] + (bare[4] or "") if bare else line] = None
    return list(bare_lines)


def _plain(raw: object) -> str:
    raw = raw.entry if isinstance(raw, _Aside) else raw
    line = re.sub(r"(^|\s)#.*", "", raw).strip() if isinstance(raw, str) else ""
    line = re.sub(r"^(-e|--editable)[\s=]+(?=git\+)", "", line)
    return "" if line.startswith(("-", ".", "/", "@")) else line


def _reader(name: str) -> Callable[[str], Iterable[object]]:
    exact: dict[str, Callable[[str], Iterable[object]]] = {
        "pyproject.toml": _pyproject,
        "setup.cfg": _setup_cfg,
        "setup.py": _setup_py,
        "Pipfile": _pipfile,
        "Pipfile.lock": _pipfile_lock,
    }
    if name in exact:
        return exact[name]
    if _is_lock(name):
        return lambda text: (_Aside(f"{package}=={version}") for package, version in _LOCKED.findall(text))
    if is_readme(name):
        return _readme
    if "constraint" in name:
        return lambda text: map(_Aside, _text(text))
    return _conda if name.endswith((".yml", ".yaml")) else _text


def _text(text: str) -> Iterator[object]:
    for line in text.replace("\\\n", " ").splitlines():
        if re.match(r"\s*+\w[\w.-]*+\s*+=(?!=)", line):  # the format of `conda list --export`
            yield from _conda_entry(line)
        elif match := _CONDA_FILE.fullmatch(line.strip()):
            yield from _conda_entry("{}={}={}".format(*match.groups()))
        else:
            name, _, place = line.partition("@")
            yield name.rstrip() if place.lstrip().startswith("file:") else line  # a file on the author's machine


def _readme(text: str) -> Iterator[str]:
    for command in _PIP_INSTALL.findall(text):
        try:
            words = shlex.split(command)
        except ValueError:
            continue
        for before, word in zip(["", *words], words, strict=False):
            if not word.startswith("-") and (
                not before.startswith("-") or before in ("-U", "-q", "--upgrade", "--user")
            ):
                try:
                    yield word if word.startswith("git+") else str(Requirement(word))
                except InvalidRequirement:
                    continue


def _pipfile(text: str) -> Iterator[object]:
    table = read_toml(text)
    yield from _python(f"=={table.get('requires', {}).get('python_version', '')}")
    yield from _tables(table.get("packages", {}))


def _python(specifier: str) -> Iterator[_Aside]:
    """Yields a requirement on the Python version. Ignores the patch number of an exact version."""
    specifier = re.sub(r"^={2,3} {0,3}(\d{1,3}\.\d{1,3})(\.[\d*]{1,4}){0,3}$", r"==\1.*", specifier.strip())
    if re.search(r"\d", specifier):
        yield _Aside(f"python{specifier}")


def _pipfile_lock(text: str) -> Iterator[_Aside]:
    for name, entry in json.loads(text).get("default", {}).items():
        yield _Aside(f"{name}{entry.get('version', '')}")


def _pyproject(text: str) -> Iterator[object]:
    table = read_toml(text)
    project = table.get("project", {})
    yield from _python(str(project.get("requires-python", "")))
    yield from project.get("dependencies", ())
    for extra in (*project.get("optional-dependencies", {}).values(), *table.get("dependency-groups", {}).values()):
        yield from map(_Aside, extra)
    poetry = table.get("tool", {}).get("poetry", {})
    yield from _tables(poetry.get("dependencies", {}))
    for group in poetry.get("group", {}).values():
        yield from map(_Aside, _tables(group.get("dependencies", {})))


def _tables(packages: Mapping[str, Any]) -> Iterator[object]:
    """Yields dependencies in the format of Poetry and Pipenv, such as `name = "version"`, `name = {version = …}` or
    `name = {git = …}`."""
    for name, value in packages.items():
        if isinstance(value, dict) and isinstance(value.get("git"), str):
            yield f"{name} @ git+{value['git']}"
            continue
        if isinstance(value, dict) and "path" in value:
            continue
        version = value.get("version", "") if isinstance(value, dict) else value
        if not isinstance(version, str):
            continue
        if match := re.fullmatch(r"[\^~](\d[\w.]*)", version):
            version = f">={match[1]}"  # added by the tool by default, not chosen by the authors
        version = "" if version == "*" else version if version[:1] in set("<>=!~") | {""} else f"=={version}"
        if name == "python":
            yield from _python(version)
            continue
        line = name + version
        yield _Aside(line) if isinstance(value, dict) and value.get("optional") else line


def _setup_cfg(text: str) -> Iterator[object]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    yield from _python(parser.get("options", "python_requires", fallback=""))
    yield from parser.get("options", "install_requires", fallback="").splitlines()
    if parser.has_section("options.extras_require"):
        for _, extra in parser.items("options.extras_require"):
            yield from map(_Aside, extra.splitlines())


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
            if keyword.arg == "python_requires" and isinstance(keyword.value, ast.Constant):
                yield from _python(str(keyword.value.value))
            if keyword.arg in ("install_requires", "extras_require"):
                value = keyword.value
                value = bound.get(value.id, value) if isinstance(value, ast.Name) else value
                for listed in ast.walk(value):  # includes concatenated lists and lists of extras
                    if isinstance(listed, ast.List | ast.Tuple):
                        entries = (e.value for e in listed.elts if isinstance(e, ast.Constant))
                        yield from entries if keyword.arg == "install_requires" else map(_Aside, entries)


class _Plain(yaml.SafeLoader):  # type: ignore[misc]
    """Loads YAML without aliases, because a few lines with aliases can expand to more values than memory can hold."""

    def compose_node(self, parent: object, index: object) -> object:
        if self.check_event(yaml.AliasEvent):
            raise yaml.composer.ComposerError(None, None, "an alias", self.peek_event().start_mark)
        return super().compose_node(parent, index)


def _conda(text: str) -> Iterator[object]:
    if len(text) > _LONGEST_YAML:
        raise ValueError(f"YAML of {len(text):,} characters is too long for a real environment file")
    loaded = yaml.load(text, _Plain)
    if isinstance(loaded, str):  # the format of `conda list --export`
        yield from _text(text)
        return
    for entry in loaded.get("dependencies", ()):
        if isinstance(entry, dict):
            yield from entry.get("pip", ())
        elif isinstance(entry, str):
            yield from _conda_entry(entry)


def _conda_entry(entry: str) -> Iterator[object]:
    """Yields the requirement for a conda entry. An exact build string indicates an export, which also lists indirect
    dependencies and system libraries."""
    if not (match := _CONDA.match(entry.strip())):
        return
    name, version = _CONDA_NAMES.get(match[1].lower(), match[1]), match[2] or ""
    if name == "python":
        yield from _python(_conda_version(version))
        return
    build = re.fullmatch(r"=([^=]+)=([^=*]+)", version)
    if build and build[2].startswith("pypi"):
        yield f"{match[1]}=={build[1]}"
    elif name is not None:
        line = name + _conda_version(version)
        yield _Aside(line) if build else line


def _conda_version(version: str) -> str:
    """Converts conda's `=1.2` (any 1.2) and `=1.2=build` to a specifier. Returns '' if there is no equivalent."""
    if match := re.fullmatch(r"=?=(\d[\w.]*)(\.\*)?(=[^=]*)?", version):
        exact = version.startswith("==") and not match[2]
        return f"=={match[1]}" if exact else f"=={match[1]}.*"
    return version if re.fullmatch(r"([<>]=?|!=|~=)\d[\w.]*(,([<>]=?|!=|~=)\d[\w.]*)*", version) else ""


# --- a project's own packages


def _top(name: str) -> str:
    return name.strip().partition(".")[0].replace("-", "_").lower()


def _names_in_setup_py(text: str) -> Iterator[object]:
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


def _names_in_setup_cfg(text: str) -> Iterator[object]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    yield parser.get("metadata", "name", fallback="")
    for key in ("packages", "py_modules", "package_dir"):
        lines = parser.get("options", key, fallback="").replace(",", "\n").splitlines()
        yield from (line.partition("=")[0] for line in lines if not line.strip().startswith("find"))


def _names_in_pyproject(text: str) -> Iterator[object]:
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
