import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.attestations.conftest import LAB, STRANGER, UNI, attested, code, evidence
from xkg.attestations import trust
from xkg.attestations.trust import trusted
from xkg.errors import InputError
from xkg.model import Code, Fidelity, Level

Statement = Callable[..., str]


def seen(of: Code) -> str:
    return trusted().seen(of).standing


def test_claimed_code_has_the_level_that_trusted_keys_attest(statement: Statement) -> None:
    of = attested(code(), statement(LAB), statement(UNI), statement(STRANGER))
    assert seen(of) == "claimed"
    trust.add(LAB.key, "LAB")
    assert seen(of) == "tested, attested by LAB"
    trust.add(UNI.key, "UNI")
    assert seen(of) == "tested, attested by LAB and UNI"
    trust.add(STRANGER.key, "a stranger")
    assert seen(of) == "tested, attested by LAB and 2 others"
    assert trusted().seen(of).evidence[-1].mutation_score == 0.9


def test_a_revoked_key_counts_no_more_at_once(statement: Statement) -> None:
    of = attested(code(), statement(LAB))
    trust.add(LAB.key, "LAB")
    before = trusted()
    trust.revoke(LAB.key.fingerprint)
    assert before is not trusted()
    assert seen(of) == "claimed"
    with pytest.raises(InputError, match=r"revoked at .* --again"):
        trust.add(LAB.key, "LAB")
    trust.add(LAB.key, "LAB", again=True)
    assert seen(of) == "tested, attested by LAB"


def test_the_highest_level_that_anybody_attests_is_said_with_those_who_attest_it(statement: Statement) -> None:
    of = attested(code(), statement(LAB, proof=evidence(Level.EXECUTED)), statement(UNI))
    trust.add(LAB.key, "LAB")
    assert seen(of) == "executed, attested by LAB"
    trust.add(UNI.key, "UNI")
    assert seen(of) == "tested, attested by UNI"


@pytest.mark.parametrize(
    ("level", "proof", "standing"),
    [
        (Level.PARSED, Level.TESTED, "parsed"),
        (Level.EXECUTED, Level.TESTED, "executed, also attested by LAB"),
        (Level.TESTED, Level.EXECUTED, "tested"),
        (Level.TESTED, Level.FAITHFUL, "faithful, attested by LAB"),
    ],
)
def test_what_was_proven_here_stands(statement: Statement, level: Level, proof: Level, standing: str) -> None:
    faithful = {"fidelity": Fidelity(share=0.9, faults=())} if proof is Level.FAITHFUL else {}
    of = attested(code(), statement(proof=evidence(proof, **faithful))).model_copy(update={"level": level})
    trust.add(LAB.key, "LAB")
    assert seen(of) == standing


@pytest.mark.parametrize("name", ["\x1b[31mLAB\x1b[0m", "LAB\nUNI", "\u202eBAL", "", "x" * 61, "\x9b2J"])
def test_a_name_can_fool_no_terminal(name: str) -> None:
    key = LAB.key.model_copy(update={"name": name})
    with pytest.raises(InputError, match="is not a valid key name") as raised:
        trust.add(key)
    assert str(raised.value).isprintable()
    assert trust.add(key, "LAB").name == "LAB"


def test_two_keys_have_two_names_and_a_new_key_may_follow_a_revoked_one() -> None:
    trust.add(LAB.key, "LAB")
    with pytest.raises(InputError, match="already trusted, as 'LAB'"):
        trust.add(LAB.key, "another")
    with pytest.raises(InputError, match="another key is called 'lab'"):
        trust.add(UNI.key, "lab")
    trust.revoke("LAB")
    trust.add(UNI.key, "LAB")
    with pytest.raises(InputError, match="trusted keys: LAB"):
        trust.revoke("UNI")


def test_a_damaged_file_lets_nobody_count(user: Path) -> None:
    trust.add(LAB.key, "LAB")
    path = user / "trust.json"
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("{")
    os.utime(path, ns=(0, 0))
    with pytest.raises(InputError, match=r"trust\.json cannot be read; correct it, or remove it"):
        trusted()
