"""Implements `xkg check-blacklist`, which checks whether a graph or a log of answers contains anything on a
blacklist."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from xkg.blacklist import Blacklist
from xkg.build.curation.blacklist_guard import BlacklistGuard
from xkg.build.repositories.checkout import fetch_repository, fetched
from xkg.commands.graph.open import blacklist_guard, open_store
from xkg.config import Settings
from xkg.errors import InputError, XkgError
from xkg.model import PaperBundle, Repository
from xkg.text.plural import plural
from xkg.value import Value

_LARGEST_LINE = 4_000_000
_NEAR = 40
_BETWEEN_WORDS = re.compile(r"[\s<>\"'`()\[\]{},;|]+")
_LONGEST_ADDRESS = 1000
_LEAST_TITLE = 24
"""The minimum length of a title to search for in texts. Shorter titles may be ordinary words."""


class Finding(Value):
    """An occurrence of a blacklist entry. `where` is a paper, a node or a line in a log. If the graph contains the
    entry, `kind` is `paper`, `repository` or `copy` (of a repository). If a text mentions the entry, `kind` is
    `text`."""

    where: str
    kind: Literal["paper", "repository", "copy", "text"]
    what: str


class AuditResult(Value):
    """The findings of an audit, and how much it covered. `unchecked` lists entries that could not be compared, one per
    line. Such an entry may still be in the graph."""

    findings: tuple[Finding, ...]
    papers: int
    repositories: int
    code: int
    lines: int
    unchecked: tuple[str, ...]

    @property
    def clean(self) -> bool:
        return not self.findings and not self.unchecked

    @property
    def failure(self) -> XkgError | None:
        """Returns an error if there are findings or unchecked entries, and None otherwise."""
        if self.clean:
            return None
        found = plural(len(self.findings), "finding") if self.findings else "nothing was found"
        return InputError(f"{found}; comparisons that failed: {len(self.unchecked)}")

    def __str__(self) -> str:
        looked = (
            f"{plural(self.papers, 'paper')}, {plural(self.repositories, 'repository', 'repositories')}, "
            f"{plural(self.code, 'code node')}, {plural(self.lines, 'log line')}"
        )
        lines = [f"{finding.where}: {finding.kind}: {finding.what}" for finding in self.findings]
        lines += [f"not compared: {line}" for line in self.unchecked]
        if self.findings:
            lines.append(f"{plural(len(self.findings), 'finding')} in {looked}")
        else:
            lines.append(f"nothing from the blacklist was found in {looked}")
        return "\n".join(lines)


def audit(
    settings: Settings,
    blacklist: Path,
    logs: Sequence[Path] = (),
) -> AuditResult:
    """Compares every paper, repository and text in the graph, and every line in `logs`, with a blacklist. Compares the
    content of repositories with that of blacklisted repositories, if both can be fetched or read from the graph's
    folder. Raises `InputError` if the blacklist or a log cannot be read. Also raises errors from reading the graph."""
    unchecked: list[str] = []
    guard = blacklist_guard(settings, blacklist, unchecked.append)
    assert guard is not None
    texts = NamedInTexts(guard.blacklist)
    findings: list[Finding] = []
    papers = repositories = code = 0
    with open_store(settings) as store:
        for bundle in store.bundles():
            papers, repositories, code = papers + 1, repositories + len(bundle.repositories), code + len(bundle.code)
            findings += _in_bundle(bundle, guard, texts)
            for repository in bundle.repositories:
                findings += _in_repository(bundle.paper.id, repository, guard, settings, unchecked)
    lines = 0
    for log in logs:
        for number, line in _lines(log):
            lines += 1
            findings += (Finding(where=f"{log}:{number}", kind="text", what=what) for what in texts.named_in(line))
    return AuditResult(
        findings=tuple(findings),
        papers=papers,
        repositories=repositories,
        code=code,
        lines=lines,
        unchecked=tuple(dict.fromkeys(unchecked)),
    )


def _in_bundle(bundle: PaperBundle, guard: BlacklistGuard, texts: "NamedInTexts") -> Iterator[Finding]:
    paper = bundle.paper
    if (reason := guard.paper(paper.arxiv_number, paper.doi, paper.title)) is not None:
        yield Finding(where=paper.id, kind="paper", what=reason)
    parts = [(paper.id, text) for text in (paper.code_overview, paper.abstract, *paper.nothing_in)]
    parts += [(each.id, each.definition) for each in bundle.techniques]
    parts += [(each.id, f"{each.implementation}\n{each.test}\n{each.documentation}") for each in bundle.code]
    parts += [(each.id, each.description or "") for each in bundle.findings]
    parts += [(each.id, each.description or "") for each in bundle.resources]
    for where, text in parts:
        for what in texts.named_in(text):
            yield Finding(where=where, kind="text", what=what)


def _in_repository(
    paper: str, repository: Repository, guard: BlacklistGuard, settings: Settings, unchecked: list[str]
) -> Iterator[Finding]:
    named = guard.repository(repository.url) or guard.repository(repository.id.partition("@")[0])
    if named is not None:
        yield Finding(where=paper, kind="repository", what=named)
        return
    if not guard.fingerprints():
        return
    cache = settings.kg / "repositories"
    try:
        if (checkout := fetched(repository, cache)) is None and repository.url.startswith("https://"):
            at = f"@{repository.commit}" if repository.commit else ""
            checkout = fetch_repository(repository.url + at, cache)
    except InputError as error:
        unchecked.append(f"{repository.id} of {paper}: {error}")
        return
    if checkout is None:
        unchecked.append(f"{repository.id} of {paper} was a local folder; its files are not in the graph")
    elif (reason := guard.copy(checkout)) is not None:
        yield Finding(where=paper, kind="copy", what=f"{repository.id}: {reason}")


class NamedInTexts:
    """Finds blacklist entries in texts. Addresses and ids must match exactly. Ignores spaces and case in titles."""

    def __init__(self, blacklist: Blacklist) -> None:
        self._blacklist = blacklist
        words = [re.escape(name) for name in (*blacklist.repositories, *blacklist.dois)]
        # Matches owner/name alone, as in a short `git clone` command or a code citation.
        words += [re.escape(name.partition("/")[2]) for name in blacklist.repositories]
        words += [rf"(?:arxiv\.)?{re.escape(number)}(?:v\d{{1,4}})?" for number in blacklist.arxiv_ids]
        self._named = re.compile(rf"(?i)(?<![\w.-])(?:{'|'.join(words)})(?![\w-])") if words else None
        letters = {title: re.sub(r"[\W_]+", "", title.casefold()) for title in blacklist.titles}
        self._titles = {title: plain for title, plain in letters.items() if len(plain) >= _LEAST_TITLE}

    def named_in(self, text: str) -> list[str]:
        """Returns up to 20 entries that the text mentions, each as a line with the surrounding text."""
        found: dict[str, None] = {}
        if self._named is not None:
            for match in self._named.finditer(text):
                near = text[max(0, match.start() - _NEAR) : match.end() + _NEAR]
                found.setdefault(f"mentions {match.group().lower()}: … {' '.join(near.split())} …")
        if self._blacklist.repositories and not found:  # an address may be written in several ways
            for word in (each.rstrip(".:") for each in _BETWEEN_WORDS.split(text)):
                named = self._blacklist.repository(word) if "/" in word and len(word) < _LONGEST_ADDRESS else None
                if named is not None:
                    found.setdefault(f"mentions {word[:200]}: {named}")
        plain = re.sub(r"[\W_]+", "", text.casefold()) if self._titles else ""
        for title, letters in self._titles.items():
            if letters in plain:
                found.setdefault(f"mentions the title {title[:120]!r}")
        return list(found)[:20]


def _lines(log: Path) -> Iterator[tuple[int, str]]:
    try:
        with log.open("rb") as file:
            number = 0
            while line := file.readline(_LARGEST_LINE):
                number += 1
                text = line.decode("utf-8", "replace")
                # JSON logs escape line breaks and slashes in answers.
                yield number, text.replace("\\/", "/").replace("\\n", " ")
    except OSError as error:
        raise InputError(f"the log {log} cannot be read ({error.strerror}); check its path") from error
