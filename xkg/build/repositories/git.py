"""Runs git on untrusted repositories.

Git can execute commands from a repository's files, so it never sees these files. Instead, it works in a separate git
directory that contains only links to the untrusted packs and loose objects, or a copy of an index. Git does not see the
untrusted configuration, hooks, attributes, alternates or references. `git_directory` reads the necessary data from
these files.

Git is sandboxed like untrusted code (`sandbox.isolation.programs`), with none of xkg's environment variables, no write
access, and no network access except for fetches. Time, memory and output are limited. If started by root, git runs as
nobody. A fetch can reach only the host in its address, so redirects to other hosts fail. Only the fetched packs are
kept."""

import contextlib
import errno
import os
import re
import shutil
import ssl
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from xkg.build.repositories.git_directory import GitDirectory, link_objects, read_small
from xkg.errors import InputError, SandboxUnavailableError
from xkg.sandbox.isolation.programs import Program, ProgramResult, lend, run
from xkg.sandbox.runner import Limits
from xkg.text.address import address

_BUSY_WAITS = (0.2, 1.0, 3.0)
_LOCAL = Limits(seconds=120, memory_mb=2048, disk_mb=256)
_NETWORK = Limits(seconds=900, memory_mb=2048, disk_mb=4096)
_FULL = 0.9  # a fraction of the limit, because git may fail before it reaches the limit
_BATCH_BYTES, _BATCH_OBJECTS = 64 << 20, 5000
_MOST_DAMAGED = 50
_MAX_INDEX, _MAX_EXCLUDE = 256 << 20, 1 << 20
_DAY = re.compile(r"\d{4}-\d\d-\d\d")

_SETTINGS = (
    "core.commitGraph=false",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.packedGitLimit=256m",
    "core.packedGitWindowSize=16m",
    "core.bigFileThreshold=32m",
    "core.precomposeUnicode=true",
    "credential.helper=",
    "fastimport.unpackLimit=0",
    "fetch.unpackLimit=1",
    "fetch.writeCommitGraph=false",
    "gc.auto=0",
    "http.lowSpeedLimit=0",  # a server sends almost nothing while packing, and our proxy closes idle connections
    "log.showSignature=false",
    "maintenance.auto=false",
    "pack.threads=1",
    "protocol.allow=never",
    "protocol.https.allow=always",
    "safe.bareRepository=explicit",
)
_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ASKPASS": "",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_WORK_TREE": ".",
    "LC_ALL": "C",
    "SSH_ASKPASS": "",
}

_PLAIN = {
    "response 502": "no server is answering there",  # the status comes from our proxy
    # GitHub returns this error for every repository that is not public.
    "could not read Username": "it asks for a password, so it is private, renamed or deleted",
}
"""User-friendly versions of Git's fetch errors, keyed by a substring of the last line."""


class TreeEntry(NamedTuple):
    """A path in a commit. `size` is None if the object is not a blob, or is missing (for example, in a partial
    copy)."""

    path: str
    mode: str
    oid: str
    size: int | None


class Commit(NamedTuple):
    """A commit in a git repository. `day` (YYYY-MM-DD) is the committer's local date, or None if the date is
    invalid."""

    oid: str
    day: str | None


class GitError(InputError):
    """Raised if git fails. The message is the last line of git's output, without "fatal: "."""


class RedirectedError(GitError):
    """Raised if a server redirects git to another host. The message is the name of the other host."""


class TooLargeError(GitError):
    """Raised if a repository exceeds the fetch size limit. The error message states the limit."""


def find_commit(directory: GitDirectory, name: str) -> Commit | None:
    """Returns the commit for an object id, which may be abbreviated or belong to a tag, or None if there is none.
    Raises `GitError` if git was stopped."""
    return _shown(
        read_from(directory, ["log", "--no-walk", "--format=%H %cs", "--end-of-options", f"{name}^{{commit}}"])
    )


def last_change(directory: GitDirectory, commit: Commit, paths: Iterable[str]) -> Commit:
    """Returns the last commit, up to and including `commit`, that changed any of the paths. Returns `commit` if git
    finds no such commit, for example because the history is missing."""
    asked = "\n".join([commit.oid, "--", *(path for path in paths if "\n" not in path), ""])
    try:
        return _shown(read_from(directory, ["log", "-1", "--format=%H %cs", "--stdin"], asked.encode())) or commit
    except GitError:
        return commit


def _shown(ran: ProgramResult) -> Commit | None:
    if not ran.ok and ran.ended == "exited":
        return None
    oid, _, day = succeeded(ran).decode().strip().partition(" ")
    return Commit(oid, day if _DAY.fullmatch(day) else None) if oid else None


def list_tree(directory: GitDirectory, commit: str) -> list[TreeEntry]:
    """Returns every path in a commit, including submodules, in git's order. Replaces bytes that are not UTF-8 with
    U+FFFD. Raises `GitError`."""
    entries = []
    for record in succeeded(read_from(directory, ["ls-tree", "-r", "-l", "-z", commit])).split(b"\0"):
        if record:
            head, _, path = record.partition(b"\t")
            mode, kind, oid, size = head.split()
            known = int(size) if kind == b"blob" and size.isdigit() else None
            entries.append(TreeEntry(path.decode("utf-8", "replace"), mode.decode(), oid.decode(), known))
    return entries


def read_objects(directory: GitDirectory, entries: Sequence[TreeEntry]) -> Iterator[bytes | None]:
    """Yields the content of each blob in order, or None for missing or damaged blobs and for all blobs after too many
    damaged ones. Raises `GitError`."""
    at = damaged = 0
    while at < len(entries) and damaged < _MOST_DAMAGED:
        batch = _batch(entries, at)
        names = "".join(f"{oid}\n" for oid in batch).encode()
        contents = list(_blobs(read_from(directory, ["cat-file", "--batch"], names)))[: len(batch)]
        yield from contents
        at += len(contents)
        if len(contents) < len(batch):  # git stops at a damaged object, so continue with the next object
            yield None
            at, damaged = at + 1, damaged + 1
    yield from [None] * (len(entries) - at)


def list_files(directory: GitDirectory, tree: Path) -> list[bytes]:
    """Returns the tracked and unignored paths in a work tree, in no particular order. Uses the index and `.gitignore`
    files. Raises `GitError`."""
    arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    with own_directory(directory) as own:
        content = read_small(directory.folder / "index", _MAX_INDEX)
        if content is not None:
            (own / "index").write_bytes(content)
        (own / "info").mkdir()
        (own / "info" / "exclude").write_bytes(_excluded(directory))
        ran = run_git(arguments, own, folder=tree)
        if not ran.ok and ran.ended == "exited":  # if the index is sparse, git needs the folders' tree objects
            ran = run_git(arguments, own, folder=tree, objects=directory.objects)
        return [name for name in succeeded(ran).split(b"\0") if name]


def list_remote(url: str, names: Sequence[str]) -> dict[str, str]:
    """Returns the object ids of the references at an https address, keyed by name. Raises `GitError`."""
    with own_directory() as own:
        listing = succeeded(run_git(["ls-remote", "--", url, *names], own, folder=own, host=_host(url)))
    lines = [line.partition("\t") for line in listing.decode("utf-8", "replace").splitlines()]
    return {name: oid for oid, _, name in lines}


def fetch(url: str, commit: str | None, target: Path, *, largest: int) -> None:
    """Creates `target`, a bare repository, from one commit at an https address. Fetches all branches and tags if
    `commit` is None or the server refuses to send a single commit. Omits files of more than `largest` bytes, and keeps
    only the packs from the server. Raises `GitError`, including `TooLargeError`."""
    base = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", f"--filter=blob:limit={largest}"]
    everything = ["--", url, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"]
    ways = [["--depth=1", "--", url, commit], everything] if commit is not None else [everything]
    for number, way in enumerate(ways):
        with own_directory(sha256=len(commit or "") == 64) as own:
            lend(own)
            try:
                succeeded(run_git([*base, *way], own, folder=own, host=_host(url), writes=True))
            except RedirectedError:
                raise
            except GitError as error:
                if _bytes_in(own) > _FULL * (_NETWORK.disk_mb << 20):
                    raise TooLargeError(f"{_NETWORK.disk_mb / 1024:.3g} GB") from error
                if number < len(ways) - 1:
                    continue
                raise
            _take_over(own, target, sha256=len(commit or "") == 64)
            return


def _bytes_in(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_symlink())


def root_commits(url: str) -> frozenset[str]:
    """Returns the root commits in the history of HEAD at an https address. Fetches only commits if the server supports
    it. Raises `GitError`."""
    with own_directory() as own:
        lend(own)
        fetch = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--filter=tree:0"]
        ran = run_git([*fetch, "--", url, "+HEAD:refs/heads/head"], own, folder=own, host=_host(url), writes=True)
        succeeded(ran)
        return frozenset(succeeded(run_git(["rev-list", "--max-parents=0", "--all"], own, folder=own)).decode().split())


def _take_over(own: Path, target: Path, *, sha256: bool) -> None:
    lay_out(target, sha256=sha256)
    take_packs(own, target / "objects" / "pack")
    if (shallow := read_small(own / "shallow", 4096)) is not None:
        (target / "shallow").write_bytes(shallow)


def take_packs(own: Path, target: Path) -> None:
    """Moves packs into the folder `target`. Moves each pack before its index. `own` is a directory from `own_directory`
    in which git created the packs."""
    target.mkdir(parents=True, exist_ok=True)
    with os.scandir(own / "objects" / "pack") as entries:
        packs = [entry for entry in entries if re.fullmatch(r"pack-[0-9a-f]{40,64}\.(pack|idx|rev)", entry.name)]
    for entry in sorted(packs, key=lambda entry: entry.name.endswith(".idx")):
        if entry.is_file(follow_symlinks=False):
            place = target / entry.name
            shutil.move(entry.path, place)
            if os.geteuid() == 0:
                os.chown(place, 0, 0, follow_symlinks=False)
            place.chmod(0o444)


@contextlib.contextmanager
def own_directory(directory: GitDirectory | None = None, *, sha256: bool = False) -> Iterator[Path]:
    """Creates an empty git directory, and removes it when the context exits. Other users can read the directory,
    because git may run under a different uid."""
    own = Path(tempfile.mkdtemp(prefix="xkg-git-")).resolve()
    try:
        lay_out(own, sha256=sha256 or (directory is not None and directory.sha256))
        yield own
    finally:
        shutil.rmtree(own, ignore_errors=True)


def lay_out(folder: Path, *, sha256: bool) -> None:
    """Creates an empty bare repository."""
    for name in ("objects", "refs"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/none\n")
    version, extension = (1, "[extensions]\n\tobjectFormat = sha256\n") if sha256 else (0, "")
    (folder / "config").write_text(f"[core]\n\trepositoryformatversion = {version}\n\tbare = true\n{extension}")


def read_from(directory: GitDirectory, arguments: Sequence[str], stdin: bytes = b"") -> ProgramResult:
    """Runs a git command that reads from a repository. Raises `GitError`."""
    with own_directory(directory) as own:
        return run_git(arguments, own, folder=own, stdin=stdin, objects=directory.objects)


def run_git(
    arguments: Sequence[str],
    own: Path,
    *,
    folder: Path,
    stdin: bytes = b"",
    objects: Sequence[Path] = (),
    host: tuple[str, int] | None = None,
    writes: bool = False,
) -> ProgramResult:
    """Runs git in a directory from `own_directory`, after adding links to `objects`. If `writes` is True, the caller
    must have made the directory writable for the sandbox's user."""
    program, besides = _program()
    variables = _VARIABLES | {"GIT_DIR": str(own)}
    if objects:
        alternates = [own / f"alternate-{number}" for number in range(not writes, len(objects))]
        for source, place in zip(objects, alternates if writes else [own / "objects", *alternates], strict=True):
            link_objects(source, place)
        variables |= {"GIT_ALTERNATE_OBJECT_DIRECTORIES": os.pathsep.join(map(str, alternates))}
    _open(own)
    reads = [*besides, *objects]
    if host is not None:
        trusted = _certificates()
        reads += trusted.values()
        variables |= {"GIT_ALLOW_PROTOCOL": "https", **{name: str(place) for name, place in trusted.items()}}
    command = [program, "--no-pager", "--literal-pathspecs"]
    for setting in _SETTINGS:
        command += ["-c", setting]
    asked = Program(
        (*command, *arguments),
        folder,
        _LOCAL if host is None else _NETWORK,
        variables,
        reads=(*reads, *(() if writes else (own,))),
        writes=(own,) if writes else (),
        hosts=frozenset() if host is None else frozenset({host}),
        max_bytes=_NETWORK.disk_mb << 20,
    )
    try:
        for wait in (*_BUSY_WAITS, None):
            ran = run(asked, stdin)
            if wait is None or not _never_began(ran):
                break
            time.sleep(wait)
    except SandboxUnavailableError as error:
        raise GitError(f"git cannot be run ({error})") from error
    return ran


def _never_began(ran: ProgramResult) -> bool:
    """Returns whether git did not start because the sandbox's user had too many processes."""
    return ran.exit_code in (126, 127) and ran.stderr.rstrip().endswith(f"git: {os.strerror(errno.EAGAIN)}")


def _open(own: Path) -> None:
    """Makes the directory readable by other users, whatever the umask."""
    for at, _, names in os.walk(own):
        Path(at).chmod(0o755)
        for name in names:
            if not (place := Path(at, name)).is_symlink():
                place.chmod(0o644)


def succeeded(ran: ProgramResult) -> bytes:
    """Returns git's output. Raises `GitError` if git failed."""
    if ran.ok:
        return ran.output
    if ran.refused:
        raise RedirectedError(sorted(ran.refused)[0])
    if ran.ended == "timeout":
        raise GitError("no answer in time")
    if ran.ended != "exited":
        what = "memory" if ran.ended == "memory" else "output" if ran.exit_code == 153 else "memory or time"
        raise GitError(f"it was stopped because it used too much {what}")
    lines = [line for line in ran.stderr.splitlines() if line.strip()]
    last = lines[-1].strip().removeprefix("fatal: ") if lines else f"git ended with status {ran.exit_code}"
    raise GitError(next((plain for sign, plain in _PLAIN.items() if sign in last), last))


def _program() -> tuple[str, tuple[Path, ...]]:
    """Returns the path of git and, unless it is the system's git, its folder."""
    path = shutil.which("git")
    if path is None:
        raise InputError("git is not installed; install it, or pass a plain folder")
    place = Path(path).resolve()
    return str(place), () if place.is_relative_to("/usr/bin") else (place.parent.parent,)


def _certificates() -> Mapping[str, Path]:
    """Returns the environment variable that tells git which certificate authorities this machine trusts."""
    named = [os.environ.get(name, "") for name in ("GIT_SSL_CAINFO", "SSL_CERT_FILE", "CURL_CA_BUNDLE")]
    known = ssl.get_default_verify_paths()
    for name, place in [
        *(("GIT_SSL_CAINFO", place) for place in (*named, known.cafile)),
        ("GIT_SSL_CAPATH", known.capath),
    ]:
        if place and Path(place).exists():
            return {name: Path(place).resolve()}
    return {}


def _host(url: str) -> tuple[str, int]:
    try:
        place = address(url)
        return place.host, place.port
    except ValueError as error:
        raise GitError(f"cannot resolve the server's address ({error})") from error


def _batch(entries: Sequence[TreeEntry], start: int) -> list[str]:
    batch: list[str] = []
    size = 0
    for entry in entries[start : start + _BATCH_OBJECTS]:
        size += entry.size or 0
        if batch and size > _BATCH_BYTES:
            break
        batch.append(entry.oid)
    return batch


def _blobs(ran: ProgramResult) -> Iterator[bytes | None]:
    if ran.ended == "timeout":
        raise GitError("no answer in time")
    output, at = ran.output, 0
    while (end := output.find(b"\n", at)) >= 0:
        header = output[at:end].split()
        at = end + 1
        if len(header) == 3 and header[2].isdigit():
            size = int(header[2])
            if at + size + 1 > len(output):
                return
            yield output[at : at + size]
            at += size + 1
        else:
            yield None


def _excluded(directory: GitDirectory) -> bytes:
    """Returns ignore patterns from outside `.gitignore` files: the user's own list, then the repository's."""
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    own = read_small(home / "git" / "ignore", _MAX_EXCLUDE) or b""
    info = directory.common / "info"
    theirs = b"" if info.is_symlink() else read_small(info / "exclude", _MAX_EXCLUDE) or b""
    return own + b"\n" + theirs
