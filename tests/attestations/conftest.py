from collections.abc import Callable
from pathlib import Path

import pytest

from xkg.attestations.envelope import attest
from xkg.attestations.keys import PublicKey
from xkg.model import Code, Evidence, Level, code_id

IMPLEMENTATION, TEST = "def half(x):\n    return x / 2\n", "assert half(4) == 2\n"


class TestSigner:
    __test__ = False

    def __init__(self, seed: int) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        self._private = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
        self.key = PublicKey(raw=self._private.public_key().public_bytes_raw().hex())

    def sign(self, data: bytes) -> bytes:
        return self._private.sign(data)


LAB, UNI, STRANGER = (TestSigner(seed) for seed in (1, 2, 3))


def evidence(level: Level = Level.TESTED, **fields: object) -> Evidence:
    proven = {"runner": "bubblewrap", "exit_code": 0, "mutants": 10, "mutation_score": 0.9}
    return Evidence.model_validate({"level": level, **proven, **fields})


def code(technique: str = "title:halves#half", implementation: str = IMPLEMENTATION) -> Code:
    """Returns code that claims to be tested."""
    return Code(
        id=code_id(technique, implementation, TEST),
        technique=technique,
        implementation=implementation,
        test=TEST,
        level=Level.CLAIMED,
        evidence=(evidence(),),
    )


def attested(of: Code, *envelopes: str) -> Code:
    return of.model_copy(update={"attestations": (*of.attestations, *envelopes)})


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Creates a separate folder for the user, without a running agent."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return tmp_path / "config" / "xkg"


@pytest.fixture
def statement() -> Callable[..., str]:
    """Returns an attestation of `code()` signed by LAB, unless another signer, code or evidence is given. Repeated
    calls return the same attestation, even though the clock moves on."""
    made: dict[tuple[str, str], str] = {}

    def make(signer: TestSigner = LAB, of: Code | None = None, proof: Evidence | None = None) -> str:
        key = signer.key.raw, f"{of!r} {proof!r}"
        if key not in made:
            made[key] = attest(of or code(), proof or evidence(), ["numpy==2.3.0"], signer)
        return made[key]

    return make
