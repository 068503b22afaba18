"""Git as a reader that trusts nothing: commands that run no hook, no filter, no helper, and ask nobody anything."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from xkg.errors import InputError

LOCAL_SECONDS = 120
NETWORK_SECONDS = 900

_HARDENED = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.askPass=",
    "core.pager=cat",
    "credential.helper=",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "protocol.ext.allow=never",
    "safe.directory=*",
    "submodule.recurse=false",
    "transfer.fsckObjects=false",
)


class TreeEntry(NamedTuple):
    """One path of a commit. `size` is None where the object is absent (a partial copy) or is no blob."""

    path: str
    mode: str
    oid: str
    size: int | None


class GitError(InputError):
    """Git ended with an error; the message is git's own last line without its "fatal: "."""


def run(
    arguments: Sequence[str],
    *,
    folder: Path | None = None,
    work_tree: Path | None = None,
    protocols: Sequence[str] = (),
    data: bytes | None = None,
    seconds: float = LOCAL_SECONDS,
) -> bytes:
    """What git wrote to its standard output.

    `folder` is the git directory. Only the named `protocols` may be used (none: nothing leaves the machine, and objects
    that a partial clone lacks are not asked for). Raises `GitError` with git's last line, also when it ran too long.
    """
    command = ["git", "--no-pager", "--literal-pathspecs"]
    for setting in (*_HARDENED, *(f"protocol.{name}.allow=always" for name in protocols)):
        command += ["-c", setting]
    if folder is not None:
        command.append(f"--git-dir={folder}")
    if work_tree is not None:
        command.append(f"--work-tree={work_tree}")
    try:
        done = subprocess.run(
            [*command, *arguments], input=data if data is not None else b"", capture_output=True, timeout=seconds,
            env=_environment(network=bool(protocols)), check=False,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise InputError("git is not installed; install it, or give a plain folder") from error
    except subprocess.TimeoutExpired as error:
        raise GitError(f"no answer within {seconds:.0f} s") from error
    if done.returncode != 0:
        lines = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
        last = lines[-1].strip().removeprefix("fatal: ") if lines else f"git ended with status {done.returncode}"
        raise GitError(last)
    return done.stdout


def _environment(*, network: bool) -> dict[str, str]:
    """The caller's environment without anything that redirects git; the user's own settings only count on the network
    (proxies, certificates)."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    kept |= {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "SSH_ASKPASS": "",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "LC_ALL": "C",
    }
    if not network:
        kept["GIT_CONFIG_GLOBAL"] = os.devnull
    return kept


def list_tree(folder: Path, commit: str) -> list[TreeEntry]:
    """Every path of a commit, submodules too, in git's order. Paths that are not UTF-8 keep U+FFFD in place."""
    entries = []
    for record in run(["ls-tree", "-r", "-l", "-z", commit], folder=folder).split(b"\0"):
        if record:
            head, _, path = record.partition(b"\t")
            mode, kind, oid, size = head.split()
            known = int(size) if kind == b"blob" and size.isdigit() else None
            entries.append(TreeEntry(path.decode("utf-8", "replace"), mode.decode(), oid.decode(), known))
    return entries


def read_objects(folder: Path, oids: Sequence[str]) -> Iterator[bytes | None]:
    """The content of each blob in order, None for one that is absent or damaged."""
    at = 0
    while at < len(oids):
        batch = oids[at : at + 500]
        found = list(_read_batch(folder, batch))
        yield from found
        if len(found) < len(batch):  # git stops at a damaged object: leave that one out and go on behind it
            yield None
            at += 1
        at += len(found)


def _read_batch(folder: Path, oids: Sequence[str]) -> Iterator[bytes | None]:
    output = _tolerant(folder, "".join(f"{oid}\n" for oid in oids).encode())
    at = 0
    for _ in oids:
        end = output.find(b"\n", at)
        if end < 0:
            return
        header = output[at:end].split()
        if len(header) == 3 and header[2].isdigit():
            size = int(header[2])
            if end + 1 + size + 1 > len(output):
                return
            yield output[end + 1 : end + 1 + size]
            at = end + 1 + size + 1
        else:
            yield None
            at = end + 1


def _tolerant(folder: Path, data: bytes) -> bytes:
    command = ["git", "--no-pager", *(part for setting in _HARDENED for part in ("-c", setting))]
    try:
        return subprocess.run(
            [*command, f"--git-dir={folder}", "cat-file", "--batch"], input=data, capture_output=True,
            timeout=LOCAL_SECONDS, env=_environment(network=False), check=False,
        ).stdout  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise GitError(f"no answer within {LOCAL_SECONDS} s") from error
