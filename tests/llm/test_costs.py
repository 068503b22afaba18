import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.command import run
from xkg.config import LlmSettings, Price
from xkg.errors import CorruptStoreError
from xkg.llm.costs import costs
from xkg.llm.endpoint import Ending, Reply
from xkg.llm.ledger import LEDGER, Ledger, Question
from xkg.llm.prices import Prices

ONE = Question("arxiv:1", "ground", "places", "Kernel", "o4-mini", "code_model", 1)
TWO = replace(ONE, paper="arxiv:2", stage="extract", model="mine")


def enter(ledger: Ledger, asked: Question, ending: Ending = "ok") -> None:
    call = ledger.begin(asked, 0.01, None)
    ledger.end(call, asked, f"{asked}{ending}".encode(), Reply(ending, "text", 1_000_000, 500_000, 100_000, 2.5))


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    with closing(Ledger(tmp_path, Prices({}))) as ledger:
        enter(ledger, ONE)
        enter(ledger, ONE, "cut")
        ledger.reuse(ONE, b"")
        enter(ledger, TWO)
        ledger.begin(TWO, 0.25, None)
    return tmp_path


def test_the_rows_are_papers_stages_or_models(kg: Path) -> None:
    report = costs(kg, LlmSettings())
    first, second = report.rows
    assert (first.name, first.calls, first.unusable, first.reused) == ("arxiv:1", 2, 1, 1)
    assert (first.input_tokens, first.cached_tokens, first.output_tokens) == (2_000_000, 1_000_000, 200_000)
    assert (first.seconds, first.dollars) == (5.0, pytest.approx(2 * (0.5 * 1.10 + 0.5 * 0.275 + 0.1 * 4.40)))
    assert (second.name, second.calls, second.dollars, second.unpriced) == ("arxiv:2", 1, 0, 1)
    assert (report.open, report.open_dollars, report.unpriced_models) == (1, 0.25, ("mine",))
    assert report.total.calls == 3
    assert [row.name for row in costs(kg, LlmSettings(), by="stage").rows] == ["ground", "extract"]
    assert [row.name for row in costs(kg, LlmSettings(), by="model").rows] == ["o4-mini", "mine"]
    assert [row.name for row in costs(kg, LlmSettings(), ["arxiv:2"]).rows] == ["arxiv:2"]


def test_a_price_that_is_given_later_holds_for_earlier_calls(kg: Path) -> None:
    report = costs(kg, LlmSettings(prices={"mine": Price(input=1, output=10)}), ["arxiv:2"])
    assert report.total.dollars == pytest.approx(2)
    assert not report.unpriced_models


def test_nothing_asked_is_nothing_spent(tmp_path: Path) -> None:
    assert str(costs(tmp_path, LlmSettings())) == "no language model has been used for this graph yet"
    assert not list(tmp_path.iterdir())


def test_a_corrupt_ledger_is_one_line_and_left_where_it_is(kg: Path) -> None:
    (kg / LEDGER).write_bytes(b"no database at all" * 100)
    with pytest.raises(CorruptStoreError, match="recovers the readable rows"):
        costs(kg, LlmSettings())
    assert (kg / LEDGER).exists()


def test_the_command_prints_a_table_or_json(
    kg: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    assert run("--kg", kg, "costs") == 0
    narrow = capsys.readouterr().out
    assert narrow.startswith("-- 1 ---")
    assert max(map(len, narrow.splitlines())) <= 80
    monkeypatch.setenv("COLUMNS", "120")
    assert run("--kg", kg, "costs") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == "paper calls unusable reused input cached share output seconds dollars".split()
    assert lines[1].split() == "arxiv:1 2 1 1 2,000,000 1,000,000 50% 200,000 5 2.2550".split()
    assert lines[3].split()[0] == "all"
    assert lines[4].startswith("calls in progress or interrupted: 1")
    assert lines[5] == "price unknown: mine; set it in llm.prices"
    assert run("--kg", kg, "costs", "--by", "stage", "--json") == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["name"] == "ground"
    assert run("--kg", kg, "costs", "arxiv:9") == 1
    assert "no calls for arxiv:9: `xkg costs` lists" in capsys.readouterr().err
