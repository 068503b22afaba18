"""Writes and reads attestations. An attestation is an in-toto Statement v1 (https://github.com/in-toto/attestation)
about a code node, in a DSSE envelope (https://github.com/secure-systems-lab/dsse) with one ed25519 signature.

`keyid` is the public key itself, so anyone can check the signature. `trust` decides whether the key is trusted."""

import base64
import functools
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

from xkg.attestations.keys import PublicKey, Signer, public_key
from xkg.errors import InputError
from xkg.model import Code, Evidence, Level
from xkg.value import Value
from xkg.version import __version__

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "xkg://attestations/code-level/v1"
LARGEST = 64 * 1024
"""Maximum number of characters in an envelope."""
_BULKY = {"output_end", "covered_lines", "uncovered_lines", "survivors"}
"""Evidence fields that are not published."""


class Attestation(Value):
    """`key` attests that the code with this id and hash has the level that `evidence` supports, as of `time` (ISO 8601,
    UTC)."""

    key: PublicKey
    code: str
    sha256: str
    evidence: Evidence
    time: str
    envelope: str

    @property
    def level(self) -> Level:
        return self.evidence.level


def attest(code: Code, evidence: Evidence, packages: Sequence[str], signer: Signer) -> str:
    """Returns an attestation as a signed envelope. `packages` lists the packages in the run's environment as
    name==version. Raises `InputError` if the key's holder refuses to sign."""
    predicate = {
        "level": evidence.level.value,
        "evidence": evidence.model_dump(mode="json", exclude=_BULKY),
        "environment": {"hash": evidence.environment, "packages": list(packages)},
        "runner": evidence.runner,
        "xkg": __version__,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": code.id, "digest": {"sha256": code.sha256}}],
        "predicateType": PREDICATE_TYPE,
        "predicate": predicate,
    }
    return seal(json.dumps(statement, separators=(",", ":")).encode("ascii"), PAYLOAD_TYPE, signer)


@functools.lru_cache(1024)
def read(envelope: str) -> Attestation:
    """Returns the attestation in an envelope. Raises `InputError` if the signature or the statement is invalid."""
    with _refused():
        payload, key, own = unseal(envelope, PAYLOAD_TYPE)
        return _statement(json.loads(payload), key, own)


def _statement(statement: dict[str, Any], key: PublicKey, envelope: str) -> Attestation:
    predicate, [subject] = statement["predicate"], statement["subject"]
    if (statement["_type"], statement["predicateType"]) != (STATEMENT_TYPE, PREDICATE_TYPE):
        raise ValueError("it is not a statement about a code level")
    known = {name: value for name, value in predicate["evidence"].items() if name in Evidence.model_fields}
    evidence = Evidence.model_validate(known)
    if predicate["level"] != evidence.level or evidence.level.rank < Level.IMPORTED.rank or not evidence.suffices:
        raise ValueError("it claims more than its evidence supports")
    time = datetime.fromisoformat(predicate["time"]).astimezone(UTC).isoformat(timespec="seconds")
    return Attestation(
        key=PublicKey(raw=key.raw),  # the owner's name for the key is not signed, so drop it
        code=subject["name"],
        sha256=subject["digest"]["sha256"],
        evidence=evidence,
        time=time,
        envelope=envelope,
    )


def seal(payload: bytes, payload_type: str, signer: Signer) -> str:
    """Returns a payload with one signature, as a DSSE envelope. Raises `InputError` if the key's holder refuses to
    sign."""
    return _envelope(payload, payload_type, signer.key, signer.sign(_signed(payload, payload_type)))


def unseal(envelope: str | bytes, payload_type: str) -> tuple[bytes, PublicKey, str]:
    """Returns the payload, the key that signed it, and the envelope without unknown fields. Raises `InputError` if the
    envelope is too large, has a different payload type, or does not have a valid signature."""
    with _refused():
        if len(envelope) > LARGEST:
            raise ValueError(f"it has more than {LARGEST:,} characters")
        outer = json.loads(envelope)
        if outer["payloadType"] != payload_type:
            raise ValueError("its payload has a different type")
        payload, [signature] = base64.b64decode(outer["payload"], validate=True), outer["signatures"]
        key, signed = public_key(signature["keyid"]), base64.b64decode(signature["sig"], validate=True)
        if not key.verifies(signed, _signed(payload, payload_type)):
            raise ValueError("its signature is invalid")
        return payload, key, _envelope(payload, payload_type, key, signed)


@contextmanager
def _refused() -> Iterator[None]:
    """Converts all errors from parsing untrusted JSON to `InputError`."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
        line = next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(f"a signed statement is not valid: {line[:120]!a}") from error


def _envelope(payload: bytes, payload_type: str, key: PublicKey, signature: bytes) -> str:
    signed = {"keyid": key.line, "sig": base64.b64encode(signature).decode()}
    fields = {"payload": base64.b64encode(payload).decode(), "payloadType": payload_type, "signatures": [signed]}
    return json.dumps(fields, separators=(",", ":"))


def _signed(payload: bytes, payload_type: str) -> bytes:
    """Returns the bytes to sign for a payload, in DSSE's pre-authentication encoding."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def attestations_of(code: Code) -> tuple[Attestation, ...]:
    """Returns the valid attestations for exactly this code, newest first. If a key has made several attestations, only
    the newest is returned."""
    newest: dict[str, Attestation] = {}
    for envelope in code.attestations:
        with suppress(InputError):
            found = read(envelope)
            if (found.code, found.sha256) == (code.id, code.sha256):
                key = found.key.raw
                newest[key] = max(found, newest.get(key, found), key=lambda each: each.time)
    return tuple(sorted(newest.values(), key=lambda each: each.time, reverse=True))
