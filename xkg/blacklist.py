"""Reads blacklists of repositories and papers that must not appear in a graph or an answer.

Each line is a repository address, an arXiv id, a DOI or a title. `#` starts a comment. For example, an agent benchmark
blacklists the repository of the paper that the agent must replicate."""

import re
from functools import cached_property
from pathlib import Path

from xkg.errors import InputError
from xkg.files import read_regular
from xkg.text.address import repository_address
from xkg.text.arxiv_id import arxiv_id as known_arxiv_id
from xkg.text.doi import canonical_doi
from xkg.text.titles import title_similarity
from xkg.value import Value

ALIKE = 0.9
"""Minimum similarity for two titles to be considered the same (`xkg.text.titles.title_similarity`)."""

_LARGEST, _MOST = 5_000_000, 100_000


class Blacklist(Value):
    """The entries of a blacklist. `repositories` are names (`RepositoryAddress.name`), `arxiv_ids` have no version, and
    `dois` are in lower case. Title comparisons ignore case, punctuation and small differences (`ALIKE`)."""

    repositories: tuple[str, ...] = ()
    arxiv_ids: tuple[str, ...] = ()
    dois: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.repositories or self.arxiv_ids or self.dois or self.titles)

    @cached_property
    def _repositories(self) -> dict[str, str]:
        return {_widely(name): name for name in self.repositories}

    def repository(self, url: str) -> str | None:
        """Returns why the blacklist excludes the repository at this address or an enclosing repository. Returns None if
        the repository is allowed."""
        address = repository_address(url)
        if address is None:
            return None
        words = _widely(f"{address.name}/{address.within}").split("/")
        listed = (self._repositories.get("/".join(words[:count])) for count in range(len(words), 1, -1))
        return next((f"the blacklist contains {name}" for name in listed if name is not None), None)

    def paper(self, arxiv_id: str | None = None, doi: str | None = None, title: str = "") -> str | None:
        """Returns why the blacklist excludes this paper, or None if it is allowed."""
        for known in (known_arxiv_id(spec) for spec in (arxiv_id, doi) if spec):
            if known is not None and known.number in self.arxiv_ids:
                return f"the blacklist contains arXiv:{known.number}"
        if (name := canonical_doi(doi or "")) in self.dois:
            return f"the blacklist contains the DOI {name}"
        for name in self.titles if title else ():
            if title_similarity(name, title) >= ALIKE:
                return f"the blacklist contains the title {name[:120]!r}"
        return None


def _widely(name: str) -> str:
    """Normalizes a name for comparison, since most servers ignore case and `www.`."""
    return name.lower().removeprefix("www.")


def parse_blacklist(text: str) -> Blacklist:
    """Returns the unique entries in the text."""
    found: dict[str, dict[str, None]] = {"repositories": {}, "arxiv_ids": {}, "dois": {}, "titles": {}}
    for line in text.splitlines()[:_MOST]:
        entry = re.sub(r"(?:^|\s)#.*", "", line[:2000]).strip()
        if not entry:
            continue
        if (paper := known_arxiv_id(entry)) is not None:
            found["arxiv_ids"][paper.number] = None
        elif (doi := canonical_doi(entry)) is not None:
            found["dois"][doi] = None
        elif (repository := repository_address(entry)) is not None:
            found["repositories"][repository.name] = None
        else:
            found["titles"][entry.removeprefix("title:").strip()] = None
    return Blacklist(**{name: tuple(entries) for name, entries in found.items()})


def read_blacklist(path: Path) -> Blacklist:
    """Reads a blacklist from a file. Raises `InputError` if the file cannot be read or has no entries; otherwise, a
    mistyped path would allow everything."""
    try:
        blacklist = parse_blacklist(read_regular(path, _LARGEST).decode("utf-8", "replace"))
    except OSError as error:
        raise InputError(f"the blacklist {path} cannot be read ({error.strerror or error}); check its path") from error
    if not blacklist:
        raise InputError(f"the blacklist {path} is empty; write one repository or paper per line")
    return blacklist
