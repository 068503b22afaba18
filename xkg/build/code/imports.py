"""Finds the repository file that an import refers to.

Python resolves imports along a search path, which a repository does not record. This module first tries the folder
above the importer's top-level package, then the importer's own folder and its ancestors. Then it tries the usual source
roots, and finally any other folder. Less certain candidates need more evidence, for example definitions of the imported
names. `root_packages` finds the names that a repository uses for itself or its folders."""

import sys
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from xkg.model import slug

_SOURCE_ROOTS = ("src", "lib", "python", "code", "source")


class ModuleIndex:
    """Indexes Python modules. The index is built from the repository's id and a mapping from file paths to top-level
    names.

    A package has an `__init__.py`. A folder of modules without `__init__.py` is a namespace, and its path ends in a
    slash (`pkg/sub/`). `roots` contains the folders that a top-level name may refer to (see `root_packages`)."""

    def __init__(
        self,
        names: Mapping[str, Collection[str]],
        repository: str = "",
        roots: Mapping[str, Sequence[str]] = {},
    ) -> None:
        self.names = names
        self.roots = roots
        self.own_name = slug(repository.rpartition("@")[0].removeprefix("local:").rpartition("/")[2])
        self.folders = {folder for path in names for folder in _ancestors(_folder(path)) if folder}

    @cached_property
    def by_last_name(self) -> dict[str, list[str]]:
        """Returns module paths without their suffixes, grouped by last component and ordered from the top down."""
        stems: dict[str, list[str]] = {}
        for path in sorted(self.names, key=lambda p: (p.count("/"), p)):
            stem = path.removesuffix("/__init__.py").removesuffix(".py")
            stems.setdefault(stem.rpartition("/")[2], []).append(stem)
        return stems

    def at(self, stem: str) -> str | None:
        """Returns the module whose path without suffix is `stem`. Prefers packages to files, and files to
        namespaces."""
        for candidate in (f"{stem}/__init__.py", f"{stem}.py"):
            if candidate in self.names:
                return candidate
        return f"{stem}/" if stem in self.folders else None

    def submodule(self, package: str, name: str) -> str | None:
        """Returns the module `name` in a package or namespace, or None if `package` is a plain module."""
        if not package.endswith(("/", "/__init__.py")) and package != "__init__.py":
            return None
        folder = package.removesuffix("__init__.py").rstrip("/")
        return self.at(f"{folder}/{name}" if folder else name)

    def defines(self, module: str, name: str) -> bool:
        return name in self.names.get(module, ()) or self.submodule(module, name) is not None

    def resolve(self, importer: str, module: str, attributes: Collection[str] = ()) -> str | None:
        """Returns the path of `module` (`a.b`, `..m`) as imported by `importer`. The path of a namespace ends in a
        slash. Returns None for modules outside the repository. `attributes` contains the names imported from the
        module, which are used as evidence."""
        if module.startswith("."):
            return self._relative(importer, module)
        stem = module.replace(".", "/")
        standard = module.partition(".")[0] in sys.stdlib_module_names
        named = [a for a in attributes if a != "*"]
        folder = _folder(importer)
        package_root = self.package_root(importer)
        in_package = self._is_package(folder)
        certain = dict.fromkeys((package_root, *([] if in_package else [folder])))
        likely = [r for r in (folder, *_ancestors(folder), *_SOURCE_ROOTS) if r not in certain]
        for root in (*certain, *likely):
            candidate = self.at(f"{root}/{stem}" if root else stem)
            if candidate is None or candidate == importer:
                continue
            share = sum(self.defines(candidate, a) for a in named) / len(named) if named else None
            if standard:  # such a file shadows the standard module only for scripts in its folder
                accepted = share == 1 and not (in_package and root == folder)
            elif candidate.endswith("/"):
                accepted = bool(share) or (share is None and "." in module)
            elif share is None or root in ("", *_SOURCE_ROOTS) or (in_package and root == package_root):
                accepted = share is not None or root in certain or root != folder
            else:
                accepted = share >= 0.5
            if accepted:
                return candidate
        if module.partition(".")[0] in self.roots:
            return self._in_roots(importer, module, named)
        if standard:
            return None
        if self.is_own(module):
            candidate = self.at(stem.partition("/")[2]) if "/" in stem else self.root
            if candidate is not None and ("/" in stem or any(self.defines(candidate, a) for a in named)):
                return candidate
        for other in self.by_last_name.get(stem.rpartition("/")[2], ()):
            candidate = self.at(other) if other.endswith(f"/{stem}") else None
            if candidate is not None and candidate != importer and any(self.defines(candidate, a) for a in named):
                return candidate
        return None

    def _in_roots(self, importer: str, module: str, named: Collection[str]) -> str | None:
        """Looks for the module in the folders that a top-level name may refer to. Tries the importer's ancestor folders
        first."""
        top, _, rest = module.partition(".")
        above = set(_ancestors(_folder(importer)))
        for folder in sorted(self.roots[top], key=lambda f: f not in above):
            candidate = self.inside(folder, rest.replace(".", "/"))
            certain = rest or not named or (candidate and any(self.defines(candidate, a) for a in named))
            if candidate is not None and candidate != importer and certain:
                return candidate
        return None

    def inside(self, folder: str, stem: str) -> str | None:
        """Returns the module at `stem`, a path without suffix, below a folder. Returns the folder itself if `stem` is
        ''."""
        path = f"{folder}/{stem}".strip("/")
        return self.at(path) if path else self.root

    def is_own(self, module: str) -> bool:
        """Returns whether an import starts with the repository's own name. Such an import uses the root folder as a
        package."""
        top = slug(module.partition(".")[0])
        return self.own_name == top or self.own_name.endswith(f"-{top}")

    @property
    def root(self) -> str:
        """Returns the repository's root folder as a module."""
        return "__init__.py" if "__init__.py" in self.names else "/"

    def package_root(self, path: str) -> str:
        """Returns the folder that contains a file's top-level package, which is the nearest ancestor without
        `__init__.py`."""
        folder = _folder(path)
        while folder and self._is_package(folder):
            folder = _folder(folder)
        return folder

    def dotted(self, path: str) -> str:
        """Returns the dotted name of a file, relative to its source root."""
        stem = path.removesuffix(".py").removesuffix("/__init__")
        root = self.package_root(path)
        if root.rpartition("/")[2] in _SOURCE_ROOTS:
            stem = stem.removeprefix(f"{root}/")
        return stem.replace("/", ".")

    def _relative(self, importer: str, module: str) -> str | None:
        name = module.lstrip(".")
        folder: str = _folder(importer)
        for _ in range(len(module) - len(name) - 1):
            if not folder:
                return None
            folder = _folder(folder)
        parts = [p for p in (folder, name.replace(".", "/")) if p]
        return self.at("/".join(parts)) if parts else self.root

    def _is_package(self, folder: str) -> bool:
        return (f"{folder}/__init__.py" if folder else "__init__.py") in self.names


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _ancestors(folder: str) -> list[str]:
    """Returns the folder and all its ancestors, nearest first. The last ancestor is the repository's root, ''."""
    folders = [folder]
    while folder:
        folder = _folder(folder)
        folders.append(folder)
    return folders
