"""Lists keys in a running `ssh-agent`, and signs with them.

Messages have the format of draft-ietf-sshm-ssh-agent: a length, a type, and length-prefixed fields."""

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import closing

from xkg.errors import InputError

_LIST, _LISTED, _SIGN, _SIGNED = 11, 12, 13, 14
_SECONDS = 60.0
"""Time limit for an answer: long, because the user may have to confirm a signature."""
_LONGEST_ANSWER = 256 * 1024


def agent_keys() -> list[tuple[bytes, str]]:
    """Returns the agent's keys with their comments, or an empty list if no agent is running."""
    if not os.environ.get("SSH_AUTH_SOCK"):
        return []
    fields = _fields(_asked(bytes([_LIST]), _LISTED)[4:])
    return [(blob, comment.decode("utf-8", "replace")) for blob, comment in zip(fields, fields, strict=False)]


def agent_signature(blob: bytes, data: bytes) -> bytes:
    """Returns the agent's signature of `data` with the key `blob`: 64 bytes for ed25519. Raises `InputError`."""
    answer = _asked(bytes([_SIGN]) + _field(blob) + _field(data) + struct.pack(">I", 0), _SIGNED)
    [*_, signature] = [b"", *_fields(next(_fields(answer), b""))]
    return signature


def _asked(request: bytes, wanted: int) -> bytes:
    try:
        with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as agent:
            agent.settimeout(_SECONDS)
            agent.connect(os.environ.get("SSH_AUTH_SOCK", ""))
            agent.sendall(_field(request))
            with agent.makefile("rb") as file:
                (length,) = struct.unpack(">I", file.read(4))
                answer = file.read(min(length, _LONGEST_ANSWER))
    except (OSError, AttributeError, struct.error) as error:  # AttributeError: Windows has no AF_UNIX
        raise InputError(f"ssh-agent does not answer ({error}); start it, or pass a key file with --key") from error
    if answer[:1] != bytes([wanted]):
        raise InputError(
            "ssh-agent refused to sign; it is locked, does not have this key, or the user declined (see ssh-add -l)"
        )
    return answer[1:]


def _field(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _fields(data: bytes) -> Iterator[bytes]:
    while len(data) >= 4:
        end = 4 + int.from_bytes(data[:4], "big")
        yield data[4:end]
        data = data[end:]
