"""Decides which parts of a paper may be shared, based on the licences of the files that its code was generated from."""

from xkg.blacklist import Blacklist
from xkg.model import PaperBundle, Repository

_UNKNOWN = (None, "", "NOASSERTION", "NONE")
_NAMED = 3


def licence_of(repository: Repository, path: str) -> str | None:
    """Returns the SPDX identifier of a file's licence, or None if unknown."""
    found = repository.file_licenses.get(path, repository.license)
    return None if found in _UNKNOWN else found


def unlicensed(bundle: PaperBundle) -> str | None:
    """Returns why the paper's code may not be shared, or None if the licence of every source file is known."""
    if not bundle.code:
        return None
    if not bundle.repositories:
        return "the origin of its code is unknown"
    repositories = {repository.id: repository for repository in bundle.repositories}
    symbols = {symbol.id: symbol for symbol in bundle.symbols}
    used = {symbols[each.symbol] for each in bundle.derivations}
    files = {
        (repositories[symbol.repository].url or symbol.repository, symbol.path): repositories[symbol.repository]
        for symbol in used
    }
    if len({each.code for each in bundle.derivations}) < len(bundle.code):  # the source files of some code are unknown
        files |= {(each.url or each.id, ""): each for each in bundle.repositories}
    without = sorted(key for key, repository in files.items() if licence_of(repository, key[1]) is None)
    if not without:
        return None
    named = ", ".join(path or place for place, path in without[:_NAMED])
    more = f" and {len(without) - _NAMED} more" if len(without) > _NAMED else ""
    return f"no known licence for {named}{more} ({without[0][0]})"


def without_code(bundle: PaperBundle) -> PaperBundle:
    """Returns the paper with its definitions and the locations of its code, but without code and function
    signatures."""
    symbols = tuple(symbol.model_copy(update={"signature": ""}) for symbol in bundle.symbols)
    return bundle.model_copy(update={"code": (), "derivations": (), "symbols": symbols})


def blacklisted(bundle: PaperBundle, blacklist: Blacklist) -> str | None:
    """Returns why the blacklist excludes a paper, or None if the paper is allowed."""
    paper = bundle.paper
    reason = blacklist.paper(paper.arxiv_number, paper.doi, paper.title)
    return reason or next(filter(None, (blacklist.repository(each.url) for each in bundle.repositories)), None)
