"""The packages of the repository itself: scripts import them as if they were installed (`pip install -e .`)."""

from collections.abc import Iterable

_PROJECT_FILES = frozenset({"pyproject.toml", "setup.py", "setup.cfg"})
_MOST_PROJECTS = 20


def package_roots(paths: Iterable[str]) -> tuple[str, ...]:
    """The folders from which an installation would take packages, '' for the top: those of `pyproject.toml`, `setup.py`
    and `setup.cfg`, and `src` beside such a file, where they hold a package. The nearest to the top come first."""
    known = list(paths)
    packages = {path.rpartition("/")[0] for path in known if path.rpartition("/")[2] == "__init__.py"}
    holders = {package.rpartition("/")[0] for package in packages if package}
    projects = {folder for path in known for folder, _, name in [path.rpartition("/")] if name in _PROJECT_FILES}
    found = []
    for project in sorted(projects - packages, key=lambda folder: (folder.count("/"), folder))[:_MOST_PROJECTS]:
        source = f"{project}/src" if project else "src"
        found += [root for root in (source, project) if root in holders]
    return tuple(found)
