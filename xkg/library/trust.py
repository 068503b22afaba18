"""Signs a head with the user's key, in a DSSE envelope (`xkg.attestations`), and checks the signature."""

import json

from xkg.attestations import envelope, keys
from xkg.attestations.trust import trusted
from xkg.errors import InputError, UnsafeInputError

PAYLOAD_TYPE = "application/vnd.xkg.library-head+json"


def unseal(data: bytes, place: str) -> tuple[bytes, str | None]:
    """Returns a head's payload and the signing key's fingerprint (None if unsigned). Raises `UnsafeInputError` if the
    signature is invalid."""
    try:
        is_sealed = "payloadType" in json.loads(data)
    except (ValueError, TypeError, RecursionError):
        is_sealed = False
    if not is_sealed:
        return data, None
    try:
        payload, key, _ = envelope.unseal(data, PAYLOAD_TYPE)
    except InputError as error:
        raise UnsafeInputError(
            f"the head of {place} has an invalid signature ({error}); ask the library's maintainer"
        ) from error
    return payload, key.fingerprint


def seal(payload: bytes, place: str, signed_by: str | None) -> tuple[bytes, str | None]:
    """Signs a head with the user's key. Returns the head's bytes and the key's fingerprint. If the user has no key, the
    head is not signed. Raises `InputError` if the previous head was signed and the key is missing."""
    if signed_by is None and not keys.own_key_file().exists():
        return payload, None
    try:
        signer = keys.signer()
    except InputError as error:
        raise InputError(f"the head of {place} is signed, but you have no key to sign it with: {error}") from error
    return envelope.seal(payload, PAYLOAD_TYPE, signer).encode("ascii"), signer.key.fingerprint


def is_trusted(fingerprint: str) -> bool:
    return fingerprint in trusted().names
