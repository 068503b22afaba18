"""Checks that typed answers and their text contain the same facts, and are short by default."""

import pytest

from xkg.errors import UnknownIdError
from xkg.model import Code, Departure, Evidence, Fidelity, Level
from xkg.serve.answer_text import text
from xkg.serve.answers.lookup import _proven, code_answer, paper_answer, technique_answer
from xkg.store.graph_store import Snapshot

STEAM = "title:bread/ovens#baking/steam"


def test_a_short_paper_says_what_it_leaves_out(snapshot: Snapshot) -> None:
    short = paper_answer(snapshot, "title:bread/ovens")
    assert [(t.name, t.depth, t.level) for t in short.techniques] == [
        ("Hearth Baking", 0, "none"),
        ("Steam Injection (SI)", 1, "executed"),
        ("Scoring", 1, "none"),
    ]
    assert short.references is None
    assert "references" in short.cut
    assert "detail='full'" in short.cut
    full = paper_answer(snapshot, "title:bread/ovens", include_code=True, full=True)
    assert full.references is not None
    assert [c.technique for c in full.implementations] == [STEAM]
    assert full.cut == ""
    assert [(t.name, t.reason) for t in full.hidden] == [("Kneading", "no code was found for it")]
    assert full.repositories == ("https://github.com/baker/oven@abc",)
    assert "Kneading" not in text(short)
    assert "1 hidden" in short.cut
    for fact in (
        "On Yeast",
        "Loaves rise more.",
        "water * 1700",
        "assert steam(1)",
        "Bakers rise early.",
        "open_door",
    ):
        assert fact in text(full)
    assert "On Yeast" not in text(short)
    assert "rise early" not in text(short)
    assert "passages and functions without a technique" in short.cut


def test_code_is_found_by_its_own_id_and_by_its_techniques(snapshot: Snapshot) -> None:
    short = code_answer(snapshot, STEAM)
    full = code_answer(snapshot, short.id, full=True)
    assert short.test is None
    assert "test and evidence" in short.cut
    assert full.test == "assert steam(1) == 1700\n"
    assert "next level: no mutants" in short.proven
    assert "not checked" in text(full)
    assert "made from:\nIn https://github.com/baker/oven at abc:\n- oven/steam.py:3-9 pour\n" in text(short)
    with pytest.raises(UnknownIdError, match="has no code"):
        code_answer(snapshot, "title:bread/ovens#baking/score")


def test_a_hidden_technique_is_shown_with_the_reason(snapshot: Snapshot) -> None:
    knead = technique_answer(snapshot, "title:bread/ovens#baking/knead")
    assert (knead.name, knead.hidden, knead.level) == ("Kneading", "no code was found for it", "none")
    assert knead.path == ("Hearth Baking", "Kneading")
    assert "hidden: no code was found for it" in text(knead)
    assert "Fold the dough." in text(knead)
    top = technique_answer(snapshot, "title:bread/ovens#baking")
    assert top.without_code == ("Scoring", "Kneading")
    assert "components without code: Scoring" in text(top)


def test_departures_from_the_paper_are_said() -> None:
    departure = Departure(kind="absent", statement="It is scaled.", remark="no factor")
    fidelity = Fidelity(share=0.632, faults=(), statements=2, departures=(departure,))
    evidence = Evidence(level=Level.TESTED, fidelity=fidelity)
    said = _proven(Code(id="c", technique="t", implementation="x", level=Level.TESTED, evidence=(evidence,)))
    assert "63.2% of its statements are in the sources" in said
    assert "differs from the paper in 1 of 2 statements of its definition: “It is scaled.”" in said
