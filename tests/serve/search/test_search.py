"""Tests search results, their order and scores, and queries without results."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.serve.conftest import published, snapshot_of
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.model import Code, Paper, PaperBundle, Technique, code_id
from xkg.serve.answer_text import text
from xkg.serve.answers.types import SearchAnswer
from xkg.serve.search.filters import Filters
from xkg.serve.search.search import search
from xkg.store.graph_store import Snapshot

Ask = Callable[..., SearchAnswer]


@pytest.fixture(scope="module")
def ask(snapshot: Snapshot, embedder: OnnxEmbedder) -> Ask:
    def ask(query: str, k: int = 5, **filters: Any) -> SearchAnswer:
        return search(snapshot, embedder.encode, query, k, Filters(**filters))

    return ask


@pytest.mark.parametrize("query", ["Scoring", "crust STEAMING", "steam-injection  si"])
def test_an_exact_name_or_alias_comes_first_with_full_score(ask: Ask, query: str) -> None:
    row = ask(query).rows[0]
    assert row.score == 1.0
    assert row.name in ("Scoring", "Steam Injection (SI)")


def test_nothing_fits_is_an_answer(ask: Ask) -> None:
    answer = ask("distributed consensus by leader election among replicated logs")
    assert answer.rows == ()
    said = "None of the techniques found in these 2 papers does this.\nprobably not what you asked for:\n- "
    assert text(answer).startswith(said)
    assert 0 < len(answer.nearest) <= 5


def test_misspelt_words_are_read_as_those_of_names(ask: Ask) -> None:
    answer = ask("steem injecton")
    assert answer.rows[0].name == "Steam Injection (SI)"
    assert answer.searched.endswith("read as 'steam injection'")
    assert answer.query == "steem injecton"


def test_code_is_found_by_code_with_other_names(tmp_path: Path, embedder: OnnxEmbedder) -> None:
    one, other = (Technique(id=f"title:p#{name}", name=name.capitalize()) for name in ("rounding", "kneading"))
    texts = (
        "def rounded(dough, limit):\n    return np.where(dough > 0, limit, 1.0 - limit) * dough ** 2\n",
        "def kneaded(dough):\n    return dough + fold(dough, 3)\n",
    )
    codes = tuple(
        Code(id=code_id(t.id, text, ""), technique=t.id, implementation=text)
        for t, text in zip((one, other), texts, strict=True)
    )
    paper = PaperBundle(paper=Paper(id="title:p", title="P", origin="build"), techniques=(one, other), code=codes)
    with snapshot_of(published(tmp_path, embedder, paper), embedder) as snapshot:
        answer = search(snapshot, embedder.encode, "torch.where(diff > 0, tau, 1 - tau) * diff**2")
    assert [row.name for row in answer.rows] == ["Rounding"]


@pytest.mark.parametrize("query", ["kneading", "how is the dough folded before it is baked"])
def test_what_has_no_code_is_found_and_says_why(ask: Ask, query: str) -> None:
    row = ask(query).rows[0]
    assert (row.name, row.code, row.level) == ("Kneading", None, "none")
    assert row.no_code == "no code was found for it"
    assert "no code, because no code was found for it" in text(ask(query))
    assert all(other.name != "Kneading" for other in ask(query, with_code=True).rows)


@given(st.text(max_size=60))
@settings(max_examples=25)
def test_any_query_is_answered_in_order_of_score(ask: Ask, query: str) -> None:
    rows = ask(query).rows
    scores = [row.score for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
