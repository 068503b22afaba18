"""A blacklist: repositories and papers that a graph must not hold, and that no answer may give.

One entry a line: the address of a repository, an arXiv id, a DOI, or a title; `#` begins a comment. Benchmarks on
agents name so what an agent must not see, such as the repository of the paper that it is to replicate."""

import re
from functools import cached_property
from pathlib import Path
from urllib.parse import urlsplit

from xkg.errors import InputError
from xkg.files import read_regular
from xkg.text.titles import title_similarity
from xkg.value import Value

ALIKE = 0.9
"""From this similarity on a title is the one of an entry (`xkg.text.titles.title_similarity`)."""

_LARGEST, _MOST = 5_000_000, 100_000
_ARXIV = re.compile(
    r"(?ai)(?:arxiv:\s?|(?:https?://)?(?:[\w-]+\.)?arxiv\.org/(?:abs|pdf|html)/|(?:https?://doi\.org/)?10\.48550/arxiv\.)?"
    r"(\d{4}\.\d{4,5}|[a-z-]{2,12}/\d{7})(?:v\d{1,3})?(?:\.pdf)?/?"
)
_DOI = re.compile(r"(?i)(?:doi:\s?|https?://(?:dx\.)?doi\.org/)?(10\.\d{4,9}/\S+)")


class Blacklist(Value):
    """`repositories` are `host/owner/name` in lower case, `arxiv_ids` without a version, `dois` in lower case. Titles
    are compared up to case, punctuation and a word (`ALIKE`)."""

    repositories: tuple[str, ...] = ()
    arxiv_ids: tuple[str, ...] = ()
    dois: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.repositories or self.arxiv_ids or self.dois or self.titles)

    @cached_property
    def _repositories(self) -> frozenset[str]:
        return frozenset(self.repositories)

    def repository(self, url: str) -> str | None:
        """Why this repository is kept out; None where it is not."""
        name = repository_name(url)
        return f"the blacklist names {name}" if name is not None and name in self._repositories else None

    def paper(self, arxiv_id: str | None = None, doi: str | None = None, title: str = "") -> str | None:
        """Why this paper is kept out; None where it is not."""
        number = re.sub(r"v\d+$", "", arxiv_id.lower()) if arxiv_id else None
        if number in self.arxiv_ids:
            return f"the blacklist names arXiv:{number}"
        if doi and doi.lower() in self.dois:
            return f"the blacklist names the DOI {doi.lower()}"
        for name in self.titles if title else ():
            if title_similarity(name, title) >= ALIKE:
                return f"the blacklist names the title {name[:120]!r}"
        return None


def repository_name(url: str) -> str | None:
    """`host/owner/name` in lower case of the address of a repository, of a place in one, or of its git remote; None for
    what is no such address."""
    text = re.sub(r"^(?:ssh://)?git@([\w.-]+)[:/]", r"https://\1/", url.strip())
    if "://" not in text:
        text = "https://" + text
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    host = (parts.hostname or "").removeprefix("www.")
    words = [word for word in parts.path.split("/") if word]
    if "." not in host and host != "localhost":
        return None
    if len(words) < 2 or re.search(r"\s", text):
        return None
    port = f":{parts.netloc.rpartition(':')[2]}" if re.search(r":\d{1,5}$", parts.netloc) else ""
    name = words[1].partition("@")[0].removesuffix(".git")
    return f"{host}{port}/{words[0]}/{name}".lower()


def parse_blacklist(text: str) -> Blacklist:
    """The entries of a text, each once."""
    found: dict[str, dict[str, None]] = {"repositories": {}, "arxiv_ids": {}, "dois": {}, "titles": {}}
    for line in text.splitlines()[:_MOST]:
        entry = re.sub(r"(?:^|\s)#.*", "", line[:2000]).strip()
        if not entry:
            continue
        if match := _ARXIV.fullmatch(entry):
            found["arxiv_ids"][match[1].lower()] = None
        elif match := _DOI.fullmatch(entry):
            found["dois"][match[1].lower()] = None
        elif (name := repository_name(entry)) is not None:
            found["repositories"][name] = None
        else:
            found["titles"][entry.removeprefix("title:").strip()] = None
    return Blacklist(**{name: tuple(entries) for name, entries in found.items()})


def read_blacklist(path: Path) -> Blacklist:
    """Raises `InputError` for a file that cannot be read, or names nothing: a mistyped path must let nothing in."""
    try:
        blacklist = parse_blacklist(read_regular(path, _LARGEST).decode("utf-8", "replace"))
    except OSError as error:
        raise InputError(f"the blacklist {path} cannot be read ({error.strerror or error}); check its path") from error
    if not blacklist:
        raise InputError(f"the blacklist {path} names nothing; write one repository or paper a line")
    return blacklist
