"""Passages lead back to the paper, what is shown of them fits, and chunks cover them."""

import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.build.guided.reading.outline import condensed, rendered, room
from xkg.build.guided.reading.passages import Passages, read_passages
from xkg.build.guided.reading.retrieval import OVERLAP, WORDS, chunks
from xkg.build.paper.document import Document
from xkg.build.paper.plain import plain
from xkg.build.paper.read import parse_paper

DATA = Path(__file__).parents[3] / "data" / "extract"
PAPERS = ("systems.tex", "theory.tex", "unnamed.md", "note.md")


def read(name: str) -> Passages:
    return read_passages(parse_paper(DATA / name))


def markdown(text: str) -> Document:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "paper.md"
        path.write_text(text, encoding="utf-8")
        return parse_paper(path)


@pytest.mark.parametrize("name", PAPERS)
def test_excerpts_of_a_passage_are_its_text(name: str) -> None:
    passages = read(name)
    document = passages.document
    assert [p.number for p in passages.listed] == list(range(1, len(passages.listed) + 1))
    assert [p.start for p in passages.listed] == sorted(p.start for p in passages.listed)
    for passage in passages.listed:
        excerpts = passages.excerpts([passage.number])
        assert passage.number in passages.at(excerpts)
        assert all(document.place(e.start) == (e.path, e.line) for e in excerpts)
        if passage.kind == "text":
            assert " ".join(plain(document, e.start, e.end) for e in excerpts).split() == passage.text.split()


def test_algorithms_statements_and_tables_of_settings_are_passages_of_their_own() -> None:
    text = r"""
# Quiet Descent

## Abstract
We propose quiet descent, an optimiser that skips small steps.

## Method
Quiet descent skips a step when its norm is below a threshold.

**Theorem 1.** Quiet descent converges on every convex function that is smooth and bounded from below.

The threshold shrinks with the number of skipped steps.

## Hyperparameters

| learning rate | 0.1 |
|---|---|
| threshold | 0.003 |

## Results

| model | accuracy |
|---|---|
| ours | 91.2 |

## References
[1] Somebody. Something. 2020.
"""
    passages = read_passages(markdown(text))
    kinds = {p.kind: p.text for p in passages.listed}
    settings, results = (p for p in passages.listed if p.kind == "table")
    assert settings.settings
    assert "0.003" in settings.text
    assert not results.settings
    assert "91.2" in results.text
    assert "converges on every convex function" in kinds["statement"]
    assert not any("Somebody" in p.text for p in passages.listed)


@pytest.mark.parametrize("name", PAPERS)
@pytest.mark.parametrize("size", [0, 300, 900, 10_000])
def test_a_condensed_paper_fits_and_prefers_the_method(name: str, size: int) -> None:
    passages = read(name)
    text = condensed(passages, size)
    assert len(text) <= size + 200
    assert "Long, A." not in text
    if size == 10_000:
        assert all(p.text in text for p in passages.listed if p.role == "method")


def test_what_is_left_out_is_marked() -> None:
    passages = read("systems.tex")
    long = next(p for p in passages.listed if len(p.pieces) > 2)
    assert rendered(passages, {long.number: {0, 2}}).endswith(f"{long.pieces[0].text} […] {long.pieces[2].text} […]")
    first, last = passages.listed[0].number, passages.listed[-1].number
    assert rendered(passages, {first: {0}, last: {0}}).count(f"[{last}]") == 1


@pytest.mark.parametrize(("window", "expected"), [(128_000, 30_000), (8_000, 12_000), (4_000, 4_000), (100, 4)])
def test_room_in_a_window(window: int, expected: int) -> None:
    assert room(window, 1_000, 16_000, 30_000) == expected


WORDS_OF = st.lists(st.integers(1, 90), min_size=1, max_size=60)


@given(st.lists(WORDS_OF, min_size=1, max_size=4))
def test_chunks_cover_a_paper_and_overlap(sizes: list[list[int]]) -> None:
    paragraphs = [" ".join(f"Word {'word ' * n}here." for n in part) for part in sizes]
    text = "".join(f"# Part {chr(65 + i)}x\n\n{paragraph}\n\n" for i, paragraph in enumerate(paragraphs))
    passages = read_passages(markdown(text))
    found = chunks(passages)
    assert {p for c in found for p in c.pieces} == {
        (p.number, i) for p in passages.listed for i in range(len(p.pieces))
    }

    def count(pieces: object) -> int:
        return sum(len(passages[n].pieces[i].text.split()) for n, i in pieces)  # type: ignore[attr-defined]

    for chunk in found:
        assert count(chunk.pieces) <= WORDS or len(chunk.pieces) == 1
        assert len({passages[n].part.title for n in chunk.numbers if passages[n].part}) <= 1
    for before, after in pairwise(found):
        assert count(set(before.pieces) & set(after.pieces)) <= OVERLAP
