"""Reads and writes a library's files in a folder, on a web server, in an object store, or in any other storage that
`fsspec` supports. `git_place` does the same for git repositories."""

import hashlib
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from xkg.clock import CLOCK, Clock
from xkg.errors import InputError, UnreachableError, UnsafeInputError
from xkg.files import file_lock, said_when_full, write_whole
from xkg.library.layout import HEAD, MOST_HEAD, MOST_NODE, Package, path_of

_PIECE = 1 << 18
_TRIES = 4
AT_ONCE = 16
"""Maximum number of concurrent requests."""
_SECONDS, _SLOWEST = 60.0, 20_000
"""The time limit for a file is `_SECONDS`, plus the time to transfer the file at `_SLOWEST` bytes per second."""
_ANNOUNCED_SECONDS = 3600
_FULL = "free up space or choose another place, then push again"
_FOREVER, _BRIEFLY = "public, max-age=31536000, immutable", "public, max-age=60"
T = TypeVar("T")


class Place:
    """Reads and writes files, which are identified by their paths in the library. Raises `OSError` if a retry may
    succeed, `FileNotFoundError` if a file is missing, and `InputError` if a retry will not help. `name` is a readable
    name for the place. If a place is not `atomic`, it cannot detect whether another writer has replaced the head. Each
    writer therefore announces its entries in a separate file, and then merges the announcements of other writers."""

    name: str
    atomic = True
    known: tuple[str, bytes] | None = None
    """The tag and the bytes of the last head that was read, so that a web server does not have to send the head
    again."""

    def pieces(self, path: str, start: int, most: int) -> Iterator[bytes]:
        """Yields up to `most` bytes (or slightly more) of a file, beginning at `start`."""
        raise NotImplementedError

    def head(self) -> tuple[bytes | None, Any]:
        """Returns the head's bytes (None if there is no head) and a token for `replace`."""
        try:
            data = b"".join(_in_time(self.pieces(HEAD, 0, MOST_HEAD + 1), HEAD, MOST_HEAD, CLOCK))
        except FileNotFoundError:
            data = None
        return data, data

    def write(self, path: str, data: bytes) -> None:  # noqa: ARG002
        raise InputError(f"{self.name} is read-only; push to the folder or bucket behind it")

    def replace(self, head: bytes, token: Any) -> bool:
        """Replaces the head. `token` was returned when the old head was read. Returns False if the head has changed
        since then."""
        raise NotImplementedError

    def announced(self) -> list[tuple[str, bytes]]:
        """Returns all announcements and their paths, oldest first."""
        return []

    def announce(self, data: bytes) -> None:
        raise NotImplementedError

    def forget(self, path: str) -> None:
        """Deletes an announcement that the head includes, unless a writer may still be using an older head."""
        raise NotImplementedError

    def close(self) -> None:
        """Releases the place's resources."""


def shown(place: str) -> str:
    """Returns an address without its user name and password."""
    return re.sub(r"//[^/@]*@", "//", place)


class FolderPlace(Place):
    """Stores a library in a local or mounted folder."""

    def __init__(self, folder: Path) -> None:
        self.name = str(folder)
        self._folder = folder

    def pieces(self, path: str, start: int, most: int) -> Iterator[bytes]:
        with (self._folder / path).open("rb") as file:
            file.seek(start)
            while most > 0 and (piece := file.read(min(_PIECE, most))):
                most -= len(piece)
                yield piece

    def write(self, path: str, data: bytes) -> None:
        target = self._folder / path
        if not target.exists():
            with said_when_full(self._folder, _FULL):
                target.parent.mkdir(parents=True, exist_ok=True)
                write_whole(target, data)

    def replace(self, head: bytes, token: Any) -> bool:
        with said_when_full(self._folder, _FULL):
            self._folder.mkdir(parents=True, exist_ok=True)
        with file_lock(self._folder / ".head.lock"), said_when_full(self._folder, _FULL):
            if self.head()[0] != token:
                return False
            write_whole(self._folder / HEAD, head)
        return True


class OtherPlace(Place):
    """Stores a library in any storage that fsspec supports."""

    atomic = False

    def __init__(self, place: str) -> None:
        import fsspec

        self.name = shown(place)
        self._files, self._root = fsspec.core.url_to_fs(
            place.rstrip("/"), use_listings_cache=False, skip_instance_cache=True
        )

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}"

    def pieces(self, path: str, start: int, most: int) -> Iterator[bytes]:
        yield self._files.cat_file(self._at(path), start=start, end=start + most)

    def write(self, path: str, data: bytes) -> None:
        """Writes the file atomically if the place supports renaming, because another process may be reading the same
        file."""
        self._files.makedirs(self._at(path).rpartition("/")[0], exist_ok=True)
        partial = f"{self._at(path)}.{uuid.uuid4().hex}.tmp"
        self._files.pipe_file(partial, data)
        self._files.mv(partial, self._at(path))

    def replace(self, head: bytes, token: Any) -> bool:  # noqa: ARG002
        self.write(HEAD, head)
        return True

    def announced(self) -> list[tuple[str, bytes]]:
        try:
            names = sorted(self._files.ls(self._at("pushes"), detail=False, refresh=True))
        except FileNotFoundError:
            return []
        paths = [f"pushes/{name.rpartition('/')[2]}" for name in names if not name.endswith(".tmp")]
        return [(path, b"".join(self.pieces(path, 0, MOST_NODE))) for path in paths]

    def announce(self, data: bytes) -> None:
        self.write(f"pushes/{time.time_ns():020d}-{hashlib.sha256(data).hexdigest()[:16]}", data)

    def forget(self, path: str) -> None:
        made = path.rpartition("/")[2].partition("-")[0]
        if made.isdecimal() and time.time() - int(made) / 1e9 > _ANNOUNCED_SECONDS:
            self._files.rm_file(self._at(path))


class ObjectPlace(OtherPlace):
    """Stores a library in a bucket on S3 or a compatible server that honours `If-Match` (RFC 9110, 13.1.1). As with any
    AWS client, the keys and the endpoint come from the environment."""

    atomic = True

    def pieces(self, path: str, start: int, most: int) -> Iterator[bytes]:
        with self._translated():
            yield from super().pieces(path, start, most)

    def head(self) -> tuple[bytes | None, Any]:
        try:
            with self._translated():
                # Read the tag first, so that `replace` fails if the head is replaced in between.
                tag = self._files.info(self._at(HEAD), refresh=True)["ETag"]
            return super().head()[0], tag
        except FileNotFoundError:
            return None, None

    def write(self, path: str, data: bytes) -> None:
        with self._translated():
            self._files.pipe_file(self._at(path), data, CacheControl=_FOREVER)

    def replace(self, head: bytes, token: Any) -> bool:
        condition = {"IfNoneMatch": "*"} if token is None else {"IfMatch": token}
        try:
            with self._translated():
                self._files.pipe_file(self._at(HEAD), head, CacheControl=_BRIEFLY, **condition)
        except OSError as error:
            if _code(error) in ("PreconditionFailed", "ConditionalRequestConflict"):
                return False
            raise
        return True

    @contextmanager
    def _translated(self) -> Iterator[None]:
        from botocore.exceptions import BotoCoreError, NoCredentialsError

        try:
            yield
        except NoCredentialsError as error:
            raise InputError(
                f"{self.name} needs keys; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or FSSPEC_S3_ANON=true if "
                "it is publicly readable"
            ) from error
        except BotoCoreError as error:
            raise OSError(str(error)) from error


def _code(error: BaseException | None) -> str:
    response = getattr(error.__cause__, "response", None) if error is not None else None
    return str(response["Error"].get("Code", "")) if isinstance(response, dict) else ""


class WebPlace(Place):
    """Reads a library from a web server. Does not follow redirects."""

    def __init__(self, place: str) -> None:
        import httpx2

        self.name = shown(place)
        self._root = place.rstrip("/")
        self._web = httpx2.Client(timeout=httpx2.Timeout(30, connect=10), headers={"Accept-Encoding": "identity"})
        self._failed = httpx2.HTTPError

    def pieces(self, path: str, start: int, most: int) -> Iterator[bytes]:
        with self._answer(path, {"Range": f"bytes={start}-"} if start else {}) as answer:
            skipped = start if answer.status_code == 200 else 0  # the server does not support ranges
            for piece in answer.iter_raw():
                yield piece[skipped:]
                most -= max(0, len(piece) - skipped)
                skipped = max(0, skipped - len(piece))
                if most <= 0:
                    return

    def head(self) -> tuple[bytes | None, Any]:
        try:
            with self._answer(HEAD, {"If-None-Match": self.known[0]} if self.known else {}) as answer:
                if answer.status_code == 304 and self.known:
                    return self.known[1], self.known[0]
                return b"".join(_in_time(answer.iter_raw(), HEAD, MOST_HEAD, CLOCK)), answer.headers.get("ETag")
        except FileNotFoundError:
            return None, None

    @contextmanager
    def _answer(self, path: str, headers: Mapping[str, str]) -> Iterator[Any]:
        url = f"{self._root}/{path}"
        try:
            with self._web.stream("GET", url, headers=headers) as answer:
                status = answer.status_code
                if status == 404:
                    raise FileNotFoundError(url)
                if answer.has_redirect_location:
                    where = answer.headers["Location"][:200]
                    raise InputError(
                        f"{url} redirects to {where}, which xkg does not follow; use that address if you trust it"
                    )
                if 400 <= status < 500 and status not in (408, 425, 429):
                    raise InputError(f"{url} returned {status}; check the address of the library")
                if status not in (200, 206, 304):
                    raise OSError(f"the server returned {status}")
                yield answer
        except self._failed as error:
            raise OSError(f"{type(error).__name__}: {error}") from error

    def close(self) -> None:
        self._web.close()


def patiently(
    place: Place, attempt: Callable[[], T], clock: Clock = CLOCK, progress: Callable[[], int] = lambda: 0
) -> T:
    """Calls `attempt` and returns its result. Retries after errors that may be temporary. Attempts that made `progress`
    (in bytes) do not count towards the maximum number of tries. Raises `UnreachableError`, `FileNotFoundError`, and
    other errors from `attempt`."""
    tries = before = 0
    while True:
        try:
            return attempt()
        except FileNotFoundError:
            raise
        except PermissionError as error:
            raise InputError(f"{place.name} denies access ({error}); check your access rights there") from error
        except (NotADirectoryError, IsADirectoryError) as error:
            raise InputError(f"{place.name} is not the folder of a library ({error}); pass another folder") from error
        except OSError as error:
            tries = 1 if (there := progress()) - before >= _PIECE // 4 else tries + 1
            before = there
            if tries == _TRIES:
                line = " ".join(f"{error}".split())[:200]
                raise UnreachableError(
                    f"{place.name} did not answer in {_TRIES} tries ({line}); try again later"
                ) from error
            clock.sleep(0.25 * 2**tries)


def write_all(place: Place, files: Mapping[str, bytes], clock: Clock = CLOCK) -> None:
    """Writes files by path, several at a time. Raises the same errors as `patiently`."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda path: patiently(place, lambda: place.write(path, files[path]), clock), files))


def read(place: Place, path: str, most: int, clock: Clock = CLOCK) -> bytes:
    """Reads a small file. Raises `UnsafeInputError` if the file has more than `most` bytes; may also raise
    `UnreachableError` or `FileNotFoundError`."""

    def attempt() -> bytes:
        data = b"".join(_in_time(place.pieces(path, 0, most + 1), path, most, clock))
        if len(data) > most:
            raise UnsafeInputError(f"{path} in {place.name} is larger than {most >> 20} MB and was not pulled")
        return data

    return patiently(place, attempt, clock)


def read_file(place: Place, name: str, clock: Clock = CLOCK) -> bytes:
    """Reads a file whose name is the hash of its bytes. Raises `UnsafeInputError` if the hash differs,
    `UnreachableError` if the file is missing, and the same errors as `read`."""
    with _present(place, name):
        data = read(place, path_of(name), MOST_NODE, clock)
    if hashlib.sha256(data).hexdigest() != name:
        raise _damaged(place, name)
    return data


def download(place: Place, package: Package, folder: Path, clock: Clock = CLOCK) -> Path:
    """Downloads a package into `folder` and returns the path of the downloaded file. Resumes an interrupted download.
    Raises the same errors as `read_file`."""
    path, target, partial = path_of(package.name), folder / package.name, folder / f"{package.name}.part"
    if target.exists():
        return target
    partial.touch()

    def there() -> int:
        return partial.stat().st_size

    def attempt() -> None:
        if (left := package.size - there()) > 0:
            with partial.open("ab") as file:
                file.writelines(_in_time(place.pieces(path, there(), left + 1), path, left, clock))
        if there() < package.size:
            raise OSError(f"the transfer stopped at {there()} of {package.size} bytes")

    with _present(place, package.name):
        patiently(place, attempt, clock, there)
    with partial.open("rb") as file:
        is_whole = hashlib.file_digest(file, "sha256").hexdigest() == package.name
    if not is_whole:
        partial.unlink()  # otherwise, the next attempt would resume from this damaged file
        raise _damaged(place, package.name)
    return partial.replace(target)


@contextmanager
def _present(place: Place, name: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise UnreachableError(
            f"{place.name} lacks {path_of(name)}; try again later, or ask the library's maintainer"
        ) from error


def _damaged(place: Place, name: str) -> UnsafeInputError:
    return UnsafeInputError(f"{path_of(name)} in {place.name} does not match its name; ask the library's maintainer")


def _in_time(pieces: Iterator[bytes], path: str, size: int, clock: Clock) -> Iterator[bytes]:
    deadline = clock.monotonic() + _SECONDS + size / _SLOWEST
    left = size + 1
    for piece in pieces:
        yield piece[:left]
        left -= len(piece)
        if left <= 0:
            return
        if clock.monotonic() > deadline:
            raise UnreachableError(f"{path} did not arrive in time; try again later")
