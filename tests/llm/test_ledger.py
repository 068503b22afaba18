"""Checks that budgets hold, and that paid answers survive damage to a file."""

import json
import logging
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.llm.desk import GOOD, PAPER, Desk, ask
from tests.llm_endpoint import Said, ScriptedEndpoint
from xkg.config import LlmSettings, Price
from xkg.errors import BudgetError, ConfigError, StoreError
from xkg.llm.client import Call, LanguageModel
from xkg.llm.costs import costs
from xkg.llm.endpoint import Reply
from xkg.llm.ledger import LEDGER, Ledger, Question, answer_key
from xkg.llm.prices import Prices

ASKED = Question("arxiv:1", "ground", "places", "Kernel", "o4-mini", "code_model", 1)
TEXT = st.text(st.characters(codec="utf-8"))


def opened(folder: Path) -> Ledger:
    return Ledger(folder, Prices({}))


def key(number: int) -> bytes:
    return answer_key("o4-mini", [{"role": "user", "content": str(number)}], {}, 0)


def filled(folder: Path, count: int) -> None:
    with closing(opened(folder)) as ledger:
        for number in range(count):
            call = ledger.begin(ASKED, 0.01, None)
            ledger.end(call, ASKED, key(number), Reply("ok", f"answer {number} " * 50, 1000, 0, 100, 1.0))


def test_the_first_answer_that_was_kept_is_the_answer(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as one, closing(opened(tmp_path)) as other:
        first, second = one.begin(ASKED, None, None), other.begin(ASKED, None, None)
        assert one.end(first, ASKED, key(1), Reply("ok", "first")).text == "first"
        assert other.end(second, ASKED, key(1), Reply("ok", "second")).text == "first"
        assert other.answer(key(1)) == one.answer(key(1)) == Reply("ok", "first")
        assert one.answer(key(2)) is None


@given(TEXT, TEXT)
def test_different_questions_have_different_keys(one: str, other: str) -> None:
    def of(system: str, user: str, model: str = "m", draw: int = 0) -> bytes:
        return answer_key(model, [{"role": "system", "content": system}, {"role": "user", "content": user}], {}, draw)

    assert of(one, other) == of(one, other)
    assert (of(one, other) == of(one + other, "")) == (other == "")
    assert (of(one, other) == of(other, one)) == (one == other)
    assert of(one, other) != of(one, other, draw=1)
    assert of(one, other) != of(one, other, model="n")


def test_a_kept_answer_that_changed_on_disk_is_none(tmp_path: Path) -> None:
    filled(tmp_path, 2)
    with closing(sqlite3.connect(tmp_path / LEDGER)) as db, db:
        db.execute("UPDATE answers SET text = 'answer 1?' WHERE key = ?", (key(1),))
    with closing(opened(tmp_path)) as ledger:
        assert ledger.answer(key(0)) is not None
        assert ledger.answer(key(1)) is None


def test_a_corrupt_file_is_set_aside_and_said_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / LEDGER).write_bytes(b"no database at all" * 100)
    filled(tmp_path, 1)
    (aside,) = tmp_path.glob(f"{LEDGER}.corrupt-*")
    assert aside.read_bytes().startswith(b"no database")
    (warning,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "missing calls do not count towards `xkg costs` or --max-cost" in warning.getMessage()
    with closing(opened(tmp_path)) as ledger:
        assert ledger.answer(key(0)) is not None


def test_what_can_be_read_of_a_corrupt_file_is_taken_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    filled(tmp_path, 60)
    path = tmp_path / LEDGER
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = db.execute("PRAGMA page_size").fetchone()
    data = bytearray(path.read_bytes())
    start = data.index(b"answer 30 ") // page * page
    data[start : start + page] = b"\xff" * page
    path.write_bytes(data)
    with closing(opened(tmp_path)) as ledger:
        kept = [ledger.answer(key(number)) for number in range(60)]
        call = ledger.begin(ASKED, None, None)
        ledger.end(call, ASKED, key(99), Reply("ok", "new"))
        assert ledger.answer(key(99)) == Reply("ok", "new")
    assert 0 < sum(each is not None for each in kept) < 60
    assert "were recovered" in caplog.text
    assert costs(tmp_path, LlmSettings()).total.calls == 61, "the calls themselves were whole"


def test_a_file_that_is_corrupted_under_a_build_is_renewed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    filled(tmp_path, 60)
    with closing(opened(tmp_path)) as ledger:
        (tmp_path / LEDGER).write_bytes(b"no database at all" * 1000)
        for number in range(60):
            ledger.answer(key(number))
        call = ledger.begin(ASKED, None, None)
        ledger.end(call, ASKED, key(1), Reply("ok", "new"))
        assert ledger.answer(key(1)) is not None
    assert "set aside" in caplog.text


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / LEDGER)) as db, db:
        db.execute("CREATE TABLE calls (mine TEXT)")
    with pytest.raises(StoreError, match=r"llm\.sqlite cannot be written"):
        filled(tmp_path, 1)
    assert not list(tmp_path.glob("*.corrupt-*"))


def test_the_sum_of_all_calls_is_kept_by_every_process(tmp_path: Path) -> None:
    unpriced = replace(ASKED, model="of-no-known-price", paper="arxiv:2")
    with closing(opened(tmp_path)) as one, closing(Ledger(tmp_path, Prices({}))) as other:
        for number in range(3):
            ledger = (one, other)[number % 2]
            call = ledger.begin(ASKED, 0.5, None, 100.0)
            ledger.end(call, ASKED, key(number), Reply("ok", "yes", 1_000_000, 0, 1_000_000, 1.0))
        spent = one.spent(ASKED.paper)
        assert spent == pytest.approx(3 * 5.5)
        one.fail(one.begin(ASKED, 3.0, None), ASKED, 1.0)
        with pytest.raises(BudgetError, match=r"\$16\.50 of the \$16\.90"):
            other.begin(ASKED, 0.5, None, 16.9)
        one.end(one.begin(unpriced, None, None), unpriced, key(9), Reply("ok", "yes", 10, 0, 10, 1.0))
        with pytest.raises(ConfigError, match="have no price"):
            other.begin(ASKED, 0.5, None, 100.0)
        reopened = closing(Ledger(tmp_path, Prices({"of-no-known-price": Price(input=1e5, output=0.0)})))
        with reopened as priced, pytest.raises(BudgetError, match=r"\$17\.50 of"):
            priced.begin(ASKED, 0.5, None, 17.6)


def test_a_build_stops_before_it_costs_more_than_allowed_and_goes_on_with_more(desk: Desk) -> None:
    dear = Said(json.dumps(GOOD), input_tokens=10_000, output_tokens=10_000)  # costs 5.5 cents
    desk.endpoint.answers = [dear] * 4
    with desk.open(max_cost=0.1) as model:
        ask(model, "1")
        ask(model, "2")
        with pytest.raises(BudgetError) as caught:
            ask(model, "3")
    assert desk.asked == 2
    line = str(caught.value)
    assert line.startswith(f"ground: $0.11 of the $0.10 allowed for {PAPER} has been spent")
    assert "--max-cost" in line
    with desk.open(max_cost=0.1) as model:
        assert ask(model, "1").name == "kernel", "what is kept costs nothing"
        with pytest.raises(BudgetError):
            ask(model, "3")
        assert ask(model, "3", paper="arxiv:other").name == "kernel", "each paper has its own budget"
    with desk.open(max_cost=0.5) as model:
        assert ask(model, "4").name == "kernel"


def test_a_budget_of_the_whole_graph_holds_for_all_papers_together(desk: Desk) -> None:
    desk.endpoint.answers = [Said(json.dumps(GOOD), input_tokens=10_000, output_tokens=10_000)] * 4  # costs 5.5 cents
    with desk.open(max_total_cost=0.1, max_cost=1) as model:
        ask(model, "1")
        ask(model, "2", paper="arxiv:other")
        with pytest.raises(BudgetError, match=r"\$0.11 of the \$0.10 allowed for all papers .* --max-total-cost"):
            ask(model, "3", paper="arxiv:third")
    assert desk.asked == 2


def test_calls_under_way_count_with_what_they_may_cost(desk: Desk) -> None:
    """Only as many parallel calls start as the budget allows. The remaining calls start later if the budget still
    allows them."""
    cheap = Said(json.dumps(GOOD), input_tokens=10, output_tokens=10)
    desk.endpoint = ScriptedEndpoint(lambda _: cheap)
    most = 0

    def watch(_: Call) -> None:
        nonlocal most
        most += 1

    with desk.endpoint:
        settings = LlmSettings(base_url=desk.endpoint.url, max_cost=0.025, concurrency=8)  # pays for two calls
        with LanguageModel(settings, desk.folder, watch) as model, ThreadPoolExecutor(8) as pool:
            places = list(pool.map(lambda n: ask(model, f"text {n}"), range(8)))
    assert len(places) == most == 8


def test_no_budget_holds_for_a_model_without_a_price(desk: Desk) -> None:
    with pytest.raises(ConfigError, match=r"a budget cannot be enforced for mine, .* llm\.prices"):
        desk.open(code_model="mine", max_cost=1)
    desk.script(GOOD)
    with desk.open(model="mine") as model:
        ask(model)
    with desk.open(max_cost=1) as model, pytest.raises(ConfigError, match="earlier calls have no price"):
        ask(model)


def test_no_model_is_asked_where_the_graph_is_no_folder(desk: Desk) -> None:
    desk.folder.write_text("a file")
    with pytest.raises(StoreError, match=r"llm\.sqlite cannot be written .* no model is asked"):
        desk.open()


def test_no_model_is_asked_once_the_disk_is_full(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with desk.open() as model:
        monkeypatch.setattr("xkg.llm.ledger._enter", full)
        with pytest.raises(StoreError, match="disk is full"):
            ask(model)
    assert desk.asked == 0
