"""Resolves imports and calls between the files of a repository by name, in languages other than Python.

Without types, a call is only a name. It is resolved if the name has a single candidate: first in the enclosing scopes,
then in its file, in the imported files, and in all files of the language family (C, C++ and CUDA are one family). A
member of an object of unknown type (`x.f()`) is resolved only in its own and in imported files, because `push` of some
object is seldom the one `push` of a repository."""

import posixpath
from collections.abc import Iterable, Mapping, Sequence

from xkg.build.code.codebase import Import, Module, SourceSymbol
from xkg.build.code.languages.symbols import Outline, Reference

_ENDINGS = {
    "javascript": ("", ".js", ".ts", ".tsx", ".jsx", ".mjs", ".cjs", "/index.js", "/index.ts", "/index.tsx"),
    "rust": (".rs", "/mod.rs"),
    "c": ("",),
    "julia": ("", ".jl"),
}
_OWN = frozenset(("this", "self", "Self"))
_LONGEST_PATH = 32  # maximum number of parts of a Rust path that may name a file
_HERE = frozenset(("crate", "super", "self", "prototype", "exports"))


def link(outlines: Mapping[str, Outline]) -> dict[str, Module]:
    """The modules by path, with the `target` of each import and the `calls` of each symbol. A definition without
    documentation gets that of its declaration (a prototype in a header)."""
    linked: dict[str, Module] = {}
    for family in dict.fromkeys(o.family for o in outlines.values()):
        linked |= _Family(family, {path: o for path, o in outlines.items() if o.family == family}).linked()
    return {path: linked[path] for path in outlines}


class _Family:
    """The files of one language family, with their symbols by the last part of the name."""

    def __init__(self, family: str, outlines: Mapping[str, Outline]) -> None:
        self.family, self.outlines = family, outlines
        self.symbols = {s.symbol.id: s for o in outlines.values() for s in o.module.symbols}
        self.by_last: dict[str, list[SourceSymbol]] = {}
        self.by_name: dict[str, list[SourceSymbol]] = {}
        self.resolved: dict[tuple[str, Reference], tuple[bool, str | None]] = {}
        overloads: dict[tuple[str, str, str], SourceSymbol] = {}
        for source in self.symbols.values():
            overloads.setdefault((source.symbol.path, source.symbol.qualified_name, source.symbol.kind), source)
        for source in overloads.values():  # only the first can be called
            if source.symbol.qualified_name:
                self.by_last.setdefault(source.symbol.qualified_name.rpartition(".")[2], []).append(source)
                self.by_name.setdefault(source.symbol.qualified_name, []).append(source)
        self.by_file_name: dict[str, list[str]] = {}
        self.by_stem: dict[str, list[str]] = {}
        for path in outlines:
            name = posixpath.basename(path)
            self.by_file_name.setdefault(name, []).append(path)
            self.by_stem.setdefault(name.partition(".")[0], []).append(path)
        self.announced: dict[str, str] = {}
        for outline in outlines.values():
            for name, documentation in outline.announced.items():
                self.announced.setdefault(name, documentation)
        self.imports = {path: self._imports(path, o.module.imports) for path, o in outlines.items()}
        self.near = {path: self._near(items) - {path} for path, items in self.imports.items()}
        self.bound = {path: {i.name: i for i in items if i.target} for path, items in self.imports.items()}

    def linked(self) -> dict[str, Module]:
        return {
            path: outline.module.model_copy(
                update={
                    "imports": self.imports[path],
                    "symbols": tuple(self._linked(path, s, outline) for s in outline.module.symbols),
                }
            )
            for path, outline in self.outlines.items()
        }

    def _linked(self, path: str, source: SourceSymbol, outline: Outline) -> SourceSymbol:
        calls: dict[str, None] = {}
        for reference in outline.references[source.symbol.id]:
            target = self._resolve(path, source, reference)
            if target is not None and target != source.symbol.id:
                calls[target] = None
        documentation = source.docstring or self.announced.get(source.symbol.qualified_name, "")
        return source.model_copy(update={"calls": tuple(calls), "docstring": documentation})

    # --- files --------------------------------------------------------------------------------------------------------

    def _imports(self, path: str, items: Sequence[Import]) -> tuple[Import, ...]:
        targets = {module: self._target(path, module) for module in {i.module for i in items}}
        return tuple(i.model_copy(update={"target": targets[i.module]}) if targets[i.module] else i for i in items)

    def _target(self, path: str, module: str) -> str | None:
        folder = posixpath.dirname(path)
        if self.family == "rust":
            return self._rust_target(path, module)
        if self.family == "javascript" and not module.startswith("."):
            return None
        name = posixpath.normpath(posixpath.join(folder, module))
        stems = (name, name.removesuffix(".js")) if self.family == "javascript" else (name,)
        for stem in stems:
            for ending in _ENDINGS.get(self.family, ()):
                if stem + ending in self.outlines:
                    return stem + ending
        if self.family == "c":
            tail = posixpath.normpath(module).lstrip("./")
            ends = [p for p in self.by_file_name.get(posixpath.basename(tail), ()) if f"/{p}".endswith(f"/{tail}")]
            return ends[0] if len(ends) == 1 else None
        return None

    def _rust_target(self, path: str, module: str) -> str | None:
        """The file of `mod name;`, or of the longest prefix of a `use` path that is a file."""
        parts = [p for p in module.partition("{")[0].split("::") if p and p not in _HERE]
        folder, stem = posixpath.split(path.removesuffix(".rs"))
        for count in range(min(len(parts), _LONGEST_PATH), 0, -1):
            tail = "/".join(p.strip() for p in parts[:count])
            for base in (folder, posixpath.join(folder, stem)):
                for ending in _ENDINGS["rust"]:
                    candidate = posixpath.join(base, tail) + ending
                    if candidate in self.outlines:
                        return candidate
            for ending in _ENDINGS["rust"]:
                name = posixpath.basename(tail + ending)
                ends = [p for p in self.by_file_name.get(name, ()) if f"/{p}".endswith(f"/{tail}{ending}")]
                if len(ends) == 1:
                    return ends[0]
        return None

    def _near(self, items: Iterable[Import]) -> set[str]:
        """The imported files, and the source files that belong to an included header."""
        near = {i.target for i in items if i.target}
        if self.family == "c":
            near |= {p for t in list(near) for p in self.by_stem.get(posixpath.basename(t).partition(".")[0], ())}
        return near

    # --- names --------------------------------------------------------------------------------------------------------

    def _resolve(self, path: str, source: SourceSymbol, reference: Reference) -> str | None:
        *owners, name = reference.parts
        if owners and owners[0] in _OWN:
            owner = self._class_around(source)
            return _only(self._nearest(path, self.by_name.get(f"{owner}.{name}", ()))) if owner else None
        if (
            path,
            reference,
        ) not in self.resolved:  # limits the work for a name that many symbols have and many refer to
            self.resolved[path, reference] = self._outside(path, reference)
        final, target = self.resolved[path, reference]
        if final:
            return target
        around = source.symbol.qualified_name.split(".")
        for count in range(len(around) - 1, 0, -1):  # the enclosing class and namespaces, innermost first
            if here := self.by_name.get(".".join((*around[:count], name))):
                return _only(self._nearest(path, here))
        return target

    def _outside(self, path: str, reference: Reference) -> tuple[bool, str | None]:
        """The symbol that a name means anywhere in a file, and whether it takes precedence over the enclosing
        scopes."""
        *owners, name = reference.parts
        item = self.bound[path].get(owners[0] if owners else name)
        if item is not None and item.target is not None:
            wanted = name if owners or item.attribute in (None, "default") else str(item.attribute)
            inside = [s for s in self.by_last.get(wanted, ()) if s.symbol.path == item.target]
            if (only := _only(inside)) is not None:
                return True, only
        candidates = self.by_last.get(name, [])
        owners = [part for part in owners if part and part not in _HERE]
        fitting = [s for s in candidates if _fits(s, owners)] if owners else []
        if fitting:
            return True, _only(self._nearest(path, fitting))
        if owners and not reference.member:
            return True, None
        if reference.member:
            return True, _only(
                next((t for t in self._tiers(path, [s for s in candidates if s.symbol.kind != "class"])[:2] if t), [])
            )
        return False, _only(self._nearest(path, [s for s in candidates if s.symbol.kind != "method"]))

    def _class_around(self, source: SourceSymbol) -> str:
        if source.symbol.kind == "class":
            return source.symbol.qualified_name
        return _owner(source) if source.symbol.kind == "method" else ""

    def _tiers(self, path: str, candidates: Sequence[SourceSymbol]) -> list[list[SourceSymbol]]:
        return [
            [s for s in candidates if s.symbol.path == path],
            [s for s in candidates if s.symbol.path in self.near[path]],
            list(candidates),
        ]

    def _nearest(self, path: str, candidates: Sequence[SourceSymbol]) -> list[SourceSymbol]:
        return next((tier for tier in self._tiers(path, candidates) if tier), [])


def _owner(source: SourceSymbol) -> str:
    return source.symbol.qualified_name.rpartition(".")[0]


def _fits(source: SourceSymbol, owners: Sequence[str]) -> bool:
    """Whether a name with the prefix `owners` may mean a symbol: the symbol's own owners end with them, or the last of
    them is its file, as for modules in Rust."""
    own = _owner(source).split(".") if _owner(source) else []
    if not own:
        stem = source.symbol.path.rpartition(".")[0].removesuffix("/mod")
        return stem.rpartition("/")[2] == owners[-1]
    shared = min(len(own), len(owners))
    return own[-shared:] == list(owners[-shared:])


def _only(candidates: Sequence[SourceSymbol]) -> str | None:
    """The only candidate, or the first of several overloads (one qualified name in one file)."""
    meant = {(s.symbol.path, s.symbol.qualified_name) for s in candidates}
    return candidates[0].symbol.id if len(meant) == 1 else None
