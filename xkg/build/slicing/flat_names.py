"""Chooses names for definitions when merging several modules into one, and finds names that a module leaves
undefined."""

import re
from collections.abc import Sequence

from xkg.build.slicing.dependence import Dependence, Place
from xkg.build.slicing.scoping.name_resolution import (
    BUILTINS,
    MODULE_NAMES,
    Definition,
    External,
    RepositoryModule,
    Star,
    Target,
)
from xkg.build.slicing.scoping.scopes import ModuleScope

# The standard library module that defines namespaces.
NAMESPACE_TYPES = External("types", None, "types\0")


def flat_names(need: Dependence, seeds: Sequence[Place]) -> dict[Target, str]:
    """Maps each included definition to its new name. Unique names are kept.

    Otherwise, a package gets its full name instead of its alias, and any other definition gets its module's name as a
    suffix."""
    enclosing: dict[Target, set[str]] = {}
    identifiers: set[str] = set()
    for place, references in need.included.items():
        identifiers |= need.scope(place.path).identifiers
        for reference in references:
            use = reference.use  # removing a function's own import frees the imported name
            enclosing.setdefault(reference.target, set()).update(use.enclosing - ({use.name} if use.local else set()))
    claimed = {*need.builtins, *need.missing}
    for references in need.included.values():
        claimed |= {r.target.name for r in references if isinstance(r.target, Star)}
    flat: dict[Target, str] = {}

    def claim(target: Target, preferred: str, module: str, second: Sequence[str] = ()) -> None:
        if target in flat:
            return
        name = preferred
        if name in claimed or name in enclosing.get(target, ()):
            stems = [
                re.sub(r"\W", "_", s) for s in module.removesuffix("/__init__.py").removesuffix(".py").split("/") if s
            ]
            options = [*second, *(f"{preferred}__{'_'.join(stems[-n:])}" for n in range(1, len(stems) + 1))]
            options += [f"{preferred}__{n}" for n in range(2, len(claimed) + len(identifiers) + 3)]
            name = next(o for o in options if o not in claimed and o not in identifiers and o not in BUILTINS)
        flat[target] = name
        claimed.add(name)

    def claim_all(places: Sequence[Place]) -> None:
        for place in places:
            statement = need.statement(place)
            starred = need.program.rebound_stars(place.path).get(place.index, {})
            for name in sorted(statement.binds | statement.globals_written | starred.keys()):
                claim(Definition(place.path, name), name, place.path)

    claim_all(seeds)
    aliases = {external.alias for external in need.externals}
    for external, path in need.externals.items():
        # if two packages share an alias (`numpy` and `jax.numpy`), rename the second
        own = external.module.replace(".", "_")
        claim(external, external.alias, path, [own] if external.attribute is None and own not in aliases else [])
    claim_all(list(need.included))
    for definition in (*need.cut, *sorted(need.ready, key=lambda each: (each.path, each.name))):
        claim(definition, definition.name, definition.path)
    for path in need.namespaces:
        stem = path.rstrip("/").removesuffix("/__init__.py").removesuffix(".py").rpartition("/")[2]
        claim(RepositoryModule(path), stem, path)
    if need.namespaces:
        claim(NAMESPACE_TYPES, "types", "types.py")
    return flat


def undefined_names(scope: ModuleScope) -> list[str]:
    """Returns global names that a module uses but does not bind, in order of first use. Excludes builtins."""
    if any(s.star_imports for s in scope.statements):
        return []
    known = set(scope.bindings) | scope.globals_written | BUILTINS | MODULE_NAMES
    return list(dict.fromkeys(u.name for s in scope.statements for u in s.uses if not u.local and u.name not in known))
