"""Manages a graph's bearer tokens. Tokens are shown once, stored as hashes, and valid until they expire or are revoked.

A token consists of 256 random bits, which cannot be guessed from a hash, no matter how fast the hash function is.
SHA-256 is therefore sufficient. A slow password hash would only let untrusted callers keep the CPU busy."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, get_args

from pydantic import TypeAdapter, ValidationError

from xkg.errors import CorruptStoreError, InputError, StoreError
from xkg.files import file_lock, private_folder, write_whole
from xkg.value import Value

PREFIX = "xkg_"
"""Distinguishes our tokens from JWTs, and allows secret scanners to find them in commits."""

Scope = Literal["read", "build", "agents", "run", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LIFETIME = re.compile(r"([1-9][0-9]{0,4})([hdw])")
_UNIT = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_OWNER_ONLY = 0o600


class Token(Value):
    """A stored token. `sha256` is the hex digest of the whole secret. `graphs` lists the graphs that the token can
    read, or is empty for all graphs."""

    name: str
    sha256: str
    scopes: tuple[Scope, ...]
    graphs: tuple[str, ...] = ()
    created: datetime
    expires: datetime | None = None
    revoked: datetime | None = None

    def state(self, now: datetime) -> Literal["valid", "expired", "revoked"]:
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires is not None and self.expires <= now else "valid"


_FILE = TypeAdapter(tuple[Token, ...])


def lifetime(text: str) -> timedelta:
    """Parses a duration such as `12h`, `90d` or `4w`. Raises `InputError` if the format is invalid."""
    match = _LIFETIME.fullmatch(text)
    if match is None:
        raise InputError(f"{text!r} is not a duration; use up to five digits followed by h, d or w, such as 90d")
    return int(match[1]) * _UNIT[match[2]]


def scopes_of(names: Sequence[str]) -> tuple[Scope, ...]:
    """Returns the scopes with these names, without duplicates. Raises `InputError` if a scope is unknown."""
    for name in names:
        if name not in SCOPES:
            raise InputError(f"{name[:80]!r} is not a scope; choose from {', '.join(SCOPES)}")
    return tuple(scope for scope in SCOPES if scope in names)


class Tokens:
    """Manages the tokens for the graph in `folder`. Changes take effect immediately in all processes.

    Every method raises `CorruptStoreError` if the file is damaged, so that no one is granted access by mistake.
    Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / "tokens.json"

    def create(
        self,
        name: str,
        scopes: Sequence[Scope] = ("read",),
        expires: timedelta | None = None,
        graphs: Sequence[str] = (),
    ) -> str:
        """Creates a token and returns its secret, which is not stored. Names of revoked or expired tokens may be
        reused. Raises `InputError` if the name is in use or invalid, and `StoreError` if the file cannot be written."""
        if not _NAME.fullmatch(name):
            raise InputError(f"{name[:80]!r} is not a valid token name; use up to 64 letters, digits and . _ -")
        now = datetime.now(UTC)
        secret = PREFIX + secrets.token_urlsafe(32)
        token = Token(
            name=name,
            sha256=_hash(secret),
            scopes=tuple(dict.fromkeys(scopes)),
            graphs=tuple(dict.fromkeys(graphs)),
            created=now,
            expires=None if expires is None else now + expires,
        )
        with self._changing() as known:
            if any(other.name == name and other.state(now) == "valid" for other in known):
                raise InputError(f"the token {name!r} already exists; revoke it first, or choose another name")
            self._write((*(other for other in known if other.name != name), token))
        return secret

    def revoke(self, name: str) -> None:
        """Revokes the token with this name immediately. Raises `InputError` if there is no such token."""
        now = datetime.now(UTC)
        with self._changing() as known:
            if not any(token.name == name and token.revoked is None for token in known):
                names = ", ".join(token.name for token in known if token.revoked is None) or "none"
                raise InputError(f"there is no token {name[:80]!r} to revoke; tokens: {names}")
            self._write(
                tuple(token.model_copy(update={"revoked": now}) if token.name == name else token for token in known)
            )

    def all(self) -> tuple[Token, ...]:
        """Returns all tokens, including expired and revoked ones, oldest first."""
        try:
            return _FILE.validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise StoreError(f"{self._path} cannot be read ({error.strerror}); correct its permissions") from error
        except ValidationError:
            raise CorruptStoreError(
                f"{self._path} is damaged, so all access is denied; remove the file and create new tokens"
            ) from None

    def valid(self) -> tuple[Token, ...]:
        now = datetime.now(UTC)
        return tuple(token for token in self.all() if token.state(now) == "valid")

    def find(self, secret: str) -> Token | None:
        """Returns the valid token with this secret, or None. The hash is compared with all stored hashes in constant
        time."""
        digest, match = _hash(secret), None
        for token in self.valid():
            if hmac.compare_digest(token.sha256, digest):
                match = token
        return match

    def _write(self, tokens: tuple[Token, ...]) -> None:
        write_whole(self._path, _FILE.dump_json(tokens, indent=1), _OWNER_ONLY)

    @contextmanager
    def _changing(self) -> Iterator[tuple[Token, ...]]:
        try:
            private_folder(self._folder)
            with file_lock(self._folder / "tokens.lock"):
                yield self.all()
        except OSError as error:
            raise StoreError(
                f"{self._path} cannot be written ({error.strerror}), so nothing was changed; choose another --kg"
            ) from error


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
