"""Tests that finished papers are published together. The graph is real and stored in a folder."""

import threading
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from evaluation.generated.graph import bundle
from xkg.build.context import Built
from xkg.commands.batch.publisher import Outcome, Publisher
from xkg.commands.graph.open import embedder, open_store
from xkg.commands.published import BuildResult, Unpublished
from xkg.config import LlmSettings, Settings
from xkg.embeddings.base import EncodedDocuments
from xkg.errors import InputError, StoreError
from xkg.model import PaperBundle, Technique
from xkg.store.graph_store import Recognise
from xkg.store.local.store import EmbeddedStore


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(kg=tmp_path / "kg", llm=LlmSettings(model="none"))


def paper(identity: str, title: str, **fields: object) -> PaperBundle:
    """Returns a paper with one technique, like the papers that a build creates."""
    about = bundle(0).paper.model_copy(
        update={"id": identity, "title": title, "origin": "build", "references": (), **fields}
    )
    return PaperBundle(paper=about, techniques=(Technique(id=f"{identity}#t", name=f"A technique of {title}"),))


class Batch:
    """Adds papers while the first of them is being published."""

    def __init__(self, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        self.settings = settings
        self.steps: list[list[str]] = []
        self._all_are_ready = threading.Event()
        usual = EmbeddedStore.publish

        def publish(
            store: EmbeddedStore, new: list[PaperBundle], fences: Mapping[str, int], recognise: Recognise
        ) -> int:
            assert self._all_are_ready.wait(60)
            self.steps.append([each.paper.id for each in new])
            return usual(store, new, fences, recognise)

        monkeypatch.setattr(EmbeddedStore, "publish", publish)

    def publish(self, *ready: PaperBundle, chosen: bool = False, size: int = 0) -> dict[int, Outcome]:
        outcomes: dict[int, Outcome] = {}
        publishing = Publisher(self.settings)
        try:
            for number, each in enumerate(ready):
                unpublished = Unpublished(Built(each, (), ()), chosen=chosen, size=size)
                publishing.add(unpublished, lambda outcome, n=number: outcomes.__setitem__(n, outcome))
            self._all_are_ready.set()
            assert publishing.finish() is None
        finally:
            self._all_are_ready.set()
            publishing.close()
        return outcomes

    def stored(self) -> dict[str, PaperBundle]:
        with open_store(self.settings) as store:
            return {each.paper.id: each for each in store.bundles()}


@pytest.fixture
def batch(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Batch:
    return Batch(settings, monkeypatch)


def result(outcome: Outcome) -> BuildResult:
    assert isinstance(outcome, BuildResult), outcome
    return outcome


def test_what_is_ready_is_published_in_few_steps_and_each_is_told_its_own(batch: Batch) -> None:
    ready = [paper(f"title:p{number}", f"The paper of the number {number}") for number in range(12)]
    outcomes = batch.publish(*ready)
    assert {n: result(each).paper for n, each in outcomes.items()} == {n: each.paper.id for n, each in enumerate(ready)}
    assert all(result(each).published for each in outcomes.values())
    assert len(batch.steps) <= 3
    assert batch.stored() == {each.paper.id: each for each in ready}
    with open_store(batch.settings) as store:
        assert store.check() == []


def test_what_is_wrong_with_one_paper_keeps_no_other(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    contradicts = paper("title:b", "The second of the papers")
    contradicts = contradicts.model_copy(update={"techniques": contradicts.techniques * 2})
    usual = EmbeddedStore.publish

    def publish(store: EmbeddedStore, new: list[PaperBundle], fences: Mapping[str, int], recognise: Recognise) -> int:
        if any(each.paper.id == "title:c" for each in new):
            raise StoreError("its rows cannot be loaded")
        return usual(store, new, fences, recognise)

    monkeypatch.setattr(EmbeddedStore, "publish", publish)
    outcomes = batch.publish(
        paper("title:a", "The first of the papers"),
        contradicts,
        paper("title:c", "The third of the papers"),
        paper("title:d", "The fourth of the papers"),
    )
    assert result(outcomes[0]).published
    assert isinstance(outcomes[1], InputError)
    assert str(outcomes[2]) == "its rows cannot be loaded"
    assert result(outcomes[3]).published
    assert set(batch.stored()) == {"title:a", "title:d"}


def test_a_second_form_of_a_paper_meets_the_first_in_the_graph(batch: Batch) -> None:
    title = "Sorted filters of noisy signals"
    arxiv = paper("arxiv:2401.01234", title, arxiv_id="2401.01234", arxiv_version="v1", authors=("Ada Writer",))
    file = paper("title:sorted", title.upper(), authors=("Writer, Ada",))
    outcomes = batch.publish(paper("title:a", "Another paper of some length"), arxiv, file)
    assert (result(outcomes[2]).paper, result(outcomes[2]).published) == (arxiv.paper.id, False)
    assert any("--id" in note for note in result(outcomes[2]).notes)
    assert set(batch.stored()) == {"title:a", arxiv.paper.id}


def test_one_id_is_published_in_the_order_in_which_it_was_built(batch: Batch) -> None:
    earlier = paper("title:a", "The paper of one id", abstract="Earlier.")
    later = paper("title:a", "The paper of one id", abstract="Later.")
    outcomes = batch.publish(earlier, later, later)
    assert [result(outcomes[n]).published for n in range(3)] == [True, True, False]
    assert batch.stored() == {"title:a": later}


def test_what_was_embedded_elsewhere_is_known_here(settings: Settings) -> None:
    each = paper("title:a", "The first of the papers")
    text, vector = "a text that no other has", np.full((1, 384), 0.5, dtype=np.float32)
    with closing(Publisher(settings)) as publishing:
        encoded = EncodedDocuments(vector, [b""])
        publishing.add(Unpublished(Built(each, (), ()), embedded=([text], encoded)), lambda _: None)
    with embedder(settings) as cache:
        assert np.allclose(cache.embed([text]), vector)
