"""Decides which paths an agent's edits may write. Edits may write only files that the program itself uses.

Names may contain only letters, digits and a few punctuation characters. Other characters could make a name an alias for
a different file on Windows, macOS or in git (`GIT~1`, NTFS streams, characters that HFS+ ignores). Edits may not write
hidden names, because hidden files and folders control editors, forges, shells and git. A new file must have a suffix
for source code, settings or text. Edits may not write modules that Python and pytest load automatically."""

import re
from collections.abc import Container

from xkg.agents.workspace.files.starter import is_inside
from xkg.build.code.languages.grammars import SUFFIXES

_SIGNS = frozenset("_-.+=@,()[] ")
_NEW = SUFFIXES | frozenset("py pyi sh json jsonl yaml yml toml txt md rst csv tsv".split())
_LONGEST = 255  # bytes
_LOADED = re.compile(r"(sitecustomize|usercustomize|conftest)(\.|$)", re.IGNORECASE)


def refused_path(path: str, known: Container[str]) -> str | None:
    """Returns a short explanation if edits may not write `path`, and None otherwise. `known` contains the existing
    files."""
    if not is_inside(path):
        return "it is outside the workspace; use a path relative to its top, as listed"
    if len(path.encode("utf-8", "replace")) > _LONGEST:
        return f"it has more than {_LONGEST} bytes"
    for name in path.split("/"):
        if name.startswith("."):
            return "hidden files and folders control git, editors and other tools, not the program"
        if not all(sign.isalnum() or sign in _SIGNS for sign in name) or name != name.strip(" -").rstrip("."):
            return f"the name {name!a} may denote another file on other systems; use letters, digits, `_`, `-` and `.`"
        if _LOADED.match(name):
            return f"Python or pytest runs {name} automatically"
    suffix = path.rpartition("/")[2].rpartition(".")[2].lower()
    if path not in known and suffix not in _NEW:
        return "a new file needs a suffix for source code, settings or text"
    return None
