"""What a user sees of the enrichment with a model, with answers written for these tests."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.build.guided.fake_model import FakeModel
from xkg.build.guided.reading.enrich import Enriched, enrich_with_model
from xkg.build.paper.document import Document
from xkg.build.paper.read import parse_paper
from xkg.errors import AnswerError, BudgetError, ModelUnavailableError
from xkg.model import Technique

DATA = Path(__file__).parents[3] / "data" / "extract"


class WordEmbedder:
    """Texts that share words are near each other."""

    model = "words"
    dimension = 256

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        out = np.full((len(texts), self.dimension), 1e-3, dtype=np.float32)
        for row, text in zip(out, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                row[sum(map(ord, word)) * 31 % self.dimension] += 1
        return out / np.linalg.norm(out, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def document() -> Document:
    return parse_paper(DATA / "systems.tex")


def technique(name: str, definition: str, parent: str | None = None) -> Technique:
    slug = name.lower().replace(" ", "-")
    return Technique(
        id=f"{parent or 'title:t#'}/{slug}" if parent else f"title:t#{slug}",
        name=name,
        parent=parent,
        definition=definition,
        depth=int(parent is not None),
    )


TOP = technique("TideCache", "A serving system for idle keys and values.")
SCHEDULER = technique("Deadline-aware Scheduler", "Orders waiting requests by their slack.", TOP.id)
COALESCING = technique("Page Coalescing", "Writes the pages of a request together.", TOP.id)
ALL = (TOP, SCHEDULER, COALESCING)
SLACK = r"Orders waiting requests by the slack $s_i = d_i - t - c_i$ of deadline $d_i$, time $t$ and cost $c_i$."


def passage(inputs: Mapping[str, str], words: str) -> int:
    return next(int(m[1]) for m in re.finditer(r"^\[(\d+)\] ([^\n]*)", inputs["paper"], re.M) if words in m[2])


def definitions(*texts: str) -> Any:
    """An answer that gives each technique a text, all on the first passage that is shown."""

    def answer(inputs: Mapping[str, str]) -> dict[str, Any]:
        first = passage(inputs, "")
        return {
            "definitions": [
                {"technique": n, "text": text, "passages": [first]} for n, text in enumerate(texts, start=1)
            ]
        }

    return answer


def enrich(
    document: Document, answers: Any, techniques: Sequence[Technique] = ALL, **options: Any
) -> tuple[Enriched, FakeModel]:
    model = FakeModel({"enrich": answers})
    return enrich_with_model(techniques, document, WordEmbedder(), model, **options), model


def test_better_definitions_with_the_passages_they_draw_on(document: Document) -> None:
    def answer(inputs: Mapping[str, str]) -> dict[str, Any]:
        slack = passage(inputs, "orders waiting requests")
        return {"definitions": [{"technique": 1, "text": SLACK, "passages": [slack]}]}

    found, model = enrich(document, answer, [SCHEDULER])
    (better,) = found.techniques
    assert better.definition == SLACK
    assert any("slack that is left" in document.text[e.start : e.end] for e in better.excerpts)
    assert all(document.place(e.start) == (e.path, e.line) for e in better.excerpts)
    assert better.model_copy(update={"definition": SCHEDULER.definition, "excerpts": ()}) == SCHEDULER
    assert (found.failed, model.requests[0][1]) == ({}, SCHEDULER.name)


def test_a_number_that_the_paper_does_not_have_is_sent_back(document: Document) -> None:
    wrong = definitions("Writes blocks of 160 MB with a learning rate of $0.05$.")
    found, model = enrich(document, [wrong, definitions("Writes blocks of 8 MB, 40 times faster.")], [COALESCING])
    assert model.requests[0][3] == "technique 1: 160, 0.05 is nowhere in the paper: leave it out"
    assert found.techniques[0].definition == "Writes blocks of 8 MB, 40 times faster."


def test_a_faulty_technique_gets_a_question_of_its_own(document: Document) -> None:
    first = definitions("A serving system that tiers pages.", "Has 77 queues.", "Writes blocks of 8 MB.")
    found, model = enrich(document, [first, definitions(SLACK)])
    assert [t.definition for t in found.techniques] == [
        "A serving system that tiers pages.",
        SLACK,
        "Writes blocks of 8 MB.",
    ]
    assert [about for _, about, _, _ in model.requests] == [", ".join(t.name for t in ALL), SCHEDULER.name]
    assert "77" in model.requests[1][2]["remarks"]
    assert COALESCING.name not in model.requests[1][2]["techniques"]
    assert found.failed == {}


def test_what_stays_wrong_keeps_its_definition_and_says_why(document: Document) -> None:
    found, _ = enrich(document, [definitions("A system.", "Has 77 queues.", ""), *[definitions("Has 77 queues.")] * 4])
    assert [t.definition for t in found.techniques] == ["A system.", SCHEDULER.definition, COALESCING.definition]
    assert list(found.failed) == [SCHEDULER.id]
    assert "77" in found.failed[SCHEDULER.id]


def test_a_batch_without_an_answer_is_repeated_one_by_one(document: Document) -> None:
    found, model = enrich(
        document, [AnswerError("cut off"), definitions("A system."), definitions(SLACK), AnswerError("again")]
    )
    assert [t.definition for t in found.techniques] == ["A system.", SLACK, COALESCING.definition]
    assert found.failed == {COALESCING.id: "again"}
    assert len(model.requests) == 4


def test_a_technique_that_an_answer_omits_gets_a_question_of_its_own(document: Document) -> None:
    found, model = enrich(document, [definitions("A system.", SLACK), definitions("Writes blocks of 8 MB.")])
    assert [t.definition for t in found.techniques] == ["A system.", SLACK, "Writes blocks of 8 MB."]
    assert len(model.requests) == 2


def test_pointers_out_of_a_definition_are_refused(document: Document) -> None:
    for text in ("Works as in Figure 2.", "See Algorithm 1.", "As described above, it writes.", "Known from [3, 4]."):
        _, model = enrich(document, [definitions(text), definitions("Writes blocks.")], [COALESCING])
        assert "points to" in (model.requests[0][3] or "")


@pytest.mark.parametrize("error", [ModelUnavailableError("no key"), BudgetError("spent")])
def test_no_further_question_makes_sense(document: Document, error: Exception) -> None:
    with pytest.raises(type(error)):
        enrich(document, [error])


def test_a_small_window_has_the_passages_nearest_to_the_techniques(document: Document) -> None:
    _, model = enrich(document, definitions("", "", ""))
    whole = model.requests[0][2]["paper"]
    _, small = enrich(document, definitions(""), [SCHEDULER], window=1_200)
    paper = small.requests[0][2]["paper"]
    assert len(paper) <= 4 * 300 + 100 < len(whole)
    assert "orders waiting requests" in paper
    assert "[…]" in paper


def test_nothing_to_enrich_asks_nothing(document: Document) -> None:
    assert enrich(document, [], [])[0] == Enriched(techniques=())
    empty = Document(format="markdown", title="Nothing", abstract="", text="")
    found, model = enrich(empty, [], ALL)
    assert (found.techniques, model.requests) == (ALL, [])


def test_what_is_missing_is_told_with_the_definitions(document: Document) -> None:
    def answer(inputs: Mapping[str, str]) -> dict[str, Any]:
        missing = {"verdict": "technique", "of": 1, "name": "Slack Timer", "text": "Measures the slack.", "code": []}
        passages = [passage(inputs, "orders waiting requests")]
        return {**definitions("", "", "")(inputs), "missing": [{**missing, "passages": passages}]}

    found, model = enrich(document, answer)
    assert [t.name for t in found.techniques] == [*(t.name for t in ALL), "Slack Timer"]
    assert len(model.requests) == 1
