"""Finds the packages that are part of a repository. Scripts import these packages as if they were installed (`pip
install -e .`)."""

import re
import shlex
from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

_INIT = "__init__.py"
_PROJECT_FILES = frozenset({"pyproject.toml", "setup.py", "setup.cfg"})
_COMPILED = (".pyx", ".c", ".cc", ".cpp", ".cxx")
_MOST_PROJECTS = 20
_MOST_CHARACTERS = 100_000
_NAME = re.compile(
    r"""^[ \t]{0,40}+(?:setup\([ \t]{0,8}+)?name[ \t]{0,8}+=[ \t]{0,8}+["']([A-Za-z0-9][\w.-]{0,99}+)["']""", re.M
)
_VERSION = re.compile(r"""^[ \t]{0,40}+version[ \t]{0,8}+=[ \t]{0,8}+["'](\d[\w.!+-]{0,59}+)["']""", re.M)


def package_roots(paths: Iterable[str]) -> tuple[str, ...]:
    """Returns the folders whose packages would be installed, closest to the root first ('' is the root itself).
    Candidates are the folders of `pyproject.toml`, `setup.py` and `setup.cfg`, and a `src` folder next to such a file.
    Omits folders that contain no package."""
    known = list(paths)
    packages = _packages(known)
    holders = {package.rpartition("/")[0] for package in packages if package}
    projects = {folder for path in known for folder, _, name in [path.rpartition("/")] if name in _PROJECT_FILES}
    found = []
    for project in sorted(projects - packages, key=lambda folder: (folder.count("/"), folder))[:_MOST_PROJECTS]:
        source = f"{project}/src" if project else "src"
        found += [root for root in (source, project) if root in holders]
    return tuple(found)


def own_metadata(files: Mapping[str, bytes]) -> dict[str, str]:
    """Returns the metadata files that `importlib.metadata` would read if the projects in `files` were installed.
    `files` maps paths to content, and the result maps paths in the package folder to text. The metadata contains the
    projects' names and versions. The version is 0 if the project's file does not specify one."""
    found: dict[str, str] = {}
    projects = sorted((p for p in files if p.rpartition("/")[2] in _PROJECT_FILES), key=lambda p: (p.count("/"), p))
    for path in projects[:_MOST_PROJECTS]:
        text = files[path][:_MOST_CHARACTERS].decode("utf-8", "replace")
        if not (name := _NAME.search(text)):
            continue
        version = match[1] if (match := _VERSION.search(text)) else "0"
        folder = f"{re.sub(r'[-_.]+', '_', name[1])}-{version}.dist-info"
        found.setdefault(f"{folder}/METADATA", f"Metadata-Version: 2.1\nName: {name[1]}\nVersion: {version}\n")
    return found


class OwnNames(NamedTuple):
    """The imports that a repository's own Python files satisfy. Imports in `nested` exist only inside packages, and can
    hide a package with the same name (`autograd/scipy` is not SciPy). Imports in `hidden` are folders without
    `__init__.py`. An installed package with the same name takes precedence over such a folder."""

    served: frozenset[str]
    nested: frozenset[str]
    hidden: frozenset[str]


def own_names(paths: Iterable[str], imports: Mapping[str, Collection[str]]) -> OwnNames:
    """Returns the `imports` (top-level name → names used from that package) that a repository satisfies. A folder
    without `__init__.py` satisfies only imports of its contents. For example, `flax/train.py` is not the `flax` in
    `import flax.linen`."""
    known = [path for path in paths if path.endswith(".py")]
    packages = _packages(known)
    free: set[str] = set()
    whole: set[str] = set()
    parts_of: dict[str, set[str]] = {}
    for path in known:
        *folders, module = path.removesuffix(".py").split("/")
        for at, (name, inside) in enumerate(pairwise((*folders, module, ""))):
            if name in imports:
                free |= {name} if "/".join(folders[:at]) not in packages else set()
                if at == len(folders) or "/".join(folders[: at + 1]) in packages:
                    whole.add(name)
                parts_of.setdefault(name, set()).add(inside)
    used = {name: {*imports[name]} for name in parts_of}
    served = {name for name, names in used.items() if name in whole or not names or names & parts_of[name]}
    hidden = {name for name in served - whole if used[name] and used[name] <= parts_of[name]}
    return OwnNames(frozenset(served), frozenset(served - free), frozenset(hidden))


def folder_of_module(module: str, paths: Iterable[str]) -> str | None:
    """Returns the repository folder ('' for the top) that contains a dotted module. If several folders contain it,
    returns the folder nearest to the top. Returns None if no folder contains the module or several are equally near."""
    inside = f"/{module.replace('.', '/')}"
    found: set[str] = set()
    for path in paths:
        before, here, after = f"/{path}".partition(f"{inside}/")
        if here and after.endswith(".py"):
            found.add(before)
        elif f"/{path}".endswith(f"{inside}.py"):
            found.add(f"/{path}".removesuffix(f"{inside}.py"))
    ranked = sorted(found, key=lambda folder: folder.count("/"))
    if not ranked or (len(ranked) > 1 and ranked[0].count("/") == ranked[1].count("/")):
        return None
    return ranked[0].removeprefix("/")


def folder_that_defines(module: str, name: str, texts: Mapping[str, str]) -> str | None:
    """Returns a module's folder, like `folder_of_module`, if the module's file contains the given name. Otherwise,
    returns None. `texts` maps paths to text."""
    folder = folder_of_module(module, texts)
    stem = f"{folder or ''}/{module.replace('.', '/')}".lstrip("/")
    written = (texts.get(path, "") for path in (f"{stem}.py", f"{stem}/{_INIT}"))
    return folder if any(re.search(rf"\b{re.escape(name)}\b", text) for text in written) else None


def build_of_extension(module: str, texts: Mapping[str, str]) -> str | None:
    """Returns a command that builds an extension module in place. The command runs a `setup.py` in `texts` (path →
    text) that defines extension modules. Returns None unless the repository contains the module's source or the
    `setup.py` mentions it."""
    name = module.rpartition(".")[2]
    stems = tuple(f"/{module.replace('.', '/')}{suffix}" for suffix in _COMPILED)
    has_source = any(f"/{path}".endswith(stems) for path in texts)
    scripts = (path for path in texts if path.rpartition("/")[2] == "setup.py")
    for path in sorted(scripts, key=lambda path: path.count("/")):
        if "ext_modules" in texts[path] and (has_source or re.search(rf"\b{re.escape(name)}\b", texts[path])):
            folder = path.rpartition("/")[0]
            return f"(cd {shlex.quote(folder or '.')} && python setup.py build_ext --inplace)"
    return None


def folder_called(name: str, texts: Mapping[str, str]) -> str | None:
    """Finds the modules that files in `texts` (path → text) import from a package `name`, even though no folder has
    that name. Returns the repository folder ('' for the top) that contains these modules. Returns None if any of these
    modules is missing or in a different folder."""
    imported = re.compile(rf"^[ \t]{{0,40}}(?:from|import)[ \t]{{1,9}}{re.escape(name)}\.([\w.]{{1,200}})", re.M)
    modules = {module for text in texts.values() for module in imported.findall(text)}
    folders = {folder_of_module(module, texts) for module in modules}
    return folders.pop() if len(folders) == 1 else None


def _packages(paths: Iterable[str]) -> set[str]:
    return {path.rpartition("/")[0] for path in paths if path.rpartition("/")[2] == _INIT}
