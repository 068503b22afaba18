import base64
import json
from collections.abc import Callable

import pytest

from tests.attestations.conftest import LAB, UNI, TestSigner, attested, code, evidence
from xkg.attestations import trust
from xkg.attestations.bundles import MOST, attach, detach, received
from xkg.errors import InputError
from xkg.model import Code, Level, Paper, PaperBundle, Technique
from xkg.store import bundles

Statement = Callable[..., str]
PAPER = Paper(id="title:halves", title="Halves", origin="build")


def paper(*nodes: Code) -> PaperBundle:
    techniques = [Technique(id=node.technique, name=node.technique) for node in nodes]
    return PaperBundle(paper=PAPER, techniques=tuple(techniques), code=nodes)


def test_off_and_on_again(statement: Statement) -> None:
    whole = paper(attested(code(), *sorted((statement(LAB), statement(UNI)))))
    bare, envelopes = detach(whole)
    assert len(envelopes) == 2
    assert not json.loads(bundles.serialise(bare))["bundle"]["code"][0].get("attestations")
    assert attach(bare, reversed(envelopes)) == whole
    assert attach(whole, envelopes) == whole


def test_what_arrives_is_claimed_and_keeps_what_is_valid_and_about_it(statement: Statement) -> None:
    sent = code().model_copy(update={"level": Level.FAITHFUL, "attestations": ("nonsense", statement(UNI))})
    broken = json.loads(statement(LAB))
    broken["signatures"][0]["sig"] = base64.b64encode(bytes(64)).decode()
    other = statement(LAB, of=code("title:halves#other"))
    got = received(paper(sent), ["{", json.dumps(broken), other, statement(LAB), statement(LAB)])
    assert (got.code[0].level, got.code[0].evidence) == (Level.CLAIMED, sent.evidence)
    assert sorted(got.code[0].attestations) == sorted((statement(UNI), statement(LAB)))
    unproven = code().model_copy(update={"level": Level.NONE})
    assert received(paper(unproven)).code[0].level is Level.NONE


def test_what_was_proven_here_stays_and_attestations_add_up(statement: Statement) -> None:
    here = evidence(Level.EXECUTED)
    stored = attested(code(), statement(LAB)).model_copy(update={"level": Level.EXECUTED, "evidence": (here,)})
    [again] = received(paper(code()), [statement(UNI)], paper(stored)).code
    assert (again.level, again.evidence, len(again.attestations)) == (Level.EXECUTED, (here,), 2)
    changed = stored.model_copy(update={"implementation": "def half(x):\n    return x\n"})
    [claimed] = received(paper(code()), [], paper(changed)).code
    assert claimed.level is Level.CLAIMED
    assert claimed.attestations == (statement(LAB),)  # the statement covers this code, regardless of the paper


def test_a_flood_of_keys_drives_no_trusted_one_out(statement: Statement) -> None:
    trust.add(LAB.key, "LAB")
    flood = [statement(TestSigner(seed)) for seed in range(10, 10 + 2 * MOST)]
    [kept] = received(paper(code()), [*flood, statement(LAB)]).code
    assert len(kept.attestations) == MOST
    assert trust.trusted().seen(kept).standing == "tested, attested by LAB"


def test_words_about_attestations_are_never_stored() -> None:
    boast = code().model_copy(update={"level": Level.TESTED, "attested": "attested by LAB"})
    with pytest.raises(InputError, match="depends on which keys the reader trusts"):
        bundles.validate(paper(boast))
