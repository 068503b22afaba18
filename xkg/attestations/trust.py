"""Stores, in a user's configuration folder, the keys whose attestations the user trusts.

Levels are computed from these keys on every read, so revoking a key takes effect immediately."""

import contextlib
import functools
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from xkg.attestations.envelope import attestations_of
from xkg.attestations.keys import PublicKey, checked_name
from xkg.errors import InputError
from xkg.files import file_lock, private_folder, user_config_folder, write_whole
from xkg.model import Code, Level
from xkg.value import Value

RAISED = (Level.CLAIMED, Level.TESTED)
"""Levels that an attestation can raise. A local proof outweighs a remote proof, but no local run proves `faithful`."""

Vouchers = Iterable[tuple[str, Level]]
"""Pairs of a key's fingerprint and the level it attests."""


class TrustedKey(Value):
    """A key, with the name chosen by the user and the times (ISO 8601) at which it was added and revoked."""

    name: str
    key: PublicKey
    added: str
    revoked: str | None = None


class Trust(Value):
    """The keys that a user has added, oldest first. Keys are trusted until revoked."""

    keys: tuple[TrustedKey, ...] = ()

    @cached_property
    def names(self) -> dict[str, str]:
        """The names of the trusted keys, by fingerprint."""
        return {each.key.fingerprint: each.name for each in self.keys if each.revoked is None}

    def named(self, name: str) -> TrustedKey:
        """Returns the trusted key with this name or fingerprint. Raises `InputError` if there is none."""
        for each in self.keys:
            if each.revoked is None and name in (each.name, each.key.fingerprint):
                return each
        raise InputError(f"no key {name[:80]!a} is trusted; trusted keys: {', '.join(self.names.values()) or 'none'}")

    def attested(self, level: Level, vouchers: Vouchers) -> tuple[Level, str]:
        """Returns the code's level, which may be higher than the stored `level`, and a text that says who attests it.
        For a level that comes from an attestation, the text is similar to `attested by LAB and 2 others`. For a level
        that was proven on this machine, the text is similar to `also attested by LAB`. If nobody attests the level, the
        text is empty."""
        of = dict(vouchers)
        counted = {name: of[fingerprint] for fingerprint, name in self.names.items() if fingerprint in of}
        highest = max(counted.values(), key=lambda own: own.rank, default=Level.NONE)
        raised = level in RAISED and highest.rank > level.rank
        if not raised and (level.rank < Level.IMPORTED.rank or highest.rank < level.rank):
            return level, ""
        seen = highest if raised else level
        agree = [name for name, own in counted.items() if own.rank >= seen.rank]
        more = f" and {agree[1] if len(agree) == 2 else f'{len(agree) - 1} others'}" if len(agree) > 1 else ""
        return seen, f"{'' if raised else 'also '}attested by {agree[0]}{more}"

    def seen(self, code: Code) -> Code:
        """Returns the code with the level that the trusted keys attest and the evidence for it."""
        if not code.attestations:
            return code
        found = attestations_of(code)
        level, attested = self.attested(code.level, ((each.key.fingerprint, each.level) for each in found))
        if level is code.level:
            return code.model_copy(update={"attested": attested}) if attested else code
        own = next(each.evidence for each in found if each.level is level and each.key.fingerprint in self.names)
        here = () if code.level is Level.CLAIMED else code.evidence
        return code.model_copy(update={"level": level, "attested": attested, "evidence": (*here, own)})


def vouchers(code: Code) -> tuple[tuple[str, Level], ...]:
    """Returns all keys, trusted or not, that attest exactly this code, along with the level that each key attests."""
    return tuple((each.key.fingerprint, each.level) for each in attestations_of(code))


_NOBODY = Trust()


def trusted() -> Trust:
    """Returns this user's current keys. The returned object stays the same until the keys change. Raises `InputError`
    if the file is damaged."""
    path = _file()
    try:
        status = path.stat()
    except OSError:
        return _NOBODY
    return _read(path, (status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size))


@functools.lru_cache(4)
def _read(path: Path, version: object) -> Trust:  # noqa: ARG001
    try:
        return Trust.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise InputError(f"{path} cannot be read; correct it, or remove it and add the keys again") from error


def add(key: PublicKey, name: str = "", *, again: bool = False) -> TrustedKey:
    """Trusts a key's attestations. Set `again` to trust a revoked key. Raises `InputError` if the key or the name is
    already in use."""
    name = checked_name(name or key.name)
    new = TrustedKey(name=name, key=PublicKey(raw=key.raw), added=_now())
    with _changing() as known:
        same = next((each for each in known.keys if each.key.raw == key.raw), None)
        if same is not None and same.revoked is None:
            raise InputError(f"this key is already trusted, as {same.name!r}")
        if same is not None and not again:
            raise InputError(
                f"this key was revoked at {same.revoked}, as {same.name!r}; to trust it again, pass --again"
            )
        others = tuple(each for each in known.keys if each is not same)
        if any(each.name.casefold() == name.casefold() and each.revoked is None for each in others):
            raise InputError(f"another key is called {name!r}; choose a different name with --name")
        _write(Trust(keys=(*others, new)))
    return new


def revoke(name: str) -> TrustedKey:
    """Stops trusting a key's attestations. `name` is the key's name or fingerprint. Raises `InputError` if there is no
    such key."""
    with _changing() as known:
        found = known.named(name)
        ended = found.model_copy(update={"revoked": _now()})
        _write(Trust(keys=tuple(ended if other is found else other for other in known.keys)))
        return ended


@contextlib.contextmanager
def _changing() -> Iterator[Trust]:
    folder = _file().parent
    try:
        private_folder(folder)
        with file_lock(folder / "trust.lock"):
            yield trusted()
    except OSError as error:
        raise InputError(
            f"{folder} cannot be written ({error.strerror}); set XDG_CONFIG_HOME to another folder"
        ) from error


def _write(trust: Trust) -> None:
    write_whole(_file(), trust.model_dump_json(indent=1).encode(), 0o600)


def _file() -> Path:
    return user_config_folder() / "trust.json"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
