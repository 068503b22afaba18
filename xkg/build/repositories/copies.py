"""Detects whether one repository is a copy of another. A copy is a fork, a mirror, or a folder with the same files
under another name. A copy shares the first commit, or most of its files are identical, byte for byte. A copy without
history goes undetected if every file was changed."""

import re
from collections.abc import Iterator

from xkg.build.repositories import git
from xkg.build.repositories.checkout import Checkout, blob_id
from xkg.build.repositories.clone import MAX_READ_BYTES
from xkg.value import Value

COPIED = 0.5
"""Two repositories are copies if they share at least this fraction of the files in the smaller repository."""

_LEAST_FILES, _LEAST_BYTES = 3, 80
_MOST_FILES = 20_000
_COMMON = re.compile(
    r"(?i)(?:^|/)(?:licen[cs]e[^/]*|copying[^/]*|\.git[^/]*|__init__\.py|[^/]*\.lock|pre-commit[^/]*)$"
)
_PROSE = re.compile(r"(?i)\.(?:md|rst|txt|png|jpe?g|gif|svg|pdf)$")


class RepositoryFingerprint(Value):
    """Identifies the content of a repository. `roots` contains first commits, and is empty if the history is unknown.
    `files` contains git object ids of file contents, except for short files and files common to many repositories."""

    roots: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()


def fingerprint(checkout: Checkout, roots: frozenset[str] = frozenset()) -> RepositoryFingerprint:
    """Returns the fingerprint of a repository's code and data. Includes prose only if there is little code or data."""
    paths = [
        file.path
        for file in checkout.files
        if file.kind == "file"
        and file.size is not None
        and _LEAST_BYTES <= file.size <= MAX_READ_BYTES
        and not _COMMON.search(file.path)
    ][:_MOST_FILES]
    code = [path for path in paths if not _PROSE.search(path)]
    chosen = code if len(code) >= _LEAST_FILES else paths
    return RepositoryFingerprint(roots=roots, files=frozenset(_ids(checkout, chosen)))


def _ids(checkout: Checkout, paths: list[str]) -> Iterator[str]:
    for _, content in checkout.read(paths):
        if content is not None:
            yield blob_id(content.replace(b"\r\n", b"\n"))


def first_commits(url: str) -> frozenset[str]:
    """Returns the first commits in the repository at an https address, or an empty set if the history cannot be
    read."""
    try:
        return git.root_commits(url) if url.startswith("https://") else frozenset()
    except git.GitError:
        return frozenset()


def copied(first: RepositoryFingerprint, second: RepositoryFingerprint) -> str | None:
    """Returns the evidence that one repository is a copy of the other, or None."""
    if shared := first.roots & second.roots:
        return f"both start with commit {min(shared)[:12]}"
    least = min(len(first.files), len(second.files))
    same = len(first.files & second.files)
    if least >= _LEAST_FILES and same / least >= COPIED:
        return f"{same} of {least} files are identical"
    return None
