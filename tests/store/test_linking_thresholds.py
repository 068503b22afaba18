"""Tests the thresholds with the default embedding model. The pairs describe one concept in two authors' words, two
things with one name, or a concept and its variant."""

import json
from collections import Counter
from pathlib import Path

import pytest

from xkg.commands.graph.open import open_store
from xkg.config import Settings
from xkg.model import Paper, PaperBundle, Technique

PAIRS = json.loads((Path(__file__).parents[1] / "data" / "same_concept.json").read_text(encoding="utf-8"))


def paper(of: str, described: dict[str, str]) -> PaperBundle:
    top = Technique(id=f"{of}#top", name=described["within"], kind="methodology")
    part = Technique(
        id=f"{of}#top/part", parent=top.id, depth=1, name=described["name"], definition=described["definition"]
    )
    return PaperBundle(paper=Paper(id=of, title=of, origin="build"), techniques=(top, part))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Counter[str]]:
    """For each kind of pair, counts the linked pairs, the open pairs and the pairs that are neither."""
    papers = [
        paper(f"title:{kind}-{number}-{side}", described)
        for kind, pairs in PAIRS.items()
        for number, pair in enumerate(pairs)
        for side, described in zip("ab", pair, strict=True)
    ]
    with open_store(Settings(kg=tmp_path_factory.mktemp("kg"))) as store:
        store.publish(papers)
        with store.snapshot() as snapshot:
            links = {(link.first, link.second): link.how for link in snapshot.links()}
    return {
        kind: Counter(
            links.get((f"title:{kind}-{n}-a#top/part", f"title:{kind}-{n}-b#top/part"), "neither")
            for n in range(len(pairs))
        )
        for kind, pairs in PAIRS.items()
    }


def test_one_concept_in_two_papers_is_linked_or_open(found: dict[str, Counter[str]]) -> None:
    assert found["same"]["name"] >= 0.8 * len(PAIRS["same"])
    assert found["same"]["neither"] == 0


@pytest.mark.parametrize("kind", ["coincidence", "variant"])
def test_what_is_not_one_concept_is_never_linked_unasked(kind: str, found: dict[str, Counter[str]]) -> None:
    assert set(found[kind]) <= {"neither", "open"}


def test_most_coincidences_of_names_are_not_worth_a_question(found: dict[str, Counter[str]]) -> None:
    assert found["coincidence"]["neither"] >= 0.8 * len(PAIRS["coincidence"])
