"""Finds Python packages in folders that a user mounts into runs. Modules in these folders need not be installed."""

from collections.abc import Mapping
from pathlib import Path

_MOST_ENTRIES = 5000
_NO_PACKAGES = frozenset({"__pycache__", "bin", "share", "include"})
_MODULES = (".py", ".so", ".pyd")


def module_folders(data: Mapping[str, Path]) -> tuple[Path, ...]:
    """Returns the folders in `data` (path in the tree → location) that contain packages, in order. These folders must
    be on the module path."""
    return tuple(place for place in data.values() if _packages_in(place))


def importable(data: Mapping[str, Path]) -> frozenset[str]:
    """Returns the top-level names that can be imported from `data`. Includes packages in subfolders. Also includes the
    name of each mounted folder that directly contains modules, such as a submodule."""
    names = {name for place in data.values() for name in _packages_in(place)}
    return frozenset(names | {name.rpartition("/")[2] for name, place in data.items() if _holds_code(place)})


def _holds_code(folder: Path) -> bool:
    try:
        entries = [entry.name for entry, _ in zip(folder.iterdir(), range(_MOST_ENTRIES), strict=False)]
    except OSError:
        return False
    return any(name.endswith(".py") for name in entries)


def _packages_in(folder: Path) -> frozenset[str]:
    """Returns the packages in a folder: its subfolders with an `__init__.py`. If packages were installed into the
    folder, also returns its modules and namespace packages. Returns an empty set if the folder itself is a package."""
    try:
        if not folder.is_dir() or _is_package(folder):
            return frozenset()
        entries = [entry for entry, _ in zip(folder.iterdir(), range(_MOST_ENTRIES), strict=False)]
        installed = any(entry.name.endswith((".dist-info", ".egg-info")) for entry in entries)
        found = {entry.name for entry in entries if entry.name.isidentifier() and _is_package(entry)}
        if installed:
            named = {entry.name.partition(".")[0] for entry in entries if entry.name.endswith(_MODULES)}
            found |= {entry.name for entry in entries if entry.is_dir()} | named
        return frozenset(name for name in found - _NO_PACKAGES if name.isidentifier())
    except OSError:  # an unreadable folder is treated as empty, because the run will report any missing modules
        return frozenset()


def _is_package(folder: Path) -> bool:
    return (folder / "__init__.py").is_file()
