"""Parses a checkout into a `Codebase`. Parses every file in a supported language, including notebooks, and resolves
Python imports inside the repository."""

import builtins
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from packaging.utils import canonicalize_name

from xkg.build.code.codebase import DEADLY, Codebase, Import, Module, SkipReason, is_tangled
from xkg.build.code.fingerprint import fingerprinted
from xkg.build.code.imports import ModuleIndex
from xkg.build.code.languages.grammars import LANGUAGES, grammars_of
from xkg.build.code.languages.notebook import notebook_source
from xkg.build.code.languages.python import Analysis, analyse
from xkg.build.code.languages.r import SUFFIXES as R
from xkg.build.code.languages.r import outline_r
from xkg.build.code.languages.symbols import outline
from xkg.build.code.root_packages import UnresolvedImport, root_packages
from xkg.build.code.settings import is_settings, likeliest, settings_in
from xkg.build.code.source_files import Skips, decode, is_pointer, is_source, is_wanted, suffix, unread_languages
from xkg.build.repositories.checkout import Checkout, File
from xkg.build.repositories.clone import MAX_READ_BYTES
from xkg.build.requirements import declared_packages, is_readme, read_requirements, states_requirements
from xkg.errors import InputError
from xkg.sandbox.packages.distributions import distribution_of
from xkg.sandbox.packages.requirement_hints import version_hints

_AT_ONCE = 8_000_000  # total bytes of the files in memory


def parse_repository(
    checkout: Checkout, mark: Callable[[str], None] = lambda _: None, without: Mapping[str, SkipReason] = {}
) -> Codebase:
    """Parses a checkout in this process. `xkg.build.parsing.parsers` does the same in a sandboxed process.

    `mark` is called with the path of the current file, or with '' during work that covers all files. `without` maps the
    paths of files to skip to the reason.

    Raises `InputError` if the checkout has no readable source. The message lists the checkout's languages."""
    skipped = Skips()
    paths = {f.path for f in checkout.files}
    known = [f for f in checkout.files if f.path not in without]
    for path, reason in without.items():
        skipped.add(reason, path)
    wanted = [f for f in known if is_wanted(f, skipped) and not _is_twin(f.path, paths, skipped)]
    requirements = {f.path for f in known if f.kind == "file" and states_requirements(f.path)}
    readmes = sorted(f.path for f in known if f.kind == "file" and is_readme(f.path))[:1]
    candidates = {f.path for f in wanted}
    configuring = likeliest([f.path for f in known if f.kind == "file" and is_settings(f.path, f.size)])
    sought = candidates | requirements | set(readmes) | set(configuring)
    parsed = _Parsed(checkout.repository.id, mark)
    texts: dict[str, str] = {}
    for path, content in _contents(checkout, [f for f in known if f.path in sought]):
        if path in requirements or path in readmes or path in configuring:
            texts[path] = decode(content or b"")
        if path not in candidates:
            continue
        mark(path)
        if content is None:
            skipped.add("unreadable", path)
        elif is_pointer(content):
            skipped.add("lfs-pointer", path)
        elif suffix(path) == "ipynb":
            if (source := _notebook(path, content, skipped)) is not None:
                parsed.add(path, source, skipped)
        elif is_source(path, content, skipped):
            parsed.add(path, decode(content), skipped)
    mark("")
    if not parsed.sources:
        raise InputError(_nothing_to_read(checkout, skipped))
    stated = {path: texts[path] for path in sorted(requirements) if path in texts}
    required = read_requirements(stated, mark)
    settings = settings_in({path: texts[path] for path in configuring if path in texts}, mark)
    mark("")
    modules, roots = [], parsed.roots(declared_packages(stated), required.lines)
    for module in parsed.modules(roots):
        mark(module.path)
        modules.append(fingerprinted(module))
    return Codebase(
        repository=checkout.repository,
        files=tuple(f.path for f in checkout.files),
        modules=tuple(modules),
        readme=texts.get(readmes[0], "") if readmes else "",
        requirements=tuple(required.lines),
        declared=tuple(required.declared),
        roots=roots,
        settings=settings,
        skipped=skipped.listed(),
    )


def _nothing_to_read(checkout: Checkout, skipped: Skips) -> str:
    reasons = ", ".join(
        f"{s.count} {s.reason}" + (f" ({s.examples[0]})" if s.reason in DEADLY else "") for s in skipped.listed()
    )
    summary = f"{len(checkout.files)} files" + (f", skipped: {reasons}" if reasons else "")
    languages = ", ".join(f"{count} {name}" for name, count in unread_languages(checkout.files).items())
    return (
        f"{checkout.repository.id} has no source in a supported language ({summary}"
        + (f"; languages: {languages}" if languages else "")
        + f"); supported languages are {LANGUAGES}; pass the repository that contains the code"
    )


def _contents(checkout: Checkout, files: Sequence[File]) -> Iterator[tuple[str, bytes | None]]:
    """Yields the contents of the files. Holds only a few files in memory at a time."""
    chunk: list[str] = []
    size = 0
    for file in files:
        chunk.append(file.path)
        size += min(file.size or 0, MAX_READ_BYTES)
        if size > _AT_ONCE:
            yield from checkout.read(chunk)
            chunk, size = [], 0
    yield from checkout.read(chunk)


def _notebook(path: str, content: bytes, skipped: Skips) -> str | None:
    try:
        source = notebook_source(content)
    except ValueError:
        skipped.add("broken-notebook", path)
        return None
    if source is None:
        skipped.add("other-language", path)
    return source if source and is_source(path, source.encode("utf-8", "surrogatepass"), skipped) else None


# --- resolving --------------------------------------------------------------------------------------------------------


def _is_twin(path: str, paths: set[str], skipped: Skips) -> bool:
    """Returns whether the file is a notebook that repeats a script. The script has the same folder, name and code, as
    with jupytext and nbconvert."""
    stem, dot, ending = path.rpartition(".")
    twin = ending == "ipynb" and f"{stem}{dot}py" in paths
    if twin:
        skipped.add("generated", path)
    return twin


class _Parsed:
    """Combines separately parsed files and resolves names across them."""

    def __init__(self, identity: str, mark: Callable[[str], None]) -> None:
        self._identity, self._mark = identity, mark
        self.sources: dict[str, str] = {}
        self._others: dict[str, Module] = {}
        self._analyses: dict[str, Analysis] = {}

    def add(self, path: str, text: str, skipped: Skips) -> None:
        analysis: Analysis | None = None
        if suffix(path) in R:
            module = outline_r(path, text, self._identity)
        elif grammars := grammars_of(suffix(path), text):
            module = outline(path, text, grammars, self._identity)
        else:
            analysis = analyse(path, text, self._identity)
            module = analysis.module
        if is_tangled(module):
            skipped.add("generated", path)
            return
        self.sources[path] = text
        if analysis is None:
            self._others[path] = module
        else:
            self._analyses[path] = analysis

    def roots(self, declared: Collection[str], requirements: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Returns the `root_packages` for the Python files. `declared` contains the repository's own packages, and
        `requirements` contains its requirements."""
        index = self._index({})
        required = version_hints(requirements)
        unresolved: list[UnresolvedImport] = []
        foreign: dict[str, set[str]] = {}
        for path, analysis in sorted(self._analyses.items()):
            used = _uses(analysis)
            for item in analysis.module.imports:
                names = _names_used(item, used)
                if not item.module.startswith(".") and index.resolve(path, item.module, names) is None:
                    if item.attribute == "*":
                        names = used.keys() - index.names[path] - set(dir(builtins))
                    elif item.attribute:
                        names = {r.partition(".")[0] for r in used.get(item.name, ())} - {""}
                    unresolved.append(UnresolvedImport(item.module, item.attribute, frozenset(names)))
                    foreign.setdefault(path, set()).add(item.name)

        def is_required(top: str) -> bool:
            return distribution_of(top) is not None or canonicalize_name(top) in required

        return root_packages(index, unresolved, foreign, declared, is_required if required else None)

    def modules(self, roots: Mapping[str, Sequence[str]]) -> tuple[Module, ...]:
        modules = self._others | self._python(roots)
        return tuple(modules[path] for path in sorted(self.sources))

    def _index(self, roots: Mapping[str, Sequence[str]]) -> ModuleIndex:
        names = {path: _top_names(analysis) for path, analysis in self._analyses.items()}
        return ModuleIndex(names, self._identity, roots)

    def _python(self, roots: Mapping[str, Sequence[str]]) -> dict[str, Module]:
        analyses = dict(sorted(self._analyses.items()))
        index = self._index(roots)
        imports = {path: _resolve_imports(path, analysis, index) for path, analysis in analyses.items()}
        for path, more in _used_elsewhere(analyses, imports).items():
            self._mark(path)
            analyses[path] = analyse(path, self.sources[path], self._identity, frozenset(more))
        self._mark("")
        return {
            path: analysis.module.model_copy(update={"dotted": index.dotted(path), "imports": imports[path]})
            for path, analysis in analyses.items()
        }


def _top_names(analysis: Analysis) -> frozenset[str]:
    own = {s.symbol.qualified_name for s in analysis.module.symbols if "." not in s.symbol.qualified_name}
    return frozenset(own | analysis.assigned | {i.name for i in analysis.module.imports} - {"", "*"})


def _uses(analysis: Analysis) -> dict[str, set[str]]:
    """Returns the attributes that a file reads from each of its free names. If the file contains `a.b.c` and `a`, the
    result maps `a` to `b.c` and ''."""
    used: dict[str, set[str]] = {}
    for chain in analysis.uses:
        head, _, rest = chain.partition(".")
        used.setdefault(head, set()).add(rest)
    return used


def _names_used(item: Import, used: Mapping[str, Collection[str]]) -> set[str]:
    """Returns the names that a module must define for the import to work."""
    if item.attribute is not None:
        return {item.attribute}
    # After `import a.b`, the names used start with `a.b.` or the alias.
    prefix = "" if item.name != item.module.partition(".")[0] else item.module.partition(".")[2]
    inside = {r.removeprefix(prefix).lstrip(".") for r in used.get(item.name, ()) if r.startswith(prefix)}
    return {r.partition(".")[0] for r in inside if r}


def _resolve_imports(path: str, analysis: Analysis, index: ModuleIndex) -> tuple[Import, ...]:
    used = _uses(analysis)
    resolved = []
    for item in analysis.module.imports:
        target = index.resolve(path, item.module, _names_used(item, used))
        if (
            target is not None
            and item.attribute not in (None, "*")
            and item.attribute not in index.names.get(target, ())
        ):
            target = index.submodule(target, str(item.attribute)) or target
        resolved.append(item.model_copy(update={"target": target}) if target and not target.endswith("/") else item)
    return tuple(resolved)


def _used_elsewhere(analyses: dict[str, Analysis], imports: dict[str, tuple[Import, ...]]) -> dict[str, set[str]]:
    """Returns assigned names that other files use but that are not yet constants, keyed by file."""
    used: dict[str, set[str]] = {}
    symbols = {p: {s.symbol.qualified_name for s in a.module.symbols} for p, a in analyses.items()}
    for path, items in imports.items():
        heads: dict[str, set[str]] = {}
        for chain in analyses[path].uses:
            parts = chain.split(".")
            heads.setdefault(parts[0], set()).update(parts[1:])
        for item in items:
            if item.target and item.target != path:
                requested = {str(item.attribute)} if item.attribute else set()
                requested |= heads.get(item.name, set()) if item.attribute != "*" else set(heads)
                more = (requested & analyses[item.target].assigned) - symbols[item.target]
                if more:
                    used.setdefault(item.target, set()).update(more)
    return used
