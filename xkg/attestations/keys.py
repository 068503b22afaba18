"""Reads and creates Ed25519 keys in OpenSSH's formats. Keys come from `xkg key`, `ssh-keygen -t ed25519` or
`ssh-agent`."""

import base64
import functools
import hashlib
import os
import re
from pathlib import Path
from typing import Protocol

from xkg.attestations.agent import agent_keys, agent_signature
from xkg.errors import InputError
from xkg.files import private_folder, read_regular, user_config_folder, write_whole
from xkg.value import Value

_LARGEST_FILE = 64 * 1024
_BLOB = b"\0\0\0\x0bssh-ed25519\0\0\0\x20"
_LINE = re.compile(r"ssh-ed25519 +(?P<blob>[A-Za-z0-9+/]{68})(?: +(?P<name>.*))?")
_LONGEST_NAME = 60


class PublicKey(Value):
    """A public key. `raw` is the 32-byte key in hex, and `name` is the owner's name for it."""

    raw: str
    name: str = ""

    @property
    def line(self) -> str:
        """The key in OpenSSH's format, without the name."""
        return f"ssh-ed25519 {base64.b64encode(self.blob).decode()}"

    @property
    def blob(self) -> bytes:
        return _BLOB + bytes.fromhex(self.raw)

    @functools.cached_property
    def fingerprint(self) -> str:
        """The key's fingerprint (`SHA256:…`) in the format of `ssh-keygen -l`."""
        return f"SHA256:{base64.b64encode(hashlib.sha256(self.blob).digest()).decode().rstrip('=')}"

    def verifies(self, signature: bytes, data: bytes) -> bool:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.raw)).verify(signature, data)
        except InvalidSignature:
            return False
        return True


class Signer(Protocol):
    """Signs data with the private key that belongs to `key`."""

    key: PublicKey

    def sign(self, data: bytes) -> bytes:
        """Returns a signature of 64 bytes. Raises `InputError` if the holder refuses to sign."""
        ...


def public_key(line: str) -> PublicKey:
    """Parses the key in a line such as `ssh-ed25519 AAAA… name`. Raises `InputError`."""
    match = _LINE.fullmatch(line.strip())
    blob = base64.b64decode(match["blob"]) if match else b""
    if match is None or not blob.startswith(_BLOB):
        raise InputError(
            f"{line.strip()[:40]!a} is not an ed25519 key; pass the line from a .pub file, ssh-ed25519 AAAA… NAME"
        )
    return PublicKey(raw=blob[len(_BLOB) :].hex(), name=match["name"] or "")


def read_public_key(text: str) -> PublicKey:
    """Parses the key in a line. If `text` is a path, reads the key from that file. Raises `InputError`."""
    if text.lstrip().startswith("ssh-"):
        return public_key(text)
    path = Path(text).expanduser()
    try:
        data = read_regular(path, _LARGEST_FILE)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{text[:200]!a} is neither a key nor a readable file; pass `ssh-ed25519 AAAA… NAME`"
        ) from error
    if b"PRIVATE KEY" in data[:64]:
        raise InputError(f"{path} is a private key; pass {path}.pub instead, and keep the private key secret")
    return public_key(data.decode("utf-8", "replace"))


def checked_name(name: str) -> str:
    """Returns a key's name without surrounding spaces. Raises `InputError` if the name is empty, too long or not
    printable."""
    name = name.strip()
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        shown = ascii(name[:_LONGEST_NAME])
        raise InputError(f"{shown} is not a valid key name; pass 1 to {_LONGEST_NAME} printable characters with --name")
    return name


def own_key_file() -> Path:
    """Returns the path to the user's private key, which `xkg key` creates. The public key is in the same folder, in a
    file that ends in `.pub`."""
    return user_config_folder() / "id_ed25519"


def own_public_line() -> str:
    """Returns the user's public key and its name as one line. Raises `InputError`."""
    key = _FileSigner(own_key_file()).key
    return f"{key.line} {key.name}".rstrip()


def make_key(name: str) -> PublicKey:
    """Creates the user's key, which only the user can read. Raises `InputError` if the user already has a key, or if
    the new one cannot be written."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    path, private = own_key_file(), Ed25519PrivateKey.generate()
    key = PublicKey(raw=private.public_key().public_bytes_raw().hex(), name=checked_name(name))
    data = private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    try:
        private_folder(path.parent)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        write_whole(_public(path), f"{key.line} {key.name}\n".encode())
    except FileExistsError:
        raise InputError(
            f"{path} already exists; `xkg key` prints its public key. To create another key, move the file away first"
        ) from None
    except OSError as error:
        raise InputError(
            f"{path} cannot be written ({error.strerror}); set XDG_CONFIG_HOME to another folder"
        ) from error
    return key


def signer(path: Path | None = None) -> Signer:
    """Returns a signer for the key at `path`. The file contains a private key, or a public key whose private key is in
    ssh-agent. By default, returns a signer for the user's own key or, if there is none, for the only key in ssh-agent.
    Raises `InputError`."""
    if path is not None:
        return _AgentSigner(read_public_key(str(path))) if path.suffix == ".pub" else _FileSigner(path)
    if own_key_file().exists():
        return _FileSigner(own_key_file())
    held = [PublicKey(raw=blob[len(_BLOB) :].hex(), name=name) for blob, name in agent_keys() if blob.startswith(_BLOB)]
    if len(held) == 1:
        return _AgentSigner(held[0])
    which = (
        f"ssh-agent has {len(held)} ed25519 keys, so pass one with --key FILE.pub" if held else "`xkg key` creates one"
    )
    raise InputError(f"there is no key to sign with; {which}")


class _AgentSigner:
    def __init__(self, key: PublicKey) -> None:
        self.key = key

    def sign(self, data: bytes) -> bytes:
        signature = agent_signature(self.key.blob, data)
        if not self.key.verifies(signature, data):
            raise InputError("ssh-agent returned an invalid signature; restart ssh-agent")
        return signature


class _FileSigner:
    def __init__(self, path: Path) -> None:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_ssh_private_key

        try:
            private = load_ssh_private_key(read_regular(path, _LARGEST_FILE), None)
        except OSError as error:
            raise InputError(f"{path} cannot be read ({error.strerror}); pass a key file with --key") from error
        except TypeError as error:  # the key is encrypted
            raise InputError(f"{path} has a passphrase; run `ssh-add {path}`, then pass --key {path}.pub") from error
        except (ValueError, UnsupportedAlgorithm) as error:
            raise InputError(f"{path} is not an OpenSSH private key; create one with `xkg key`") from error
        if not isinstance(private, Ed25519PrivateKey):
            raise InputError(f"{path} is not an ed25519 key; create one with `xkg key` or `ssh-keygen -t ed25519`")
        self._private = private
        self.key = PublicKey(raw=private.public_key().public_bytes_raw().hex(), name=_name_beside(path))

    def sign(self, data: bytes) -> bytes:
        return self._private.sign(data)


def _name_beside(path: Path) -> str:
    try:
        return read_public_key(str(_public(path))).name
    except InputError:
        return ""


def _public(path: Path) -> Path:
    return path.with_name(f"{path.name}.pub")
