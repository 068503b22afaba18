"""Finds the packages that a repository imports under its own name. For example, a repository with a top-level file
`common/typing.py` may contain `from fre.common.typing import Data`. The name of the repository's folder does not
matter.

A folder matches a name if it contains most of the modules that the repository imports under this name. The modules must
define the imported names.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from xkg.build.code.imports import ModuleIndex

# A file name that occurs in more folders than this is not evidence for any of them. The repository's root folder is
# always tried.
_MOST_FOLDERS = 50
_MOST_IMPORTS = 2_000


class UnresolvedImport(NamedTuple):
    """A name in an absolute import. The fields are the same as in `Import`. `uses` contains the attributes of the
    imported name that the importer reads. For a star import, `uses` contains the names that the importer uses but does
    not define elsewhere."""

    module: str
    attribute: str | None
    uses: frozenset[str]


def root_packages(
    index: ModuleIndex,
    unresolved: Iterable[UnresolvedImport],
    foreign: Mapping[str, Collection[str]],
    declared: Collection[str],
    required: Callable[[str], bool] | None,
) -> dict[str, tuple[str, ...]]:
    """Returns the repository folders that each top-level name may refer to, best first. Omits other projects' names.

    `unresolved` contains the imports that `index` does not find. `foreign` contains the names that a file imports from
    outside the repository, or `*` for an unknown set. Such names are not evidence that the file is the imported module.
    `declared` contains the repository's own packages, in lower case. `required` returns whether an import name is an
    external package that the repository requires. `required` is None if the repository does not list its requirements.

    A single matching module is enough for a declared name. For a name that is not required, one matching module is
    enough in four cases: if the repository lists its requirements, if the repository or folder has that name, if the
    whole repository is a package, or if a module is in a subfolder and no module is missing. In all other cases, two
    matching modules are needed. A required package counts as the repository's own only if no module is missing."""
    tops: dict[str, _Imported] = {}
    for item in unresolved:
        tops.setdefault(item.module.partition(".")[0], _Imported({}, {}, {})).add(item)
    found: dict[str, tuple[str, ...]] = {}
    for top, imported in tops.items():
        own = top.lower() in declared
        asked = not own and required is not None and required(top)
        ranked = []
        for folder in _candidates(index, top, imported):
            present, absent = _counted(index, folder, imported, foreign)
            called = folder.rpartition("/")[2] == top if folder else index.is_own(top) or index.root != "/"
            nested = not absent and any("/" in inside for inside in present)
            known = own or (not asked and (called or required is not None or nested))
            if len(present) >= (1 if known else 2) and len(absent) < (1 if asked else len(present)):
                ranked.append((-len(present), folder.count("/"), folder))
        if ranked:
            found[top] = tuple(folder for *_, folder in sorted(ranked))
    return found


class _Imported(NamedTuple):
    """A repository's imports under one top-level name, keyed by the path below that name. The key '' is the top-level
    name itself.

    `modules` lists the names imported from a module, and `stars` lists names that may come from a star import.
    `members` lists the uses of an imported member, which may itself be a module (`from top import sub`)."""

    modules: dict[str, set[str]]
    members: dict[str, set[str]]
    stars: dict[str, set[str]]

    def add(self, item: UnresolvedImport) -> None:
        inside = item.module.partition(".")[2].replace(".", "/")
        if item.attribute is None:
            self._add(self.modules, inside, item.uses)
        elif item.attribute == "*":
            self._add(self.modules, inside, ())
            self._add(self.stars, inside, item.uses)
        else:
            self._add(self.modules, inside, [item.attribute])
            self._add(self.members, f"{inside}/{item.attribute}".lstrip("/"), item.uses)

    def _add(self, named: dict[str, set[str]], inside: str, names: Collection[str]) -> None:
        if inside in named or len(named) < _MOST_IMPORTS:
            named.setdefault(inside, set()).update(names)


def _candidates(index: ModuleIndex, top: str, imported: _Imported) -> list[str]:
    """Returns the folders that contain one of the imported modules. Also returns modules with that top-level name, and
    the repository's root folder."""
    votes: Counter[str] = Counter()
    for inside in ["", *imported.modules, *imported.members]:
        stems = index.by_last_name.get(inside.rpartition("/")[2] or top, ())
        if len(stems) <= _MOST_FOLDERS:
            length = len(inside)
            votes.update(s[: len(s) - length].rstrip("/") for s in stems if f"/{s}".endswith(f"/{inside or top}"))
    return list(dict.fromkeys(["", *(folder for folder, _ in votes.most_common(_MOST_FOLDERS))]))


def _counted(
    index: ModuleIndex, folder: str, imported: _Imported, foreign: Mapping[str, Collection[str]]
) -> tuple[set[str], set[str]]:
    """Returns the modules in the folder that define at least half of the names imported from them, and the imported
    modules that the folder lacks. Both sets omit unused modules, and modules used only for re-exported names."""
    present: set[str] = set()
    absent: set[str] = set()
    for inside, names in (*imported.modules.items(), *imported.members.items()):
        path = index.inside(folder, inside)
        if path is None:
            if inside in imported.modules:
                absent.add(inside)
            continue
        others = foreign.get(path, ())
        here = {name for name in names if name in index.names.get(path, ())}
        modules = {name for name in names - here if index.defines(path, name)}
        if here - set(others) and 2 * len(here | modules) >= len(names):
            present.add(inside)
        elif 2 * len(here | modules) < len(names) and "*" not in others:
            absent.add(inside)
    for inside, names in imported.stars.items():
        path = index.inside(folder, inside)
        if path is not None and names & set(index.names.get(path, ())) - set(foreign.get(path, ())):
            present.add(inside)
    return present, absent - present
