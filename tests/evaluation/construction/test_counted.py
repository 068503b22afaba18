from pathlib import Path

from evaluation.construction.counted import asked, granularity, hidden, level_scores, levels
from xkg.config import LlmSettings
from xkg.llm.endpoint import Reply
from xkg.llm.ledger import Ledger, Question
from xkg.llm.prices import Prices
from xkg.model import Code, Evidence, Level, Paper, PaperBundle, Technique


def paper(name: str, techniques: int, hidden_ones: int = 0, *code: Code) -> PaperBundle:
    return PaperBundle(
        paper=Paper(id=f"title:{name}", title=name, origin="build"),
        techniques=tuple(
            Technique(id=f"title:{name}#{n}", name=str(n), hidden="no code" if n < hidden_ones else None)
            for n in range(techniques)
        ),
        code=code,
    )


def node(name: str, now: Level, *before: Level) -> Code:
    evidence = tuple(Evidence(level=level) for level in (*before, now))
    return Code(id=name, technique=name.partition("@")[0], implementation="", level=now, evidence=evidence)


def test_granularity_counts_what_is_shown() -> None:
    figures = granularity([paper("a", 1), paper("b", 7, 2), paper("c", 6), paper("d", 1, 1)])
    assert {figure.name: figure.value for figure in figures} == {
        "papers with no technique": 0.25,
        "papers with 1 technique": 0.25,
        "papers with 2 to 5": 0.25,
        "papers with 6 and more": 0.25,
        "techniques a paper": 3.0,
    }
    assert hidden([paper("b", 8, 2)]).value == 0.25


def test_levels_before_debugging_are_those_of_the_first_run() -> None:
    repaired = node("title:a#1@x", Level.EXECUTED, Level.PARSED)
    sound = node("title:a#2@y", Level.TESTED)
    bundle = paper("a", 2, 0, repaired, sound)
    values = {figure.name: figure.value for figure in levels([bundle])}
    assert values["executed or above, before debugging"] == 0.5
    assert values["executed or above, now"] == 1.0
    assert values["tested or above, now"] == 0.5
    assert values["parsed or above, before debugging"] == 1.0
    assert level_scores([bundle])["executed or above, before debugging"] == {repaired.id: 0.0, sound.id: 1.0}


def test_costs_are_a_papers_mean_and_leave_out_papers_that_are_not_in_the_graph(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, Prices({}))
    for number, (name, tokens) in enumerate((("title:a", 100), ("title:a", 300), ("title:b", 200), ("title:c", 9000))):
        question = Question(name, "extract", "p", "", "unknown-model", "model", 1)
        call = ledger.begin(question, None, None)
        ledger.end(call, question, str(number).encode(), Reply("ok", "{}", input_tokens=tokens, output_tokens=10))
    ledger.close()
    figures, by_stage = asked(tmp_path, LlmSettings(), ["title:a", "title:b"])
    values = {figure.name: figure.value for figure in figures}
    assert values["calls a paper"] == 1.5
    assert values["tokens in a paper"] == 300
    assert values["tokens out a paper"] == 15
    assert "3 calls without a known price" in figures[-1].note
    assert by_stage is not None
    assert [(row.name, row.calls, row.input_tokens) for row in by_stage.rows] == [("extract", 3, 600)]
