"""Finds the folders in a repository that contain vendored packages."""

import re
from pathlib import PurePosixPath

from xkg.build.code.codebase import Codebase

_NAMED = re.compile(r"(?:^|/)(?:third_?party|vendor(?:ed)?|extern(?:al)?s?|submodules?)(?=/|$)", re.IGNORECASE)
# These files show that a folder is a separate package.
_OF_A_PACKAGE = frozenset({"setup.py", "pyproject.toml", "LICENSE", "LICENSE.md", "LICENSE.txt"})


def vendored_folders(codebase: Codebase) -> frozenset[str]:
    """Returns the folders that contain vendored packages, which have a typical name or their own installer or licence.
    Excludes a folder that contains every module."""
    found: set[str] = set()
    for path in {*codebase.files, *(module.path for module in codebase.modules)}:
        folder, _, name = path.rpartition("/")
        if folder and name in _OF_A_PACKAGE:
            found.add(folder)
        if named := _NAMED.search(folder):
            found.add(folder[: named.end()])
    inside = {folder: sum(m.path.startswith(f"{folder}/") for m in codebase.modules) for folder in found}
    return frozenset(folder for folder, count in inside.items() if count < len(codebase.modules))


def is_inside(path: str, folders: frozenset[str]) -> bool:
    return not folders.isdisjoint(str(folder) for folder in PurePosixPath(path).parents)
