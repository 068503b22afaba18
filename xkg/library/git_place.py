"""Stores a library on one branch of a git repository. The branch is read and written without a working tree, so that
links, hooks and attributes in the repository have no effect. Concurrent writes are detected, because git rejects pushes
that are not fast-forwards."""

import os
import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from xkg.errors import InputError, UnsafeInputError
from xkg.files import private_folder
from xkg.library.layout import HEAD
from xkg.library.places import Place, shown

_SECONDS = 600
_MOST_FETCHED = 4 << 30
"""Maximum size of a fetch in bytes. Git stores each fetch in one file."""
_MOST_SAID = 64 << 10
_BRANCH = "library"


def is_repository(place: str) -> bool:
    bare = all((Path(place) / name).exists() for name in ("HEAD", "objects", "refs")) if "://" not in place else False
    return bare or bool(re.match(r"git\+|ssh://|git@[\w.-]+:", place)) or place.rstrip("/").endswith(".git")


class GitPlace(Place):
    """Reads from a bare copy of one commit under `cache`. New files are kept in memory and pushed together with the
    head."""

    def __init__(self, place: str, cache: Path) -> None:
        self.name = shown(place)
        self._address = str(Path(place).absolute()) if Path(place).is_dir() else place
        if self._address.startswith("-") or "::" in self._address:
            raise InputError(f"{place} is not the address of a git repository")
        self._folder = cache / f"{sha256(self._address.encode()).hexdigest()[:16]}.git"
        self._waiting: dict[str, bytes] = {}
        self._commit: str | None = None
        if not self._folder.is_dir():
            private_folder(cache)
            self._git("init", "--quiet", "--bare", str(self._folder), bare=False)

    def head(self) -> tuple[bytes | None, Any]:
        """Fetches the branch, and returns its current head."""
        branch = f"refs/heads/{_BRANCH}"
        try:
            self._git("fetch", "--quiet", "--no-tags", "--depth=1", "--", self._address, f"+{branch}:{branch}")
        except InputError as error:
            if "couldn't find remote ref" in str(error):  # nothing has been pushed yet
                return None, None
            raise
        self._commit = self._git("rev-parse", branch).decode("ascii").strip()
        return super().head()[0], self._commit

    def pieces(self, path: str, start: int, most: int) -> Iterator[bytes]:
        if path in self._waiting:
            yield self._waiting[path][start : start + most]
            return
        command = ["git", "-C", str(self._folder), "cat-file", "blob", f"{self._commit}:{path}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=_environment()) as reader:
            assert reader.stdout is not None
            data = reader.stdout.read(start + most)
            reader.kill()
        if not data:
            raise FileNotFoundError(path)
        yield data[start:]

    def write(self, path: str, data: bytes) -> None:
        self._waiting[path] = data

    def replace(self, head: bytes, token: Any) -> bool:
        branch = f"refs/xkg/{os.getpid()}-{threading.get_ident()}"
        files = {**self._waiting, HEAD: head}
        lines = [f"commit {branch}", f"committer xkg <xkg@localhost> {int(time.time())} +0000", _data(b"Add papers")]
        stream = "\n".join([*lines, *([f"from {token}"] if token else [])]).encode()
        for path, data in files.items():
            stream += f"\nM 100644 inline {path}\ndata {len(data)}\n".encode() + data
        self._git("fast-import", "--quiet", "--force", "--done", given=stream + b"\ndone\n")
        pushed, said = self._run("push", "--quiet", self._address, f"{branch}:refs/heads/{_BRANCH}")
        self._git("update-ref", "-d", branch)
        if pushed.returncode == 0:
            self._waiting.clear()
            return True
        if re.search(r"rejected|cannot lock ref|failed to update ref|stale info|fetch first|non-fast-forward", said):
            return False
        raise InputError(f"{self.name} cannot be written: {_last_line(said)}; check the address and your access rights")

    def _git(self, *arguments: str, given: bytes = b"", bare: bool = True) -> bytes:
        ran, said = self._run(*arguments, given=given, bare=bare)
        if "File too large" in said:
            for path in (self._folder / "objects" / "pack").glob("tmp_*"):
                path.unlink(missing_ok=True)
            raise UnsafeInputError(f"{self.name} sends more than {_MOST_FETCHED >> 20} MB at once; nothing was pulled")
        if ran.returncode != 0:
            said = _last_line(said)
            raise InputError(
                f"{self.name} cannot be reached with git: {said}; check the address and your access rights"
            )
        return ran.stdout

    def _run(
        self, *arguments: str, given: bytes = b"", bare: bool = True
    ) -> "tuple[subprocess.CompletedProcess[bytes], str]":
        """Runs git, and returns the finished process and the last part of its stderr, which includes the server's
        messages."""
        folder: Sequence[str] = ("-C", str(self._folder)) if bare else ()
        settings = ("-c", "gc.auto=0", "-c", "transfer.fsckObjects=true", "-c", "fetch.unpackLimit=1")
        command = ["git", *folder, *settings, *arguments]
        if os.name == "posix":  # ulimit counts blocks of 512 bytes
            command = ["sh", "-c", f'trap "" XFSZ; ulimit -f {_MOST_FETCHED >> 9} 2>&-; exec "$@"', "sh", *command]
        try:
            with tempfile.TemporaryFile() as stderr:
                ran = subprocess.run(
                    command,
                    input=given,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    timeout=_SECONDS,
                    env=_environment(),
                    check=False,
                )
                stderr.seek(max(0, stderr.seek(0, os.SEEK_END) - _MOST_SAID))
                return ran, stderr.read().decode("utf-8", "replace")
        except FileNotFoundError as error:
            raise InputError(
                "git is not installed; install git, or use a library that is not a git repository"
            ) from error
        except subprocess.TimeoutExpired as error:
            raise OSError(f"git {arguments[0]} did not finish within {_SECONDS} s") from error


def _environment() -> dict[str, str]:
    """Returns the user's environment without xkg's own keys. Other variables are kept, because git may need the keys
    and helpers that they specify to connect to a server."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("XKG_", "OPENAI_", "NEO4J_"))}
    return {**own, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def _data(data: bytes) -> str:
    return f"data {len(data)}\n{data.decode()}"


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].removeprefix("fatal: ")[:200] if lines else "no reason given"
