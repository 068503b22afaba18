"""Caches shallow clones of remote repositories. Clones each commit only once, even if the address is spelled
differently."""

import contextlib
import hashlib
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from xkg.build.repositories import git, git_directory
from xkg.errors import InputError, UnreachableError
from xkg.files import private_folder
from xkg.model import slug
from xkg.text.address import repository_address

MAX_READ_BYTES = 2_000_000  # larger files are listed during a build, but never read
LARGEST_BYTES = 50 << 20  # the limit for data files in repositories whose code is run

COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def clone(url: str, reference: str | None, cache: Path, largest: int = MAX_READ_BYTES) -> tuple[Path, str]:
    """Clones `reference` from `url`, or HEAD if `reference` is None, unless the clone exists. Returns the bare
    repository under `cache`, and the full id of the commit. Omits files of more than `largest` bytes."""
    commit = reference if reference and COMMIT.fullmatch(reference) else remote_commit(url, reference)
    if commit is not None and (known := clone_path(url, commit, cache, largest)).is_dir():
        return known, commit
    private_folder(cache)
    work = Path(tempfile.mkdtemp(prefix=".fetch-", dir=cache))
    try:
        commit = _fetch_into(work / "repository", url, commit, reference, largest)
        target = clone_path(url, commit, cache, largest)
        try:
            (work / "repository").rename(target)
        except OSError:
            if not target.is_dir():  # otherwise, another process fetched the same commit first
                raise
        return target, commit
    finally:
        shutil.rmtree(work, ignore_errors=True)


def clone_path(url: str, commit: str, cache: Path, largest: int = MAX_READ_BYTES) -> Path:
    """Returns the folder of a clone, which may not exist yet."""
    address = repository_address(url)
    name = address.name if address else url
    size = "" if largest == MAX_READ_BYTES else f"\0{largest}"
    digest = hashlib.sha256(f"{name}\0{commit}{size}".encode()).hexdigest()[:16]
    return cache / f"{slug(name.rpartition('/')[2])[:40]}-{digest}.git"


def remote_commit(url: str, reference: str | None) -> str | None:
    """Returns the current commit of a branch or tag at `url`, or of the default branch if `reference` is None. Returns
    None for an abbreviated commit, because only a full fetch can resolve it.

    Raises `InputError` if the repository is not reachable, is empty, or has no such branch or tag."""
    names = ["HEAD"] if reference is None else [f"refs/heads/{reference}", f"refs/tags/{reference}"]
    requested = [*names, *(f"{name}^{{}}" for name in names if name.startswith("refs/tags/"))]
    with _reaching(url, "reached"):
        ids = git.list_remote(url, requested)
    for name in reversed(requested):  # prefer the commit behind an annotated tag to the tag itself
        if name in ids:
            return ids[name]
    if reference is None:
        raise InputError(f"{url} is empty: it has no commit yet")
    if not re.fullmatch(r"[0-9a-f]{4,64}", reference):
        raise InputError(f"{url} has no commit, branch or tag {reference!r}")
    return None


def _fetch_into(folder: Path, url: str, commit: str | None, reference: str | None, largest: int) -> str:
    with _reaching(url, "fetched"):
        git.fetch(url, commit, folder, largest=largest)
    head = git.find_commit(git_directory.ours(folder), commit or reference or "")
    if head is None:
        raise InputError(f"{url} has no commit, branch or tag {reference!r}")
    (folder / "HEAD").write_text(f"{head.oid}\n")
    return head.oid


@contextlib.contextmanager
def _reaching(url: str, done: str) -> Iterator[None]:
    try:
        yield
    except git.RedirectedError as error:
        message = f"{url} redirects to another host, {error}: if that host is correct, pass its address"
        raise InputError(message) from error
    except git.TooLargeError as error:
        message = f"{url} is larger than the {error} limit for fetches; clone it yourself and pass that folder"
        raise InputError(message) from error
    except git.GitError as error:
        raise UnreachableError(f"{url} cannot be {done}: {error}; check the address, or pass a folder") from error
