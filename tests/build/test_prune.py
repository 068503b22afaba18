import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.build.prune import prune
from xkg.build.techniques.tree import DOUBT
from xkg.model import Code, Evidence, Fault, Fidelity, Level, Technique


def technique(path: str) -> Technique:
    above = path.rpartition("/")[0]
    return Technique(id=f"p#{path}", name=path, parent=f"p#{above}" if above else None)


def code(path: str, level: Level, *, reason: str | None = None, missing: tuple[str, ...] = ()) -> Code:
    """Returns a code node with a test, like the nodes that a build with a model creates."""
    evidence = Evidence(level=level, runner="bubblewrap", reason=reason, missing=missing)
    node = Code(id=f"p#{path}@1", technique=f"p#{path}", implementation="", level=level, evidence=(evidence,))
    return node.model_copy(update={"test": "assert f()"})


def cut_out(path: str, level: Level, reason: str | None = None) -> Code:
    """Returns a code node without a test, like the nodes that static analysis creates."""
    return code(path, level, reason=reason).model_copy(update={"test": ""})


def visible(techniques: tuple[Technique, ...]) -> list[str]:
    return [t.name for t in techniques if t.hidden is None]


TREE = [technique(path) for path in ("a", "a/b", "a/b/c", "a/d", "e")]


def test_code_at_the_level_shows_its_technique_and_all_above_it() -> None:
    pruned = prune(TREE, [code("a/b/c", Level.EXECUTED)], None, needs_code=True)
    assert visible(pruned) == ["a", "a/b", "a/b/c"]
    assert [t.id for t in pruned] == [t.id for t in TREE]
    assert {t.hidden for t in pruned if t.hidden} == {"no code for it was found in the repository"}


def test_without_a_model_neither_missing_nor_failing_code_hides_a_technique() -> None:
    pruned = prune(TREE, [cut_out("e", Level.NONE, "KeyError: 'x'")], None)
    assert visible(pruned) == [t.name for t in TREE]
    assert visible(prune(pruned, [], Level.PARSED)) == []


@pytest.mark.parametrize("found", [[], [cut_out("e", Level.IMPORTED)], [code("e", Level.TESTED)]])
def test_what_is_doubtful_as_a_technique_stays_hidden_with_or_without_code(found: list[Code]) -> None:
    doubtful = [t.model_copy(update={"hidden": DOUBT}) if t.name == "e" else t for t in TREE]
    for pruned in (prune(doubtful, found, None), prune(prune(doubtful, found, Level.PARSED), found, None)):
        assert pruned[-1].hidden == DOUBT


def test_an_unavailable_package_hides_only_with_a_required_level() -> None:
    nodes = [
        code("a/b", Level.PARSED, reason="missing package gym: no wheel", missing=("gym",)),
        code("e", Level.PARSED, reason="ValueError: of its own"),
    ]
    assert visible(prune(TREE, nodes, None, needs_code=True)) == ["a", "a/b"]
    strict = prune(TREE, nodes, Level.IMPORTED)
    assert visible(strict) == []
    assert strict[1].hidden == "its code is at 'parsed', below 'imported': missing package gym: no wheel"


def test_code_that_does_not_parse_is_hidden_whatever_is_missing() -> None:
    broken = code("e", Level.NONE, reason="undefined: f", missing=("gym",))
    assert visible(prune(TREE, [broken], None, needs_code=True)) == []


def test_a_machine_that_can_run_nothing_asks_for_parsed() -> None:
    not_run = Evidence(level=Level.PARSED, reason="not run: no sandbox on this machine (xkg doctor)")
    parsed = code("e", Level.PARSED).model_copy(update={"test": "assert f()", "evidence": (not_run,)})
    assert visible(prune(TREE, [parsed], None, needs_code=True)) == ["e"]


@pytest.mark.parametrize("level", list(Level))
def test_a_required_level_decides(level: Level) -> None:
    nodes = [code(t.name, some) for t, some in zip(TREE, list(Level)[2:], strict=True)]
    for t in prune(TREE, nodes, level):
        own = next(c.level for c in nodes if c.technique == t.id)
        below = [c.level for c in nodes if c.technique.startswith(f"{t.id}/")]
        assert (t.hidden is None) == any(some.rank >= level.rank for some in (own, *below))


def test_claimed_code_stays_as_its_sender_shows_it() -> None:
    shown = [t.model_copy(update={"hidden": "said so" if t.name == "e" else None}) for t in TREE]
    nodes = [code(t.name, Level.CLAIMED) for t in TREE]
    assert [t.hidden for t in prune(shown, nodes, Level.TESTED)] == [t.hidden for t in shown]


LEVELS = st.dictionaries(st.sampled_from([t.name for t in TREE]), st.sampled_from(list(Level)))


@given(LEVELS, st.sampled_from([None, *Level]))
def test_no_visible_technique_is_below_a_hidden_one(levels: dict[str, Level], min_level: Level | None) -> None:
    pruned = prune(TREE, [code(name, level) for name, level in levels.items()], min_level)
    visible = {t.id for t in pruned if t.hidden is None}
    assert all(t.parent is None or t.parent in visible for t in pruned if t.id in visible)
    # A bundle can be pruned again without changes.
    assert prune(pruned, [code(n, v) for n, v in levels.items()], min_level) == pruned


def test_other_languages_are_visible_without_a_required_level() -> None:
    kernel = code("e", Level.NONE, reason="not tried").model_copy(update={"language": "cuda"})
    assert visible(prune(TREE, [kernel], None, needs_code=True)) == ["e"]
    assert visible(prune(TREE, [kernel], Level.PARSED)) == []


def test_code_without_a_test_needs_no_level() -> None:
    untested = cut_out("a/d", Level.IMPORTED, "there is no test")
    failing = code("e", Level.IMPORTED, reason="AssertionError")
    pruned = prune(TREE, [untested, failing], None, needs_code=True)
    assert visible(pruned) == ["a", "a/d"]
    assert pruned[-1].hidden == "its code is at 'imported', below 'executed': AssertionError"


def test_code_that_was_judged_to_do_something_else_is_hidden_at_any_level() -> None:
    faults = (Fault(kind="unrelated", remark="it plots the loss"),)
    evidence = Evidence(level=Level.TESTED, fidelity=Fidelity(share=0.9, faults=faults))
    judged = code("e", Level.TESTED).model_copy(update={"evidence": (evidence,)})
    for min_level in (None, *Level):
        pruned = prune(TREE, [judged], min_level, needs_code=True)
        assert visible(pruned) == []
        assert pruned[-1].hidden == "its code was judged to do something else: it plots the loss"


def test_a_technique_without_code_keeps_the_reason_that_it_comes_with() -> None:
    declined = [t.model_copy(update={"hidden": "not located"}) if t.name == "e" else t for t in TREE]
    pruned = prune(prune(declined, [], None, needs_code=True), [], Level.PARSED)
    assert [t.hidden for t in pruned][-2:] == ["no code for it was found in the repository", "not located"]
