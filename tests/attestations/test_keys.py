"""Tests keys in OpenSSH's formats with the real `ssh-keygen` and `ssh-agent`."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attestations.conftest import LAB
from xkg.attestations.keys import make_key, own_key_file, own_public_line, public_key, read_public_key, signer
from xkg.errors import InputError

needs_openssh = pytest.mark.skipif(shutil.which("ssh-agent") is None, reason="OpenSSH is not installed")


def keygen(path: Path, *, kind: str = "ed25519", passphrase: str = "") -> Path:
    arguments = ("ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "LAB of halves", "-f", str(path))
    subprocess.run(arguments, check=True, stdin=subprocess.DEVNULL)
    return path


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    socket = tmp_path / "agent"
    with subprocess.Popen(("ssh-agent", "-D", "-a", str(socket)), stdout=subprocess.DEVNULL) as process:
        monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
        while subprocess.run(("ssh-add", "-l"), capture_output=True, check=False).returncode == 2:
            assert process.poll() is None
        yield
        process.terminate()


def test_a_new_key_is_only_its_owners_and_one_of_openssh(tmp_path: Path) -> None:
    made = make_key("LAB")
    path = own_key_file()
    assert path.stat().st_mode & 0o777 == 0o600
    assert own_public_line() == f"{made.line} LAB"
    assert signer().key == read_public_key(str(path.with_suffix(".pub")))
    with pytest.raises(InputError, match="already exists"):
        make_key("LAB")
    if shutil.which("ssh-keygen"):
        printed = subprocess.run(("ssh-keygen", "-lf", str(path)), capture_output=True, check=True, text=True).stdout
        assert made.fingerprint in printed
    assert made.verifies(signer().sign(b"data"), b"data")
    assert not made.verifies(signer().sign(b"data"), b"other")
    assert list(tmp_path.glob("**/*.tmp")) == []


@needs_openssh
def test_keys_of_ssh_keygen_sign(tmp_path: Path) -> None:
    path = keygen(tmp_path / "key")
    holder = signer(path)
    assert holder.key.name == "LAB of halves"
    assert read_public_key(f"{path}.pub") == holder.key
    assert holder.key.verifies(holder.sign(b"data"), b"data")


@needs_openssh
@pytest.mark.parametrize(
    ("kind", "passphrase", "problem"),
    [("ed25519", "secret", r"ssh-add .*then pass --key .*\.pub"), ("ecdsa", "", "not an ed25519 key")],
)
def test_a_key_that_cannot_sign_says_what_to_do(tmp_path: Path, kind: str, passphrase: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        signer(keygen(tmp_path / "key", kind=kind, passphrase=passphrase))


@needs_openssh
@pytest.mark.usefixtures("agent")
def test_ssh_agent_signs_with_the_key_that_it_holds(tmp_path: Path) -> None:
    path, other = keygen(tmp_path / "key"), keygen(tmp_path / "other")
    with pytest.raises(InputError, match="`xkg key` creates one"):
        signer()
    subprocess.run(("ssh-add", "-q", str(path)), check=True)
    subprocess.run(("ssh-add", "-q", str(keygen(tmp_path / "rsa", kind="ecdsa"))), check=True)
    path.unlink()
    for holder in (signer(), signer(Path(f"{path}.pub"))):
        assert holder.key == read_public_key(f"{path}.pub")
        assert holder.key.verifies(holder.sign(b"data"), b"data")
    with pytest.raises(InputError, match="does not have this key"):
        signer(Path(f"{other}.pub")).sign(b"data")
    subprocess.run(("ssh-add", "-q", str(other)), check=True)
    with pytest.raises(InputError, match=r"has 2 ed25519 keys, so pass one with --key FILE\.pub"):
        signer()


def test_an_agent_that_is_gone_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "gone"))
    with pytest.raises(InputError, match="ssh-agent does not answer"):
        signer()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ssh-rsa AAAA x",
        LAB.key.line[:-4],
        f"{LAB.key.line}\nmore",
        "ssh-ed25519 é",
    ],
)
def test_what_is_no_key(text: str) -> None:
    with pytest.raises(InputError):
        public_key(text)


def test_a_private_key_is_not_taken_for_a_public_one(tmp_path: Path) -> None:
    make_key("LAB")
    with pytest.raises(InputError, match=r"pass .*\.pub instead, and keep the private key secret"):
        read_public_key(str(own_key_file()))
    for text in (str(tmp_path / "none"), os.devnull, "a\0b"):
        with pytest.raises(InputError, match="neither a key"):
            read_public_key(text)
