"""The packages of the repository itself: scripts import them as if they were installed (`pip install -e .`)."""

import re
from collections.abc import Iterable, Mapping

_INIT = "__init__.py"
_PROJECT_FILES = frozenset({"pyproject.toml", "setup.py", "setup.cfg"})
_MOST_PROJECTS = 20
_MOST_CHARACTERS = 100_000
_NAME = re.compile(
    r"""^[ \t]{0,40}+(?:setup\([ \t]{0,8}+)?name[ \t]{0,8}+=[ \t]{0,8}+["']([A-Za-z0-9][\w.-]{0,99}+)["']""", re.M
)
_VERSION = re.compile(r"""^[ \t]{0,40}+version[ \t]{0,8}+=[ \t]{0,8}+["'](\d[\w.!+-]{0,59}+)["']""", re.M)


def package_roots(paths: Iterable[str]) -> tuple[str, ...]:
    """The folders from which an installation would take packages, '' for the top: those of `pyproject.toml`, `setup.py`
    and `setup.cfg`, and `src` beside such a file, where they hold a package. The nearest to the top come first."""
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
    """What an installation would leave for `importlib.metadata`, as path in the folder of packages → text: the name and
    the version of each project in `files` (path → content), version 0 where its file states none."""
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


def own_names(paths: Iterable[str]) -> tuple[set[str], set[str]]:
    """The names of the Python modules and folders of a repository, and those of them that lie inside packages alone:
    these can hide a package of the same name (`autograd/scipy` is not SciPy)."""
    known = [path for path in paths if path.endswith(".py")]
    packages = _packages(known)
    own: set[str] = set()
    free: set[str] = set()
    for path in known:
        *folders, module = path.split("/")
        own |= {*folders, module.removesuffix(".py")}
        free |= {module.removesuffix(".py")} if "/".join(folders) not in packages else set()
        free |= {folder for at, folder in enumerate(folders) if "/".join(folders[:at]) not in packages}
    return own, own - free


def folder_of_module(module: str, paths: Iterable[str]) -> str | None:
    """The folder, '' for the top, in which a dotted module of a repository lies: the one nearest to the top. None for
    none, or if several are as near."""
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


def folder_called(name: str, texts: Mapping[str, str]) -> str | None:
    """The folder of a repository, '' for the top, whose modules its files (path → text) import from a package `name`,
    which no folder is called; None if one of these modules is in no folder, or in another."""
    imported = re.compile(rf"^[ \t]{{0,40}}(?:from|import)[ \t]{{1,9}}{re.escape(name)}\.([\w.]{{1,200}})", re.M)
    modules = {module for text in texts.values() for module in imported.findall(text)}
    folders = {folder_of_module(module, texts) for module in modules}
    return folders.pop() if len(folders) == 1 else None


def _packages(paths: Iterable[str]) -> set[str]:
    return {path.rpartition("/")[0] for path in paths if path.rpartition("/")[2] == _INIT}
