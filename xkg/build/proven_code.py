"""Carries proven code over into a newer build of its paper, until the new code is proven as far."""

from xkg.model import Level, PaperBundle


def with_proven(stored: PaperBundle, built: PaperBundle) -> tuple[PaperBundle, tuple[str, ...]]:
    """`built` with the code of `stored` for the techniques whose new code has a lower level, or that have none now, and
    the ids of that code. Only code that ran is carried over (`imported` and above); its evidence, and the symbols and
    repository that it was made from, come with it. A technique that `built` does not have takes its code with it."""
    new = {code.technique: code for code in built.code}
    kept = {
        code.technique: code
        for code in stored.code
        if code.level.rank >= Level.IMPORTED.rank
        and code.technique in {technique.id for technique in built.techniques}
        and (code.technique not in new or new[code.technique].level.rank < code.level.rank)
    }
    if not kept:
        return built, ()
    ids = {code.id for code in kept.values()}
    chosen = {**new, **kept}
    derivations = tuple(source for source in built.derivations if _technique_of(source.code) not in kept)
    derivations += tuple(source for source in stored.derivations if source.code in ids)
    made_from = {source.symbol for source in derivations} - {symbol.id for symbol in built.symbols}
    symbols = tuple(symbol for symbol in stored.symbols if symbol.id in made_from)
    owners = {symbol.repository for symbol in symbols} - {repository.id for repository in built.repositories}
    bundle = built.model_copy(
        update={
            "code": tuple(chosen[technique.id] for technique in built.techniques if technique.id in chosen),
            "derivations": derivations,
            "symbols": (*built.symbols, *symbols),
            "repositories": (*built.repositories, *(each for each in stored.repositories if each.id in owners)),
        }
    )
    return bundle, tuple(sorted(ids))


def _technique_of(code: str) -> str:
    """The technique of a code id."""
    return code.rpartition("@")[0]
