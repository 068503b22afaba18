import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.attestations.conftest import LAB, UNI, attested, code, evidence
from xkg.attestations.envelope import LARGEST, PAYLOAD_TYPE, PREDICATE_TYPE, STATEMENT_TYPE, attestations_of, read, seal
from xkg.errors import InputError
from xkg.model import Fidelity, Level

Statement = Callable[..., str]


def payload(envelope: str) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(base64.b64decode(json.loads(envelope)["payload"]))
    return fields


def signed(fields: object) -> str:
    return seal(json.dumps(fields).encode(), PAYLOAD_TYPE, LAB)


def test_a_statement_says_of_which_code_what_was_proven_and_how(statement: Statement) -> None:
    said = payload(statement())
    assert (said["_type"], said["predicateType"]) == (STATEMENT_TYPE, PREDICATE_TYPE)
    assert said["subject"] == [{"name": code().id, "digest": {"sha256": code().sha256}}]
    assert said["subject"][0]["digest"]["sha256"].startswith(code().id.rpartition("@")[2])
    predicate = said["predicate"]
    assert (predicate["level"], predicate["runner"]) == ("tested", "bubblewrap")
    assert predicate["environment"]["packages"] == ["numpy==2.3.0"]
    assert read(statement()).evidence.mutation_score == 0.9


def test_a_change_of_one_byte_is_noticed(statement: Statement) -> None:
    whole = json.loads(statement())
    forged = payload(statement()) | {"subject": [{"name": "x", "digest": {"sha256": "0" * 64}}]}
    for changed in (
        {**whole, "payload": base64.b64encode(json.dumps(forged).encode()).decode()},
        {**whole, "signatures": [{**whole["signatures"][0], "keyid": UNI.key.line}]},
        {**whole, "signatures": [{**whole["signatures"][0], "sig": base64.b64encode(bytes(64)).decode()}]},
        {**whole, "signatures": [{**whole["signatures"][0], "sig": ""}]},
    ):
        with pytest.raises(InputError, match="signature is invalid"):
            read(json.dumps(changed))


def test_what_was_signed_as_something_else_is_no_attestation(statement: Statement) -> None:
    whole = json.loads(statement())
    said = base64.b64decode(whole["payload"])
    other = json.loads(seal(said, "application/vnd.xkg.head+json", LAB))
    for envelope in (other, {**other, "payloadType": PAYLOAD_TYPE}, {**whole, "payloadType": "text/plain"}):
        with pytest.raises(InputError):
            read(json.dumps(envelope))
    for change in ({"predicateType": "https://slsa.dev/provenance/v1"}, {"_type": "https://in-toto.io/Statement/v0.1"}):
        with pytest.raises(InputError, match="not a statement about a code level"):
            read(signed({**payload(statement()), **change}))


@pytest.mark.parametrize(
    "proof",
    [
        evidence(exit_code=1),
        evidence(runner=None),
        evidence(mutation_score=0.5),
        evidence(mutation_score=float("inf")),
        evidence(Level.FAITHFUL),
        evidence(Level.FAITHFUL, fidelity=Fidelity(share=0.9)),
        evidence(Level.FAITHFUL, fidelity=Fidelity(share=0.4, faults=())),
        evidence(Level.PARSED),
    ],
)
def test_a_level_needs_its_evidence(statement: Statement, proof: Any) -> None:
    with pytest.raises(InputError):
        read(statement(proof=proof))


def test_a_level_above_that_of_the_evidence_is_refused(statement: Statement) -> None:
    said = payload(statement())
    said["predicate"]["level"] = "faithful"
    with pytest.raises(InputError, match="more than its evidence"):
        read(signed(said))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "[" * 100_000,
        '{"a":' * 100_000,
        "x" * (LARGEST + 1),
        '{"payloadType":"' + PAYLOAD_TYPE + '","payload":"@@","signatures":[{}]}',
        '{"payloadType":"' + PAYLOAD_TYPE + '","payload":"","signatures":[{"keyid":7,"sig":null}]}',
    ],
)
def test_hostile_json_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        read(text)


@pytest.mark.parametrize("said", [[], {}, {"subject": []}, None, "[" * 2000])
def test_a_hostile_statement_with_a_valid_signature_is_refused(said: object) -> None:
    deep = seal(b"[" * 50_000, PAYLOAD_TYPE, LAB)
    for envelope in (signed(said), deep):
        with pytest.raises(InputError):
            read(envelope)


def test_each_key_counts_once_with_its_newest_statement(statement: Statement) -> None:
    old, new = payload(statement()), payload(statement(proof=evidence(Level.EXECUTED)))
    old["predicate"]["time"], new["predicate"]["time"] = "2026-01-01T00:00:00+00:00", "2026-02-01T00:00:00+05:00"
    first = signed(old)
    padded = json.dumps({**json.loads(first), "remark": "the same, in another wrapping"}, indent=3)
    found = attestations_of(attested(code(), signed(new), first, first, padded, statement(UNI)))
    assert sorted((each.key.raw, each.level) for each in found) == sorted(
        [(LAB.key.raw, Level.EXECUTED), (UNI.key.raw, Level.TESTED)]
    )


def test_only_the_very_code_that_is_named_is_attested(statement: Statement) -> None:
    envelope = statement()
    assert attestations_of(attested(code(), envelope))
    assert not attestations_of(attested(code("title:halves#double"), envelope))
    changed = code().model_copy(update={"implementation": "def half(x):\n    return x * 2\n"})
    assert not attestations_of(attested(changed, envelope))
