"""Keeps proven code when a paper is rebuilt, until the new code reaches the same level."""

from xkg.model import Level, PaperBundle


def with_proven(stored: PaperBundle, built: PaperBundle) -> tuple[PaperBundle, tuple[str, ...]]:
    """Adds code from `stored` to `built` for techniques whose new code is missing or has a lower level. Returns the new
    bundle and the ids of the added code.

    Keeps only code that ran (`imported` or higher), with its evidence, symbols and repository. Also keeps the technique
    itself if `built` lacks it."""
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
    return code.rpartition("@")[0]
