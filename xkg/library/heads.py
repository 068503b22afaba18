"""Reads and checks a library's head, and updates it without losing other writers' entries.

A signed head has a version and an expiry time, like metadata in The Update Framework (version 1.0.33, 5.4). Older heads
and unmaintained copies are therefore rejected."""

import hashlib
import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple

from pydantic import TypeAdapter

from xkg.attestations.keys import own_key_file
from xkg.clock import CLOCK, Clock
from xkg.errors import InputError, UnsafeInputError
from xkg.library import trust
from xkg.library.layout import MOST_HEAD, MOST_VERSIONS, Files, Head, Row, parse, path_of
from xkg.library.places import Place, patiently, read_file, write_all
from xkg.library.state import Seen
from xkg.value import Value

VALID_DAYS = 180
_TRIES = 200


class Change(Value):
    """A version of a paper that a writer adds to the library. The new version replaces the versions whose contents are
    in `seen`. If the library already contains the new version, only its missing packages are added."""

    row: Row
    seen: tuple[str, ...] = ()


_CHANGES = TypeAdapter(tuple[Change, ...])


class OpenHead(NamedTuple):
    """A library's head as it was read. `data` contains the head's bytes, and `token` is passed to `Place.replace`."""

    head: Head
    signer: str | None
    data: bytes | None
    token: object


def open_head(place: Place, seen: Seen | None, clock: Clock = CLOCK) -> OpenHead:
    """Returns the library's current head. If `seen` is given, the head must not be older than the last head seen. If
    the last head was signed, the new head must be signed with the same key or a trusted key. Raises `UnsafeInputError`,
    `UnreachableError` and `InputError`.
    """
    before = seen.head() if seen is not None else None
    if before is not None and before.tag:
        place.known = before.tag, before.data.encode()
    data, token = patiently(place, place.head, clock)
    if data is None:
        return OpenHead(Head(), None, None, token)
    if len(data) > MOST_HEAD:
        raise UnsafeInputError(f"the head of {place.name} is larger than {MOST_HEAD >> 20} MB; nothing was pulled")
    payload, signer = trust.unseal(data, place.name)
    head: Head = parse(Head, payload, f"the head of {place.name}")
    if signer is not None and _expired(head.expires, clock.now()):
        raise UnsafeInputError(
            f"the head of {place.name} expired ({head.expires}): either nobody renewed it, or this is "
            "an old copy; ask the maintainer to run `xkg push` again"
        )
    if before is not None and before.version:
        is_other = head.version == before.version and hashlib.sha256(data).hexdigest() != before.digest
        # While several writers merge their changes, one of them may briefly restore an older head.
        if place.atomic and (head.version < before.version or is_other):
            raise UnsafeInputError(
                f"{place.name} was rolled back or replaced: its version is {head.version}, but version "
                f"{before.version} was seen before; ask the maintainer, and if the change was "
                f"intended, delete {seen.folder if seen else ''}"
            )
        if before.signer is not None and signer != before.signer and not (signer and trust.is_trusted(signer)):
            raise UnsafeInputError(
                f"the head of {place.name} is signed by {signer or 'nobody'} instead of {before.signer}; ask the "
                f"library's maintainer, then trust the new key with `xkg trust add`"
            )
    return OpenHead(head, signer, data, token)


def note(seen: Seen, opened: OpenHead, read_for: str | None = None) -> None:
    """Records that this head was seen. Unless `read_for` is None, also records that the head's log was read for this
    search (`SeenHead.entries`)."""
    before = seen.head()
    data = opened.data or b""
    digest = hashlib.sha256(data).hexdigest() if data else ""
    update = {"version": opened.head.version, "digest": digest, "signer": opened.signer or before.signer}
    update |= {} if read_for is None else {"entries": {**before.entries, read_for: opened.head.entries}}
    tagged = {"tag": opened.token, "data": data.decode()} if isinstance(opened.token, str) and data.isascii() else {}
    seen.keep_head(before.model_copy(update={**update, **tagged}))


def files_of(place: Place, clock: Clock = CLOCK) -> Files:
    return Files(lambda name: read_file(place, name, clock=clock))


def merged(row: Row | None, change: Change) -> Row:
    """Returns a paper's row after merging a writer's addition into it."""
    [new] = change.row.versions
    versions = {version.content: version for version in row.versions} if row is not None else {}
    # Keep what other writers added to the replaced versions, because it may be about code that has not changed.
    replaced = [versions.pop(each) for each in change.seen if each in versions and each != new.content]
    carried = {package.name: package for each in replaced for package in each.packages[1:]}
    packages = (*new.packages, *carried.values())
    if (same := versions.get(new.content)) is not None:
        added = [package for package in packages if set(package.holds) - same.holds]
        versions[new.content] = same.model_copy(update={"packages": (*same.packages, *added)})
    else:  # if two versions have the same proof and date, the new version comes first
        versions = {new.content: new.model_copy(update={"packages": packages}), **versions}
    best = sorted(versions.values(), key=lambda each: (each.proof, each.pushed), reverse=True)
    return change.row.model_copy(update={"versions": tuple(best[:MOST_VERSIONS])})


def add(
    place: Place,
    changes: Sequence[Change],
    seen: Seen,
    step: Callable[[str], None] = lambda _: None,
    clock: Clock = CLOCK,
) -> int:
    """Adds the changes that the library does not contain yet, even if others are writing at the same time. Returns the
    number of papers that changed. `step` is called with the name of each write before it starts. Raises `InputError`
    and the same errors as `open_head`."""
    if not place.atomic:
        step("announcement")
        place.announce(_CHANGES.dump_json(tuple(changes)))
    files, written, changed = files_of(place, clock), set[str](), set[str]()
    for _ in range(_TRIES):
        opened = open_head(place, seen, clock)
        announced = [] if place.atomic else place.announced()
        wanted = [each for path, data in announced for each in parse(_CHANGES, data, path)] or changes
        known = {change.row.paper: files.row(opened.head, change.row.paper) for change in wanted}
        rows = dict(known)
        for change in wanted:
            rows[change.row.paper] = merged(rows[change.row.paper], change)
        new = [row for paper, row in rows.items() if row and row.versions != getattr(known[paper], "versions", None)]
        unsigned = opened.data is not None and opened.signer is None and own_key_file().exists()
        stale = opened.signer is not None and _expired(opened.head.expires, clock.now() + VALID_DAYS / 2 * 86400)
        if not new and not stale and not unsigned:
            for path, _data in announced:
                place.forget(path)
            note(seen, opened)
            break
        changed |= {row.paper for row in new} & {change.row.paper for change in changes}
        head = files.with_rows(opened.head, new)
        step("index")
        write_all(place, {path_of(name): data for name, data in files.new.items() if name not in written})
        written |= files.new.keys()
        expires = datetime.fromtimestamp(clock.now(), UTC) + timedelta(days=VALID_DAYS)
        head = head.model_copy(
            update={"version": opened.head.version + 1, "expires": expires.isoformat(timespec="seconds")}
        )
        data, signer = trust.seal(head.model_dump_json().encode(), place.name, opened.signer)
        step("head")
        # If the first attempt succeeded but its response was lost, the retry is rejected. The next round then finds the
        # changes.
        if not patiently(place, partial(place.replace, data, opened.token), clock):
            clock.sleep(random.uniform(0, 0.05))
        elif place.atomic:
            note(seen, OpenHead(head, signer, data, None))
            break
    else:
        raise InputError(f"other writers changed {place.name} {_TRIES} times during the push; push again")
    return len(changed)


def _expired(expires: str | None, now: float) -> bool:
    try:
        return expires is None or datetime.fromisoformat(expires).timestamp() < now
    except ValueError:
        return True
