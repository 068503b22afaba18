from tests.build.guided.checking.judged import (
    BLUNT,
    FAITHFUL,
    GOOD,
    MODULE,
    SHARP,
    checked,
    model_of,
    ready,
    requested_prompts,
)
from tests.build.guided.checking.test_debug import edit
from tests.build.guided.quick_runner import quickly
from xkg.build.guided.checking.strengthen import only_defaults, strengthen, unnoticed
from xkg.errors import AnswerError
from xkg.model import Evidence, Level


def test_a_blunt_test_goes_back_once_with_what_it_missed() -> None:
    ask = model_of({"strengthen": [edit("", BLUNT + SHARP, "test")], "fidelity": [FAITHFUL]})
    done = checked(GOOD.model_copy(update={"test": BLUNT}), ask)
    assert (done.level, requested_prompts(ask)) == (Level.FAITHFUL, ["strengthen", "fidelity"])
    assert done.draft.implementation == MODULE
    assert [e.level for e in done.evidence] == [Level.EXECUTED, Level.FAITHFUL]
    assert done.evidence[-1].repairs == 1
    missed = ask.requests[0][2]["unnoticed"]
    assert "line 4, `return [v / total for v in values]`" in missed
    assert "the test still passed" in missed


def test_a_test_too_slow_for_mutation_gets_a_hint() -> None:
    slow = Evidence(level=Level.EXECUTED, seconds=27.3, reason="whether the test can fail was not settled within 600 s")
    assert "make it much faster" in unnoticed(MODULE, slow)
    assert "faster" not in unnoticed(MODULE, slow.model_copy(update={"seconds": 0.2}))


def test_sharpening_may_not_touch_the_code_nor_drop_an_assertion() -> None:
    wrong = [edit("w**2", "w**3"), edit("", SHARP.splitlines()[0], "test")]
    ask = model_of({"strengthen": [*wrong, edit("", BLUNT + SHARP, "test")], "fidelity": [FAITHFUL]})
    done = checked(GOOD.model_copy(update={"test": BLUNT}), ask)
    assert done.level is Level.FAITHFUL
    complaints = [complaint or "" for name, *_, complaint in ask.requests if name == "strengthen"]
    assert "only the test may change" in complaints[0]
    assert "keep each one" in complaints[1]
    assert done.refused == 1


def test_a_sharper_test_that_is_wrong_is_debugged_with_what_is_left() -> None:
    wrong = BLUNT + SHARP.replace("1.6", "1.7")
    ask = model_of({"strengthen": [edit("", wrong, "test")], "repair": [edit("1.7", "1.6", "test")]})
    start = GOOD.model_copy(update={"test": BLUNT})
    after = strengthen(ready(start), quickly, ask, rounds=1)
    assert after.proof.evidence.level is Level.TESTED
    assert (after.repairs, after.rounds, requested_prompts(ask)) == (2, 1, ["strengthen", "repair"])
    none_left = model_of({"strengthen": [edit("", wrong, "test")]})
    assert strengthen(ready(start), quickly, none_left, rounds=0).draft == start


def test_a_stronger_test_that_proves_no_more_is_dropped() -> None:
    ask = model_of({"strengthen": [edit("", f"{BLUNT}assert effective_size([1.0]) is not None\n", "test")]})
    start = GOOD.model_copy(update={"test": BLUNT})
    done = checked(start, ask)
    assert (done.draft, done.level, requested_prompts(ask)) == (start, Level.EXECUTED, ["strengthen"])
    assert done.evidence[-1].fidelity is not None
    assert done.evidence[-1].fidelity.faults is None


WEIGHTED = """\
def scaled(values, power=1.0):
    total = sum(values) - 2.0 * values[0]
    if total < 0:
        values = [-v for v in values]
    return [(3.0 * v / total + 4.0 * v - 5.0) ** power for v in values]
"""
POSITIVE = "assert scaled([1.0, 3.0]) == [0.5, 11.5]\n"
NEGATIVE = "assert scaled([-1.0, -3.0]) == [-2.5, 2.5]\n"


def test_a_test_that_misses_a_whole_statement_is_sharpened_though_it_suffices() -> None:
    start = GOOD.model_copy(update={"implementation": WEIGHTED, "test": POSITIVE})
    state = ready(start)
    left_out = [s.change for s in state.proof.evidence.survivors if s.change.endswith(" left out")]
    assert (state.proof.evidence.level, bool(left_out)) == (Level.TESTED, True), state.proof
    ask = model_of({"strengthen": [edit("", POSITIVE + NEGATIVE, "test")]})
    after = strengthen(state, quickly, ask)
    assert requested_prompts(ask) == ["strengthen"]
    assert "scaled(power): never given a value other than the default" in ask.requests[0][2]["unnoticed"]
    assert not [s for s in after.proof.evidence.survivors if s.change.endswith(" left out")]
    none = model_of({"strengthen": [AnswerError("strengthen: none")]})
    assert strengthen(state, quickly, none).failed is None


def test_a_conversion_that_a_test_cannot_notice_asks_nothing() -> None:
    head, *lines = WEIGHTED.splitlines(keepends=True)
    converting = "".join(["import copy\n", head, "    values = copy.copy(values)\n", *lines])
    state = ready(GOOD.model_copy(update={"implementation": converting, "test": POSITIVE + NEGATIVE}))
    left_out = [s.change for s in state.proof.evidence.survivors if s.change.endswith(" left out")]
    assert left_out == ["values = copy.copy(values) left out"], state.proof
    assert strengthen(state, quickly, model_of({})) == state


def test_parameters_that_a_test_leaves_at_their_defaults_are_named() -> None:
    draft = GOOD.model_copy(update={"implementation": WEIGHTED, "test": POSITIVE})
    assert only_defaults(draft) == ["scaled(power)"]
    assert only_defaults(draft.model_copy(update={"test": "assert scaled([1.0], 2.0)"})) == []
    assert only_defaults(draft.model_copy(update={"test": "assert scaled([1.0], power=2.0)"})) == []
