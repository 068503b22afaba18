from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.build.guided.fake_model import FakeModel
from xkg.commands.graph import link
from xkg.commands.graph.open import open_store
from xkg.config import LlmSettings, Settings
from xkg.errors import AnswerError, BudgetError, ModelUnavailableError, UnknownIdError
from xkg.llm.client import Ask
from xkg.model import Paper, PaperBundle, Technique

ENTROPY = "Minimises the Shannon entropy of the model's predictions on a batch of unlabelled test inputs."
GATES = "Each hidden unit is multiplied by a learned gate in 0..1, and units whose gate closes are removed."


def paper(number: int, *techniques: tuple[str, str]) -> PaperBundle:
    of = f"arxiv:2101.{number:05d}"
    return PaperBundle(
        paper=Paper(id=of, title=f"Paper {number}", origin="build"),
        techniques=tuple(
            Technique(id=f"{of}#{n}", name=name, definition=definition)
            for n, (name, definition) in enumerate(techniques)
        ),
    )


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Creates a graph of two papers, with two pairs that are similar only by their definitions."""
    chosen = Settings(kg=tmp_path / "kg", llm=LlmSettings(concurrency=1))
    with open_store(chosen) as store:
        store.publish(
            [
                paper(1, ("Entropy minimisation", ENTROPY), ("Gated pruning", GATES)),
                paper(2, ("Confidence sharpening", ENTROPY), ("Units with gates", GATES + " A penalty closes them.")),
            ]
        )
    return chosen


def asking(model: Ask) -> Callable[[Settings], AbstractContextManager[Ask]]:
    return lambda _: nullcontext(model)


def without_model(settings: Settings) -> Settings:
    return settings.model_copy(update={"llm": LlmSettings(model="none")})


def relations(*given: str) -> dict[str, Any]:
    return {"relations": [{"pair": n, "relation": relation} for n, relation in enumerate(given, start=1)]}


def test_the_model_decides_what_is_open_and_is_asked_once(settings: Settings) -> None:
    assert link.link(without_model(settings)).open == 2
    result = link.link(settings, asking(FakeModel({"same_concept": [relations("same", "variant")]})))
    assert (result.linked, result.decided, result.open) == ({"model": 1}, {"same": 1, "variant": 1}, 0)
    with open_store(settings) as store:
        found = store.query(
            "MATCH (a:Technique)-[l:SAME_CONCEPT]->(b:Technique) RETURN a.id, b.id, l.how, l.score > 0.6"
        )
    assert len(found.rows) == 1
    assert found.rows[0][2:] == ("model", True)
    assert "1 by model; 0 pairs open" in str(result)
    again = link.link(settings, asking(FakeModel({})))
    assert (again.linked, again.decided, again.generation) == ({"model": 1}, {}, result.generation)


def test_what_was_decided_before_the_money_was_gone_is_kept(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "PAIRS", 1)
    for gone in (BudgetError("spent: allow more"), ModelUnavailableError("no answer: try again")):
        model = FakeModel({"same_concept": [relations("same"), gone]})
        with pytest.raises(type(gone), match=str(gone)):
            link.link(settings, asking(model))
        after = link.link(without_model(settings))
        assert (after.linked, after.open) == ({"model": 1}, 1)
        with open_store(settings) as store:
            store.rollback()


def test_a_question_without_an_answer_leaves_its_pairs_open(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "PAIRS", 1)
    model = FakeModel({"same_concept": [AnswerError("link: no answer"), relations("different")]})
    result = link.link(settings, asking(model))
    assert (result.linked, result.decided, result.open) == ({}, {"different": 1}, 1)
    assert result.notes == ("pairs stay open: link: no answer",)


def test_without_a_key_pairs_stay_open_and_it_says_so(settings: Settings) -> None:
    result = link.link(settings)
    assert result.open == 2
    assert len(result.notes) == 1
    assert "no API key" in result.notes[0]


def test_an_empty_graph_says_what_fills_it(tmp_path: Path) -> None:
    with pytest.raises(UnknownIdError, match="build or import one first"):
        link.link(Settings(kg=tmp_path / "none"))
