from tests.store.graphs import a_paper
from xkg.model import Level, LineRange
from xkg.store.bundle_changes import paper_change


def test_the_same_state_differs_in_nothing() -> None:
    change = paper_change(a_paper(), a_paper())
    assert change.is_empty
    assert "are the same" in str(change)


def test_each_kind_of_change_is_listed_once() -> None:
    before = a_paper()
    changed = before.techniques[1]
    [place], [symbol] = before.locations, before.symbols
    [code] = before.code
    after = before.model_copy(
        update={
            "paper": before.paper.model_copy(update={"arxiv_version": "v2"}),
            "techniques": (
                before.techniques[0],
                changed.model_copy(update={"name": "Another name", "definition": "Another definition"}),
                *before.techniques[2:],
            ),
            "symbols": (symbol.model_copy(update={"start_line": symbol.start_line + 5}),),
            "locations": (place.model_copy(update={"focus": (LineRange(start_line=1, end_line=2),)}),),
            "code": (code.model_copy(update={"level": Level.TESTED}),),
        }
    )
    change = paper_change(before, after)
    assert change.sources == ("arxiv version: unknown -> v2",)
    [technique] = change.techniques
    assert (technique.before, technique.after) == (changed.name, "Another name")
    assert set(technique.fields) == {"name", "definition"}
    [moved] = change.places
    assert moved.moved
    [level] = change.levels
    assert (level.before, level.after, level.rewritten) == (code.level.value, "tested", False)
    assert f"was {changed.name}" in str(change)


def test_a_paper_that_comes_or_goes_brings_and_takes_its_techniques() -> None:
    visible = [each.name for each in a_paper().techniques if each.hidden is None]
    new, gone = paper_change(None, a_paper()), paper_change(a_paper(), None)
    assert [each.after for each in new.techniques] == [each.before for each in gone.techniques] == visible
    assert (new.sources, gone.sources) == (("the paper was added",), ("the paper was removed",))


def test_a_technique_that_is_hidden_now_is_gone() -> None:
    before = a_paper()
    last = before.techniques[-1]
    hidden = (*before.techniques[:-1], last.model_copy(update={"hidden": "no code"}))
    [technique] = paper_change(before, before.model_copy(update={"techniques": hidden})).techniques
    assert (technique.before, technique.after) == (last.name, None)
