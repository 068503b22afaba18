"""The packages of the repository itself: scripts import them as if they were installed (`pip install -e .`)."""

from collections.abc import Iterable

_INIT = "__init__.py"
_PROJECT_FILES = frozenset({"pyproject.toml", "setup.py", "setup.cfg"})
_MOST_PROJECTS = 20


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


def own_names(paths: Iterable[str]) -> tuple[set[str], set[str]]:
    """The names of the Python modules and folders of a repository, and those of them that are folders inside packages
    alone: these can hide a package of the same name (`autograd/scipy` is not SciPy)."""
    known = [path for path in paths if path.endswith(".py")]
    packages = _packages(known)
    own: set[str] = set()
    free: set[str] = set()
    for path in known:
        *folders, module = path.split("/")
        own |= {*folders, module.removesuffix(".py")}
        free.add(module.removesuffix(".py"))
        free |= {folder for at, folder in enumerate(folders) if "/".join(folders[:at]) not in packages}
    return own, own - free


def _packages(paths: Iterable[str]) -> set[str]:
    return {path.rpartition("/")[0] for path in paths if path.rpartition("/")[2] == _INIT}
