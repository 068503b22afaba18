"""Finds the repositories mentioned in a text, and determines which ones it calls the paper's own."""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from xkg.build.paper.document import Document
from xkg.text.address import repository_address

_ADDRESS = re.compile(
    r"(?ai)(?<![\w@./-])(?:https?://)?(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org|codeberg\.org)"
    r"/[a-z0-9][\w.-]{0,60}(?:/[\w.-]{1,100}){1,20}"
)
_OURS = re.compile(
    r"(?i)\bour\b[^.;]{0,60}\b(?:code|implementation|repositor|package|software|project|model)|"
    r"\b(?:code|implementation|software|source|repository|package|library|data|models?)\b[^;]{0,60}"
    r"\b(?:available|released?|provided|found|accessible|hosted|open-?sourced?|published|at|here)\b|"
    r"\b(?:code|project page|project website|implementation|repository|website)\s{0,3}:|"
    r"\b(?:code|implementation) for (?:this|the|our)\b|\bwe (?:release|provide|open-?source|publish|share|make)\b"
)
_THEIRS = re.compile(
    r"(?i)\b(?:from|using|uses?|used|adopt\w*|based on|adapted from|modif\w+|follow\w*|borrow\w*|build\w* on|built on|"
    r"official|their|of|by|see|via)\W{0,6}(?:\\(?:href|url|footnote)\W{0,3}){0,3}(?:https?\W{0,4})?$"
)
_BIBLIOGRAPHY = re.compile(r"(?i)references|bibliography|literature cited")
_BEFORE, _AFTER = 220, 80
_MOST = 200


Role = Literal["own", "named", "cited", "suggested"]


class RepositoryLink(NamedTuple):
    """A repository mentioned in a text. `name` is the same as in `RepositoryAddress`.

    `role` is `own` if the paper calls the repository its own, `cited` for links in the bibliography, `suggested` for
    links from a model, and `named` for any other link. `words` contains the words around the link, or a note that a
    model suggested it."""

    url: str
    name: str
    role: Role
    words: str


def links_in(text: str, bibliography: int | None = None) -> list[RepositoryLink]:
    """Returns each repository once. The paper's own repositories come first, followed by all others in order of
    appearance. Repositories after the offset `bibliography` count as cited."""
    found: dict[str, RepositoryLink] = {}
    order: dict[Role, int] = {"own": 0, "named": 1, "cited": 2}
    for link in _links(text, bibliography):
        known = found.get(link.name)
        if known is None or order[link.role] < order[known.role]:
            found[link.name] = link
        if len(found) >= _MOST:
            break
    return sorted(found.values(), key=lambda link: order[link.role])


def links_of(document: Document) -> list[RepositoryLink]:
    """Returns the links in a paper, in the same order as `links_in`."""
    last = next((s.start for s in reversed(document.walk()) if _BIBLIOGRAPHY.match(s.title)), None)
    return links_in(document.text, last)


def _links(text: str, bibliography: int | None) -> Iterator[RepositoryLink]:
    for match in _ADDRESS.finditer(text):
        if (repository := repository_address(match[0].rstrip("."))) is None:
            continue
        before = text[max(0, match.start() - _BEFORE) : match.start()]
        near = before + text[match.start() : match.end() + _AFTER]
        paragraph = before.rpartition("\n\n")[2]
        role: Role = "named"
        if bibliography is not None and match.start() >= bibliography:
            role = "cited"
        elif not _THEIRS.search(before) and _OURS.search(paragraph):
            role = "own"
        yield RepositoryLink(repository.url, repository.name, role, " ".join(near.split()))
